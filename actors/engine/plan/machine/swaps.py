"""One order at the exchange for units that one sale reserves (order-engine 1.12). Pure.

A resting sale of shares from a delivery account blocks these shares. A stop and a target over the same shares are two sales: the broker takes
the first and refuses the second, "for want of shares". Where a broker asks margin for the second of two option sales, it refuses it for want
of funds. Whatever the broker refuses then is one half of the protection, and too often it is the stop.

So in a group of exits that share units (one cancels the others, or a stop and targets side by side), one order guards, and it is the stop:

    rest        the stop rests with all units of the group; the targets are kept in the engine
    swap in     the market reaches a target: the stop becomes smaller by the target's units (or is cancelled), and once the broker has
                confirmed that, the target is sent
    swap back   the market has left the target for BACK_SECONDS and the target has not filled: it is cancelled, and the stop grows again

No state machine holds this. Each look works out two numbers from the legs, and the ordinary rules do the rest:

    lent        units that the targets have out, or want out now: the stops of the group want so many fewer
    room        units of the group that no stop has out: a target sends no more than that

The invariant: what stops and targets have out together is never more than the group guards. So a fill, a refusal, a cancel by another hand and
a crash between two messages all lead back to the stop, by the next look.

When a target swaps:
    - it is held in any case (`hold`), and the shares are those of a delivery account;
    - or its caller wanted it at the exchange beside the stop (`hold_limits: false`), and the broker has refused one of the two. It is sent
      after the stop was accepted, never before. The refusal of an exit for want of shares or margin is no end of its part (`lacks`).

Doubt: between the confirmed reduction and the target's acceptance the target's units have no stop, a round trip to the broker. There is no way
round that where the broker allows one sale; the touch of the target is the moment in which a stop matters least.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import TypeAlias

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.machine.leg_actions import Leg, Reason
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.open_units import is_guard
from onebroker.actors.engine.plan.machine.refused_exits import is_refused
from onebroker.actors.engine.plan.machine.wanted_prices import waits_to_activate
from onebroker.actors.engine.plan.parts import OneCancelsOthersPart, OrderPart, Part, TogetherPart, own_orders_of
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable, NativeStop, is_stop, uncapped
from onebroker.actors.engine.plan.pricing.touch import on_touch
from onebroker.config.vocabulary import Product, Side

BACK_SECONDS = 2.0
"""How long a target stays at the exchange after the market has left it."""
AGAIN_SECONDS = 5.0
"""The least time between two swaps of one target."""
NOTED_SECONDS = 0.5
"""How exactly the time of the last touch is kept."""


Group: TypeAlias = OneCancelsOthersPart | TogetherPart


def stops_of(part: Group) -> list[OrderPart]:
    return [order for order in own_orders_of(part) if order.is_exit and is_stop(order.price)]


def targets_of(part: Group) -> list[OrderPart]:
    return [order for order in own_orders_of(part) if order.is_exit and not is_stop(order.price)]


def blocks(order: OrderPart) -> bool:
    """Whether a resting order takes its units away from any other sale at every broker: a sale from a delivery account."""
    return order.product == Product.CNC and side_of(order) is Side.SELL


def swaps(look: Look, order: OrderPart) -> bool:
    """Whether a target of a group with a stop is swapped in: it is held anyway where sales block, or its broker refused the second sale."""
    return look.record(order).swaps or (order.hold and blocks(order))


def waits_for_stop(look: Look, part: Group, order: OrderPart) -> bool:
    """Whether a target must wait until a broker has accepted the stop. Nobody knows beforehand where both may not rest: a resting sale of delivery shares
    blocks them, and many brokers ask the margin of a fresh position for a second sale of anything. What is refused then must not be the stop."""
    if is_stop(order.price) or look.legs(order):
        return False
    open_stops = [
        stop for stop in stops_of(part) if look.record(stop).own is None and (blocks(order) or _goes_now(look, stop))
    ]
    return bool(open_stops) and not any(leg.accepted for stop in open_stops for leg in look.legs(stop))


def _goes_now(look: Look, stop: OrderPart) -> bool:
    """Whether a stop waits for nothing: neither for a condition, nor for the price at which its trail begins."""
    return not waits_to_activate(look, stop) and (stop.when is None or look.record(stop).fired)


def out(look: Look, order: OrderPart) -> int:
    """Return the units that an order part has at brokers, or on the way there, and that have not filled."""
    return sum(leg.unfilled for leg in look.live(order)) + sum(new.quantity for new in look.on_the_way(order))


def lent(look: Look, part: Group) -> int:
    """Return the units by which the group's stops are smaller, for the sake of its targets.

    A target that was sent beside a whole stop, before the group began to swap, has taken nothing from it as long as no broker has accepted it: it
    will be refused as its sibling was.
    """
    open_targets = (order for order in targets_of(part) if swaps(look, order) and look.record(order).own is None)
    return sum(max(_out_for_sure(look, order), _wished(look, order)) for order in open_targets)


def _wished(look: Look, order: OrderPart) -> int:
    """Return the units that a target wants out and that have not filled since: the order of a ladder's rung may be sent and fill between two looks."""
    record = look.record(order)
    return max(0, record.swap_units - max(0, look.filled(order) - record.swap_filled))


def _out_for_sure(look: Look, order: OrderPart) -> int:
    since = look.record(order).swaps_since
    beside = (leg for leg in look.live(order) if since is not None and leg.sent_at <= since and not leg.accepted)
    return out(look, order) - sum(leg.unfilled for leg in beside)


def room(look: Look, part: Group, guard: int, order: OrderPart) -> int:
    """Return the units that a target may have out: those of the group that neither its stops nor its other targets have out."""
    others = (other for other in (*stops_of(part), *targets_of(part)) if other is not order)
    return max(0, guard - sum(out(look, other) for other in others))


def note_wish(look: Look, order: OrderPart, units: int) -> None:
    """Note that a target wants `units` out in all, for which it has no room: the stops make room. The wish stands until an order of the target
    has a leg, so that each round of a look, and each look until then, finds the same."""
    if look.record(order).swap_units < units:
        look.note(order, swap_units=units, swap_filled=look.filled(order), swap_at=look.now)


def settle_wishes(look: Look, part: Group) -> None:
    """Take back the wishes that came true, or that their broker has refused."""
    for order in targets_of(part):
        record = look.record(order)
        at_brokers = sum(leg.unfilled for leg in look.live(order))
        newest = max((leg.sent_at for leg in look.legs(order)), default=float("-inf"))
        refused = record.swap_at is not None and newest >= record.swap_at and _newest_goes_again(look, order)
        over = record.own is not None or at_brokers >= _wished(look, order) or refused
        if record.swap_units and over:
            look.note(order, swap_units=0, swap_at=look.now)


def may_swap(look: Look, order: OrderPart) -> bool:
    """Whether a target may be swapped in again after the last swap."""
    at = swaps_again_at(look, order)
    if at > look.now:
        look.wake(at)
    return look.now >= at


def swaps_again_at(look: Look, order: OrderPart) -> float:
    """Return when a target may be swapped in again (epoch seconds); minus infinity where it was not swapped yet, or is on its way in."""
    record = look.record(order)
    if record.swap_at is None or record.swap_units or out(look, order):
        return float("-inf")
    return record.swap_at + AGAIN_SECONDS


def left_behind(look: Look, part: Group) -> Iterator[Leg]:
    """Yield the targets' orders that the market has left for BACK_SECONDS: their stop is to have the units back. Take back the wish of a target that has
    none. Where every stop has ended (a person has cancelled it), the targets rest as they are."""
    if all(look.record(stop).own is not None for stop in stops_of(part)):
        return
    for order in targets_of(part):
        record, legs = look.record(order), look.live(order)
        if not swaps(look, order) or not (legs or record.swap_units):
            continue
        prices = [leg.price for leg in legs] or [
            _limit(look, order)
        ]  # the stop may take a while to make room: its broker refuses the cancel
        if any(_is_touched(look, order, price) for price in prices if price is not None):
            if record.swap_at is None or look.now - record.swap_at >= NOTED_SECONDS:
                look.note(order, swap_at=look.now)
            continue
        since = look.now if record.swap_at is None else record.swap_at
        look.wake(since + BACK_SECONDS)
        if look.now < since + BACK_SECONDS:
            continue
        if record.swap_units:
            look.note(order, swap_units=0)
        yield from legs


def _limit(look: Look, order: OrderPart) -> Decimal | None:
    """Return the price of a target that has no order yet, where it is a number."""
    price, own = uncapped(order.price), look.record(order).price
    return own if own is not None or not isinstance(price, Fixed) else price.price


def _is_touched(look: Look, order: OrderPart, limit: Decimal) -> bool:
    quote = look.seen(order.instrument_id)
    return quote is not None and on_touch(quote, side_of(order), limit)


# --- refusals for want of shares or margin -----------------------------------------------------------------------------------


def lacks(look: Look, order: OrderPart, leg: Leg) -> bool:
    """Whether a leg of an exit was refused for want of shares or margin while something stands that another try can rely on.

    Either the plan itself holds the units that the exit closes, or another order of the same group of exits was accepted: then the two ask
    for the same shares. Or it is a guard over units that are held, or the target beside such a guard, and its caller was answered before the broker
    refused it. Any other exit that stands alone is refused for good; its caller hears that at once.
    """
    if not order.is_exit or leg.state is not LegState.REJECTED or not leg.shortage:
        return False
    if order.known_exit or any(other.accepted for sibling in _siblings(look, order) for other in look.legs(sibling)):
        return True
    beside_guard = any(is_stop(one.price) and look.record(one).own is None for one in _siblings(look, order))
    over_held = (look.record(order).armed_over or 0) > 0
    return (is_guard(order, look.record(order)) or beside_guard) and over_held and was_refused_late(look, order)


def was_refused_late(look: Look, order: OrderPart) -> bool:
    """Whether a broker took an order of an exit, so that its caller was answered, and refused it in its book a moment later (row 17)."""
    return any(leg.refused_late for leg in look.legs(order))


def tries_again(look: Look, order: OrderPart, leg: Leg) -> bool:
    """Whether a refusal is not the end of an exit: for want of shares or margin (`lacks`), of a price that the engine itself has put outside of the
    exchange's limits, or of the order that took the place of one which the engine itself had ended: a stop of an older stop, a target of the stop that
    made room for it. There was an exit until the engine took it away, so the engine goes on until there is one again (1.11)."""
    if lacks(look, order, leg) or not order.is_exit or leg.state is not LegState.REJECTED:
        return lacks(look, order, leg)
    if _is_beyond_limits(look, order, leg) or _had_room(look, order):
        return True
    if _took_backstops_place(look, order):
        return True
    taken_away = (Reason.REPLACE, Reason.SHRINK) if is_stop(order.price) else (Reason.REPLACE,)
    return any(
        other.state is LegState.CANCELLED and other.cancel_reason in taken_away and other.ended_at <= leg.sent_at
        for other in look.legs(order)
    )


def _took_backstops_place(look: Look, order: OrderPart) -> bool:
    """Whether an exit has fired whose group had a stop at a broker: the engine has ended that stop so that the exit can leave."""
    if order.when is None or not look.record(order).fired:
        return False
    stops = (sibling for sibling in _siblings(look, order) if sibling is not order and is_stop(sibling.price))
    ended = (leg for stop in stops for leg in look.legs(stop) if leg.state is LegState.CANCELLED and leg.accepted)
    return any(leg.cancel_reason in (Reason.PLAN, Reason.SHRINK, Reason.REPLACE) for leg in ended)


def _had_room(look: Look, order: OrderPart) -> bool:
    """Whether a stop has made room for an order: a target that is swapped in. A stop that no broker ever took made none."""
    if is_stop(order.price) or not swaps(look, order):
        return False
    stops = (sibling for sibling in _siblings(look, order) if is_stop(sibling.price))
    return any(leg.accepted for stop in stops for leg in look.legs(stop))


def _is_beyond_limits(look: Look, order: OrderPart, leg: Leg) -> bool:
    """Whether an exit was refused for a price that the engine has made, and nobody has heard of it in an answer: it was sent when its condition came
    true, or refused in its broker's book."""
    record = look.record(order)
    made = record.marketable or isinstance(uncapped(order.price), Marketable)
    late = leg.refused_late or (
        record.fired and record.started_at is not None and record.started_at > (record.due_at or 0.0)
    )
    return leg.beyond_limits and is_refused(leg) and leg.trigger is None and made and late


def _siblings(look: Look, order: OrderPart) -> Iterator[OrderPart]:
    for part in look.by_path.values():
        if is_group(part):
            own = list(own_orders_of(part))
            if any(one is order for one in own):
                yield from (one for one in own if one.is_exit)


def stop_is_selling(look: Look, order: OrderPart) -> bool:
    """Whether the stop of the target's group goes out as a plain limit, or has gone out so, because the market is past its trigger. That order fills at the
    touch wherever the target would; with both at the exchange both may fill, in the moment in which somebody comes to an empty side."""
    if is_stop(order.price):
        return False
    stops = [sibling for sibling in _siblings(look, order) if is_stop(sibling.price)]
    leaving = any(new.trigger is None for stop in stops for new in look.on_the_way(stop))
    selling = leaving or any(leg.trigger is None and leg.unfilled > 0 for stop in stops for leg in look.live(stop))
    return selling or any(_is_to_sell(look, stop) for stop in stops)


def _is_to_sell(look: Look, stop: OrderPart) -> bool:
    """Whether a stop with a given trigger has no order yet and will leave as a plain limit. In a plan that a caller has written its target may stand before
    it."""
    price, quote, record = uncapped(stop.price), look.seen(stop.instrument_id), look.record(stop)
    if not isinstance(price, NativeStop) or stop.when is not None or quote is None:
        return False
    trigger = price.trigger_price if record.trigger_price is None else record.trigger_price
    return record.own is None and not look.live(stop) and quote.is_past(trigger, side_of(stop))


def brokers_of_group(look: Look, order: OrderPart) -> frozenset[str]:
    """Return the brokers at which exits of the order's group rest."""
    return frozenset(leg.broker for sibling in _siblings(look, order) for leg in look.live(sibling))


def reorder(look: Look, part: Group) -> Iterator[Leg]:
    """Put the stop first where a broker has refused one of the group's orders for want of shares or margin: from then on the targets are
    swapped in. Yield their orders that rest while a stop was refused: they are ended, so that the stop finds its units."""
    targets, stops = targets_of(part), stops_of(part)
    settle_wishes(look, part)
    refused = [order for order in (*stops, *targets) if _newest_lacks(look, order)]
    if not refused:
        return
    for order in targets:
        if not look.record(order).swaps:
            look.note(order, swaps=True, swap_at=look.now, swaps_since=None if swaps(look, order) else look.now)
    if any(is_stop(order.price) for order in refused):
        for order in targets:
            yield from look.live(order)


def _newest_goes_again(look: Look, order: OrderPart) -> bool:
    legs = look.legs(order)
    return bool(legs) and tries_again(look, order, max(legs, key=lambda leg: leg.sent_at))


def _newest_lacks(look: Look, order: OrderPart) -> bool:
    legs = look.legs(order)
    return bool(legs) and lacks(look, order, max(legs, key=lambda leg: leg.sent_at))


def is_group(part: Part) -> bool:
    """Whether a part's exits may be for the same units: one cancels the others, or they stand side by side without groups of their own."""
    if isinstance(part, TogetherPart):
        return all(isinstance(child, OrderPart) for child in part.children)
    return isinstance(part, OneCancelsOthersPart)


def is_pair(part: Group) -> bool:
    """Whether a group has a stop and a target over the same instrument, so that sales of it can take units from each other."""
    stops, targets = stops_of(part), targets_of(part)
    return bool(stops and targets) and len({order.instrument_id for order in (*stops, *targets)}) == 1
