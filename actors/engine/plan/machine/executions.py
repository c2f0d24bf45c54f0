"""The orders that an order part sends now, by its execution kind (order-engine 1.5)."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.orders.reference_values import PriceReference
from onebroker.actors.engine.plan.execution_kinds import (
    AllAtOnce,
    BookDepth,
    Daily,
    Execution,
    FreezeLimit,
    FrontLoaded,
    Iceberg,
    Ladder,
    Participation,
    TopUp,
    Twap,
    Vwap,
)
from onebroker.actors.engine.plan.machine.centre_price import centre_of
from onebroker.actors.engine.plan.machine.conditions import after_opening
from onebroker.actors.engine.plan.machine.crossing import unseen
from onebroker.actors.engine.plan.machine.discretion import work_discretion
from onebroker.actors.engine.plan.machine.instances import send_instances
from onebroker.actors.engine.plan.machine.inventory import opposite_levels, room
from onebroker.actors.engine.plan.machine.leg_actions import Leg, Reason
from onebroker.actors.engine.plan.machine.leg_changes import end, grow, replace
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.missing_shares import ended_unseen
from onebroker.actors.engine.plan.machine.new_legs import Sending
from onebroker.actors.engine.plan.machine.overdue import block, cannot_leave, is_of_earlier_day
from onebroker.actors.engine.plan.machine.target_quantities import given_back
from onebroker.actors.engine.plan.machine.verdicts import forgone, goes_again, taken_off
from onebroker.actors.engine.plan.machine.wanted_prices import price_of
from onebroker.actors.engine.plan.market import Level, Session
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.actors.engine.plan.pieces.cutting import (
    due_time,
    freeze_pieces,
    piece_due,
    randomised,
    rungs,
    timed_ends,
)
from onebroker.actors.engine.plan.price_kinds import (
    RESTING,
    Discretion,
    Fixed,
    FromFillPrice,
    Marketable,
    is_stop,
    uncapped,
)
from onebroker.actors.engine.plan.pricing.touch import within_reach
from onebroker.config.clock import from_epoch
from onebroker.config.messages import plan_life as texts

STRIKE_SECONDS = 2.0
"""The least time between two strikes of book_depth, and how long a strike may rest at a broker without IOC."""
VOLUME_SECONDS = 5.0
"""The seconds between two looks of participation at the market's volume."""
SMALL_VOLUME = 1_000
"""Units. At the opening a volume of a few units is no odd figure."""


def send(sending: Sending) -> None:
    """Send what the execution wants now."""
    part = sending.part
    if sending.look.record(part).marketable:
        if not sending.look.on_the_way(part):
            sending.place(sending.missing)
    elif isinstance(part.price, FromFillPrice):
        send_instances(sending)
    elif isinstance(part.price, Discretion):
        work_discretion(sending, part.price)
    else:
        _KINDS[type(part.execution)](sending, part.execution)


def _all_at_once(sending: Sending, _: AllAtOnce) -> None:
    missing = sending.missing
    if missing <= 0:
        return
    for leg in sending.look.live(sending.part):
        if leg.state.unsettled or leg.busy:
            return  # its outcome is not known yet; the missing units follow later
    # A marketable price: the difference is sent at the present price, not at the resting order's older price. A target that is swapped in
    # asks its stop for room first (`swaps.py`).
    grows = not isinstance(uncapped(sending.part.price), Marketable) and sending.context.room is None
    grown = grows and grow(sending, missing)
    if not grown:
        sending.place(missing)


def _frozen(sending: Sending, _: FreezeLimit) -> None:
    look, part = sending.look, sending.part
    if sending.missing <= 0:
        return
    further = len(look.legs(part)) + len(look.on_the_way(part))
    for piece, size in enumerate(freeze_pieces(sending.missing, look.terms(part)), further):
        sending.place(size, piece=piece)


def _iceberg(sending: Sending, execution: Iceberg) -> None:
    look, part = sending.look, sending.part
    if look.live(part) or look.on_the_way(part) or sending.missing <= 0:
        return
    piece = len(look.legs(part))
    sending.place(min(_size(sending, execution.slice_quantity, execution.randomise_percent, piece), sending.missing),
                  piece=piece)  # fmt: skip


def _size(sending: Sending, size: int, percent: Decimal, piece: int) -> int:
    """Return the size of a piece. A random size is drawn only once for each piece."""
    look, part = sending.look, sending.part
    sizes = look.record(part).sizes
    if piece < len(sizes):
        return sizes[piece]
    drawn = randomised(size, percent, look.draw, look.terms(part))
    look.note(part, sizes=(*sizes, drawn))
    return drawn


def _timed(sending: Sending, execution: Twap | Vwap | FrontLoaded) -> None:
    look, part = sending.look, sending.part
    started_at = look.record(part).started_at
    if started_at is None:
        started_at = look.now
        look.note(part, started_at=started_at)
    piece = piece_due(execution, started_at, look.now)
    if piece + 1 < execution.slices:
        look.wake(due_time(execution, started_at, piece + 1))
    ends = timed_ends(execution, sending.target, look.terms(part))
    older = [leg for leg in look.live(part) if leg.piece < piece]
    if moves_away(look, part) and older:
        for leg in older:
            replace(look, leg, Reason.PIECE)
        return  # their unfilled units join the new piece once they have ended
    if piece + 1 < execution.slices and any(leg.piece == piece and _stands(leg) for leg in look.legs(part)):
        return  # units that a caller took off this piece go with the next piece
    if isinstance(price_of(look, part), RESTING):
        _each_piece(sending, ends, piece)
    elif not look.on_the_way(part):
        sending.place(ends[piece] - sending.committed, piece=piece)


def _stands(leg: Leg) -> bool:
    """Whether the leg of a piece is live or complete, so that the piece is not to be sent again."""
    return leg.live or leg.state is LegState.COMPLETE


def moves_away(look: Look, part: OrderPart) -> bool:
    """Whether a piece's unfilled units go with the next piece: for all prices except plain limits, which stay (1.5, timed pieces)."""
    return not isinstance(price_of(look, part), RESTING)


def _each_piece(sending: Sending, ends: tuple[int, ...], piece: int) -> None:
    """Send each due piece as its own order. Earlier pieces that were sent are left unchanged."""
    look, part = sending.look, sending.part
    sent = sending.committed
    known = {leg.piece for leg in look.legs(part) if _stands(leg)}
    for number in range(piece + 1):
        if number < piece and number in known:
            continue
        if ends[number] > sent and sending.place(ends[number] - sent, piece=number):
            sent = ends[number]


def _participate(sending: Sending, execution: Participation) -> None:
    look, part = sending.look, sending.part
    quote = look.seen(part.instrument_id)
    look.wake(look.now + VOLUME_SECONDS)
    if quote is None or quote.volume is None:
        return
    traded = _traded_since(look, part, quote.volume, quote.received_at)
    if traded is None or look.live(part) or look.on_the_way(part):
        return
    if sum(not _replaced(leg) for leg in look.legs(part)) >= execution.most_slices:
        if sending.missing > 0:
            look.note(part, own=PartState.EXPIRED)  # the slices are used up (3.34)
        return
    last = max((leg.sent_at for leg in look.legs(part)), default=look.record(part).due_at or look.now)
    if look.now < last + VOLUME_SECONDS:
        look.wake(last + VOLUME_SECONDS)
        return
    share = int(traded * execution.percent / 100)
    sending.place(look.terms(part).whole_lots(min(share, sending.target) - sending.committed),
                  piece=len(look.legs(part)))  # fmt: skip


def _traded_since(look: Look, part: OrderPart, volume: int, at: float) -> int | None:
    """Return the market's volume since participation began; None while only its base is known. It never falls.

    The volume of a day only grows, so a lower figure is ignored: a feed that begins anew counts from zero, and the next tick is right again. The base
    itself may be such an odd figure. So it counts once the next figure bears it out: one that is not lower and not twice as large. Otherwise that figure is
    the base. On a new day the volume begins at zero, and the volumes of the days before stay counted. (A jump is doubted before it comes
    here: `context/seen_quotes.py`.)
    """
    record, today = look.record(part), from_epoch(look.now).date().isoformat()
    base, seen = record.volume_base, record.volume_seen
    if base is None:
        look.note(part, volume_base=volume, volume_base_at=at, volume_day=today)
        return None
    if record.volume_day not in (None, today):
        base, seen = volume - ((base if seen is None else seen) - base), volume
    elif seen is None and at == record.volume_base_at:
        return None
    elif seen is None:
        base = base if base <= volume <= max(2 * base, base + SMALL_VOLUME) else volume
        seen = volume
    else:
        seen = max(seen, volume)
    if (base, seen, today) != (record.volume_base, record.volume_seen, record.volume_day):
        look.note(part, volume_base=base, volume_seen=seen, volume_day=today)
    return seen - base


def _replaced(leg: Leg) -> bool:
    """Whether a fresh leg took over the unfilled units of this leg: both legs are then one piece."""
    return leg.state is LegState.CANCELLED and leg.cancel_reason == Reason.REPLACE


def _strike(sending: Sending, execution: BookDepth) -> None:
    look, part, terms = sending.look, sending.part, sending.look.terms(sending.part)
    for leg in look.live(part):
        if not leg.immediate and look.now - leg.sent_at >= STRIKE_SECONDS:
            end(look, leg, Reason.PIECE)
        look.wake(leg.sent_at + STRIKE_SECONDS)
    rest = sending.missing
    if look.live(part) or look.on_the_way(part) or rest <= 0:
        return
    last = max((leg.sent_at for leg in look.legs(part)), default=float("-inf"))
    if look.now - last < STRIKE_SECONDS:
        look.wake(last + STRIKE_SECONDS)
        return
    quote = look.seen(part.instrument_id)
    own = look.record(part).price  # a caller's own limit
    limit = execution.limit_price if own is None else own
    reach = None if quote is None else within_reach(quote, sending.side, limit, terms)
    if reach is not None and reach.quantity >= min(execution.minimum_quantity, rest):
        sending.place(min(reach.quantity, rest), piece=len(look.legs(part)), immediate=True)


def _top_up(sending: Sending, execution: TopUp) -> None:
    look, part = sending.look, sending.part
    if execution.wait_for_fill and (look.live(part) or look.on_the_way(part)):
        return
    started_at = look.record(part).started_at
    every = float(execution.every_seconds)
    beats = 0 if started_at is None else int((look.now - started_at) / every + 1e-9)
    look.wake((look.now if started_at is None else started_at) + (beats + 1) * every)
    began = look.now if started_at is None else started_at + beats * every
    this_beat = [leg for leg in look.legs(part) if leg.sent_at >= began]
    # One piece in each beat, however it ends. An order that replaces one which can no longer be moved is the same piece.
    if look.on_the_way(part) or not all(_replaced(leg) for leg in this_beat):
        return
    by_now = (beats + 1) * execution.piece_quantity - forgone(part, look.legs(part))
    due = sending.target if execution.standing else min(sending.target, by_now)
    missing = due - sending.committed
    limit = room(look, part)
    if limit is not None:
        missing = min(missing, look.terms(part).whole_lots(limit))
    piece = len(look.legs(part)) + len(look.on_the_way(part))
    missing = min(missing, sending.missing)
    if not execution.catch_up and missing > 0:
        size = _size(sending, execution.piece_quantity, execution.randomise_percent, piece)
        missing = min(missing, size - sum(leg.filled for leg in this_beat))
    sending.place(missing, piece=piece)


def _daily(sending: Sending, execution: Daily) -> None:
    """Send a fresh leg each trading day. A stop that has traded at all is not sent again."""
    look, part = sending.look, sending.part
    look.note(part, arms_at=None)
    session = look.session(part, look.now)
    has_traded = is_stop(part.price) and look.filled(part)
    if look.live(part) or look.on_the_way(part) or has_traded:
        _block_old(sending, session, execution)
        if has_traded or session is None or not _is_old_elsewhere(look, part, session):
            if not _grow_back(sending, session):
                _send_rest(sending, session)
            return
    if session is None:
        return
    day = from_epoch(session.opens).date()
    _say_why_not(look, part, day)
    sent_today = any(from_epoch(leg.sent_at).date() >= day for leg in look.legs(part) if not goes_again(part, leg))
    if sent_today or look.record(part).armed_day == day.isoformat():
        look.note(part, arms_at=_arms_next(look, part, session, execution))
        look.wake(session.closes)
        _block_refused(sending, day)
        return
    at = after_opening(look, part, _arms_at(session, execution))
    if look.now < at:
        look.note(part, arms_at=at)
        look.wake(at)
        return
    if sending.place(sending.missing, piece=len(look.legs(part))):
        before = next(reversed(ended_unseen(look, part)), None)
        look.note(part, status_message=None if before is None else before.status_message)


def _is_old_elsewhere(look: Look, part: OrderPart, session: Session) -> bool:
    """Whether all that may be out of an exit are orders of an earlier day, each at a holder of its own, whose broker has not told since what became of them.
    What other holders have is sent all the same (1.13)."""
    has_holders = part.broker is None and part.is_exit and not part.known_exit
    live = look.live(part)
    return has_holders and not look.on_the_way(part) and all(is_of_earlier_day(leg, session) for leg in live)


def _grow_back(sending: Sending, session: Session | None) -> bool:
    """Make today's order of an exit larger again: the units for which it had become smaller are back, or an older exit that had them has ended. False
    where none grows."""
    look, part = sending.look, sending.part
    live = look.live(part)
    if session is None or not part.is_exit or look.filled(part) or look.on_the_way(part):
        return False
    if ended_unseen(look, part):
        return False  # today's order is for what was held, whatever the target says (K15)
    settled = not any(leg.state.unsettled or leg.busy for leg in live)
    return settled and sending.missing > 0 and grow(sending, sending.missing)


def _send_rest(sending: Sending, session: Session | None) -> None:
    """Send what today's orders have left out because their brokers hold no more: an exit without a broker gets an order at each holder. What was
    refused, or taken off by another hand, counts as sent."""
    look, part = sending.look, sending.part
    if session is None or part.broker is not None or not part.is_exit or part.known_exit or look.on_the_way(part):
        return
    day = from_epoch(session.opens).date()
    today = [leg for leg in look.legs(part) if from_epoch(leg.sent_at).date() >= day and not goes_again(part, leg)]
    old = sum(leg.unfilled for leg in look.live(part) if leg not in today)
    rest = sending.target - sum(map(_asked, today)) - old
    if any(leg.busy for leg in today):
        return  # a change is under way, and what it takes off is not known yet
    if today and rest > 0 and look.record(part).armed_over:
        sending.place(rest, piece=len(look.legs(part)))


def _asked(leg: Leg) -> int:
    """Return the units that a leg was sent for, less those that the plan itself has taken off it."""
    if leg.state is LegState.CANCELLED and leg.cancel_reason == Reason.SHRINK:
        return leg.filled
    return leg.quantity + max(0, leg.taken_off)


def _arms_at(session: Session, execution: Daily) -> float:
    """Return when a daily part sends its order in a session, in epoch seconds."""
    arm_at = execution.arm_at
    at = from_epoch(session.opens).replace(hour=arm_at.hour, minute=arm_at.minute, second=0, microsecond=0)
    return max(session.opens, at.timestamp())


def _arms_next(look: Look, part: OrderPart, session: Session, execution: Daily) -> float | None:
    """Return when a daily part sends its next order after this session, in epoch seconds; None when its days are over by then."""
    following, due_at = look.session(part, session.closes), look.record(part).due_at
    if following is None or due_at is None:
        return None
    days = (from_epoch(following.opens).date() - from_epoch(due_at).date()).days
    return after_opening(look, part, _arms_at(following, execution)) if days <= execution.valid_days else None


def _say_why_not(look: Look, part: OrderPart, day: date) -> None:
    """Note in the part's record why the day's order is missing: the broker, or one of our checks, refused it."""
    refusal, legs = look.record(part).refusal, look.legs(part)
    if refusal is not None:
        look.note(part, refusal=None, status_message=refusal, armed_day=day.isoformat())
    elif legs and legs[-1].state in (LegState.REJECTED, LegState.NOT_SENT) and not goes_again(part, legs[-1]):
        message = legs[-1].status_message
        if message is not None and look.record(part).status_message != message:
            look.note(part, status_message=message)


def _block_old(sending: Sending, session: Session | None, execution: Daily) -> None:
    """Say that the day's order is missing while that of an earlier day still seems to rest: its broker cannot be read. It guards nothing today."""
    look, part = sending.look, sending.part
    old = [] if session is None else [leg for leg in look.live(part) if is_of_earlier_day(leg, session)]
    if session is None or not old:
        return
    at = _arms_at(session, execution)
    look.wake(at)
    if look.now >= at:
        block(look, part, cannot_leave(look, (leg.broker for leg in old)) or texts.old_order(old[0].broker))


def _block_refused(sending: Sending, day: date) -> None:
    """Say that the day's order was refused: until the next session nothing guards the units (1.11). Its caller does not know it either: he was told that
    the part is armed."""
    look, part = sending.look, sending.part
    legs = [leg for leg in look.legs(part) if from_epoch(leg.sent_at).date() >= day]
    refusal = look.record(part).status_message
    if not legs and refusal is not None:
        block(look, part, refusal)
    elif legs and legs[-1].state in (LegState.REJECTED, LegState.NOT_SENT) and not legs[-1].filled:
        block(look, part, texts.close_refused(legs[-1].broker, legs[-1].status_message))


def _ladder(sending: Sending, execution: Ladder) -> None:
    look, part = sending.look, sending.part
    ladder = execution if execution.around is not None else _placed_around(sending, execution)
    if ladder is None:
        return
    total = sending.target + forgone(part, look.legs(part)) - given_back(look, part)
    # A ladder that has become smaller is cut anew, and its rungs no longer fit what rests. Together they send no more than is missing.
    most = sending.missing
    for number, rung in enumerate(rungs(ladder, total, sending.side, look.terms(part))):
        legs = [leg for leg in look.legs(part) if leg.piece == number]
        waiting = [order for order in look.on_the_way(part) if order.piece == number]
        wanted_units = rung.quantity + given_back(look, part, number)
        out = sum(leg.spoken_for for leg in legs) + sum(order.quantity for order in waiting)
        missing = min(most, wanted_units - out - forgone(part, legs))
        if missing > 0 and not waiting:
            most -= missing
            limit = room(look, part)
            if (limit is not None and missing > limit) or (execution.one_at_a_time and _later_rest(sending, number)):
                return
            price = (
                rung.price
                if execution.around is None
                else _referenced_rung(sending, execution, execution.around, number)
            )
            if price is not None:
                _place_rung(sending, number, missing, price)
        if execution.one_at_a_time and sum(leg.filled for leg in legs) + taken_off(legs) < wanted_units:
            return


def _placed_around(sending: Sending, execution: Ladder) -> Ladder | None:
    """Return the ladder with its prices; None while they are not known. A ladder around the middle waits for the first middle, and keeps
    that middle."""
    if not execution.from_middle:
        return execution
    look, part = sending.look, sending.part
    memory = look.record(part).memory
    if memory.base is None:
        quote = look.book(part.instrument_id)
        if quote is None:
            look.cannot(part, *unseen(look.market, part.instrument_id, sending.side))
            return None
        if quote.mid is None:
            look.cannot(part, 409, texts.nobody(sending.side))
            return None
        memory = attrs.evolve(memory, base=quote.mid)
        look.remember(part, memory)
    assert memory.base is not None
    return _moved(execution, memory.base)


def _moved(ladder: Ladder, centre: Decimal) -> Ladder:
    """Return the ladder with its distances turned into prices around `centre`."""
    return attrs.evolve(ladder, from_price=centre + ladder.from_price, to_price=centre + ladder.to_price)


def _referenced_rung(sending: Sending, execution: Ladder, around: PriceReference, number: int) -> Decimal | None:
    """Return a rung's price around the price of the reference; None while that cannot be worked out.

    The price is worked out once for each order, so a held order waits at a fixed price.
    """
    look, part = sending.look, sending.part
    resolved = look.record(part).memory.resolved
    key = f"{number}.{sum(leg.piece == number for leg in look.legs(part))}"
    if key not in resolved:
        own = tuple(Level(leg.price, leg.unfilled) for leg in look.live(part) if leg.price is not None)
        quote = look.seen(part.instrument_id) if around.needs_quote else None
        centre = centre_of(look, part, around, quote, own, opposite_levels(look, part))
        if centre is None:
            return None
        others = {other_key: price for other_key, price in resolved.items() if not other_key.startswith(f"{number}.")}
        resolved = {**others, key: centre}
        look.remember(part, attrs.evolve(look.record(part).memory, resolved=resolved))
    return rungs(_moved(execution, resolved[key]), sending.target, sending.side, look.terms(part))[number].price


def _later_rest(sending: Sending, number: int) -> bool:
    """Cancel the resting orders of later rungs before an earlier rung is restored. Return whether any such order is still there (3.39)."""
    later = [leg for leg in sending.look.live(sending.part) if leg.piece > number]
    for leg in later:
        end(sending.look, leg, Reason.SHRINK)
    return bool(later) or any(order.piece > number for order in sending.look.on_the_way(sending.part))


def _place_rung(sending: Sending, number: int, quantity: int, price: Decimal) -> None:
    rung_part = attrs.evolve(sending.part, price=Fixed(price))
    attrs.evolve(sending, part=rung_part).place(quantity, piece=number)


_KINDS: dict[type[Execution], Callable[[Sending, Any], None]] = {
    AllAtOnce: _all_at_once,
    Iceberg: _iceberg,
    Twap: _timed,
    Vwap: _timed,
    FrontLoaded: _timed,
    Participation: _participate,
    BookDepth: _strike,
    TopUp: _top_up,
    Daily: _daily,
    Ladder: _ladder,
    FreezeLimit: _frozen,
}
