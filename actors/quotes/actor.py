"""The quote book's actor: takes ticks, decides what the feeds carry, fetches quotes over REST, and writes once a second.

A restart begins with the quotes in the store, received when they truly were; those that no feed renews are stale at once.
"""

import logging
from collections.abc import Mapping
from typing import assert_never

import msgspec
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument, Snapshot
from onebroker.actors.kernel.mailbox import Mailbox, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.book import FETCHED_SECONDS, QuoteBook
from onebroker.actors.quotes.fetching import fetch
from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.messages import Beat, FetchDone, FetchQuote, Found, QuoteMessage, Touched
from onebroker.actors.quotes.usable import may_serve
from onebroker.actors.quotes.watching import ASKED_SECONDS, Session, Share, share, wanted
from onebroker.actors.sessions.messages import TickReceived, Watch
from onebroker.actors.store import keys
from onebroker.actors.store.interface import HashSet, Set, Store, StoreError
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.instruments import calendar_of
from onebroker.config.messages import quotes as sentences
from onebroker.config.refusal import Refusal

BEAT_SECONDS = 1.0
WATCH_AGAIN_SECONDS = 15.0
"""An unchanged watch list is sent again this often: a session that was restarted has none."""
KEPT_SECONDS = 10 * 24 * 3600.0
"""A stored quote older than this serves nobody (no market is closed so long) and is removed at a start."""

_log = logging.getLogger("onebroker.quotes")


class QuoteBookActor:
    """Told and asked with the messages of `messages.py`. `sessions` are in the brokers' priority order."""

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
    ) -> None:
        self._mailbox = mailbox
        self._published = published
        self._sessions = sessions
        self._catalogue = catalogue
        self._store = store
        self._clock = clock
        self._calendar = calendar
        self._book = QuoteBook(tuple(sessions))
        self._snapshot: Snapshot | None = None
        self._ids: dict[tuple[str, str], str | None] = {}
        """(broker, token) -> instrument, remembered as long as the snapshot is the same."""
        self._asked: dict[str, float] = {}
        """instrument_id -> monotonic seconds of the last touch."""
        self._shares: dict[str, Share] = {}
        self._watched_at: dict[str, float] = {}
        self._fetching: dict[str, list[Reply[Found]]] = {}

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._restore()
        self._mark_stale()
        self._published.set(self._book)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._beat)
            task_status.started()
            async for message in self._mailbox:
                match message:
                    case TickReceived():
                        self._take(message)
                    case Touched():
                        self._asked[message.instrument_id] = self._clock.monotonic()
                    case FetchQuote():
                        self._start_fetch(message, nursery)
                    case FetchDone():
                        self._finish_fetch(message)
                    case Beat():
                        self._write()
                        self._watch()
                        self._mark_stale()
                        self._book.forget_fetched(self._clock.epoch() - FETCHED_SECONDS)
                    case _:
                        assert_never(message)

    # Start and beat

    async def _restore(self) -> None:
        try:
            stored = await self._store.hash_all(keys.QUOTES_LIVE)
        except StoreError as error:
            _log.warning("stored quotes could not be read, so the book starts empty: %s", error)
            return
        oldest = self._clock.epoch() - KEPT_SECONDS
        outdated = []
        for instrument_id, encoded in stored.items():
            quote = _decode(encoded)
            if quote is None or quote.received_at < oldest:
                outdated.append(instrument_id)
            else:
                self._book.restore(instrument_id, quote)
        if outdated:
            self._store.post(HashSet(keys.QUOTES_LIVE, {}, tuple(outdated)))

    async def _beat(self) -> None:
        while True:
            await trio.sleep(BEAT_SECONDS)
            self._mailbox.address.replace("beat", Beat())

    def _write(self) -> None:
        changed = self._book.drain_changed()
        if changed:
            values = {instrument_id: msgspec.json.encode(quote) for instrument_id, quote in changed.items()}
            self._store.post(HashSet(keys.QUOTES_LIVE, values))

    # Ticks

    def _take(self, message: TickReceived) -> None:
        instrument_id = self._id_of(message.broker, message.tick.broker_token)
        if instrument_id is not None:
            self._book.take(instrument_id, message.broker, message.tick, message.received_at)

    def _id_of(self, broker: str, broker_token: str) -> str | None:
        latest = self._catalogue.value.latest
        if latest is not self._snapshot:
            self._snapshot = latest
            self._ids = {}
        key = (broker, broker_token)
        if key not in self._ids:
            self._ids[key] = None if latest is None else latest.by_token(broker, broker_token)
        return self._ids[key]

    def _instrument(self, instrument_id: str) -> Instrument | None:
        latest = self._catalogue.value.latest
        return None if latest is None else latest.instrument(instrument_id)

    def _mark_stale(self) -> None:
        """In a session, a quote is stale from the moment no feed renews it: its broker's feed is down, or the instrument is
        not on it any more. Out of session the last quote stays the market's last word."""
        connected = {code for code, session in self._sessions.items() if session.view.value.market_feed.connected}
        now = from_epoch(self._clock.epoch())
        open_markets: dict[tuple[str, str], bool] = {}

        def orphaned(instrument_id: str, broker: str) -> bool:
            carried = self._shares.get(broker)
            if broker in connected and carried is not None and instrument_id in carried.instrument_ids:
                return False
            instrument = self._instrument(instrument_id)
            if instrument is None:
                return False
            market = (instrument.identity.exchange, calendar_of(instrument.identity.segment))
            if market not in open_markets:
                open_markets[market] = self._calendar.is_open(*market, now)
            return open_markets[market]

        self._book.mark_stale(orphaned, now.timestamp())

    # Watching

    def _watch(self) -> None:
        now = self._clock.monotonic()
        self._asked = {key: at for key, at in self._asked.items() if now - at < ASKED_SECONDS}
        views = {code: session.view.value for code, session in self._sessions.items()}
        ids = wanted(views, self._asked, self._id_of)
        for code, session in self._sessions.items():
            carried = share(session.broker, ids, self._instrument)
            before = self._shares.get(code)
            same = before is not None and set(before.listings) == set(carried.listings)
            if same and now - self._watched_at[code] < WATCH_AGAIN_SECONDS:
                continue
            self._shares[code] = carried
            self._watched_at[code] = now
            session.address.replace("watch", Watch(carried.listings))

    # Fetching

    def _start_fetch(self, message: FetchQuote, nursery: trio.Nursery) -> None:
        """Join a fetch that runs, or start one."""
        instrument_id = message.instrument.instrument_id
        waiting = self._fetching.setdefault(instrument_id, [])
        waiting.append(message.reply)
        if len(waiting) == 1:
            nursery.start_soon(self._fetch, message.instrument)

    async def _fetch(self, instrument: Instrument) -> None:
        stored = await self._stored_fetch(instrument)
        if stored is not None:
            done = FetchDone(instrument_id=instrument.instrument_id, found=Found(quote=stored, source="cache"))
        else:
            done = await fetch(self._sessions, instrument, self._clock)
        await self._mailbox.address.tell(done)

    async def _stored_fetch(self, instrument: Instrument) -> Quote | None:
        """Return a quote fetched before a restart, when it may still be served."""
        if self._book.fetched(instrument.instrument_id) is not None:
            return None  # the reader has seen it
        try:
            encoded = await self._store.get(keys.fetched_quote(instrument.instrument_id))
        except StoreError:
            return None
        quote = None if encoded is None else _decode(encoded)
        if quote is None or not may_serve(quote, instrument.identity, self._calendar, self._clock.epoch()):
            return None
        live = self._book.live(instrument.instrument_id)
        return quote if live is None or quote.received_at > live.received_at else None

    def _finish_fetch(self, done: FetchDone) -> None:
        waiting = self._fetching.pop(done.instrument_id, [])
        if done.found is None:
            sentence = sentences.every_broker_failed(done.failed) if done.failed else sentences.NO_BROKER
            for reply in waiting:
                reply.refuse(Refusal(503, sentence))
            return
        found = done.found
        if found.source == "broker":
            found = Found(quote=self._with_previous_close(done.instrument_id, found.quote), source="broker")
            encoded = msgspec.json.encode(found.quote)
            self._store.post(Set(keys.fetched_quote(done.instrument_id), encoded, FETCHED_SECONDS))
        self._book.keep_fetched(done.instrument_id, found.quote)
        for reply in waiting:
            reply.answer(found)

    def _with_previous_close(self, instrument_id: str, quote: Quote) -> Quote:
        """Keep the previous close of the cached quote it replaces, when both are of one India day (spec 1 §4.7, rule 4)."""
        cached = self._book.newest(instrument_id)
        if quote.tick.previous_close or cached is None or not cached.tick.previous_close:
            return quote
        if from_epoch(cached.received_at).date() != from_epoch(quote.received_at).date():
            return quote
        tick = msgspec.structs.replace(quote.tick, previous_close=cached.tick.previous_close)
        return msgspec.structs.replace(quote, tick=tick)


def _decode(encoded: bytes) -> Quote | None:
    try:
        return msgspec.json.decode(encoded, type=Quote)
    except msgspec.DecodeError:
        return None
