"""Exits that another hand has made larger than what the plan has open (order-engine 2.6). Pure.

Such an order stays as its holder made it. But what it fills beyond the plan's open units opens a position on the other side, and nothing trades that
back (1.7). So it is told as long as the order rests.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from onebroker.actors.engine.plan.machine.held_units import own_open
from onebroker.actors.engine.plan.machine.leg_actions import Leg
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.over_fills import bases_of, is_stop_like
from onebroker.actors.engine.plan.parts import OrderPart, Part, Share, own_orders_of, walk
from onebroker.config.messages import plan_life as texts


def larger_than_open(look: Look) -> Iterator[str]:
    """Yield a sentence for each exit that rests at a broker for more units than the plan has open there, because another hand made it larger."""
    orders = [part for part in walk(look.root) if isinstance(part, OrderPart)]
    if not any(_is_larger(leg) for order in orders for leg in (*look.legs(order), *look.closing_legs(order))):
        return
    hanging: set[str] = set()
    for base, exits in bases_of(look):
        hanging.update(order.path for order in exits)
        if exits := [order for order in exits if order.is_exit or _enters(base)]:
            own = own_open(look, base, exits)
            for together in _together(exits):
                yield from _said((leg for order in together for leg in look.live(order)), own)
    for order in orders:
        yield from _said(look.closing_legs(order), {})
        if order.is_exit and order.path not in hanging and look.record(order).armed_over != 0:
            yield from _said(look.live(order), {})


def _is_larger(leg: Leg) -> bool:
    return leg.live and leg.added > 0


def _enters(base: Part) -> bool:
    """Whether a part is no exit itself: what hangs on an exit enters again."""
    return not any(order.is_exit for order in own_orders_of(base))


def _together(exits: Iterable[OrderPart]) -> Iterator[list[OrderPart]]:
    """Yield the exits that may all fill: the shares of the units together, stops and targets apart, every other exit alone, as it stands for the same
    units as the others."""
    shares: dict[bool, list[OrderPart]] = {True: [], False: []}
    for order in exits:
        if isinstance(order.quantity, Share):
            shares[is_stop_like(order)].append(order)
        else:
            yield [order]
    yield from shares.values()


def _said(legs: Iterable[Leg], own: Mapping[str, int]) -> Iterator[str]:
    """`own`: broker -> units that the plan has open there. A broker without any: its legs cover what is open, and only the units added are too many."""
    added, unfilled = Counter[str](), Counter[str]()
    for leg in legs:
        if leg.live:
            added[leg.broker] += leg.added
            unfilled[leg.broker] += leg.unfilled
    for broker, units in added.items():
        beyond = min(units, unfilled[broker] - max(0, own.get(broker, 0)))
        if beyond > 0:
            yield texts.exit_too_large(broker, beyond)
