"""What an exit without an entry may take of a position: the units that no other plan has bought and guards, and no older exit of its kind claims
(order-engine 1.13). Pure.

A cover order has bought 100 and guards them; 20 more are held beside them, and a `daily_stop` of 20 guards these. When a person sells 30, the cover's
stop still covers its 100, and the two stops together would sell 120 of 90. So the lone exit, which has bought nothing, gives way: it takes what is held
less what other plans guard. When both stops fill, nothing is short. Of two lone stops over one position the older keeps its units (`Claim`).

Stops and targets are for the same units, because the market can be at one of them only: a lone stop counts the older stops, a target the older targets.
A stop that the market has jumped over rests as a limit, and the market comes back to it as to a target: it is both (`kinds_of`).

A caller may want a second exit over units that another one guards: there were fewer free units than he asked for when the exit was armed. What was too
much then (`PartRecord.armed_beside`) stays his own decision, and is never taken off. An older exit counts with all that it asked for until that is
known of it: two stops for the same units, placed one right after the other, are both their caller's decision.

    free    held less taken by others
    beside  what the caller asked for, less free, when the exit was armed
    may     free + beside, and no more than is held

Where several brokers hold the position, the exit has an order at each of them. There it may take what is free at that broker; with `beside`, what is held.
"""

from collections.abc import Iterable, Mapping

import attrs

from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.over_fills import asked_of, asked_units, exits_by_base, is_stop_like
from onebroker.actors.engine.plan.parts import (
    FromExposure,
    FromPosition,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    own_orders_of,
    walk,
)
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side


def beside(look: Look, part: OrderPart, held: int) -> int:
    """Return the units that an exit asks for beyond the free ones, of `held` units."""
    left = (asked_of(look, part) or held) - look.filled(part)
    return max(0, min(left, held) - (held - _taken(look, part)))


def may_take(look: Look, part: OrderPart, held: int) -> int:
    """Return how many of the units that are held at its broker, or at all brokers together, an exit may take."""
    own = look.record(part).armed_beside
    return held if own is None else max(0, min(held, held - _taken(look, part) + own))


def may_take_at(look: Look, part: OrderPart, broker: str, held: int) -> int:
    """Return how many of the units that one broker holds an exit without a broker may take there."""
    if look.record(part).armed_beside != 0:
        return held
    where = (broker, part.instrument_id, part.product, side_of(part))
    taken = (
        look.market.taken_by_others(*where, stops=one, anywhere=False) for one in kinds_of(part, look.record(part))
    )
    return max(0, held - max(taken))


def _taken(look: Look, part: OrderPart) -> int:
    where = (part.broker, part.instrument_id, part.product, side_of(part))
    kinds = kinds_of(part, look.record(part))
    return max(look.market.taken_by_others(*where, stops=one, anywhere=True) for one in kinds)


def kinds_of(part: OrderPart, record: PartRecord) -> tuple[bool, ...]:
    """Return whether an exit is a stop (True) or a target (False). A stop that rests as a limit, because the market is past it, is both."""
    return (True, False) if texts.is_over_stop(record.held_up) else (is_stop_like(part),)


# --- what lone exits claim -------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Claim:
    """Units for which the stops, or the targets, of one group of exits without an entry are there. `stops` None: a stop that counts with both."""

    broker: str | None
    instrument_id: str
    product: str
    side: Side
    stops: bool | None
    units: int
    """With those that the group has filled since (`legs`), and without any that had gone."""
    legs: tuple[LegRecord, ...]
    """The orders of the group."""
    again: int = 0
    """Of the units that had gone those that have come back (`grown_units.py`)."""


def lone_exits(root: Part) -> tuple[OrderPart, ...]:
    """Return the exits of a plan that hang on no entry."""
    hanging = {order.path for _, exits in exits_by_base(root) for order in exits}
    return tuple(
        part
        for part in walk(root)
        if isinstance(part, OrderPart)
        and part.is_exit
        and not part.known_exit
        and part.path not in hanging
        and not isinstance(part.quantity, FromPosition | FromExposure)
    )


def claims_of(
    root: Part, lone: Iterable[OrderPart], parts: Mapping[str, PartRecord], legs: Iterable[LegRecord]
) -> tuple[Claim, ...]:
    """Return what the `lone` exits of a plan (`lone_exits`) claim of newer exits of other plans, once they are due and until they end. An exit that was
    armed over nothing is its caller's entry, and claims nothing."""
    found: dict[tuple[str, bool | None], Claim] = {}
    by_part: dict[str, list[LegRecord]] = {}
    for leg in legs:
        by_part.setdefault(leg.part, []).append(leg)
    for part in lone:
        group, record = group_of(root, part), parts.get(part.path, PartRecord())
        kinds = kinds_of(part, record)
        stops = kinds[0] if len(kinds) == 1 else None
        if record.due_at is None or record.own is not None or record.armed_over == 0:
            continue
        most, now = sum(record.gone_most.values()), sum(record.gone.values())
        units = (asked_units(part, record) or 0) - (record.armed_beside or 0) - most
        before = found.get((group, stops))
        if units > 0 and (before is None or units > before.units):
            siblings = [order for one in walk(root) if one.path == group for order in own_orders_of(one)]
            found[group, stops] = Claim(
                broker=part.broker, instrument_id=part.instrument_id, product=part.product, side=side_of(part),
                stops=stops, units=units, again=most - now, legs=tuple(leg for order in siblings for leg in by_part.get(order.path, ())),
            )  # fmt: skip
    # Beside a target of its own group a jumped stop is for the same units: there it counts with the stops only.
    return tuple(
        attrs.evolve(claim, stops=True) if stops is None and (group, False) in found else claim
        for (group, stops), claim in found.items()
    )


def group_of(root: Part, order: OrderPart) -> str:
    """Return the path of the outermost group of which one order cancels the others, and that has the order; of the order itself if there is none."""
    for part in walk(root):
        if isinstance(part, OneCancelsOthersPart) and any(one is order for one in own_orders_of(part)):
            return part.path
    return order.path
