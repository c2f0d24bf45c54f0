"""Option chains for routes and streams: finds the contracts, reads the stored day candles, and builds in slices on the loop."""

from collections.abc import Generator
from datetime import date, datetime, time
from typing import TypeVar

import trio

from onebroker.actors.catalogue.interface import CatalogueState, Instrument, Snapshot
from onebroker.actors.chain.build import ChainBuild, Moment
from onebroker.actors.chain.contracts import ChainContracts, ChainName, find_contracts
from onebroker.actors.chain.day_candles import DayCandles
from onebroker.actors.chain.documents import Chain
from onebroker.actors.history.interface import HistoryStore
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.reader import Quotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.config.calendars import Calendar
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import calendar_of
from onebroker.config.messages import instruments as sentences
from onebroker.config.refusal import Refusal

T = TypeVar("T")

SLICE_SECONDS = 0.001
USUAL_CLOSE = time(15, 30)
"""The close of a day on which the calendar knows no session."""
MOST_REMEMBERED = 200
"""Chains of one mapping whose contracts are kept ready."""


class ReaderQuotes:
    """Stored quotes, from the reader that routes use."""

    def __init__(self, quotes: Quotes) -> None:
        self._quotes = quotes

    def stored(self, instrument: Instrument) -> Quote | None:
        return self._quotes.stored(instrument)

    def known(self, instrument_id: str) -> bool:
        return self._quotes.book.value.newest(instrument_id) is not None


class Chains:
    def __init__(
        self,
        *,
        quotes: Quotes,
        catalogue: Published[CatalogueState],
        calendar: Calendar,
        clock: Clock,
        history: HistoryStore | None,
        rate: float = 0.0,
    ) -> None:
        """`rate` is a fraction a year. Without `history` no day candle is known."""
        self._quotes = ReaderQuotes(quotes)
        self._catalogue = catalogue
        self._calendar = calendar
        self._clock = clock
        self._rate = rate
        self._candles = DayCandles(history, clock)
        self._snapshot: Snapshot | None = None
        self._contracts: dict[ChainName, ChainContracts] = {}

    async def chain(self, name: ChainName) -> Chain:
        """Return the chain as it is now. Raises Refusal 400, 404, or 503 without a mapping that can be read."""
        snapshot, contracts = self._find(name)
        try:
            return await self._build(name, snapshot, contracts)
        except OSError as error:  # the mapping's file is lost
            raise Refusal(503, sentences.file_unreadable(snapshot.mapping_date)) from error

    async def _build(self, name: ChainName, snapshot: Snapshot, contracts: ChainContracts) -> Chain:
        moment = self._moment(name.exchange, contracts.segment, date.fromisoformat(name.expiry_date))
        build = ChainBuild(name, snapshot, contracts, self._quotes, moment, self._rate)
        chosen = await self._in_slices(build.strikes())
        candles = await self._candles.of(await self._in_slices(build.instrument_ids(chosen)))
        return await self._in_slices(build.chain(chosen, candles))

    async def _in_slices(self, steps: Generator[None, None, T]) -> T:
        """Run steps to their end; after SLICE_SECONDS of work other tasks run."""
        began = self._clock.thread_seconds()
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            if self._clock.thread_seconds() - began >= SLICE_SECONDS:
                await trio.lowlevel.checkpoint()
                began = self._clock.thread_seconds()

    def check(self, name: ChainName) -> None:
        """Raise what `chain` would raise of a chain that is not listed."""
        self._find(name)

    def instrument_ids(self, name: ChainName, chain: Chain) -> list[str]:
        """Return the instruments whose quotes make a chain: its options, and the futures that tell where the money is."""
        _, contracts = self._find(name)
        cells = [cell for row in chain.rows for cell in (row.ce, row.pe) if cell is not None]
        futures = {future.instrument_id for future in (contracts.future, contracts.near_future) if future is not None}
        return [*futures, *(cell.instrument_id for cell in cells)]

    def _find(self, name: ChainName) -> tuple[Snapshot, ChainContracts]:
        snapshot = self._catalogue.value.latest
        if snapshot is None:
            raise Refusal(503, sentences.NEVER_MAPPED)
        if snapshot is not self._snapshot or len(self._contracts) >= MOST_REMEMBERED:
            self._snapshot = snapshot
            self._contracts = {}
        contracts = self._contracts.get(name)
        if contracts is None:
            contracts = self._contracts[name] = find_contracts(name, snapshot)
        return snapshot, contracts

    def _moment(self, exchange: str, segment: str, expiry: date) -> Moment:
        name, now = calendar_of(segment), self._clock.now()
        is_open = self._calendar.is_open(exchange, name, now)
        closed = None if is_open else self._calendar.last_close(exchange, name, now)
        sessions = self._calendar.sessions(exchange, name, expiry)
        return Moment(
            now=self._clock.epoch(),
            market_open=is_open,
            last_close=None if closed is None else closed.timestamp(),
            expires_at=sessions[-1].closes if sessions else datetime.combine(expiry, USUAL_CLOSE, IST),
        )
