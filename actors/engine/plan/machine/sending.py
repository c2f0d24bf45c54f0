"""What an order part sends now, by its execution kind (order-engine 1.5)."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs

from onebroker.actors.engine.plan.executions import (
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
from onebroker.actors.engine.plan.machine.discretion import work_discretion
from onebroker.actors.engine.plan.machine.instances import send_instances
from onebroker.actors.engine.plan.machine.legs import Reason
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.placing import Sending
from onebroker.actors.engine.plan.machine.resizing import end, grow
from onebroker.actors.engine.plan.machine.targets import given_back
from onebroker.actors.engine.plan.machine.wanted import Asked, price_of
from onebroker.actors.engine.plan.parts import FromPosition, OrderPart
from onebroker.actors.engine.plan.pieces.cutting import (
    due_time,
    freeze_pieces,
    piece_due,
    randomised,
    rungs,
    timed_ends,
)
from onebroker.actors.engine.plan.prices import Discretion, Fixed, FromFillPrice, is_stop
from onebroker.actors.engine.plan.pricing.touch import within_reach
from onebroker.actors.engine.plan.state import Instance, RowToClose
from onebroker.config.clock import from_epoch
from onebroker.config.vocabulary import Side

STRIKE_SECONDS = 2.0
"""Least time between two strikes of book_depth, and how long a strike may rest where a broker has no IOC."""
VOLUME_SECONDS = 5.0
"""How often participation looks at the market's volume."""


def send(sending: Sending) -> None:
    """Do what the execution wants now."""
    part = sending.part
    if sending.look.record(part).marketable:
        if not sending.look.on_the_way(part):
            sending.place(sending.missing)
    elif isinstance(part.quantity, FromPosition):
        _rows(sending)
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
            return  # what it comes to is not known; more follows then
    grown = grow(sending, missing)
    if not grown:
        sending.place(missing)


def _frozen(sending: Sending, _: FreezeLimit) -> None:
    if sending.look.committed(sending.part):
        return
    for piece, size in enumerate(freeze_pieces(sending.target, sending.look.terms(sending.part))):
        sending.place(size, piece=piece)


def _iceberg(sending: Sending, execution: Iceberg) -> None:
    look, part = sending.look, sending.part
    if look.live(part) or look.on_the_way(part) or sending.missing <= 0:
        return
    piece = len(look.legs(part))
    sending.place(min(_size(sending, execution.slice_quantity, execution.randomise_percent, piece), sending.missing),
                  piece=piece)  # fmt: skip


def _size(sending: Sending, size: int, percent: Decimal, piece: int) -> int:
    """Return the size drawn for a piece; drawn once."""
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
            end(look, leg, Reason.PIECE)
        return  # their rests join the piece once they have ended
    if isinstance(price_of(look, part), Fixed):
        _each_piece(sending, ends, piece)
    elif not look.on_the_way(part):
        sending.place(ends[piece] - look.committed(part), piece=piece)


def moves_away(look: Look, part: OrderPart) -> bool:
    """Whether a piece's rest goes with the next one: all but plain limits, which stay (1.5, timed pieces)."""
    return not isinstance(price_of(look, part), Fixed)


def _each_piece(sending: Sending, ends: tuple[int, ...], piece: int) -> None:
    """Send each due piece as an order of its own."""
    sent = sending.look.committed(sending.part)
    for number in range(piece + 1):
        if ends[number] > sent and sending.place(ends[number] - sent, piece=number):
            sent = ends[number]


def _participate(sending: Sending, execution: Participation) -> None:
    look, part = sending.look, sending.part
    quote = look.seen(part.instrument_id)
    look.wake(look.now + VOLUME_SECONDS)
    if quote is None or quote.volume is None:
        return
    base = look.record(part).volume_base
    if base is None or quote.volume < base:
        look.note(part, volume_base=quote.volume)
        return
    if look.live(part) or look.on_the_way(part) or len(look.legs(part)) >= execution.most_slices:
        return
    share = int((quote.volume - base) * execution.percent / 100)
    sending.place(look.terms(part).whole_lots(min(share, sending.target) - look.committed(part)),
                  piece=len(look.legs(part)))  # fmt: skip


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
    reach = None if quote is None else within_reach(quote, sending.side, execution.limit_price, terms)
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
    due = min(sending.target, (beats + 1) * execution.piece_quantity)
    missing = due - look.committed(part)
    piece = len(look.legs(part)) + len(look.on_the_way(part))
    size = _size(sending, execution.piece_quantity, execution.randomise_percent, piece) if missing > 0 else 0
    sending.place(
        min(missing, sending.missing) if execution.catch_up else min(missing, size, sending.missing), piece=piece
    )


def _daily(sending: Sending, execution: Daily) -> None:
    """A fresh leg each trading day; a stop that has traded at all is not armed again."""
    look, part = sending.look, sending.part
    if look.live(part) or look.on_the_way(part) or (is_stop(part.price) and look.filled(part)):
        return
    session = look.session(part, look.now)
    if session is None:
        return
    day = from_epoch(session.opens).date()
    at = max(session.opens, from_epoch(session.opens).replace(
        hour=execution.arm_at.hour, minute=execution.arm_at.minute, second=0, microsecond=0).timestamp())  # fmt: skip
    if look.record(part).armed_day == day.isoformat():
        look.wake(session.closes)
        return
    if look.now < at:
        look.wake(at)
        return
    if sending.place(sending.missing, piece=len(look.legs(part))):
        look.note(part, armed_day=day.isoformat())


def _ladder(sending: Sending, execution: Ladder) -> None:
    look, part = sending.look, sending.part
    steps = rungs(execution, sending.target - given_back(look, part), sending.side, look.terms(part))
    for number, rung in enumerate(steps):
        legs = [leg for leg in look.legs(part) if leg.piece == number]
        waiting = [order for order in look.on_the_way(part) if order.piece == number]
        out = sum(leg.committed for leg in legs) + sum(order.quantity for order in waiting)
        missing = rung.quantity + given_back(look, part, number) - out
        if missing > 0 and not waiting:
            _place_rung(sending, number, missing, rung.price)
        filled = sum(leg.filled for leg in legs)
        if execution.one_at_a_time and filled < rung.quantity:
            return


def _place_rung(sending: Sending, number: int, quantity: int, price: Decimal) -> None:
    rung_part = attrs.evolve(sending.part, price=Fixed(price))
    attrs.evolve(sending, part=rung_part).place(quantity, piece=number)


def _rows(sending: Sending) -> None:
    """Close each net position that was read, at its own broker."""
    look, part = sending.look, sending.part
    form, rows = part.quantity, look.record(part).rows
    assert isinstance(form, FromPosition)
    for row in rows or ():
        key = f"{row.broker}|{row.instrument_id}|{row.product}"
        legs = [leg for leg in look.legs(part) if leg.instance == key]
        if any(leg.live for leg in legs) or any(order.instance == key for order in look.on_the_way(part)):
            continue
        size = abs(row.quantity) if form.most is None else min(abs(row.quantity), form.most)
        missing = size * form.ratio - sum(leg.filled for leg in legs)
        if missing > 0 and not any(not leg.live and leg.cancel_reason not in Reason.GIVES_BACK for leg in legs):
            _close_row(sending, row, missing, key)


def _close_row(sending: Sending, row: RowToClose, quantity: int, key: str) -> None:
    side = Side.SELL if row.quantity > 0 else Side.BUY
    part = attrs.evolve(
        sending.part,
        instrument_id=row.instrument_id,
        transaction_type=side.value,
        product=row.product,
        broker=row.broker,
        is_exit=True,
    )
    from decimal import Decimal

    made = Instance(key=key, leg_id="", quantity=quantity, price=Decimal(0))
    attrs.evolve(sending, part=part).place(quantity, asked=Asked(quantity=quantity, instance=made))


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
