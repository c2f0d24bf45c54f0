"""Repairs gaps of the feeds over REST: a needed instrument without a usable quote at two looks is fetched, many instruments per call.

A gap is a reconnected socket without a tick so far, a mute feed, an instrument that no feed has room for, or an instrument without a
trade for five minutes; for seconds, where a stop of it is at a broker. Gaps are repaired only in a session, and only for instruments that are open, held or followed. Any other
instrument is fetched when a caller reads it. Each look makes one call per broker, as a READ inside its budget, so it never delays an order.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import attrs
import trio

from onebroker.actors.quotes.known_instruments import KnownInstruments
from onebroker.actors.quotes.rest_quotes import ask_many, askable, serves_quotes
from onebroker.actors.quotes.tick_fold import Quote, is_price
from onebroker.actors.quotes.wanted_instruments import Session
from onebroker.brokers.records import Listing
from onebroker.config.clock import Clock

LOOK_SECONDS = 5.0
"""Time between two looks. A feed has this long to bring a quote by itself."""
FAILED_SECONDS = 30.0
"""After a failed call, the broker is not asked for this long."""
SILENT_SECONDS = 60.0
"""A broker that gave no quote of an instrument is not asked for that instrument again for this long."""
SLICE = 250

Lacks = Callable[[str], bool]
"""instrument_id -> whether its market is open and it has no stored quote that may be served, or has a doubted tick."""
Deliver = Callable[[Mapping[str, Quote]], Awaitable[None]]
"""Takes quotes by instrument_id."""


@attrs.frozen
class _Call:
    code: str
    listings: Mapping[str, Listing]
    """By instrument_id; at most as many as the broker answers in one call."""


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
        """The instruments that lacked a quote at the last look."""
        self._not_before: dict[tuple[str, str], float] = {}
        """(code, instrument_id), or (code, "") for the whole broker -> monotonic seconds before which it is not asked."""

    async def run(self) -> None:
        while True:
            await trio.sleep(LOOK_SECONDS)
            lacking = await self._look()
            calls = self._calls(instrument_id for instrument_id in lacking if instrument_id in self._suspects)
            self._suspects = set(lacking)
            async with trio.open_nursery() as nursery:
                for call in calls:
                    nursery.start_soon(self._fetch, call)

    async def _look(self) -> list[str]:
        lacking = []
        for number, instrument_id in enumerate(list(self._needed())):
            if number % SLICE == 0:
                await trio.lowlevel.checkpoint()
            if self._lacks(instrument_id):
                lacking.append(instrument_id)
        return lacking

    def _calls(self, instrument_ids: Iterable[str]) -> list[_Call]:
        """Return at most one call per broker. Each instrument goes to the first broker in priority order that may be asked."""
        now = self._clock.monotonic()
        self._not_before = {key: at for key, at in self._not_before.items() if at > now}
        may_ask = {code for code, session in self._sessions.items() if self._may_ask(code, session)}
        shares: dict[str, dict[str, Listing]] = {code: {} for code in may_ask}
        for instrument_id in instrument_ids:
            instrument = self._known.instrument(instrument_id)
            options = [] if instrument is None else askable(self._sessions, instrument)
            for code, listing in options:
                if (
                    code in may_ask
                    and (code, instrument_id) not in self._not_before
                    and self._has_room(code, shares[code])
                ):
                    shares[code][instrument_id] = listing
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
        for instrument_id, listing in call.listings.items():
            tick = answer.get(listing.broker_token)
            if tick is not None and tick.broker_token == listing.broker_token and is_price(tick.last_price):
                found[instrument_id] = Quote(broker=call.code, tick=tick, received_at=received_at)
            else:
                self._not_before[call.code, instrument_id] = now + SILENT_SECONDS
        await self._deliver(found)
