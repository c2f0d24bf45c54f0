"""Exits and closes that a broker has refused and that go again (order-engine 1.11). Pure.

As a rule a refused message is not sent again (rules 2.1). It is different where the engine itself has ended what guarded the units, for the sake of
the refused order: then the refusal is no end. The order goes again after 2, 5 and then every 15 s, and as long as none stands it is told.

    a close of positions     its clearing has ended an order or a waiting exit there (`RowToClose.cleared`). The rows are read again before each try
    a close of fills         the exits of the part have ended first (1.8)
    a stop, a market exit    `swaps.tries_again`

The next order is no end of the trouble. It may be refused as the order before it, and a sentence that comes and goes with each try says nothing. So an
order that follows a refused order is on trial until it `stands`: its broker has accepted it, and where the refusal had come after the answer, it has
been open for STANDS_SECONDS. Until then what was told stays told, and a stop guards nothing.

A price beyond the touch may lie outside of the circuit limits, and these the engine does not know. The touch itself is inside them, because an
order rests there. So after a refusal that has another reason than missing shares or money the next order goes to the touch, and where nobody is on
the other side to the last price. An exit that has taken nothing away goes again for this reason alone, where the broker's words name its price.
"""

from collections import defaultdict
from collections.abc import Iterable

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Leg
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.parts import OrderPart, Part, own_orders_of

AGAIN_SECONDS = (2.0, 5.0, 15.0)
"""The seconds after which a refused exit goes again; the last of them again and again."""

STANDS_SECONDS = 5.0
"""How long an order must be open that follows an order which was refused in its broker's book."""


def is_refused(leg: Leg) -> bool:
    """Whether a broker has refused a leg as a whole. Of a leg that has filled in part the units are not known any better by another try."""
    return leg.state is LegState.REJECTED and leg.filled == 0


def again_at(refused: Iterable[Leg]) -> float:
    """Return when an exit goes again whose orders were refused (epoch seconds); minus infinity where none was."""
    ended = [leg.ended_at for leg in refused]
    return max(ended) + AGAIN_SECONDS[min(len(ended), len(AGAIN_SECONDS)) - 1] if ended else float("-inf")


def keeps_to_touch(look: Look, part: OrderPart, instance: str | None) -> bool:
    """Whether an exit goes no further than the touch, because a broker has refused an order of it, or a move of an order past the exchange's limits.
    `instance`: the row or closing that it is for."""
    legs = (*look.legs(part), *look.closing_legs(part)) if part.is_exit or instance == CLOSING else ()
    refused = (leg for leg in legs if (is_refused(leg) and not leg.shortage) or (leg.live and leg.beyond_limits))
    return any(leg.instance == instance for leg in refused)


# --- the next order ------------------------------------------------------------------------------------------------------


def stands(look: Look, leg: Leg, legs: Iterable[Leg]) -> bool:
    """Whether a live order counts. `legs`: all orders that are for the same thing; where the newest before this one was refused, it is on trial."""
    last = _newest(other for other in legs if other.sent_at < leg.sent_at)
    if last is None or not is_refused(last) or leg.filled:
        return True
    if not (last.refused_late and leg.accepted):
        return leg.accepted
    look.wake(leg.sent_at + STANDS_SECONDS)
    return look.now >= leg.sent_at + STANDS_SECONDS


def follows_refusal(legs: Iterable[Leg]) -> bool:
    """Whether the next order for the same thing would follow a refused one."""
    last = _newest(legs)
    return last is not None and is_refused(last)


def is_on_trial(look: Look, part: Part) -> bool:
    """Whether an order of a part follows a refused one, and has not shown yet that it stands: it is asked for, or is at its broker. A target that waits
    until its stop has made room for its next try counts too."""
    legs: defaultdict[str | None, list[Leg]] = defaultdict(list)
    for order in own_orders_of(part):
        for leg in (*look.legs(order), *look.closing_legs(order)):
            legs[leg.instance].append(leg)
    if any(not stands(look, leg, same) for same in legs.values() for leg in same if leg.live):
        return True
    if any(follows_refusal(legs[new.instance]) for new in look.on_the_way(part)):
        return True
    return look.record(part).swap_units > 0 and any(map(follows_refusal, legs.values()))


def _newest(legs: Iterable[Leg]) -> Leg | None:
    return max(legs, key=lambda leg: leg.sent_at, default=None)
