"""Watches the day's loss (order-engine 4.7). It follows the funds document, and the positions of brokers whose funds report no result. It keeps
the day's lock in the store and publishes why new orders are refused. The rules are in `actors/engine/context/day_loss.py`."""

import logging
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import msgspec
import trio

from onebroker.actors.engine.context.day_loss import DayLoss, Figure, Locked, LossFold
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.config.calendars import CALENDARS, Calendar
from onebroker.config.clock import Clock, from_epoch, latest_boundary
from onebroker.config.events import LossLevel, LossLock
from onebroker.config.instruments import TRADING_EXCHANGES

_log = logging.getLogger("onebroker.engine")

LOCK_KEPT_SECONDS = 2 * 86_400
RETRY_SECONDS = 1.0
LEVELS = (50, 80, 100)
"""Percents of the limit at which the loss is told, each once a day."""


class LossWatch:
    """Runs only when there is a limit."""

    def __init__(
        self,
        *,
        limit: Decimal,
        funds: Published[DocumentState | None],
        published: Published[DayLoss],
        store: Store,
        clock: Clock,
        calendar: Calendar,
        positions: Callable[[str], Figure | None],
        events: Events | None = None,
    ) -> None:
        self._limit = limit
        self._funds = funds
        self._published = published
        self._store = store
        self._clock = clock
        self._calendar = calendar
        self._positions = positions
        self._events = events or Events()
        self._untold: frozenset[str] = frozenset()
        self._level = 0
        """The highest of `LEVELS` that was told today, or 0."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._published.set(DayLoss(limit=self._limit))
        task_status.started()
        fold, day, version = LossFold(self._limit), None, -1
        while True:
            if version == self._funds.version:
                await self._funds.wait_newer(version)
            version, document = self._funds.version, self._funds.value
            if document is None:
                continue
            moment = from_epoch(document.as_of_epoch)
            today = latest_boundary(moment).date()
            if today != day:
                was_locked = fold.locked is not None
                fold.begin_day(today, await self._stored_lock(today))
                self._level = await self._stored_level(today)
                day = today
                if was_locked and fold.locked is None:
                    self._events.tell(LossLock(locked=False, loss=None, limit=self._limit))
            await self._follow(fold, document, moment)

    async def _follow(self, fold: LossFold, document: DocumentState, moment: datetime) -> None:
        """Fold one document and publish the result. A new lock refuses orders at once, and is on its way to disk before the next document."""
        was_locked = fold.locked is not None
        loss = fold.fold(document.reads, moment, opened=self._opened(moment), positions=self._positions)
        self._say_untold(fold.untold)
        known = loss if document.usable_brokers else None
        self._published.set(
            DayLoss(limit=self._limit, loss=known, figure_at=document.published_monotonic, locked=fold.locked)
        )
        if known is not None:
            self._tell_level(known, latest_boundary(moment).date())
        if fold.locked is not None and not was_locked:
            self._events.tell(LossLock(locked=True, loss=fold.locked.loss, limit=fold.locked.limit))
            await self._store_lock(latest_boundary(moment).date(), fold.locked)

    def _tell_level(self, loss: Decimal, day: date) -> None:
        """Tell the highest level that the loss has reached, if it was not told today; lower levels are then not told any more."""
        reached = max((percent for percent in LEVELS if loss * 100 >= self._limit * percent), default=0)
        if reached > self._level:
            self._level = reached
            self._events.tell(LossLevel(percent=reached, loss=loss, limit=self._limit))
            self._store.post(Set(keys.loss_level(day.isoformat()), b"%d" % reached, LOCK_KEPT_SECONDS))

    def _say_untold(self, untold: frozenset[str]) -> None:
        """When they change, log the brokers without which the day's loss is not known."""
        if untold != self._untold:
            self._untold = untold
            if untold:
                _log.warning(
                    "no profit or loss of the day is told at %s: new orders are refused", ", ".join(sorted(untold))
                )
            else:
                _log.info("the day's profit and loss is known again")

    def _opened(self, moment: datetime) -> bool:
        """Tell whether any market has opened on the broking day of `moment`."""
        day = latest_boundary(moment).date()
        return any(
            session.opens <= moment
            for exchange in TRADING_EXCHANGES
            for calendar in CALENDARS
            for session in self._calendar.sessions(exchange, calendar, day)
        )

    async def _stored_lock(self, day: date) -> Locked | None:
        body = await self._stored(keys.lockout(day.isoformat()))
        return None if body is None else _decode(body)

    async def _stored_level(self, day: date) -> int:
        body = await self._stored(keys.loss_level(day.isoformat()))
        return 0 if body is None else int(body)

    async def _stored(self, key: str) -> bytes | None:
        """Read a key of the day. Until the store answers, no figure is published, so new orders wait for it."""
        while True:
            try:
                return await self._store.get(key)
            except StoreError:
                self._published.set(DayLoss(limit=self._limit))
                await trio.sleep(RETRY_SECONDS)

    async def _store_lock(self, day: date, locked: Locked) -> None:
        write = Set(keys.lockout(day.isoformat()), _encode(locked, self._clock.now()), LOCK_KEPT_SECONDS)
        try:
            await self._store.write(write)
        except StoreError:
            self._store.post(write)  # waits in memory until the store is back


def _encode(locked: Locked, now: datetime) -> bytes:
    return msgspec.json.encode({"loss": str(locked.loss), "limit": str(locked.limit), "locked_at": now.isoformat()})


def _decode(body: bytes) -> Locked:
    stored = msgspec.json.decode(body)
    return Locked(loss=Decimal(stored["loss"]), limit=Decimal(stored["limit"]))
