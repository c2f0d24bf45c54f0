"""Each order type played in the plan's machine over a course of the market, for the drawings: what its orders and its waiting parts do
from minute to minute. The broker fills an order when the market reaches its price. Pure: no service runs.

A type's own example is played. Where the example stands still, as it must for the tests over HTTP, `Course.settings` or `Course.body`
say otherwise, and the drawing says so too.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, TypeAlias

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import Holding, PartState, RowToClose
from onebroker.actors.engine.plan.execution_kinds import BookDepth
from onebroker.actors.engine.plan.machine.exposure import with_nets
from onebroker.actors.engine.plan.machine.leg_actions import Leg, ReadRows
from onebroker.actors.engine.plan.machine.look import Rules
from onebroker.actors.engine.plan.machine.position_closes import FoundRows, with_rows
from onebroker.actors.engine.plan.market import AccountFigures
from onebroker.actors.engine.plan.parts import (
    BarClosed,
    FromExposure,
    Lifetime,
    OrderPart,
    PriceAt,
    TimeOfDay,
    Units,
    orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.plan.pricing.black76 import Option
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.clock import IST, from_epoch
from tests.actors.engine.plan.world import MORNING, Runner
from tests.support.order_type_pages import OTHER, example_of, order_of
from tests.support.type_courses import COURSES, Course, at
from tests.support.type_examples import Example
from tests.support.typed import running

What: TypeAlias = Literal["level", "held", "time"]
End: TypeAlias = Literal["filled", "cancelled", "expired", "rests"]

HALF_SPREAD = 0.05
STEPS = 240
"""Steps in which a course is played."""


@attrs.define(kw_only=True)
class Rested:
    """An order at a broker: its levels from minute to minute, and its end."""

    side: str
    quantity: int
    stop: bool
    """Whether its level is a stop's trigger."""
    own: bool
    """Whether it is in the share; else in another instrument."""
    levels: list[tuple[float, float]]
    crossing: bool
    """Whether the market could fill it at once when it left."""
    end: End = "rests"
    ended: tuple[float, float] | None = None
    """(minute, price) of its end."""
    fired: tuple[float, float] | None = None


@attrs.define(kw_only=True)
class Waited:
    """A price or a time for which a part waits in the engine."""

    what: What
    value: float
    """A price; of a time the minute."""
    side: str
    words: str
    """What stands before its price."""
    begin: float
    end: float
    fired: bool = False


@attrs.frozen(kw_only=True)
class Played:
    course: Course
    rested: tuple[Rested, ...]
    waited: tuple[Waited, ...]


def tick(value: float) -> float:
    return round(round(value * 20) / 20, 2)


def _level(leg: Leg) -> float:
    """Return the price at which an order waits: of a stop its trigger."""
    return float(leg.trigger if leg.trigger is not None else leg.price or 0)


class Player:
    """Plays one order over its course."""

    def __init__(self, name: str, course: Course) -> None:
        preset = PRESETS[name]
        own = example_of(name)
        example = Example(
            settings={**own.settings, **course.settings}, body={**own.body, **course.body}, status=own.status,
            instrument=own.instrument,
        )  # fmt: skip
        self.course = course
        self.run: Runner = running(order_of(preset, example), rules=Rules(changes_per_order={"alpha": 10_000}))
        self.share = "O" if own.instrument == "option" else "I"
        self.minute = course.begin
        self.rested: dict[str, Rested] = {}
        self.waited: dict[tuple[str, str, float], Waited] = {}
        self.fired: set[str] = set()
        self._prepare()

    def _prepare(self) -> None:
        world = self.run.world
        world.now = MORNING + self.course.begin * 60
        self.run.started = MORNING
        world.fill_prices = {}
        if self.course.freeze is not None:
            world.freezes["I"] = self.course.freeze
        world.options["O"] = Option(strike=100.0, call=True, expires=from_epoch(MORNING + 30 * 86_400))

    def play(self) -> Played:
        course = self.course
        step = (course.end - course.begin) / STEPS
        minutes = [course.begin + number * step for number in range(STEPS + 1)]
        for minute in minutes:
            if course.cut and course.cut[0] < minute < course.cut[1]:
                self._night()
                continue
            self._come_to(minute)
        return Played(course=course, rested=tuple(self.rested.values()), waited=tuple(self.waited.values()))

    def _come_to(self, minute: float) -> None:
        self.minute = minute
        self._broker()
        self._quotes()
        if self.run.outcome is not None:
            self._answered(lambda: self.run.at(minute * 60))
        self._note()

    def _night(self) -> None:
        for leg in self.run.resting:
            self.run.book(leg.leg_id, LegState.EXPIRED.value)
            self._end(leg, "expired", _level(leg))

    # --- the market ------------------------------------------------------------------------------------------------

    @property
    def price(self) -> float:
        return tick(at(self.course.share, self.minute))

    def _quotes(self) -> None:
        world, course = self.run.world, self.course
        world.now = max(world.now, MORNING + self.minute * 60)
        figure = at(course.other, self.minute) if course.other else 100.0
        if course.other and course.figure == "account":
            zero = Decimal(0)
            world.figures = AccountFigures(
                realized_pnl=zero, unrealized_pnl=Decimal(round(figure)), available_balance=zero, total_balance=zero, margin_utilized=zero,
            )  # fmt: skip
        if course.other and course.figure == "joint":
            world.joint = round(figure)
        other = tick(figure) if course.figure == "price" else 100.0
        for of in ("N", OTHER.instrument_id, "O" if self.share == "I" else "I"):
            self._quote(of, other)
        self._quote(self.share, self.price)

    def _quote(self, of: str, price: float) -> None:
        volume = round(self.course.volume * (self.minute - self.course.begin)) if self.course.volume else None
        bid, offer = tick(price - HALF_SPREAD), tick(price + HALF_SPREAD)
        self._answered(lambda: self.run.quote(price, bid, offer, of=of, volume=volume))

    def _answered(self, look: Any) -> None:
        """Look, and hand over the positions that the machine asks for."""
        look()
        for _ in range(5):
            asked = (
                [one.part for one in self.run.outcome.actions if isinstance(one, ReadRows)] if self.run.outcome else []
            )
            if not asked:
                return
            for path in asked:
                self._positions(path)
            self.run.look()

    def _positions(self, path: str) -> None:
        run, now = self.run, self.run.world.now
        part = next(part for part in orders_of(run.root) if part.path == path)
        net = self.course.position + sum(
            leg.filled * (1 if leg.side == "BUY" else -1) for leg in run.legs if leg.part == path and leg.state.final
        )
        key = Holding("alpha", self.share, "intraday").key
        if isinstance(part.quantity, FromExposure):
            of = part.quantity.instruments[0].instrument_id
            own = net - self.course.position
            run.parts[path] = with_nets(run.parts[path], {of: self.course.position, self.share: own}, ("alpha",), now)
            return
        ratio = getattr(part.quantity, "ratio", 1)
        rows = (
            RowToClose(
                key=key, broker="alpha", instrument_id=self.share, product="MIS", quantity=net, units=abs(net) * ratio
            ),
        )
        legs = [leg for leg in run.legs if leg.part == path]
        found = FoundRows(rows=rows if net else (), nets={key: net}, message=None, at=now)
        run.parts[path] = with_rows(run.parts[path], legs, (), found)

    # --- the broker ------------------------------------------------------------------------------------------------

    def _broker(self) -> None:
        """Confirm cancels, fire stops, and fill one order of each part that the market has reached."""
        done: set[str] = set()
        for leg in list(self.run.legs):
            if leg.state is LegState.CANCELLING:
                self._answered(lambda leg=leg: self.run.book(leg.leg_id, LegState.CANCELLED.value))
                self._end(leg, "cancelled", _level(leg))
                continue
            if not leg.live or leg.part in done:
                continue
            filled_at = self._filled_at(leg)
            if filled_at is not None:
                done.add(leg.part)
                self.run.world.fill_prices = {**self.run.world.fill_prices, leg.leg_id: Decimal(str(filled_at))}
                self._answered(lambda leg=leg, price=filled_at: self.run.book(leg.leg_id, "complete", average=price))
                self._end(leg, "filled", filled_at)

    def _filled_at(self, leg: Leg) -> float | None:
        """Return the price at which the market of now fills an order; None = it does not."""
        buy = leg.side == "BUY"
        if leg.instrument_id != self.share:
            return (
                tick(at(self.course.other, self.minute))
                if self.course.other and self.course.figure == "price"
                else 100.0
            )
        touch = self.price + (HALF_SPREAD if buy else -HALF_SPREAD)
        if leg.trigger is not None and leg.leg_id not in self.fired:
            if (self.price < float(leg.trigger)) if buy else (self.price > float(leg.trigger)):
                return None
            self.fired.add(leg.leg_id)
            self.rested[leg.leg_id].fired = (self.minute, float(leg.trigger))
        limit = float(leg.price) if leg.price is not None else touch
        reached = touch <= limit + 1e-9 if buy else touch >= limit - 1e-9
        if not reached:
            return None
        return tick(touch if self.rested[leg.leg_id].crossing or leg.trigger is not None else limit)

    def _end(self, leg: Leg, end: End, price: float) -> None:
        rested = self.rested[leg.leg_id]
        rested.end, rested.ended = end, (self.minute, price)

    # --- what is noted ---------------------------------------------------------------------------------------------

    def _note(self) -> None:
        for leg in self.run.legs:
            level = _level(leg)
            rested = self.rested.get(leg.leg_id)
            if rested is None:
                own = leg.instrument_id == self.share
                crossing = level > self.price if leg.side == "BUY" else level < self.price
                self.rested[leg.leg_id] = Rested(
                    side=leg.side, quantity=leg.quantity, stop=leg.trigger is not None, own=own,
                    levels=[(self.minute, level)], crossing=crossing and leg.trigger is None,
                )  # fmt: skip
            elif rested.ended is None and rested.levels[-1][1] != level:
                rested.levels.append((self.minute, level))
        for order in orders_of(self.run.root):
            self._note_waiting(order)
        for part in walk(self.run.root):
            if part.lifetime is not None and self._started(part.path):
                self._note_lifetime(part.path, part.lifetime)

    def _started(self, path: str) -> bool:
        record = self.run.parts.get(path)
        return record is not None and record.state is not PartState.PENDING and not record.state.final

    def _note_waiting(self, part: OrderPart) -> None:
        record = self.run.parts.get(part.path)
        state = record.state if record is not None else None
        size = f" {part.quantity.quantity}" if isinstance(part.quantity, Units) else ""
        now: dict[tuple[str, What, float], str] = {}
        if state is PartState.HELD and isinstance(part.price, Fixed):
            now[part.path, "held", float(part.price.price)] = f"{part.transaction_type}{size} held at"
        if (
            state is PartState.WAITING
            and isinstance(part.when, PriceAt | BarClosed)
            and part.when.instrument_id == self.share
        ):
            bar = "a bar that closes past" if isinstance(part.when, BarClosed) else ""
            now[part.path, "level", float(part.when.level)] = f"waits for {bar}".strip()
        if (
            isinstance(part.execution, BookDepth)
            and state in (PartState.WAITING, PartState.WORKING)
            and not self.run.legs
        ):
            now[part.path, "level", float(part.execution.limit_price)] = "waits for enough size at"
        if state is PartState.WAITING and isinstance(part.when, TimeOfDay):
            now[part.path, "time", self._minute_of(part.when.at, part.when.day)] = ""
        for known, wait in self.waited.items():
            if (
                known[0] == part.path
                and known not in now
                and not wait.fired
                and wait.end >= self.minute - self._step * 1.5
            ):
                wait.fired = state not in (PartState.CANCELLED, PartState.EXPIRED) or wait.fired
                wait.end = wait.end if wait.what == "time" else self.minute
        for (path, what, value), words in now.items():
            wait = self.waited.setdefault(
                (path, what, value),
                Waited(
                    what=what,
                    value=value,
                    side=part.transaction_type,
                    words=words,
                    begin=self.minute,
                    end=self.minute,
                ),
            )
            wait.end = self.minute

    @property
    def _step(self) -> float:
        return (self.course.end - self.course.begin) / STEPS

    def _note_lifetime(self, path: str, lifetime: Lifetime) -> None:
        if lifetime.at_time is not None:
            minute = self._minute_of(lifetime.at_time, None)
        elif lifetime.after_minutes is not None:
            minute = self.course.begin + float(lifetime.after_minutes)
        else:
            return
        self.waited.setdefault(
            (path, "life", minute),
            Waited(what="time", value=minute, side="", words="", begin=self.minute, end=minute),
        )

    def _minute_of(self, time: Any, day: str | None) -> float:
        today = from_epoch(MORNING + self.course.begin * 60).astimezone(IST).date()
        date = today if day is None else datetime.fromisoformat(day).date()
        return (datetime.combine(date, time, IST).timestamp() - MORNING) / 60


def play(name: str) -> Played:
    return Player(name, COURSES[name]).play()
