"""The quote book's actor: takes ticks, decides what the feeds carry, fetches quotes over REST, and writes once a second.

A restart begins with the quotes in the store; they keep their true time of receipt. In a session, a restored quote that no feed renews
becomes stale `RESTORED_SECONDS` after the start. Any other quote becomes stale as soon as its feed is known to be down.
"""

import logging
from collections.abc import Mapping
from typing import assert_never

import msgspec
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Mailbox, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import FETCHED_SECONDS, LIVE_SECONDS, QuoteBook
from onebroker.actors.quotes.feed_silence import FeedSilence
from onebroker.actors.quotes.feed_subscriptions import Feeding
from onebroker.actors.quotes.gap_repair import Repairs
from onebroker.actors.quotes.known_instruments import KnownInstruments
from onebroker.actors.quotes.market_silence import MarketSilence
from onebroker.actors.quotes.messages import (
    Beat,
    FetchDone,
    FetchQuote,
    Found,
    QuoteMessage,
    Repaired,
    Silent,
    Touched,
)
from onebroker.actors.quotes.quote_store import QuoteStore
from onebroker.actors.quotes.recorded_instruments import TickRecorder, followed_for_recording, recorded
from onebroker.actors.quotes.rest_quotes import fetch
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.quotes.usable_quotes import market_of, may_serve, open_markets
from onebroker.actors.quotes.wanted_instruments import ASKED_SECONDS, MOST_ASKED, Session
from onebroker.actors.sessions.messages import TickReceived
from onebroker.actors.store.interface import Store
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.messages import quotes as sentences
from onebroker.config.refusal import Refusal
from onebroker.config.sections import RecordedInstruments

_log = logging.getLogger("onebroker.quotes")

BEAT_SECONDS = 1.0
RESTORED_SECONDS = 15.0
"""After a start, the feeds have this long to renew a quote from the store before it becomes stale."""
MARK_AGAIN_SECONDS = 10.0
"""The actor looks for stale quotes whenever a feed or the plan changes, and otherwise at this interval."""
FORGET_SECONDS = 60.0
SAY_AGAIN_SECONDS = 60.0
RESTORE_AGAIN_SECONDS = 5.0
GUARDED_SECONDS = 6.0
"""An instrument of which a stop is at a broker, and of which nothing was told for so long, is fetched like one without a quote. More than the time
between two looks of the repairs, so the next fetch follows three looks later: every 15 seconds, in one call for all such instruments."""
TICKS_AT_ONCE = 24
"""After so many ticks other tasks run: the orders that ticks have fired wait no longer. A tick takes 10 to 40 microseconds, by the plans on its instrument."""
SLICE = 250
"""After so many quotes other tasks run, where a quote is only looked at. One slice takes about half a millisecond."""


class QuoteBookActor:
    """Receives the messages of `messages.py`. `sessions` are in the brokers' priority order. `recorder` gets every tick of the
    instruments that `record` chooses. `events` None: nobody listens. `silence` gets what the book knows of silent feeds."""

    def __init__(
        self,
        *,
        mailbox: Mailbox[QuoteMessage],
        published: Published[QuoteBook],
        sessions: Mapping[str, Session],
        catalogue: Published[CatalogueState],
        store: Store,
        clock: Clock,
        calendar: Calendar,
        record: RecordedInstruments = RecordedInstruments(scope="held"),  # noqa: B008  # frozen
        recorder: TickRecorder | None = None,
        events: Events | None = None,
        silence: Published[FeedSilence] | None = None,
    ) -> None:
        self._mailbox = mailbox
        self._published = published
        self._sessions = sessions
        self._store = QuoteStore(store, clock)
        self._clock = clock
        self._calendar = calendar
        self._record = record
        self._recorder = recorder
        self._recorded: frozenset[str] = frozenset()
        self._book = QuoteBook(tuple(sessions), followers=published.value.followers)
        self._known = KnownInstruments(catalogue)
        self._feeding = Feeding(sessions, self._known, events or Events())
        self._repairs = Repairs(
            sessions=sessions,
            known=self._known,
            clock=clock,
            needed=self._feeding.needed,
            lacks=self._lacks,
            deliver=self._deliver,
        )
        self._published_silence = silence
        self._silence = MarketSilence(
            sessions=sessions,
            known=self._known,
            clock=clock,
            carried=self._feeding.carried_by_need,
            opened=lambda: open_markets(calendar, clock.epoch()),
            live=self._book.live,
            deliver=self._deliver,
            silent=mailbox.address.tell,
        )
        self._asked: dict[str, float] = {}
        """instrument_id -> monotonic seconds of the last touch."""
        self._began_at = clock.monotonic()
        self._heard_at: dict[str, float] = {}
        """Broker -> monotonic seconds of its last tick."""
        self._marked: tuple[object, float] = (None, 0.0)
        """The basis of the last look for stale quotes, and its time in monotonic seconds."""
        self._forget_at = 0.0
        self._say_again_at = 0.0
        self._fetching: dict[str, list[Reply[Found]]] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        restored = await self._store.restore(self._book)
        self._published.set(self._book)
        async with trio.open_nursery() as nursery:
            if not restored:
                nursery.start_soon(self._restore_later)
            nursery.start_soon(self._beat)
            nursery.start_soon(self._repairs.run)
            nursery.start_soon(self._silence.run)
            task_status.started()
            async for message in self._mailbox:
                await self._handle_all([message, *self._mailbox.take_replaced()], nursery)

    async def _handle_all(self, messages: list[QuoteMessage], nursery: trio.Nursery) -> None:
        """Handle all waiting messages. Ticks arrive by the thousand, so a single tick must not cost a pass through the scheduler."""
        now, taken = self._clock.monotonic(), 0
        for message in messages:
            if type(message) is TickReceived:
                self._take_all(message, now)
                taken += 1 + len(message.earlier)
            else:
                await self._handle(message, nursery)
            if taken >= TICKS_AT_ONCE:
                taken = 0
                self._book.followers.taken()
                await trio.lowlevel.checkpoint()
        self._book.followers.taken()

    async def _handle(self, message: QuoteMessage, nursery: trio.Nursery) -> None:
        match message:
            case TickReceived():
                self._take_all(message, self._clock.monotonic())
            case Touched():
                self._asked[message.instrument_id] = self._clock.monotonic()
            case FetchQuote():
                self._start_fetch(message, nursery)
            case FetchDone():
                self._finish_fetch(message)
            case Repaired():
                for instrument_id, quote in message.quotes.items():
                    self._keep_fetched(instrument_id, quote)
            case Silent():
                self._take_silence(message)
            case Beat():
                await self._turn()
            case _:
                assert_never(message)

    async def _restore_later(self) -> None:
        """Load the stored quotes as soon as the store can be read. Quotes that arrived before then are newer and stay."""
        while True:
            await trio.sleep(RESTORE_AGAIN_SECONDS)
            if await self._store.restore(self._book):
                return

    # Ticks

    def _take_all(self, message: TickReceived, now: float) -> None:
        for earlier in message.earlier:
            self._take(earlier, now)
        self._take(message, now)

    def _take(self, message: TickReceived, now: float) -> None:
        broker = message.broker
        self._heard_at[broker] = now
        instrument_id = self._known.id_of(broker, message.tick.broker_token)
        if instrument_id is None:
            return
        quote = self._book.take(instrument_id, broker, message.tick, message.received_at)
        if quote is not None and instrument_id in self._recorded and self._recorder is not None:
            self._recorder.record(instrument_id, quote)

    # The beat

    async def _beat(self) -> None:
        while True:
            await trio.sleep(BEAT_SECONDS)
            self._mailbox.address.replace("beat", Beat())

    async def _turn(self) -> None:
        now = self._clock.monotonic()
        ticked, marked = self._book.drain_changed()
        self._silence.hear(ticked)
        await self._store.write_live(self._book, ticked | marked)
        self._feeding.renew_mute(self._heard_at, ticked, now)
        self._show_silence()
        self._say_held_back(now)
        await self._watch(now)
        await self._mark_stale(now)
        if now >= self._forget_at:
            self._forget_at = now + FORGET_SECONDS
            self._forget()

    def _show_silence(self) -> None:
        """Publish which feeds are silent, when that has changed."""
        published = self._published_silence
        if published is None:
            return
        ahead = self._clock.epoch() - self._clock.monotonic()
        mute, markets = self._feeding.mute_since(), self._silence.silent
        if mute.keys() != published.value.mute.keys() or markets.keys() != published.value.markets.keys():
            published.set(
                FeedSilence(
                    mute={code: since + ahead for code, since in mute.items()},
                    markets={market: since + ahead for market, since in markets.items()},
                )
            )

    def _say_held_back(self, now: float) -> None:
        """Log the ticks that are held back: one line for all of them, at most once a minute."""
        news = self._book.doubts.drain_news()
        if not news or now < self._say_again_at:
            return
        self._say_again_at = now + SAY_AGAIN_SECONDS
        instrument_id, quote = next(iter(news.items()))
        _log.warning(
            "%s says %s of %s, which is far from what is known of it: it waits for a second source (%s such ticks so far)",
            quote.broker, quote.tick.last_price, instrument_id, self._book.held_back,
        )  # fmt: skip

    async def _watch(self, now: float) -> None:
        self._asked = {instrument_id: at for instrument_id, at in self._asked.items() if now - at < ASKED_SECONDS}
        if len(self._asked) > MOST_ASKED:
            latest = sorted(self._asked.items(), key=lambda asked: -asked[1])
            self._asked = dict(latest[:MOST_ASKED])
        before = self._feeding.version
        await self._feeding.turn((*self._book.followers, *followed_for_recording(self._record)), self._asked, now)
        if self._feeding.version != before:
            self._recorded = recorded(self._record, self._feeding.wanted)

    async def _mark_stale(self, now: float) -> None:
        """In a session, mark the quotes that no feed renews: the broker's feed is down, or no longer carries the instrument.
        Out of session the last quote stays valid."""
        moment = self._clock.epoch()
        opened = open_markets(self._calendar, moment)
        basis = (self._feeding.version, opened)
        if basis == self._marked[0] and now - self._marked[1] < MARK_AGAIN_SECONDS:
            return
        self._marked = (basis, now)

        def orphaned(instrument_id: str, quote: Quote) -> bool:
            if self._feeding.renews(instrument_id, quote):
                return False
            if quote.restored and now - self._began_at < RESTORED_SECONDS:
                return False
            instrument = self._known.instrument(instrument_id)
            return instrument is not None and market_of(instrument.identity) in opened

        ids = list(self._book)
        for start in range(0, len(ids), SLICE):
            self._book.mark_stale(ids[start : start + SLICE], orphaned, moment)
            await trio.lowlevel.checkpoint()

    def _take_silence(self, message: Silent) -> None:
        """Mark the old quotes of silent markets stale, and reconnect the feeds that carry those instruments."""

        def is_old(instrument_id: str, quote: Quote) -> bool:
            instrument = self._known.instrument(instrument_id)
            in_market = instrument is not None and market_of(instrument.identity) in message.markets
            return in_market and quote.received_at < message.since

        now = self._clock.epoch()
        old = {
            instrument_id
            for instrument_id in self._book
            if any(is_old(instrument_id, quote) for quote in self._book.of_brokers(instrument_id).values())
        }
        self._book.mark_stale(old, is_old, now)
        self._feeding.renew_silent(old, self._heard_at, self._clock.monotonic())

    def _forget(self) -> None:
        now = self._clock.epoch()
        self._store.remove_live(self._book.forget_live(now - LIVE_SECONDS, self._feeding.carried()))
        self._store.remove_fetched(self._book.forget_fetched(now - FETCHED_SECONDS))

    # Repairs

    def _lacks(self, instrument_id: str) -> bool:
        instrument = self._known.instrument(instrument_id)
        if instrument is None:
            return False
        now, doubted = self._clock.epoch(), instrument_id in self._book.doubts  # an answer over REST ends a doubt
        quote = self._book.newest(instrument_id)
        unheard = quote is None or (
            self._book.followers.is_guarded(instrument_id) and now > quote.received_at + GUARDED_SECONDS
        )
        if (
            quote is not None
            and not unheard
            and not doubted
            and may_serve(quote, instrument.identity, self._calendar, now)
        ):
            return False
        return self._calendar.is_open(*market_of(instrument.identity), from_epoch(now))

    async def _deliver(self, quotes: Mapping[str, Quote]) -> None:
        await self._mailbox.address.tell(Repaired(quotes))

    # Fetching

    def _start_fetch(self, message: FetchQuote, nursery: trio.Nursery) -> None:
        """Join the running fetch of the instrument, or start one."""
        waiting = self._fetching.setdefault(message.instrument.instrument_id, [])
        waiting.append(message.reply)
        if len(waiting) == 1:
            nursery.start_soon(self._fetch, message.instrument)

    async def _fetch(self, instrument: Instrument) -> None:
        await self._mailbox.address.tell(await fetch(self._sessions, instrument, self._clock))

    def _finish_fetch(self, done: FetchDone) -> None:
        waiting = self._fetching.pop(done.instrument_id, [])
        if done.found is None:
            sentence = sentences.every_broker_failed(done.failed) if done.failed else sentences.NO_BROKER
            for reply in waiting:
                reply.refuse(Refusal(503, sentence))
            return
        kept = self._keep_fetched(done.instrument_id, done.found.quote)
        for reply in waiting:
            reply.answer(Found(quote=kept, source="broker"))

    def _keep_fetched(self, instrument_id: str, quote: Quote) -> Quote:
        kept = self._with_previous_close(instrument_id, quote)
        self._book.keep_fetched(instrument_id, kept)
        self._store.write_fetched(instrument_id, kept)
        return kept

    def _with_previous_close(self, instrument_id: str, quote: Quote) -> Quote:
        """If the fetched quote has no previous close, take the cached quote's, when both are of one India day (rules 1.4.7-4)."""
        cached = self._book.newest(instrument_id)
        if quote.tick.previous_close or cached is None or not cached.tick.previous_close:
            return quote
        if from_epoch(cached.received_at).date() != from_epoch(quote.received_at).date():
            return quote
        tick = msgspec.structs.replace(quote.tick, previous_close=cached.tick.previous_close)
        return msgspec.structs.replace(quote, tick=tick)
