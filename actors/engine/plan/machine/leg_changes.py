"""Changing resting legs: smaller, larger, to another price, or ended (order-engine 1.2, 1.4, 1.7)."""

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

from onebroker.actors.engine.plan.execution_kinds import Ladder
from onebroker.actors.engine.plan.machine.free_units import may_take_at
from onebroker.actors.engine.plan.machine.leg_actions import ChangeLeg, EndLeg, Leg, Reason
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.new_legs import Sending
from onebroker.actors.engine.plan.machine.over_fills import asked_of
from onebroker.actors.engine.plan.machine.overdue import block, block_unpriced, cannot_leave, guards, last_resort
from onebroker.actors.engine.plan.machine.wanted_prices import Asked, Wanted, gives_up_after, moves, price_of, wanted
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable, Price, is_stop, uncapped
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import OrderType

STRIKE = "strike"
"""`Leg.instance` of an immediate order next to a resting order (discretion)."""
RETRIES_SECONDS = (2.0, 5.0, 15.0)
"""The seconds after which a refused cancel of the plan's own is sent again (row 32); the last of them again and again."""
TOLD_CANCELS = 2
"""After so many refusals the order is told as one that cannot be cancelled. The first often only says that the order has just filled."""


def shrink(sending: Sending) -> None:
    """Take the excess units off the resting legs, the newest leg first: by a modify, or by a cancel when nothing is left (1.7).

    Of an exit without an entry and without a broker each holder has its own leg: a leg gives what its broker does not hold any more, before the others
    give. Orders that wait to leave give first: they are dropped (`Look.excess`), and what they wait for may never come."""
    look, part = sending.look, sending.part
    newest = list(reversed(look.live(part)))
    off = _surplus(sending, newest)
    waiting = sum(new.quantity for new in look.on_the_way(part)) if part.path in look.held_since else 0
    too_much = -sending.missing - sum(off.values()) - waiting
    for leg in newest:
        more = max(0, min(too_much, leg.unfilled - off[leg.leg_id]))
        too_much -= more
        less = off[leg.leg_id] + more
        if leg.changeable and less:
            reduce(look, leg, leg.quantity - less)


def _surplus(sending: Sending, legs: Iterable[Leg]) -> Counter[str]:
    """Return leg id -> the units of each resting leg that its broker does not hold any more, as far as its positions are settled."""
    found, look, part = Counter[str](), sending.look, sending.part
    if not is_at_holders(look, part):
        return found
    held: dict[str, int | None] = {}
    for leg in reversed(list(legs)):  # the oldest leg keeps its units
        if leg.broker not in held:
            units = look.market.held(leg.broker, part.instrument_id, part.product, side_of(part))
            held[leg.broker] = None if units is None else may_take_at(look, part, leg.broker, units)
        left = held[leg.broker]
        if left is not None:
            found[leg.leg_id] = max(0, leg.unfilled - left)
            held[leg.broker] = max(0, left - leg.unfilled)
    return found


def is_at_holders(look: Look, part: OrderPart) -> bool:
    """Whether each broker that holds units gets its own order of an exit: one without an entry and without a broker, all of whose units were held when
    it was armed (`exit_holders.py`)."""
    if not part.is_exit or part.broker is not None or part.known_exit or not look.legs(part):
        return False
    asked = asked_of(look, part)
    return asked is not None and asked <= (look.record(part).armed_over or 0)


def reduce(look: Look, leg: Leg, quantity: int) -> None:
    """Make a resting leg smaller. If its broker refused that, a fresh, smaller leg replaces it."""
    if quantity <= leg.filled:
        end(look, leg, Reason.SHRINK)
    elif leg.refused is not None and leg.refused[0] == quantity:
        replace(look, leg)
    else:
        look.do(ChangeLeg(leg_id=leg.leg_id, quantity=quantity, price=leg.price, trigger=leg.trigger, reduces=True))


def replace(look: Look, leg: Leg, reason: str = Reason.REPLACE) -> None:
    """End a leg so that a fresh leg takes its place, if an order could leave at its broker now; else it stays, and its part says why (1.11)."""
    part = look.by_path[leg.part]
    assert isinstance(part, OrderPart)
    locked = cannot_leave(look, [leg.broker]) or (None if part.is_exit else look.market.lockout())
    if locked is None:
        end(look, leg, reason)
    else:
        block(look, part, locked)


def end(look: Look, leg: Leg, reason: str) -> bool:
    """Cancel a leg if a cancel may be sent now. False once its broker has refused twice; it is asked again all the same, as long as it takes."""
    tries = min(leg.cancels, len(RETRIES_SECONDS))
    again = leg.cancelled_at + RETRIES_SECONDS[tries - 1] if tries else look.now
    if leg.cancels >= TOLD_CANCELS:
        look.untold.add(texts.cancel_refused(leg.broker, leg.unfilled))
    if not leg.changeable:
        return True
    if look.now >= again:
        look.do(EndLeg(leg_id=leg.leg_id, reason=reason))
    else:
        look.wake(again)
    return leg.cancels < TOLD_CANCELS


def grow(sending: Sending, missing: int) -> bool:
    """Make the resting leg larger. False where no leg may grow: it has ended, is at the freeze quantity, or was refused this."""
    freeze = sending.look.terms(sending.part).freeze
    for leg in sending.look.live(sending.part):
        if leg.instance == STRIKE:
            continue
        quantity = leg.quantity + missing
        fits = freeze is None or quantity <= freeze
        refused = leg.refused is not None and leg.refused[0] == quantity
        if leg.changeable and fits and not refused and _one_broker(sending, leg) and _is_held(sending, leg, quantity):
            _change(sending.look, leg, quantity, leg.price, leg.trigger)
            return True
    return False


def _change(look: Look, leg: Leg, quantity: int, price: Decimal | None, trigger: Decimal | None) -> None:
    """Change a leg that does not become smaller. While nothing can leave for its part's guard at its broker, the part says why instead (1.11)."""
    part = look.by_path[leg.part]
    locked = cannot_leave(look, [leg.broker]) if guards(part) else None
    if locked is None:
        look.do(ChangeLeg(leg_id=leg.leg_id, quantity=quantity, price=price, trigger=trigger, reduces=False))
    else:
        block(look, part, locked)


def _one_broker(sending: Sending, leg: Leg) -> bool:
    """Whether all fills that an exit closes are at the broker of this leg."""
    base = sending.context.base
    if not isinstance(base, OrderPart) or not sending.part.is_exit:
        return True
    return {base_leg.broker for base_leg in sending.look.legs(base) if base_leg.filled} <= {leg.broker}


def _is_held(sending: Sending, leg: Leg, quantity: int) -> bool:
    """Whether the broker of a leg holds as much as the leg would sell, where each holder has its own order. What is settled counts, as where a leg is
    made smaller: else one figure would grow it and the other shrink it, again and again."""
    look, part = sending.look, sending.part
    if not is_at_holders(look, part):
        return True
    where = (leg.broker, part.instrument_id, part.product, side_of(part))
    held = look.market.held(*where)
    held = look.market.held_at_most(*where) if held is None else held
    return quantity <= may_take_at(look, part, leg.broker, held)


def move(sending: Sending) -> None:
    """Move the resting legs to the price that their rule wants: at most once a second, never while a message is unanswered."""
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
        if (
            leg.changeable
            and leg.instance != STRIKE
            and leg.order_type is not OrderType.MARKET
            and not any(_touches(action, leg) for action in look.actions)
        ):
            want = wanted(look, part, sending.context, Asked(quantity=leg.unfilled, leg=leg))
            if want is None and _is_due_elsewhere(look, part, leg):
                block_unpriced(look, part)
                resort = last_resort(look, part, price)
                want = None if resort is None or resort[0] is not OrderType.LIMIT else Wanted(*resort)
            if want is not None and _follows(look, leg, price):
                _move_to(look, leg, want)


def _is_due_elsewhere(look: Look, part: OrderPart, leg: Leg) -> bool:
    """Whether an exit that goes at the market now (1.8, `marketable`) still rests at the price that its caller chose, or changed it to."""
    record = look.record(part)
    if not part.is_exit or not record.marketable or not isinstance(part.price, Fixed):
        return False
    return leg.price == (part.price.price if record.price is None else record.price)


def _touches(action: object, leg: Leg) -> bool:
    return isinstance(action, ChangeLeg | EndLeg) and action.leg_id == leg.leg_id


def _follows(look: Look, leg: Leg, price: Price) -> bool:
    """Whether a leg may follow its rule now. A marketable leg follows the touch only every few seconds (`follow_seconds`)."""
    if not isinstance(uncapped(price), Marketable):
        return True
    due = max(leg.sent_at, leg.moved_at) + look.rules.follow_seconds
    look.wake(due)
    return look.now >= due


def _move_to(look: Look, leg: Leg, want: Wanted) -> None:
    if want.trigger is None and leg.order_type.takes_trigger:
        replace(look, leg)  # no modify turns a stop into a plain limit
        return
    price, trigger = want.price, want.trigger if leg.trigger is not None else None
    if leg.settling:
        return  # the next look follows when the broker has shown the leg
    if (price, trigger) == (leg.price, leg.trigger) or _stays_refused(look, leg, (leg.quantity, price, trigger)):
        return
    due = leg.moved_at + look.rules.move_interval_seconds
    if leg.moved_at and look.now < due:
        look.wake(due)
    elif leg.changes >= look.rules.most_changes(leg.broker) - 1:
        replace(look, leg)
    else:
        _change(look, leg, leg.quantity, price, trigger)


def _stays_refused(look: Look, leg: Leg, change: tuple[int, Decimal | None, Decimal | None]) -> bool:
    """Whether a broker has refused this move, and it is not asked for again yet. Of a guard it is told. An exit that is to be filled now asks again; a stop
    rests with the trigger that it has, and each try costs one of the changes that its broker allows."""
    part = look.by_path[leg.part]
    if leg.refused != change:
        return False
    if not guards(part):
        return True
    look.untold.add(texts.not_changed(leg.broker, leg.unfilled, leg.refused_why or f"{leg.broker} has refused it"))
    again = leg.refused_at + RETRIES_SECONDS[-1]
    if leg.trigger is None and look.now >= again:
        return False
    if leg.trigger is None:
        look.wake(again)
    return True
