"""What open parents had to do by the ticks that the service received, worked out again by rules of a few lines each.

They share no code with the engine. A rule sees every quote of the service in its order (`watched_service`), with the latest of every
instrument beside it; `Fires` says when an order had to leave, `Follows` where a resting order had to be.
"""

from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Protocol, TypeAlias

import attrs

BAR_EDGE_SECONDS = 0.1
"""A tick this near to the end of a bar may be looked at on either side of it."""


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
"""Instrument -> its quote now."""


class Condition(Protocol):
    """One thing that is waited for."""

    def true(self, latest: Latest, now: Quoted) -> bool:
        """Called with every quote, whatever it is of."""


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
        return any(one.true(latest, now) for one in self.conditions)


@attrs.define
class BarPast:
    """A whole bar's last price past a level; bars begin at whole multiples of their length."""

    instrument_id: str
    level: Decimal
    above: bool
    seconds: int
    uncertain: bool = False
    """Whether it hung on a tick at the very edge of a bar."""
    _began: float | None = None
    _closes: set[Decimal] = attrs.field(factory=set)
    """What the bar may have closed at."""
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
    """An order that leaves once all of the stages came true, one after the other; one quote may be enough for several."""

    stages: Sequence[Condition]
    part: str | None = None
    """Path of the part that sends it; None = the parent's first order."""
    immediate: bool = True
    """Whether nothing has to be asked or cancelled before it leaves, so that the time it takes is the service's own."""
    due: Quoted | None = None
    _done: int = 0

    def see(self, latest: Latest, now: Quoted) -> None:
        while self._done < len(self.stages) and self.stages[self._done].true(latest, now):
            self._done += 1
        if self.due is None and self._done == len(self.stages):
            self.due = now

    @property
    def earliest(self) -> float:
        """Monotonic seconds before which nothing may leave: a bar, which holds what was received in it, is over before the next tick
        shows it, and that may be folded in a while after it was received."""
        assert self.due is not None
        bars = [one.seconds for one in self.stages if isinstance(one, BarPast)]
        return self.due.received_at - self.due.epoch % bars[0] if bars else self.due.at

    @property
    def uncertain(self) -> bool:
        return self.due is None and any(isinstance(one, BarPast) and one.uncertain for one in self.stages)


@attrs.define
class Follows:
    """A resting order whose price or trigger is worked out anew at every quote."""

    price: "Price"
    field: str
    """Of the exchange's order: `price`, or `trigger_price`."""
    part: str | None = None
    wanted: list[tuple[float, Decimal]] = attrs.field(factory=list)
    """(monotonic seconds, value), each change."""

    def see(self, latest: Latest, now: Quoted) -> None:
        value = self.price.at(latest, now)
        if value is not None and (not self.wanted or self.wanted[-1][1] != value):
            self.wanted.append((now.at, value))

    def within(self, first: float, last: float) -> set[Decimal]:
        """Return the values that were wanted at some time between two moments."""
        before = [value for at, value in self.wanted if at <= first][-1:]
        return {*before, *(value for at, value in self.wanted if first < at <= last)}


class Price(Protocol):
    def at(self, latest: Latest, now: Quoted) -> Decimal | None:
        """Return where the order should be; None = unknown, or none is wanted yet."""


def snapped(price: Decimal, tick: Decimal, *, up: bool) -> Decimal:
    """Return a price in whole ticks."""
    return (price / tick).quantize(Decimal(1), ROUND_CEILING if up else ROUND_FLOOR) * tick


@attrs.define
class Trailed:
    """A stop so far behind the best last price; it never goes back."""

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
    """A sell stop that is moved by milestones: (gain, stop at this gain) or, the last, (gain, trail by so many rupees)."""

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
    """A buy so far below the best bid."""

    instrument_id: str
    away: Decimal

    def at(self, latest: Latest, now: Quoted) -> Decimal | None:
        quote = latest.get(self.instrument_id)
        return None if quote is None or quote.bid is None else quote.bid - self.away


@attrs.define
class FollowsOther:
    """A buy that moves with another instrument, by so much a rupee from where that stood at the start."""

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
"""None: not judged; it is there for its work."""


@attrs.define
class Judged:
    """A rule with what it looks at."""

    watches: frozenset[str]
    """Instruments."""
    rule: Rule
    armed_at: float = 0.0
    """Monotonic seconds; quotes of before were never its business."""
    ends_at: float = float("inf")


def replay(quotes: Sequence[Quoted], judged: Sequence[Judged]) -> None:
    """Show every rule the quotes of what it watches, in their order, from its beginning to its end."""
    latest: dict[str, Quoted] = {}
    of: dict[str, list[Judged]] = {}
    for one in judged:
        for instrument_id in one.watches:
            of.setdefault(instrument_id, []).append(one)
    for quote in quotes:
        latest[quote.instrument_id] = quote
        for one in of.get(quote.instrument_id, ()):
            if one.rule is not None and one.armed_at <= quote.at <= one.ends_at:
                one.rule.see(latest, quote)
