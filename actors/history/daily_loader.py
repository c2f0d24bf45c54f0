"""The daily load of day candles: after each market's close, including the days missed while the service was away.

It reads the instruments that already have day candles, and those that are open, held or followed. The durable store keeps the progress
by market. A day counts as loaded when no later try can bring more. While a market is open, none of its candles are read; an unfinished
load continues after the close.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import date

import attrs
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.history import daily_schedule
from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.candle_jobs import Job, Outcome, Part
from onebroker.actors.history.candle_run import BROKEN, CandleRunContext, Gathering, Orders, all_factors, can_read
from onebroker.actors.history.daily_schedule import Market, Underway, market_name, market_of
from onebroker.actors.history.selection import Choosing
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Durable, DurableError
from onebroker.actors.store.durable_history import DailyLoad
from onebroker.config.calendars import Calendar
from onebroker.config.intervals import DAY

START_SECONDS = 60.0
"""Time after a start in which sessions log in and read what is held, before the first look."""
LOOK_SECONDS = 60.0
"""Seconds between two checks of the calendar for markets whose day is over."""

_log = logging.getLogger("onebroker.history")


@attrs.frozen(kw_only=True)
class MarketView:
    """The state of the daily load of one market."""

    last_day: date | None
    """All days up to this one are loaded; None = nothing was ever loaded."""
    loaded_at: float | None
    """Epoch seconds."""
    instruments: int
    failed: int
    """How many of these instruments have no readable candles at any broker."""
    next_due: float | None
    """Epoch seconds; in the past when the load is overdue."""
    trouble: str | None
    """Why the last try did not complete a day."""


@attrs.frozen(kw_only=True)
class CollectorView:
    """The published state of the daily loads."""

    markets: Mapping[str, MarketView] = attrs.field(factory=dict)
    loading: str | None = None
    """The market that is being loaded now."""


class DailyLoader:
    """Runs for the life of the service."""

    def __init__(
        self,
        *,
        context: CandleRunContext,
        choosing: Choosing,
        catalogue: Published[CatalogueState],
        durable: Durable,
        calendar: Calendar,
        view: Published[CollectorView],
    ) -> None:
        self._context = context
        self._choosing = choosing
        self._catalogue = catalogue
        self._durable = durable
        self._calendar = calendar
        self._clock = context.clock
        self._view = view
        self._loads: dict[str, DailyLoad] | None = None
        """None until the durable store could be read."""
        self._underway: dict[Market, Underway] = {}

    async def run(self) -> None:
        await trio.sleep(START_SECONDS)
        while True:
            if await self._recall():
                for market in daily_schedule.markets(self._calendar):
                    await self._turn(market)
                self._show(None)
            await trio.sleep(LOOK_SECONDS)

    async def _recall(self) -> bool:
        if self._loads is None:
            try:
                self._loads = {load.market: load for load in await self._durable.daily_loads()}
            except DurableError as error:
                _log.warning("how far the daily load has come cannot be read: %s", error)
        return self._loads is not None

    def _load_of(self, market: Market) -> DailyLoad | None:
        return None if self._loads is None else self._loads.get(market_name(market))

    def _loaded(self, market: Market) -> date | None:
        load = self._load_of(market)
        return None if load is None else load.last_day

    async def _turn(self, market: Market) -> None:
        """Load the due days of a market, if there are any and the market may be loaded now."""
        through = daily_schedule.last_ended_day(self._calendar, market, self._clock.now())
        if through is None or not self._may_load(market):
            return
        days = daily_schedule.missed_days(self._calendar, market, self._loaded(market), through)
        if days is None:
            self._underway.pop(market, None)
            return
        under = self._underway.get(market)
        if under is None or under.through != through:
            under = self._underway[market] = Underway(through=through)
        if self._clock.monotonic() < under.retry_at or not self._ready(under):
            return
        self._show(market)
        try:
            await self._load(market, days, under)
        except BROKEN as error:
            self._put_off(under, str(error))

    def _may_load(self, market: Market) -> bool:
        return daily_schedule.may_load(self._calendar, market, self._clock.now())

    def _ready(self, under: Underway) -> bool:
        """Tell whether there is a mapping to name instruments by, a broker to ask, and room on the disk. A missing one is not a failure."""
        if self._catalogue.value.latest is None:
            under.trouble = "no instruments have been mapped yet"
        elif not any(can_read(session) for session in self._context.sessions.values()):
            under.trouble = "no broker has a login"
        elif (refusal := self._context.room.value.refusal) is not None:
            under.trouble = refusal
        else:
            return True
        return False

    def _put_off(self, under: Underway, trouble: str) -> None:
        under.failures += 1
        under.retry_at = self._clock.monotonic() + daily_schedule.retry_seconds(under.failures)
        if trouble != under.trouble:
            _log.warning("day candles of %s are not complete and are tried again: %s", under.through, trouble)
        under.trouble = trouble

    async def _load(self, market: Market, days: tuple[date, date], under: Underway) -> None:
        standing = await self._choosing.standing(DAY)
        wanted = [instrument for instrument in standing if market_of(instrument.identity) == market]
        left = [instrument for instrument in wanted if instrument.instrument_id not in under.read]
        outcomes: list[Outcome] = []

        async def taken(part: Part) -> None:
            outcomes.extend(part.outcomes)

        orders = Orders(
            jobs=[Job(instrument=instrument, interval=DAY, first=days[0], last=days[1]) for instrument in left],
            codes=tuple(self._context.sessions),
            factors=await all_factors(self._durable),
            stop=lambda: not self._may_load(market),
            taken=taken,
            stepped=lambda: None,
        )
        await Gathering(self._context, orders).run()
        trouble = _note(outcomes, under)
        if len(outcomes) < len(left):
            under.trouble = "the market opened; it goes on after the close"
        elif trouble is not None:
            self._put_off(under, trouble)
        else:
            await self._complete(market, under, len(wanted))

    async def _complete(self, market: Market, under: Underway, instruments: int) -> None:
        load = DailyLoad(
            market=market_name(market),
            last_day=under.through,
            loaded_at=self._clock.epoch(),
            instruments=instruments,
            failed=len(under.failed),
        )
        await self._durable.put_daily_load(load)
        self._loads = {**(self._loads or {}), load.market: load}
        del self._underway[market]
        _log.info("day candles of %s are loaded up to %s: %s instruments", load.market, load.last_day, instruments)

    # What is shown

    def _show(self, loading: Market | None) -> None:
        self._view.set(
            CollectorView(
                markets={
                    market_name(market): self._market_view(market) for market in daily_schedule.markets(self._calendar)
                },
                loading=None if loading is None else market_name(loading),
            )
        )

    def _market_view(self, market: Market) -> MarketView:
        load, under = self._load_of(market), self._underway.get(market)
        due = daily_schedule.next_due(self._calendar, market, self._loaded(market), self._clock.now())
        return MarketView(
            last_day=None if load is None else load.last_day,
            loaded_at=None if load is None else load.loaded_at,
            instruments=0 if load is None else load.instruments,
            failed=0 if load is None else load.failed,
            next_due=None if due is None else due.timestamp(),
            trouble=None if under is None else under.trouble,
        )


def _note(outcomes: Sequence[Outcome], under: Underway) -> str | None:
    """Note which instruments need no further try; return why the others need one, or None."""
    trouble: str | None = None
    for outcome in outcomes:
        instrument_id = outcome.instrument_id
        if outcome.later:
            trouble = outcome.trouble
        elif outcome.trouble is not None:
            under.read.add(instrument_id)
            under.failed.add(instrument_id)
        elif outcome.newest is not None and outcome.newest >= day_start(under.through):
            under.read.add(instrument_id)
        else:
            under.empty[instrument_id] = under.empty.get(instrument_id, 0) + 1
            if under.empty[instrument_id] < daily_schedule.MOST_EMPTY_TRIES:
                trouble = trouble or f"{outcome.name} and maybe others have no candle of {under.through} yet"
                continue
            under.read.add(instrument_id)
            if outcome.refused:
                under.failed.add(instrument_id)
    return trouble
