"""Gaps of the feeds, repaired over REST: what is needed and has had no usable quote for two looks is fetched, many at a call.

A gap is a reconnected socket that said nothing yet, a mute feed, an instrument that no feed has room for, or one that has not
traded for five minutes. Only in a session, and only for what is open, held or followed: whoever reads anything else has it fetched
then. One call a broker and look, as a READ inside its budget, so never in the way of an order.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import attrs
import trio

from onebroker.actors.quotes.fetching import ask_many, askable, serves_quotes
from onebroker.actors.quotes.fold import Quote, is_price
from onebroker.actors.quotes.known import KnownInstruments
from onebroker.actors.quotes.watching import Session
from onebroker.brokers.records import Listing
from onebroker.config.clock import Clock

LOOK_SECONDS = 5.0
"""Between two looks: a feed has this long to bring a quote by itself."""
FAILED_SECONDS = 30.0
"""A broker whose call failed is left alone this long."""
SILENT_SECONDS = 60.0
"""A broker that gave no quote of an instrument is not asked for it again this long."""
SLICE = 250

Lacks = Callable[[str], bool]
"""instrument_id -> whether its market is open and no stored quote of it may be served."""
Deliver = Callable[[Mapping[str, Quote]], Awaitable[None]]
"""Takes quotes by instrument_id."""


@attrs.frozen
class _Call:
    code: str
    listings: Mapping[str, Listing]
    """By instrument_id; no more than the broker answers at once."""


class Repairs:
    """Looks and fetches until cancelled; a child task of the quote book."""

    def __init__(
        self,
        *,
        sessions: Mapping[str, Session],
        known: KnownInstruments,
        clock: Clock,
        needed: Callable[[], Iterable[str]],
        lacks: Lacks,
        deliver: Deliver,
    ) -> None:
        self._sessions = sessions
        self._known = known
        self._clock = clock
        self._needed = needed
        self._lacks = lacks
        self._deliver = deliver
        self._suspects: set[str] = set()
        """What lacked a quote at the last look."""
        self._not_before: dict[tuple[str, str], float] = {}
        """(code, instrument_id), or (code, "") for all of a broker -> monotonic seconds."""

    async def run(self) -> None:
        while True:
            await trio.sleep(LOOK_SECONDS)
            lacking = await self._look()
            calls = self._calls(one for one in lacking if one in self._suspects)
            self._suspects = set(lacking)
            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(self._fetch, call)

    async def _look(self) -> list[str]:
        lacking = []
        for number, one in enumerate(list(self._needed())):
            if number % SLICE == 0:
                await trio.lowlevel.checkpoint()
            if self._lacks(one):
                lacking.append(one)
        return lacking

    def _calls(self, instrument_ids: Iterable[str]) -> list[_Call]:
        """Return at most one call a broker; each instrument is asked of the first broker in priority order that may be."""
        now = self._clock.monotonic()
        self._not_before = {key: at for key, at in self._not_before.items() if at > now}
        may_ask = {code for code, session in self._sessions.items() if self._may_ask(code, session)}
        shares: dict[str, dict[str, Listing]] = {code: {} for code in may_ask}
        for one in instrument_ids:
            instrument = self._known.instrument(one)
            options = [] if instrument is None else askable(self._sessions, instrument)
            for code, listing in options:
                if code in may_ask and (code, one) not in self._not_before and self._has_room(code, shares[code]):
                    shares[code][one] = listing
                    break
        return [_Call(code, listings) for code, listings in shares.items() if listings]

    def _may_ask(self, code: str, session: Session) -> bool:
        return serves_quotes(session) and session.view.value.live and (code, "") not in self._not_before

    def _has_room(self, code: str, share: Mapping[str, Listing]) -> bool:
        codec = self._sessions[code].broker.quotes
        return codec is not None and len(share) < codec.most_per_call

    async def _fetch(self, call: _Call) -> None:
        answer = await ask_many(self._sessions[call.code], tuple(call.listings.values()))
        now = self._clock.monotonic()
        if isinstance(answer, str):
            self._not_before[call.code, ""] = now + FAILED_SECONDS
            return
        received_at = self._clock.epoch()
        found: dict[str, Quote] = {}
        for one, listing in call.listings.items():
            tick = answer.get(listing.broker_token)
            if tick is not None and tick.broker_token == listing.broker_token and is_price(tick.last_price):
                found[one] = Quote(broker=call.code, tick=tick, received_at=received_at)
            else:
                self._not_before[call.code, one] = now + SILENT_SECONDS
        await self._deliver(found)
