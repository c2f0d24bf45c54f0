"""Exits that are made one by one, each for a single fill (order-engine 1.2 exception, 1.4 from_fill)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import Instance
from onebroker.actors.engine.plan.machine.leg_actions import ChangeLeg, Leg
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.new_legs import Sending
from onebroker.actors.engine.plan.machine.verdicts import goes_again
from onebroker.actors.engine.plan.machine.wanted_prices import Asked
from onebroker.actors.engine.plan.parts import FromFill, OrderPart, own_orders_of
from onebroker.actors.engine.plan.pieces.cutting import rounded_lots
from onebroker.actors.engine.plan.price_kinds import FillBasis, FromFillPrice

TRADES_LOOK_SECONDS = 0.5
"""The seconds between two looks for the price of a fill (2.3): no event need announce it."""


def send_instances(sending: Sending) -> None:
    """Make an instance of each new fill, then send the missing units of each instance."""
    look, part = sending.look, sending.part
    if sending.context.base is None:
        return
    for order in own_orders_of(sending.context.base):
        for leg in look.legs(order):
            _make(look, part, leg)
    # What the position has lost is taken off the newest orders, whichever instance they are of. Together the instances send no more than is missing.
    most = sending.missing
    for made in look.record(part).made:
        most -= _send_one(sending, made, most)


def _make(look: Look, part: OrderPart, leg: Leg) -> None:
    """Note the filled units of a leg that no instance covers yet. They get a new instance, or join the last one if it has the same
    price and has not finished."""
    made = look.record(part).made
    known = sum(instance.quantity for instance in made if instance.leg_id == leg.leg_id)
    if leg.filled <= known:
        return
    price = _basis(look, part, leg, known)
    if price is None:
        look.wake(look.now + TRADES_LOOK_SECONDS)
        return
    last = made[-1] if made else None
    if last is not None and last.leg_id == leg.leg_id and last.price == price and not _finished(look, part, last):
        grown = attrs.evolve(last, quantity=last.quantity + leg.filled - known)
        look.note(part, made=(*made[:-1], grown))
        return
    instance = Instance(key=f"{leg.leg_id}+{known}", leg_id=leg.leg_id, quantity=leg.filled - known, price=price)
    look.note(part, made=(*made, instance))


def _finished(look: Look, part: OrderPart, made: Instance) -> bool:
    legs = [leg for leg in look.legs(part) if leg.instance == made.key and not goes_again(part, leg)]
    return bool(legs) and not any(leg.live for leg in legs)


def _basis(look: Look, part: OrderPart, leg: Leg, known: int) -> Decimal | None:
    price = part.price
    assert isinstance(price, FromFillPrice)
    if price.basis is FillBasis.LIMIT:
        return leg.price
    return look.market.fill_price(leg.leg_id, known, leg.filled)


def _send_one(sending: Sending, made: Instance, most: int) -> int:
    """Send the missing units of an instance, at most `most`. Return how many were asked for."""
    look, part = sending.look, sending.part
    legs = [leg for leg in look.legs(part) if leg.instance == made.key]
    if any(order.instance == made.key for order in look.on_the_way(part)):
        return 0
    if any(leg.live and not leg.changeable for leg in legs):
        return 0
    missing = min(most, _units(look, part, made) - sum(leg.spoken_for for leg in legs))
    resting = next((leg for leg in legs if leg.live), None)
    if missing <= 0 or any(not leg.live and leg.unfilled and not goes_again(part, leg) for leg in legs):
        return 0
    if resting is not None:
        quantity = resting.quantity + missing
        look.do(
            ChangeLeg(
                leg_id=resting.leg_id, quantity=quantity, price=resting.price, trigger=resting.trigger, reduces=False
            )
        )
    else:
        sending.place(missing, asked=Asked(quantity=missing, instance=made))
    return missing


def _units(look: Look, part: OrderPart, made: Instance) -> int:
    form = part.quantity
    if not isinstance(form, FromFill) or form.ratio == 1:
        return made.quantity
    return rounded_lots(made.quantity * form.ratio, look.terms(part).lot, form.rounding)
