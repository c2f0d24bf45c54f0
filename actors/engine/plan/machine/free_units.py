"""What an exit without an entry may take of a position: the units that no other plan has bought and guards (order-engine 1.13). Pure.

A cover order has bought 100 and guards them; 20 more are held beside them, and a `daily_stop` of 20 guards these. When a person sells 30, the cover's
stop still covers its 100, and the two stops together would sell 120 of 90. So the lone exit, which has bought nothing, gives way: it takes what is held
less what other plans guard. When both stops fill, nothing is short.

A caller may want a second exit over units that another plan guards: there were fewer free units than he asked for when the exit was armed. What was too
much then (`PartRecord.armed_beside`) stays his own decision, and is never taken off.

    free    held less guarded by other plans
    beside  what the caller asked for, less free, when the exit was armed
    may     free + beside, and no more than is held

Where several brokers hold the position, the exit has an order at each of them. There it may take what is free at that broker; with `beside`, what is held.

Not known: two exits without an entry over the same units. Neither claims them, so both rest, as their caller has said.
"""

from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.over_fills import asked_of
from onebroker.actors.engine.plan.parts import OrderPart


def beside(look: Look, part: OrderPart, held: int) -> int:
    """Return the units that an exit asks for beyond the free ones, of `held` units."""
    left = (asked_of(look, part) or held) - look.filled(part)
    return max(0, min(left, held) - (held - _guarded(look, part, part.broker)))


def may_take(look: Look, part: OrderPart, held: int) -> int:
    """Return how many of the units that are held at its broker, or at all brokers together, an exit may take."""
    own = look.record(part).armed_beside
    return held if own is None else max(0, min(held, held - _guarded(look, part, part.broker) + own))


def may_take_at(look: Look, part: OrderPart, broker: str, held: int) -> int:
    """Return how many of the units that one broker holds an exit without a broker may take there."""
    return held if look.record(part).armed_beside != 0 else max(0, held - _guarded(look, part, broker))


def _guarded(look: Look, part: OrderPart, broker: str | None) -> int:
    return look.market.guarded_by_others(broker, part.instrument_id, part.product, side_of(part))
