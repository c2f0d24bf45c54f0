"""Cutting units into whole lots: by weights, by shares, by the freeze quantity, by rungs (order-engine 1.3, 1.5). Pure."""

import itertools
import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import FrontLoaded, Ladder, Twap, Vwap
from onebroker.actors.engine.plan.market import Terms
from onebroker.config.money import Rounding
from onebroker.config.vocabulary import Side

_ROUNDINGS = {"nearest": ROUND_HALF_UP, "down": ROUND_FLOOR, "up": ROUND_CEILING}
_STRAIGHT = 1e-3
"""Below this kappa the sinh shape is a straight line."""


def cumulative_lots(lots: int, weights: Sequence[Decimal]) -> tuple[int, ...]:
    """Return the cumulative lots after each piece: `lots` times the cumulative weight, rounded half up. The last is `lots`."""
    total, reached, ends = sum(weights, Decimal(0)), Decimal(0), []
    for weight in weights:
        reached += weight
        ends.append(int((lots * reached / total).quantize(Decimal(1), ROUND_HALF_UP)))
    return tuple(ends)


def weights_of(execution: Twap | Vwap | FrontLoaded) -> tuple[Decimal, ...]:
    """Return the pieces' weights, in time order."""
    match execution:
        case Twap():
            return (Decimal(1),) * execution.slices
        case Vwap():
            return execution.volume_profile
        case FrontLoaded():
            left = [remaining_share(execution, piece) for piece in range(execution.slices + 1)]
            return tuple(Decimal(repr(before - after)) for before, after in itertools.pairwise(left))


def remaining_share(execution: FrontLoaded, piece: int) -> float:
    """Return the share that is left after `piece` (n) of N pieces: sinh(k (N - n) / N) / sinh(k) with k = 6 x urgency."""
    count, kappa = execution.slices, 6 * float(execution.urgency)
    straight = (count - piece) / count
    return straight if kappa < _STRAIGHT else math.sinh(kappa * straight) / math.sinh(kappa)


def timed_ends(execution: Twap | Vwap | FrontLoaded, units: int, terms: Terms) -> tuple[int, ...]:
    """Return the cumulative units after each piece. Odd units beyond whole lots go with the last piece."""
    ends = [lots * terms.lot for lots in cumulative_lots(units // terms.lot, weights_of(execution))]
    return (*ends[:-1], units)


def piece_due(execution: Twap | Vwap | FrontLoaded, started_at: float, now: float) -> int:
    """Return the number (from 0) of the newest piece that is due; both times in epoch seconds."""
    step = float(execution.over_minutes) * 60 / execution.slices
    return max(0, min(execution.slices - 1, int((now - started_at) / step + 1e-9)))


def due_time(execution: Twap | Vwap | FrontLoaded, started_at: float, piece: int) -> float:
    """Return when a piece is due, in epoch seconds."""
    return started_at + piece * float(execution.over_minutes) * 60 / execution.slices


def rounded_lots(units: Decimal, lot: int, rounding: Rounding) -> int:
    """Return `units` rounded to whole lots, in units, with the given rounding."""
    return int((units / lot).quantize(Decimal(1), _ROUNDINGS[rounding])) * lot


def shared(units: int, shares: Sequence[Decimal], terms: Terms) -> tuple[int, ...]:
    """Return the units of each sibling with a share. The rounding is cumulative, so the sum is exact when the shares add up to 1."""
    lots, reached, before, parts = units // terms.lot, Decimal(0), 0, []
    for share in shares:
        reached += share
        end = int((lots * reached).quantize(Decimal(1), ROUND_HALF_UP))
        parts.append((end - before) * terms.lot)
        before = end
    if reached == 1 and parts:
        parts[-1] += units - lots * terms.lot
    return tuple(parts)


def freeze_pieces(units: int, terms: Terms) -> tuple[int, ...]:
    """Return pieces that each fit the freeze quantity; one piece where no freeze quantity is known."""
    most = None if terms.freeze is None else terms.whole_lots(terms.freeze)
    if not most or units <= most:
        return (units,)
    whole, rest = divmod(units, most)
    return (*(most,) * whole, *((rest,) if rest else ()))


@attrs.frozen
class Rung:
    price: Decimal
    quantity: int


def rungs(ladder: Ladder, units: int, side: Side, terms: Terms) -> tuple[Rung, ...]:
    """Return the rungs from `from_price` on, at prices snapped passively. Lots are shared evenly; the first rungs get one spare lot each."""
    step = (ladder.to_price - ladder.from_price) / max(1, ladder.steps - 1)
    lots, spare = divmod(units // terms.lot, ladder.steps)
    return tuple(
        Rung(terms.passive(ladder.from_price + step * k, side), (lots + (k < spare)) * terms.lot)
        for k in range(ladder.steps)
    )


def randomised(size: int, percent: Decimal, draw: float, terms: Terms) -> int:
    """Return a piece size varied evenly within +- `percent` (`draw` from 0 to 1), in units, whole lots, at least one lot."""
    if not percent:
        return size
    factor = 1 + (Decimal(repr(draw)) * 2 - 1) * percent / 100
    return max(terms.lot, rounded_lots(size * factor, terms.lot, "nearest"))
