"""Closing the fills of a part, at their brokers, when a lifetime ends with close_filled (order-engine 1.8)."""

from collections import Counter

import attrs

from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.plan.machine.held_units import gone_of
from onebroker.actors.engine.plan.machine.jumped_stops import nobody_takes
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, ChangeLeg, Leg, NewLeg, Reason
from onebroker.actors.engine.plan.machine.leg_changes import end
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.over_fills import takers_by_base
from onebroker.actors.engine.plan.machine.overdue import at_any_price, block_due, has_no_price
from onebroker.actors.engine.plan.machine.refused_exits import again_at, is_refused, keeps_to_touch
from onebroker.actors.engine.plan.machine.verdicts import Verdict
from onebroker.actors.engine.plan.machine.wanted_prices import FOLLOWING
from onebroker.actors.engine.plan.parts import OrderPart, Part, orders_of, own_orders_of
from onebroker.actors.engine.plan.pieces.cutting import freeze_pieces
from onebroker.actors.engine.plan.pricing.touch import past_touch
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import OrderType, Side, Validity

CLOSED_ELSEWHERE_SECONDS = 1.0
"""After so long a close looks again that waits for another plan's close of the same position."""


def close_filled(look: Look, part: OrderPart) -> Verdict | None:
    """Send the orders that close the part's fills less the fills of its exits. Return how that ended; None while it goes on.

    The exits must have ended first. So a close that its broker refused goes again (`refused_exits.py`), and a close that never reached its broker too.
    A close that ended unfilled is not sent again.
    """
    linked = [] if part.each_fill is None else list(orders_of(part.each_fill))
    takers = [order for base, orders in takers_by_base(look.root) if _is_of(part, base) for order in orders]
    if any(_still_trades(look, order) for order in (*linked, *takers)):
        look.still_waits.add(part.path)
        return None
    done = True
    for broker, opened in _open_by_broker(look, part).items():
        units = opened - gone_of(look, part).get(broker, 0)
        legs = [leg for leg in look.closing_legs(part) if leg.broker == broker]
        left = units - sum(leg.filled for leg in legs)
        failed = next((leg for leg in legs if _has_failed(leg) and not is_refused(leg)), None)
        if left > 0 and failed is not None:
            return Verdict(PartState.FAILED, failed.status_message or texts.still_open(left))
        if left > 0:
            done = False
            _close(look, part, broker, left, legs)
    return Verdict(PartState.COMPLETED, _why_nothing_closed(look, part)) if done else None


def _why_nothing_closed(look: Look, part: OrderPart) -> str | None:
    """Return why no order closed anything: all units have gone without the plan. None where an order did, or nothing was open."""
    gone = [broker for broker, units in gone_of(look, part).items() if units > 0]
    if not gone or any(leg.filled for leg in look.closing_legs(part)):
        return None
    return texts.nothing_to_exit(gone[0], sent=False)


def _has_failed(leg: Leg) -> bool:
    given_back = leg.cancel_reason in Reason.GIVES_BACK
    return not leg.live and leg.filled < leg.quantity and not leg.never_reached and not given_back


def _still_trades(look: Look, order: OrderPart) -> bool:
    return bool(look.live(order)) or any(new.instance != CLOSING for new in look.on_the_way(order))


def takes_away(look: Look, part: OrderPart) -> bool:
    """Whether the part's fills close the part it hangs on. Such fills must not be closed again."""
    return any(order is part for _, orders in takers_by_base(look.root) for order in orders)


def units_to_close(look: Look, part: OrderPart) -> int:
    """Return the units that the part has filled and that nothing has closed yet."""
    if takes_away(look, part):
        return 0
    closed = sum(leg.filled for leg in look.closing_legs(part))
    return sum(max(0, units) for units in _open_by_broker(look, part).values()) - closed


def _is_of(part: OrderPart, base: Part) -> bool:
    return any(order is part for order in own_orders_of(base))


def _open_by_broker(look: Look, part: OrderPart) -> Counter[str]:
    """Return the part's fills by broker, less the fills that close them. An order that closes several parts counts for the first part
    first."""
    held = _by_broker(look, part)
    for base, orders in takers_by_base(look.root):
        if _is_of(part, base):
            taken: Counter[str] = sum((_by_broker(look, order) for order in orders), Counter())
            for own_order in own_orders_of(base):
                if own_order is part:
                    break
                taken -= _by_broker(look, own_order)
            held.subtract(taken)
    return held


def _by_broker(look: Look, part: OrderPart) -> Counter[str]:
    filled: Counter[str] = Counter()
    for leg in look.legs(part):
        filled[leg.broker] += leg.filled
    return filled


def _say_unmatched(look: Look, part: OrderPart, side: Side, resting: list[Leg]) -> None:
    why = nobody_takes(look, part.instrument_id, side, resting)
    if why is not None:
        block_due(look, part, why, blind=part.instrument_id)


def _close(look: Look, part: OrderPart, broker: str, units: int, legs: list[Leg]) -> None:
    side, terms = side_of(part).opposite, look.terms(part)
    look.guarded.add(part.instrument_id)
    quote = look.seen(part.instrument_id)
    refused = [leg for leg in legs if is_refused(leg)]
    at_touch = keeps_to_touch(look, part, CLOSING)
    rule = attrs.evolve(FOLLOWING, buffer_ticks=0) if at_touch else FOLLOWING
    price = None if quote is None else past_touch(rule, side, units, quote, terms)
    order_type: OrderType = OrderType.LIMIT
    resting = [leg for leg in legs if leg.live]
    # A leg that was taken as not sent may be at its broker after all (row 13c).
    too_much = sum(leg.unfilled for leg in resting) - units
    if too_much > 0 and resting[-1].unfilled <= too_much:
        end(look, resting[-1], Reason.SHRINK)
        return
    for leg in resting:
        due = max(leg.sent_at, leg.moved_at) + look.rules.follow_seconds
        look.wake(due)
        if leg.changeable and price is not None and look.now >= due and price != leg.price and leg.price is not None:
            look.do(ChangeLeg(leg_id=leg.leg_id, quantity=leg.quantity, price=price, trigger=None, reduces=False))
    _say_unmatched(look, part, side, resting)
    on_the_way = any(order.instance == CLOSING and order.broker == broker for order in look.on_the_way(part))
    if resting or on_the_way:
        return
    if refused:
        look.wake(again_at(refused))
    if look.now < again_at(refused):
        newest = max(refused, key=lambda leg: leg.ended_at)
        block_due(look, part, texts.close_refused(newest.broker, newest.status_message))
        return
    if price is None:
        reason = has_no_price(look, part, part.instrument_id, side)
        if reason is not None:
            block_due(look, part, reason, blind=part.instrument_id)
            return
        order_type, price = at_any_price(look, quote, side, part, at_last=at_touch)
    closing = look.market.being_closed(broker, part.instrument_id, part.product, side)
    if closing:
        held = look.market.held(broker, part.instrument_id, part.product, side)
        units = min(units, max(0, (held or 0) - closing))
        look.wake(look.now + CLOSED_ELSEWHERE_SECONDS)
    if units <= 0:
        block_due(look, part, texts.closed_elsewhere(broker))
        return
    for size in freeze_pieces(units, terms):
        look.do(
            NewLeg(
                part=part.path,
                instrument_id=part.instrument_id,
                side=side,
                product=part.product,
                validity=Validity.DAY,
                quantity=size,
                order_type=order_type,
                price=price,
                trigger=None,
                broker=broker,
                is_exit=True,
                known_exit=True,
                instance=CLOSING,
                tag=part.tag,
            )
        )
