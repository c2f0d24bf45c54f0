"""What open parents had to do, by the ticks that the service received. Rules of a few lines each compute it independently.

The rules share no code with the engine. A rule sees every quote of the service in order (`watched_service`), and the latest quote of every
instrument. `Fires` says when an order had to leave; `Follows` says where a resting order had to be.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Protocol, TypeAlias

import attrs

BAR_EDGE_SECONDS = 0.1
"""A tick this near to the end of a bar may be counted on either side of it."""


@attrs.frozen
class Quoted:
    at: float
    """Monotonic seconds."""
    epoch: float
    instrument_id: str
    last_price: Decimal
    bid: Decimal | None
    offer: Decimal | None
    received_at: float
    """Monotonic seconds at which the session had decoded the tick."""
    broker: str


Latest: TypeAlias = Mapping[str, Quoted]
"""Instrument -> its present quote."""


class Condition(Protocol):
    """One awaited condition."""

    def true(self, latest: Latest, now: Quoted) -> bool:
        """Tell whether the condition is true. Called with every quote, of any instrument."""


@attrs.frozen
class Touch:
    """A field at or past a level."""

    instrument_id: str
    level: Decimal
    above: bool
    field: str = "last_price"

    def true(self, latest: Latest, now: Quoted) -> bool:
        value = getattr(latest.get(self.instrument_id), self.field, None)
        if value is None:
            return False
        return bool(value >= self.level if self.above else value <= self.level)


@attrs.frozen
class Either:
    conditions: Sequence[Condition]

    def true(self, latest: Latest, now: Quoted) -> bool:
        return any(condition.true(latest, now) for condition in self.conditions)


@attrs.define
class BarPast:
    """The last price of a complete bar past a level. Bars begin at whole multiples of their length."""

    instrument_id: str
    level: Decimal
    above: bool
    seconds: int
    uncertain: bool = False
    """Whether the result depended on a tick at the very edge of a bar."""
    _began: float | None = None
    _closes: set[Decimal] = attrs.field(factory=set)
    """The prices at which the bar may have closed."""
    _whole: bool = False

    def true(self, latest: Latest, now: Quoted) -> bool:
        if now.instrument_id != self.instrument_id:
            return False
        began = now.epoch // self.seconds * self.seconds
        closes, whole = self._closes, self._whole
        if began == self._began:
            at_edge = began + self.seconds - now.epoch < BAR_EDGE_SECONDS
            self._closes = {*(closes if at_edge else ()), now.last_price}
            return False
        at_edge = now.epoch - began < BAR_EDGE_SECONDS
        if at_edge:
            closes = {*closes, now.last_price}
        self._closes, self._whole, self._began = {now.last_price}, self._began is not None, began
        past = [close > self.level if self.above else close < self.level for close in closes]
        self.uncertain |= whole and any(past) and not all(past)
        return whole and bool(past) and all(past)


@attrs.define
class Fires:
    """An order that leaves once all stages came true, one after the other. One quote may be enough for several stages."""

    stages: Sequence[Condition]
    part: str | None = None
    """Path of the part that sends the order; None = the parent's first order."""
    immediate: bool = True
    """Whether the order needs no question and no cancel before it leaves, so that its latency is the service's own."""
    due: Quoted | None = None
    _done: int = 0

    def see(self, latest: Latest, now: Quoted) -> None:
        while self._done < len(self.stages) and self.stages[self._done].true(latest, now):
            self._done += 1
        if self.due is None and self._done == len(self.stages):
            self.due = now

    @property
    def earliest(self) -> float:
        """Monotonic seconds before which no order may leave. A bar holds the ticks received in it. It is over before the next tick shows that, and
        that tick may be folded in a while after it was received."""
        assert self.due is not None
        bars = [stage.seconds for stage in self.stages if isinstance(stage, BarPast)]
        return self.due.received_at - self.due.epoch % bars[0] if bars else self.due.at

    @property
    def uncertain(self) -> bool:
        return self.due is None and any(isinstance(stage, BarPast) and stage.uncertain for stage in self.stages)


@attrs.define
class Follows:
    """A resting order whose price or trigger is computed again at every quote."""

    price: "Price"
    field: str
    """Field of the exchange's order: `price` or `trigger_price`."""
    part: str | None = None
    wanted: list[tuple[float, Decimal]] = attrs.field(factory=list)
    """(monotonic seconds, value) of each change."""

    def see(self, latest: Latest, now: Quoted) -> None:
        value = self.price.at(latest, now)
        if value is not None and (not self.wanted or self.wanted[-1][1] != value):
            self.wanted.append((now.at, value))

    def within(self, first: float, last: float) -> set[Decimal]:
        """Return the values that were wanted at some moment between `first` and `last`."""
        before = [value for at, value in self.wanted if at <= first][-1:]
        return {*before, *(value for at, value in self.wanted if first < at <= last)}


class Price(Protocol):
    def at(self, latest: Latest, now: Quoted) -> Decimal | None:
        """Return the order's right price; None = unknown, or no price is wanted yet."""


def snapped(price: Decimal, tick: Decimal, *, up: bool) -> Decimal:
    """Return a price in whole ticks."""
    return (price / tick).quantize(Decimal(1), ROUND_CEILING if up else ROUND_FLOOR) * tick


@attrs.define
class Trailed:
    """A stop at a given distance behind the best last price. It never moves back."""

    instrument_id: str
    tick: Decimal
    sell: bool
    points: Decimal = Decimal(0)
    percent: Decimal = Decimal(0)
    activate_at: Decimal | None = None
    best: Decimal | None = None
    stop: Decimal | None = None

    def at(self, latest: Latest, now: Quoted) -> Decimal | None:
        if now.instrument_id == self.instrument_id and self._active(now.last_price):
            last = now.last_price
            self.best = last if self.best is None else max(self.best, last) if self.sell else min(self.best, last)
            away = self.points + self.best * self.percent / 100
            stop = snapped(self.best - away if self.sell else self.best + away, self.tick, up=not self.sell)
            self.stop = stop if self.stop is None else max(self.stop, stop) if self.sell else min(self.stop, stop)
        return self.stop

    def _active(self, last: Decimal) -> bool:
        if self.best is not None or self.activate_at is None:
            return True
        return last >= self.activate_at if self.sell else last <= self.activate_at


@attrs.define
class Stepped:
    """A sell stop that milestones move: (gain, stop at this gain) or, as the last, (gain, trail by a number of rupees)."""

    instrument_id: str
    tick: Decimal
    entry: Decimal
    stop: Decimal
    gain: Decimal
    stop_at_gain: Decimal
    trail_gain: Decimal
    trail_points: Decimal
    best: Decimal = Decimal(0)

    def at(self, latest: Latest, now: Quoted) -> Decimal | None:
        if now.instrument_id == self.instrument_id:
            self.best = max(self.best, now.last_price)
            if self.best - self.entry >= self.trail_gain:
                self.stop = max(self.stop, snapped(self.best - self.trail_points, self.tick, up=False))
            elif self.best - self.entry >= self.gain:
                self.stop = max(self.stop, snapped(self.entry + self.stop_at_gain, self.tick, up=False))
        return self.stop


@attrs.frozen
class BehindBid:
    """A buy at a fixed distance below the best bid."""

    instrument_id: str
    away: Decimal

    def at(self, latest: Latest, now: Quoted) -> Decimal | None:
        quote = latest.get(self.instrument_id)
        return None if quote is None or quote.bid is None else quote.bid - self.away


@attrs.define
class FollowsOther:
    """A buy that moves with another instrument: by `delta` for each rupee that the other has moved since the start."""

    watched: str
    tick: Decimal
    base: Decimal
    delta: Decimal
    start: Decimal | None = None

    def at(self, latest: Latest, now: Quoted) -> Decimal | None:
        quote = latest.get(self.watched)
        if quote is None:
            return None
        if self.start is None:
            self.start = quote.last_price
        return snapped(self.base + self.delta * (quote.last_price - self.start), self.tick, up=False)


Rule: TypeAlias = Fires | Follows | None
"""None: not judged; the parent is there only for its load."""


@attrs.define
class Judged:
    """A rule, and the instruments that it watches."""

    watches: frozenset[str]
    """Instruments."""
    rule: Rule
    armed_at: float = 0.0
    """Monotonic seconds. Earlier quotes do not concern the rule."""
    ends_at: float = float("inf")


def replay(quotes: Sequence[Quoted], judged: Sequence[Judged]) -> None:
    """Show every rule the quotes of its watched instruments, in order, from its beginning to its end."""
    latest: dict[str, Quoted] = {}
    of: dict[str, list[Judged]] = {}
    for watcher in judged:
        for instrument_id in watcher.watches:
            of.setdefault(instrument_id, []).append(watcher)
    for quote in quotes:
        latest[quote.instrument_id] = quote
        for watcher in of.get(quote.instrument_id, ()):
            if watcher.rule is not None and watcher.armed_at <= quote.at <= watcher.ends_at:
                watcher.rule.see(latest, quote)
