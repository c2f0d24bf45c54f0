"""Detects over REST that all feeds of an open market are silent at once.

If one feed is mute while others send ticks, the others show it (`feed_health.py`). If no feed sends ticks, the feeds cannot show whether
nothing trades or nothing arrives. So when no feed has sent a tick of a market for some seconds, one broker is asked for the carried
instruments there. This is one call, as a READ inside its budget; the next call goes to another broker. The answer is kept and served
like any fetched quote. If the answer shows trades that no feed reported, and no feed sends a tick within two more seconds, the feeds
are silent. Their quotes become stale, and the feeds reconnect.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Set

import trio

from onebroker.actors.quotes.feed_silence import Market
from onebroker.actors.quotes.known_instruments import KnownInstruments
from onebroker.actors.quotes.messages import Silent
from onebroker.actors.quotes.rest_quotes import ask_many, askable, serves_quotes
from onebroker.actors.quotes.tick_fold import Quote, is_price
from onebroker.actors.quotes.usable_quotes import market_of
from onebroker.actors.quotes.wanted_instruments import Session
from onebroker.brokers.records import Listing, Tick
from onebroker.config.clock import Clock

LOOK_SECONDS = 1.0
QUIET_SECONDS = 5.0
"""A market with a tick from any feed within this time is not silent."""
AGAIN_SECONDS = 10.0
"""Time between two questions about a market that stays quiet."""
CONFIRM_SECONDS = 2.0
"""How long the feeds have to send a tick after an answer showed trades that they had not reported."""
FAILED_SECONDS = 30.0
"""After a failed call, other brokers are preferred to this one for this long."""

Deliver = Callable[[Mapping[str, Quote]], Awaitable[None]]
"""Takes quotes by instrument_id."""


class MarketSilence:
    """Asks until cancelled; a child task of the quote book, which reports the ticks to it (`hear`). `carried`: the instruments that the
    feeds carry, the most needed first; `opened`: the open markets; `live`: an instrument's unified quote."""

    def __init__(
        self,
        *,
        sessions: Mapping[str, Session],
        known: KnownInstruments,
        clock: Clock,
        carried: Callable[[], Iterable[str]],
        opened: Callable[[], Set[Market]],
        live: Callable[[str], Quote | None],
        deliver: Deliver,
        silent: Callable[[Silent], Awaitable[None]],
    ) -> None:
        self._sessions = sessions
        self._known = known
        self._clock = clock
        self._carried = carried
        self._opened = opened
        self._live = live
        self._deliver = deliver
        self._silent = silent
        self._heard_at: dict[Market, float] = {}
        """Monotonic seconds of the market's last tick, or of the moment when it was first seen open and carried."""
        self._asked_at: dict[Market, float] = {}
        self.silent: dict[Market, float] = {}
        """Market whose feeds are silent -> monotonic seconds of its last tick. The next tick ends it, and so does the close."""
        self._not_before: dict[str, float] = {}
        """Broker -> monotonic seconds until which other brokers are preferred, because this one was just asked or failed."""

    def hear(self, instrument_ids: Iterable[str]) -> None:
        """Note that feeds sent ticks of these instruments."""
        now = self._clock.monotonic()
        for instrument_id in instrument_ids:
            instrument = self._known.instrument(instrument_id)
            if instrument is not None:
                market = market_of(instrument.identity)
                self._heard_at[market] = now
                self.silent.pop(market, None)

    async def run(self) -> None:
        while True:
            await trio.sleep(LOOK_SECONDS)
            await self._look()

    async def _look(self) -> None:
        by_market = self._by_market()
        now = self._clock.monotonic()
        if self.silent:
            opened = self._opened()
            self.silent = {market: since for market, since in self.silent.items() if market in opened}
        for market in list(self._heard_at):
            if market not in by_market:  # closed, or no feed carries anything of it any more
                del self._heard_at[market]
        due = {market for market in by_market if self._is_due(market, now)}
        if not due:
            return
        code, listings = self._question([instrument_id for market in due for instrument_id in by_market[market]])
        if code is None:
            return
        self._asked_at.update(dict.fromkeys(due, now))
        told = await self._ask(code, listings)
        if told:
            await self._judge(due, told)

    def _by_market(self) -> dict[Market, list[str]]:
        """Return, by open market, the carried instruments with a live quote of a feed that is neither stale nor restored. Other
        instruments are no evidence; `gap_repair.py` handles them."""
        opened = self._opened()
        found: dict[Market, list[str]] = {}
        for instrument_id in self._carried():
            instrument, live = self._known.instrument(instrument_id), self._live(instrument_id)
            if instrument is None or live is None or live.stale_since is not None or live.restored:
                continue
            market = market_of(instrument.identity)
            if market in opened:
                found.setdefault(market, []).append(instrument_id)
        return found

    def _is_due(self, market: Market, now: float) -> bool:
        quiet = now - self._heard_at.setdefault(market, now) >= QUIET_SECONDS
        return quiet and now - self._asked_at.get(market, float("-inf")) >= AGAIN_SECONDS

    def _question(self, instrument_ids: Iterable[str]) -> tuple[str | None, dict[str, Listing]]:
        """Return the broker that can answer for the most instruments, and their listings, at most as many as it answers in one call.
        Brokers not asked recently go first. Return (None, {}) when no broker may be asked."""
        now = self._clock.monotonic()
        shares: dict[str, dict[str, Listing]] = {}
        for instrument_id in instrument_ids:
            instrument = self._known.instrument(instrument_id)
            for code, listing in [] if instrument is None else askable(self._sessions, instrument):
                codec = self._sessions[code].broker.quotes
                share = shares.setdefault(code, {})
                if codec is not None and len(share) < codec.most_per_call:
                    share[instrument_id] = listing
        able = [code for code in shares if self._may_ask(code)]
        if not able:
            return None, {}
        rested = [code for code in able if self._not_before.get(code, 0.0) <= now] or able
        code = max(rested, key=lambda code: len(shares[code]))
        return code, shares[code]

    def _may_ask(self, code: str) -> bool:
        session = self._sessions[code]
        return serves_quotes(session) and session.view.value.live

    async def _ask(self, code: str, listings: Mapping[str, Listing]) -> dict[str, Quote]:
        answer = await ask_many(self._sessions[code], tuple(listings.values()))
        now = self._clock.monotonic()
        if isinstance(answer, str):
            self._not_before[code] = now + FAILED_SECONDS
            return {}
        self._not_before[code] = now + AGAIN_SECONDS + LOOK_SECONDS  # the next question goes to another broker
        received_at = self._clock.epoch()
        found = {
            instrument_id: Quote(broker=code, tick=tick, received_at=received_at)
            for instrument_id, listing in listings.items()
            if (tick := answer.get(listing.broker_token)) is not None
            and tick.broker_token == listing.broker_token
            and is_price(tick.last_price)
        }
        await self._deliver(found)
        return found

    async def _judge(self, markets: Set[Market], told: Mapping[str, Quote]) -> None:
        """Compare the answer with the feeds' ticks. The feeds have `CONFIRM_SECONDS` to report the trades themselves."""
        contradicted = set[Market]()
        for instrument_id, quote in told.items():
            instrument, live = self._known.instrument(instrument_id), self._live(instrument_id)
            if instrument is not None and live is not None and knows_more(quote.tick, live.tick):
                contradicted.add(market_of(instrument.identity))
        if not contradicted:
            return
        before = {market: self._heard_at.get(market) for market in contradicted}
        asked_at = self._clock.epoch()
        await trio.sleep(CONFIRM_SECONDS)
        still = {market for market in contradicted & markets if self._heard_at.get(market) == before[market]}
        if still:
            now = self._clock.monotonic()
            self.silent.update((market, self.silent.get(market, before[market] or now)) for market in still)
            await self._silent(Silent(frozenset(still), asked_at))


def knows_more(answer: Tick, told: Tick) -> bool:
    """Tell whether an answer over REST shows trades that a feed's tick does not."""
    if answer.volume is not None and told.volume is not None:
        return answer.volume > told.volume
    return answer.last_price != told.last_price
