"""One odd figure never acts: a figure that jumps by more than can be explained counts only when a second, later figure bears it out
(order-engine 1.6). Pure.

Prices are doubted in the quote book (`actors/quotes/doubted_ticks.py`), the day's loss in its own fold (`day_loss.py`). All other figures that plans
act on are doubted here: the joint result of positions, the figures of the account, volumes, averages and open interest. A broker's row is wrong for one
read, a feed counts from zero for one tick: each of these has been seen, and each would have closed positions or sent a whole order.

The rules, for the figures of one key:

- the first figure counts, because nothing contradicts it. Where a wrong first figure would itself act (`first_waits`), it waits for a second one that
  agrees; of three that do not agree the middle one counts;
- a figure within `allowed` of the believed figure is believed. The caller works `allowed` out of what may have moved the figure since then;
- any other figure is doubted, and the believed figure stays in force. It is doubted until a figure from a later moment lies on the same side. Then the
  nearer of the two counts: both bear out at least that much. So a figure that runs away is followed one figure behind, and a figure that jumps to and fro
  never counts;
- a figure that agrees again ends the doubt.

`moment` is when the read began, or when the tick was received. The same read asked again is no second figure, but it is judged again: a quote that
explains it may come a moment later than the row.

An invariant: what is returned was told by the source, and by two different moments unless it is within `allowed` of a figure that was believed before.
"""

import math
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import attrs

Value = TypeVar("Value", int, float)
Basis = TypeVar("Basis")

MOST_KEPT = 4096
"""Beyond this number the keys that were judged longest ago are forgotten."""


@attrs.define
class _Known(Generic[Value, Basis]):
    value: Value
    moment: float
    basis: Basis
    """What stood beside the figure, by which a later one is explained."""
    asked: float
    """The moment of the newest figure of all."""
    first: Value | None = None
    """The first figure of all, where it waited for this one; None once a newer one is believed."""
    doubted: Value | None = None
    doubted_at: float = 0.0


@attrs.frozen
class Judged(Generic[Value]):
    """What counts now."""

    value: Value
    moment: float
    """The moment of the newest figure that `value` rests on."""
    first: Value
    """The figure from which later ones are counted: the first of all, where this one has just borne it out; else `value`."""
    doubts: bool
    """Whether a newer figure waits for a second one."""


class SecondFigures(Generic[Value, Basis]):
    """The figures of many keys, each as it is believed."""

    def __init__(self) -> None:
        self._known: dict[Hashable, _Known[Value, Basis]] = {}
        self._waiting: dict[Hashable, list[tuple[Value, float, Basis]]] = {}
        """First figures that wait for one that agrees."""

    def judge(
        self,
        key: Hashable,
        value: Value,
        moment: float,
        basis: Basis,
        allowed: Callable[[Value, Basis, Basis], float],
        *,
        first_waits: bool = False,
        kept_seconds: float = math.inf,
    ) -> Judged[Value] | None:
        """Take a figure up and return what counts; None while a first figure waits. `allowed`: the believed figure, what stood beside it, what stands
        beside this one -> by how much the figure may differ. A key that was not asked about for `kept_seconds` begins anew."""
        known = self._known.pop(key, None)
        if known is not None and moment - known.asked > kept_seconds:
            known = None
        if known is None:
            known = (
                self._second(key, value, moment, basis, allowed, kept_seconds)
                if first_waits
                else _Known(value, moment, basis, moment)
            )
            if known is None:
                return None
            if len(self._known) >= MOST_KEPT:
                del self._known[next(iter(self._known))]
        self._known[key] = known  # the newest key is the last
        known.asked = max(known.asked, moment)
        if moment >= known.moment:
            self._fold(known, value, moment, basis, allowed)
        first = known.value if known.first is None else known.first
        return Judged(known.value, known.moment, first, known.doubted is not None)

    def _second(
        self,
        key: Hashable,
        value: Value,
        moment: float,
        basis: Basis,
        allowed: Callable[[Value, Basis, Basis], float],
        kept_seconds: float,
    ) -> _Known[Value, Basis] | None:
        """Return what is believed once a first figure has a witness."""
        if len(self._waiting) >= MOST_KEPT:
            del self._waiting[next(iter(self._waiting))]
        waiting = self._waiting.setdefault(key, [])
        if waiting and moment - waiting[-1][1] > kept_seconds:
            waiting.clear()
        if waiting and moment <= waiting[-1][1]:
            return None
        for earlier, _, beside in waiting:
            if abs(value - earlier) <= allowed(earlier, beside, basis):
                del self._waiting[key]
                return _Known(value, moment, basis, moment, first=earlier)
        waiting.append((value, moment, basis))
        if len(waiting) < 3:
            return None
        del self._waiting[key]
        middle = sorted(waiting, key=lambda figure: figure[0])[1][0]
        return _Known(middle, moment, basis, moment)

    def _fold(
        self,
        known: _Known[Value, Basis],
        value: Value,
        moment: float,
        basis: Basis,
        allowed: Callable[[Value, Basis, Basis], float],
    ) -> None:
        if moment > known.moment:
            known.first = None
        if value == known.value or abs(value - known.value) <= allowed(known.value, known.basis, basis):
            known.value, known.moment, known.basis, known.doubted = value, moment, basis, None
            return
        before = known.doubted
        if before is None or (before > known.value) is not (value > known.value):
            known.doubted, known.doubted_at = value, moment
        elif moment <= known.doubted_at:
            known.doubted = value  # the same read, judged again
        else:
            nearer = min(before, value, key=lambda figure: abs(figure - known.value))
            known.value, known.moment, known.basis = nearer, moment, basis
            known.doubted, known.doubted_at = (None, 0.0) if nearer == value else (value, moment)

    def forget(self, key: Hashable) -> None:
        """Forget a key, whose next figure is a first one again."""
        self._known.pop(key, None)
        self._waiting.pop(key, None)
