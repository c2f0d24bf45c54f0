"""Changing what rests: smaller, larger, at another price, ended (order-engine 1.2, 1.4, 1.7)."""

from collections.abc import Iterable

from onebroker.actors.engine.plan.executions import Ladder
from onebroker.actors.engine.plan.machine.legs import ChangeLeg, EndLeg, Leg, Reason
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.placing import Sending
from onebroker.actors.engine.plan.machine.wanted import Asked, Wanted, gives_up_after, moves, price_of, wanted
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.prices import Marketable, Price, is_stop, uncapped

STRIKE = "strike"
"""`Leg.instance` of an immediate order beside a resting one (discretion)."""
RETRIES_SECONDS = (2.0, 5.0, 15.0)
"""When a cancel of the plan's own that was refused is sent again (row 32)."""


def shrink(sending: Sending) -> None:
    """Take what is too much off the resting legs, the newest first: by a modify, or a cancel when nothing is left (1.7)."""
    too_much = -sending.missing
    for leg in reversed(sending.look.live(sending.part)):
        if too_much <= 0:
            return
        off = min(too_much, leg.unfilled)
        too_much -= off
        if leg.changeable and off:
            reduce(sending.look, leg, leg.quantity - off)


def reduce(look: Look, leg: Leg, quantity: int) -> None:
    """Make a resting leg smaller; one whose broker refused that is replaced by a fresh, smaller one."""
    if quantity <= leg.filled:
        end(look, leg, Reason.SHRINK)
    elif leg.refused is not None and leg.refused[0] == quantity:
        end(look, leg, Reason.REPLACE)
    else:
        look.do(ChangeLeg(leg_id=leg.leg_id, quantity=quantity, price=leg.price, trigger=leg.trigger, reduces=True))


def end(look: Look, leg: Leg, reason: str) -> bool:
    """Cancel a leg when that may be sent now; False once its broker has refused for good."""
    if leg.cancels > len(RETRIES_SECONDS):
        return False
    again = leg.cancelled_at + RETRIES_SECONDS[leg.cancels - 1] if leg.cancels else look.now
    if not leg.changeable:
        return True
    if look.now >= again:
        look.do(EndLeg(leg_id=leg.leg_id, reason=reason))
    else:
        look.wake(again)
    return True


def grow(sending: Sending, missing: int) -> bool:
    """Raise the resting leg; False where there is none that may grow (ended, at the freeze quantity, refused)."""
    freeze = sending.look.terms(sending.part).freeze
    for leg in sending.look.live(sending.part):
        if leg.instance == STRIKE:
            continue
        quantity = leg.quantity + missing
        fits = freeze is None or quantity <= freeze
        refused = leg.refused is not None and leg.refused[0] == quantity
        if leg.changeable and fits and not refused and _one_broker(sending, leg):
            sending.look.do(
                ChangeLeg(leg_id=leg.leg_id, quantity=quantity, price=leg.price, trigger=leg.trigger, reduces=False)
            )
            return True
    return False


def _one_broker(sending: Sending, leg: Leg) -> bool:
    """Whether all that an exit still misses lies where this leg rests."""
    base = sending.context.base
    if not isinstance(base, OrderPart) or not sending.part.is_exit:
        return True
    return {one.broker for one in sending.look.legs(base) if one.filled} <= {leg.broker}


def move(sending: Sending) -> None:
    """Move resting legs whose rule wants another price: at most once a second, never while a message is unanswered."""
    move_legs(sending, sending.look.live(sending.part))


def move_legs(sending: Sending, legs: Iterable[Leg]) -> None:
    """Move some of the part's resting legs."""
    look, part = sending.look, sending.part
    price = price_of(look, part)
    if isinstance(part.execution, Ladder) and price is part.price:
        return  # a rung stays where it is
    gives_up = is_stop(price) and gives_up_after(look, price) is not None
    if not moves(price) and look.record(part).memory.stop is None and not gives_up:
        return
    for leg in legs:
        if leg.changeable and leg.instance != STRIKE and not any(_touches(action, leg) for action in look.actions):
            want = wanted(look, part, sending.context, Asked(quantity=leg.unfilled, leg=leg))
            if want is not None and _follows(look, leg, price):
                _move_to(look, leg, want)


def _touches(action: object, leg: Leg) -> bool:
    return isinstance(action, ChangeLeg | EndLeg) and action.leg_id == leg.leg_id


def _follows(look: Look, leg: Leg, price: Price) -> bool:
    """A marketable rest follows the touch only every few seconds."""
    if not isinstance(uncapped(price), Marketable):
        return True
    due = max(leg.sent_at, leg.moved_at) + look.rules.follow_seconds
    look.wake(due)
    return look.now >= due


def _move_to(look: Look, leg: Leg, want: Wanted) -> None:
    if want.trigger is None and leg.order_type.takes_trigger:
        end(look, leg, Reason.REPLACE)  # no modify makes a plain limit of a stop
        return
    price, trigger = want.price, want.trigger if leg.trigger is not None else None
    if leg.settling:
        return  # it is looked at again when its broker has shown it
    if (price, trigger) == (leg.price, leg.trigger) or leg.refused == (leg.quantity, price, trigger):
        return
    due = leg.moved_at + look.rules.move_interval_seconds
    if leg.moved_at and look.now < due:
        look.wake(due)
    elif leg.changes >= look.rules.most_changes(leg.broker) - 1:
        end(look, leg, Reason.REPLACE)
    else:
        look.do(ChangeLeg(leg_id=leg.leg_id, quantity=leg.quantity, price=price, trigger=trigger, reduces=False))
