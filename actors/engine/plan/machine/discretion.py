"""An order that shows one limit, and accepts a slightly worse price when the market offers it (order-engine 1.4 discretion, 3.14)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.machine.leg_actions import Leg, NewLeg, Reason
from onebroker.actors.engine.plan.machine.leg_changes import STRIKE, end, grow, reduce
from onebroker.actors.engine.plan.machine.new_legs import Sending
from onebroker.actors.engine.plan.machine.verdicts import taken_off
from onebroker.actors.engine.plan.price_kinds import Discretion
from onebroker.config.vocabulary import OrderType, Validity

BACK_SECONDS = 2.0
"""After this time the units that did not fill at the worse price go back to the limit. Also the least time between two tries."""


@attrs.frozen
class _Offer:
    price: Decimal
    quantity: int


def work_discretion(sending: Sending, price: Discretion) -> None:
    """Rest at the limit. When the other side comes within reach, move the whole order there, or send an extra immediate order."""
    look, part = sending.look, sending.part
    own = look.record(part).price
    price = price if own is None else attrs.evolve(price, price=own)
    strikes = [leg for leg in look.legs(part) if leg.instance == STRIKE]
    resting = [leg for leg in look.live(part) if leg.instance != STRIKE]
    _put_back(sending, strikes)
    rest = sending.target - look.filled(part) - taken_off(look.legs(part))
    most = sending.target if price.quantity is None else price.quantity
    left = min(rest, most - sum(leg.filled for leg in strikes))
    offer = _within_reach(sending, price)
    if left >= rest:
        _move_whole(sending, offer)
    elif not strikes or not any(leg.live for leg in strikes):
        _strike(sending, offer, left, resting)
    _rest(sending, resting)


def _within_reach(sending: Sending, price: Discretion) -> _Offer | None:
    quote = sending.look.seen(sending.part.instrument_id)
    against = () if quote is None else quote.against(sending.side)
    if not against or (against[0].price - price.price - sending.side.sign * price.points) * sending.side.sign > 0:
        return None
    if (against[0].price - price.price) * sending.side.sign <= 0:
        return None  # the resting order itself trades there
    shown = sending.look.terms(sending.part).whole_lots(against[0].quantity)
    return _Offer(against[0].price, shown) if shown else None


def _move_whole(sending: Sending, offer: _Offer | None) -> None:
    """Move the resting order itself to the touch, for two seconds at a time."""
    look, part = sending.look, sending.part
    memory = look.record(part).memory
    due = None if memory.since is None else memory.since + BACK_SECONDS
    if due is not None and look.now < due:
        look.wake(due)
    elif memory.base is not None:
        look.remember(part, attrs.evolve(memory, base=None, since=look.now))
    elif offer is not None and look.live(part):
        look.remember(part, attrs.evolve(memory, base=offer.price, since=look.now))


def _strike(sending: Sending, offer: _Offer | None, left: int, resting: list[Leg]) -> None:
    """Take units off the resting order. Once the broker has accepted that, send these units as an immediate order at the touch."""
    look, part = sending.look, sending.part
    record = look.record(part)
    if any(order.instance == STRIKE for order in look.on_the_way(part)):
        return
    if record.reserved:
        free = sending.target - sending.committed
        if free >= record.reserved and offer is not None:
            _send_strike(sending, offer, record.reserved)
        elif offer is None:
            look.note(part, reserved=0)
        return
    due = 0.0 if record.memory.since is None else record.memory.since + BACK_SECONDS
    if offer is None or left <= 0 or not resting or look.now < due:
        look.wake(due)
        return
    size = min(left, offer.quantity)
    look.note(part, reserved=size, memory=attrs.evolve(record.memory, since=look.now))


def _send_strike(sending: Sending, offer: _Offer, quantity: int) -> None:
    part = sending.part
    sending.look.do(
        NewLeg(
            part=part.path,
            instrument_id=part.instrument_id,
            side=sending.side,
            product=part.product,
            validity=Validity.IOC,
            quantity=quantity,
            order_type=OrderType.LIMIT,
            price=offer.price,
            trigger=None,
            broker=part.broker,
            is_exit=part.is_exit,
            known_exit=part.known_exit,
            instance=STRIKE,
            tag=part.tag,
        )
    )


def _put_back(sending: Sending, strikes: list[Leg]) -> None:
    look, part = sending.look, sending.part
    for leg in strikes:
        if leg.live:
            look.wake(leg.sent_at + BACK_SECONDS)
            if look.now >= leg.sent_at + BACK_SECONDS:
                end(look, leg, Reason.PIECE)
    record = look.record(part)
    newest = strikes[-1] if strikes else None
    if record.reserved and newest is not None and not newest.live and newest.sent_at >= (record.memory.since or 0.0):
        look.note(part, reserved=0)


def _rest(sending: Sending, resting: list[Leg]) -> None:
    """Keep the units resting at the limit that are not filled, not reserved, and not in an immediate order."""
    look, part = sending.look, sending.part
    out = any(leg.live and leg.instance == STRIKE for leg in look.legs(part))
    out = out or any(order.instance == STRIKE for order in look.on_the_way(part))
    missing = sending.missing - (0 if out else look.record(part).reserved)
    unsure = any(leg.state.unsettled or leg.busy for leg in resting)
    if missing < 0 and resting and resting[-1].changeable:
        reduce(look, resting[-1], resting[-1].quantity + missing)
    elif missing > 0 and not unsure and not grow(sending, missing):
        sending.place(missing)
