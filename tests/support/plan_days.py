"""A day of plans that is played from a list of steps: placings, fills of any size, races, faults, outages, kills and restarts, in any
order. Whatever a test draws is played the same way again. `play` ends with everything healed and at rest."""

import contextlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias, cast

import attrs
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.actors.engine.plan.reading.reading_context import Defaults, World
from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.sessions.messages import LoginNeeded
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import SimOrder, SimRefusal, SimStatus
from onebroker.config.calendars import CALENDARS, Calendar
from onebroker.config.events import OrderChangedElsewhere, OrderTakenBack
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.refusal import Refusal
from onebroker.config.timetables import Hours, Timetable
from tests.support.day import Day
from tests.support.engine_orders import ticks
from tests.support.mortal import mortal
from tests.support.plan_shapes import priced

UNTIL_HEALED_SECONDS = 100
"""An order of unknown outcome is settled a minute after the first book without it."""
UNTIL_RUNNING_SECONDS = 40
BEAT_SECONDS = 1.0
SLOW_BEATS = 5
QUIET_SECONDS = 12
MOST_QUIET_SECONDS = 900
LATE_SECONDS = 0.4
"""How long a message is under way that a fill overtakes."""

Step: TypeAlias = tuple[str, object, object]
"""The name of a method of `Script`, and its two arguments."""
Life: TypeAlias = tuple[Sequence[tuple[Step, float]], str | None]
"""The steps, each with the seconds until the next one; and the death (see `mortal`), None for a life without one."""


def closing_at(moment: time) -> Calendar:
    """Return a calendar of days that close at that time."""
    timetable = Timetable(hours=(Hours("normal", time(0, 0), moment),), weekdays=frozenset(range(7)))
    return Calendar({(exchange, calendar): timetable for exchange in TRADING_EXCHANGES for calendar in CALENDARS})


@attrs.frozen
class Known:
    """What a plan is read against."""

    day: Day
    brokers: tuple[str, ...] = ()
    freeze_table: dict[str, int] = attrs.field(factory=dict)

    @property
    def now(self) -> datetime:
        return self.day.clock.now()

    @property
    def mapping_date(self) -> date:
        return self.day.clock.today()

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.day.snapshot.instrument(instrument_id)


class Script:
    """One day's steps, each in a task of its own."""

    def __init__(self, day: Day) -> None:
        self.day = day
        self.parents: list[str] = []
        """(parent id, paths of its parts) in the order of their placing."""
        self.resized: set[str] = set()
        self.changed = False
        self.intents = 0
        self.logged_in = False
        self.share: Instrument | None = None
        self.second: Instrument | None = None
        self.slow = False
        """Whether the market moves seldom: only its end is waited for."""

    def begin(self) -> None:
        """Hold the market of the two shares that are traded where it is."""
        self.share, self.second = self.day.equity(0), self.day.equity(1)
        self.tick = Decimal(repr(self.share.tick_size))
        self.start = ticks(self.day, self.share, 0)
        for share in (self.share, self.second):
            self.day.simulator.set_price(share.instrument_id, ticks(self.day, share, 0), 86_400)

    @property
    def instruments(self) -> list[str]:
        return [share.instrument_id for share in (self.share, self.second) if share is not None]

    def can_trade(self) -> bool:
        return self.day.status.value.running and all(map(self.day.quotes.usable_tick, self.instruments))

    def at(self, percent: float) -> Decimal:
        return (self.start * (100 + Decimal(str(percent))) / 100 / self.tick).quantize(Decimal(1)) * self.tick

    def span(self, percent: float) -> Decimal:
        return max(self.tick, self.at(percent) - self.start)

    async def step(self, verb: str, first: object, second: object) -> None:
        with contextlib.suppress(ActorNotRunning, AskTimedOut, LoginNeeded, Refusal, SimRefusal):
            await getattr(self, verb)(first, second)

    # --- what callers do --------------------------------------------------------------------------------------------

    async def place(self, synthetic: Mapping[str, Any], _: object) -> None:
        assert self.share is not None
        assert self.second is not None
        given: dict[str, Any] = priced(
            synthetic,
            lambda percent: float(self.at(percent)),
            lambda percent: float(self.span(percent)),
            self.second.instrument_id,
        )
        defaults = Defaults(
            instrument=self.share,
            transaction_type="BUY",
            product="MIS",
            order_type="LIMIT",
            quantity=30,
            price=self.at(0),
        )
        known = cast(World, Known(self.day, brokers=self.day.codes))  # only presets ask the rest, and there are none
        root = read_plan(given, defaults, known, {})
        body = self.day.body(
            self.share, product="MIS", price=self.at(0), quantity=30, plan=root, sent=given,
            closes_position=given.get("closes_position", False),
        )  # fmt: skip
        await self._send(body)

    async def simple(self, side: str, percent: float) -> None:
        assert self.share is not None
        await self._send(
            self.day.body(self.share, transaction_type=side, product="MIS", price=self.at(percent), quantity=200)
        )

    async def _send(self, body: PlaceBody) -> None:
        self.intents += 1
        answer = await self.day.place(body, intent_id=f"i-{self.intents}")
        if answer.body.get("parent_id"):
            self.parents.append(answer.body["parent_id"])

    def _one(self, which: int, status: SimStatus | None = None) -> SimOrder | None:
        """Return an order of ours that works at the exchange (in that status), newest first; None when there is none."""
        mine = {(one["broker"], one["order_id"]) for one in self.day.messages("place")}
        working = [
            order for order in reversed(self.day.exchange.all_orders())
            if not order.status.finished
            and status in (None, order.status)
            and (order.broker, order.order_id) in mine
        ]  # fmt: skip
        return working[which % len(working)] if working else None

    async def cancel(self, which: int, _: object) -> None:
        order = self._one(which)
        if order is not None:
            await self.day.cancel(order.order_id, broker=order.broker)

    async def modify(self, which: int, change: Mapping[str, Any]) -> None:
        order = self._one(which)
        if order is None:
            return
        values: dict[str, Any] = {
            name: self.at(value) if name != "quantity" else value for name, value in change.items()
        }
        if values.get("quantity", 0) > order.quantity:
            self.resized.update(self.parents)
        self.changed = True
        await self.day.modify(order.order_id, broker=order.broker, **values)

    async def stop(self, which: int, path: str | None) -> None:
        """Cancel a parent, or the part of it that stands there."""
        if self.parents:
            await self.day.stop(self.parents[which % len(self.parents)], part=path)

    async def modify_held(self, which: int, change: Mapping[str, Any]) -> None:
        if self.parents:
            values: dict[str, Any] = {
                name: self.at(value) if name != "quantity" else value for name, value in change.items()
            }
            self.resized.update(self.parents)
            self.changed = True
            await self.day.modify_held(self.parents[which % len(self.parents)], **values)

    async def flatten(self, *_: object) -> None:
        await self.day.flatten()

    # --- what the market and the brokers do -------------------------------------------------------------------------

    async def move(self, percent: float, second: bool) -> None:
        share = self.second if second else self.share
        assert share is not None
        price = self.at(percent) if share is self.share else ticks(self.day, share, percent)
        with contextlib.suppress(ValueError):  # beyond the day's circuit limits
            self.day.simulator.set_price(share.instrument_id, price, 86_400)
        await trio.lowlevel.checkpoint()

    async def fill(self, which: int, units: int | None) -> None:
        """Let the market trade with one of our orders; `units` None = all of it."""
        order = self._one(which, SimStatus.OPEN)
        if order is not None:
            trade(self.day, order, order.pending_quantity if units is None else min(units, order.pending_quantity))
        await trio.lowlevel.checkpoint()

    async def end_outside(self, which: int, _: object) -> None:
        """The account's holder cancels an order at the broker."""
        order = self._one(which)
        if order is not None:
            self.day.exchange.cancel(self.day.exchange.account(order.broker), order.order_id)
        await trio.lowlevel.checkpoint()

    async def overtake(self, verb: str, which: int) -> None:
        """A message of a caller is under way while the order it is about fills, wholly or in part."""
        order = self._one(which)
        if order is None:
            return
        self.day.simulator.fault("all", FaultKind.LATENCY, seconds=LATE_SECONDS / 2, delay_seconds=LATE_SECONDS)
        async with trio.open_nursery() as nursery:
            match verb:
                case "modify":
                    nursery.start_soon(self.step, "modify", which, {"quantity": 5})
                case "stop":
                    nursery.start_soon(self.step, "stop", which, None)
                case _:
                    nursery.start_soon(self.step, "cancel", which, None)
            await trio.sleep(LATE_SECONDS / 2)
            now = self.day.exchange.account(order.broker).entry(order.order_id).order
            if now.status is SimStatus.OPEN:
                trade(self.day, now, max(1, now.pending_quantity // (1 + which % 2)))

    async def fault(self, kind: str, seconds: float) -> None:
        self.day.simulator.fault("all", FaultKind(kind), seconds=seconds)
        await trio.lowlevel.checkpoint()

    async def once(self, kind: str, count: int) -> None:
        """A fault that strikes so often, however long it takes."""
        self.day.simulator.fault("all", FaultKind(kind), count=count)
        await trio.lowlevel.checkpoint()

    async def outage(self, broker: int, seconds: float) -> None:
        """Neither book nor stream of a broker tells anything; its orders work on."""
        code = self.day.codes[broker % len(self.day.codes)]
        for kind in (FaultKind.STALL_STREAM, FaultKind.HTTP_500):
            self.day.simulator.fault(code, kind, seconds=seconds)
        await trio.lowlevel.checkpoint()

    async def lose_store(self, error: str, seconds: float) -> None:
        self.day.store.fail_with(StoreError(error))
        try:
            await trio.sleep(seconds)
        finally:
            self.day.store.come_back()

    async def lose_answer(self, *_: object) -> None:
        self.day.store.lose_next_answer()
        await trio.lowlevel.checkpoint()


def trade(day: Day, order: SimOrder, units: int) -> None:
    """Let the market's own flow trade so many units with a resting order, at its price."""
    day.exchange.fill(order.broker, order.order_id, units)


async def play(day: Day, lives: Sequence[Life]) -> Script:
    """Play the steps of each life, which ends at its death or when its steps are over; then heal everything and wait until nothing
    moves any more. Return the script."""
    script = Script(day)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(beating_market, script)
        for steps, death in lives:
            await live(script, steps, death)
            day.store.come_back()
        day.simulator.faults.heal()
        script.slow = True
        async with day.service(log_in=not script.logged_in, quotes=True):
            await day.until(lambda: day.status.value.running, UNTIL_HEALED_SECONDS)
            await trio.sleep(UNTIL_HEALED_SECONDS)
            await quiet(day)
        nursery.cancel_scope.cancel()
    said_of_others = [event for event in day.heard if isinstance(event, OrderChangedElsewhere | OrderTakenBack)]
    assert said_of_others == [], said_of_others
    return script


async def beating_market(script: Script) -> None:
    """The market's beat (`Simulator.run_market`), which slows down once nothing but the end is waited for."""
    simulator, beats = script.day.simulator, 0
    while True:
        await trio.sleep(BEAT_SECONDS)
        beats += 1
        if not script.slow or beats % SLOW_BEATS == 0:
            moved = simulator.exchange.step() & frozenset(script.instruments)
            for gateway in simulator.gateways.values():
                gateway.markets_moved(moved)
        for gateway in simulator.gateways.values():
            gateway.beat()


async def live(script: Script, steps: Sequence[tuple[Step, float]], death: str | None) -> None:
    """Run a service, and in it the steps, until they are over or the service dies."""
    day = script.day
    with mortal(day, death) as life:
        async with trio.open_nursery() as outer:

            async def serve() -> None:
                async with day.service(log_in=not script.logged_in, quotes=True), trio.open_nursery() as nursery:
                    if not script.logged_in:
                        script.begin()
                        script.logged_in = True
                        await trio.sleep(1)
                        life.count()
                    with day.quotes.follow(script.instruments), trio.move_on_after(UNTIL_RUNNING_SECONDS):
                        await day.until(script.can_trade, 2 * UNTIL_RUNNING_SECONDS)
                    for step, pause in steps:
                        nursery.start_soon(script.step, *step)
                        await trio.sleep(pause)
                    nursery.cancel_scope.cancel()
                outer.cancel_scope.cancel()

            outer.start_soon(serve)
            await life.dead.wait()
            outer.cancel_scope.cancel()


async def quiet(day: Day) -> None:
    """Wait until neither orders nor fills nor records have changed for a while."""
    with trio.move_on_after(MOST_QUIET_SECONDS):
        while True:
            before = _marks(day)
            await trio.sleep(QUIET_SECONDS)
            if _marks(day) == before:
                return


def _marks(day: Day) -> tuple[int, int, int]:
    ledger = day.exchange.ledger
    return (
        ledger.next,
        len(ledger.fills()),
        sum(op.key.startswith("orders:parent") for ops in day.store.commits for op in ops if hasattr(op, "value")),
    )
