"""Closing net positions, each at its own broker: an order part whose quantity is taken from positions (order-engine 1.3).

The shell reads the rows, after it has cancelled the resting orders there where the part says so. The rows are in the part's record
before anything is sent for them. Each row is independent: it is worked on its own side, at its own instrument's quotes, and its end
does not stop the other rows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import Instance, PartRecord, PartState, RowToClose
from onebroker.actors.engine.plan.machine.jumped_stops import note_passed, note_unmatched
from onebroker.actors.engine.plan.machine.leg_actions import Leg, NewLeg, ReadRows
from onebroker.actors.engine.plan.machine.leg_changes import move_legs, reduce
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.new_legs import Sending
from onebroker.actors.engine.plan.machine.overdue import block, is_overdue
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.refused_exits import again_at, is_refused
from onebroker.actors.engine.plan.machine.verdicts import Verdict, forgone, goes_again, stopped, taken_off
from onebroker.actors.engine.plan.machine.wanted_prices import Asked
from onebroker.actors.engine.plan.market import Seen
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, OrderPart, Part, first_orders_of, walk
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side

_NO_PRICE = Decimal(0)
AGAIN_SECONDS = 1.0
"""After so long, rows are read again whose close could not leave."""
CLEAR_AGAIN_SECONDS = 10.0
"""The same for positions whose resting orders could not be cancelled."""
READ_SECONDS = 5.0
"""How long the first read may take before it is said. It also ends what rests there, so that two or three seconds are usual."""
ROWS_SECONDS = 5.0
"""Rows older than this are read again before their first order leaves. A row that waited for a quote or a price could close a position
that is no longer there."""

_UNPRICED = frozenset(
    say(side) for side in Side for say in (texts.stale_quote, texts.no_quote, texts.no_depth, texts.nobody)
)
"""Why a row's close could not be priced."""


def work_positions(look: Look, part: OrderPart, context: Context, *, over: bool) -> Verdict | None:
    """Do what the rows want now. Return how the part has ended; None while it goes on. `over`: the part's day is over."""
    record = look.record(part)
    if record.rows is None and over:
        return Verdict(PartState.EXPIRED)
    if not over:
        _read(look, part)
    record = look.record(part)
    if record.rows is None:
        return None
    ends = [work_row(look, part, context, row, over=over) for row in record.rows]
    waits = (look.record(part).rows_again or bool(record.rows_wait) or bool(record.rows_unread)) and not over
    if waits or not look.quiet(part):
        return None
    ended = [end for end in ends if end is not None]
    return _together(look.record(part), ended) if len(ended) == len(ends) else None


def _read(look: Look, part: OrderPart) -> None:
    """Ask for the rows where they are needed: the first time, when they are too old, and again for rows that could not be closed yet.

    The read ends what rests at the positions. So nothing is read while no exit could leave, and the shell leaves a row alone, with all that
    guards it, as long as its close could not leave (1.11).
    """
    record = look.record(part)
    locked = look.market.exit_lock(None)
    if locked is not None and not look.legs(part):
        block(look, part, locked)
        return
    came = False
    for instrument_id, why in record.rows_wait.items():
        if why in _UNPRICED and _came(look.seen(instrument_id), record.rows_at):
            came = True  # what was missing is there: no further second is waited for it
        else:
            block(look, part, why, blind=instrument_id)
    if record.rows_unread:
        block(look, part, _unread(record))
    waits = bool(record.rows_wait) or bool(record.rows_unread)
    seconds = _again_seconds(record)
    again = came or (waits and (record.rows_at is None or look.now >= record.rows_at + seconds))
    if waits and record.rows_at is not None:
        look.wake(record.rows_at + seconds)
    if (
        record.rows is None and part.path in look.reading
    ):  # later reads belong to rows that say themselves why they wait
        _say_read(look, look.reading[part.path])
    if record.rows is None or record.rows_again or again:
        _watch(look, part)
        look.do(ReadRows(part=part.path, without_price=is_overdue(look, part)))


def _say_read(look: Look, since: float) -> None:
    """Say that a close waits for its positions, once that takes long: a broker is slow, or shows what its own fills do not explain."""
    if look.now >= since + READ_SECONDS:
        look.untold.add(texts.POSITIONS_BEING_READ)
    else:
        look.wake(since + READ_SECONDS)


def _again_seconds(record: PartRecord) -> float:
    """Return after how long rows are read again that wait. Where all wait for orders that do not end, each read asks for their cancels once more."""
    reasons = record.rows_wait.values()
    is_clearing = bool(reasons) and all(map(texts.is_not_cleared, reasons)) and not record.rows_unread
    return CLEAR_AGAIN_SECONDS if is_clearing else AGAIN_SECONDS


def _came(quote: Seen | None, read_at: float | None) -> bool:
    """Whether a quote with somebody on both sides has come since the rows were read."""
    return quote is not None and read_at is not None and quote.received_at >= read_at and bool(quote.buy and quote.sell)


def _watch(look: Look, part: OrderPart) -> None:
    """Watch the instruments' quotes already while the rows are read."""
    form = part.quantity
    if isinstance(form, FromPosition):
        for instrument_id in form.instrument_ids:
            look.seen(instrument_id)


def _together(record: PartRecord, ends: Sequence[Verdict]) -> Verdict:
    """Combine the ends of the rows into one verdict. A row that was not closed takes precedence."""
    not_closed = _not_closed(record)
    words = [not_closed, *(end.message for end in ends)]
    message = "; ".join(dict.fromkeys(word for word in words if word)) or None
    if not_closed is not None:
        return Verdict(PartState.FAILED, message)
    if not ends:
        return Verdict(PartState.COMPLETED, texts.NO_POSITION)
    states = [end.state for end in ends]
    if PartState.FAILED in states or 0 < states.count(PartState.REJECTED) < len(states):
        return Verdict(PartState.FAILED, message)
    for state in (PartState.REJECTED, PartState.EXPIRED, PartState.CANCELLED):
        if state in states:
            return Verdict(state, message)
    return Verdict(PartState.COMPLETED, message)


def _unread(record: PartRecord) -> str:
    return "; ".join(map(texts.positions_unread, record.rows_unread))


def _not_closed(record: PartRecord) -> str | None:
    """Say what was not closed because it could not be read, cleared or priced; None when nothing is left of that kind."""
    waited = list(dict.fromkeys(record.rows_wait.values()))
    return "; ".join(filter(None, [_unread(record), record.rows_message, *waited])) or None


def left_unclosed(look: Look) -> tuple[str, ...]:
    """Return a sentence for each close that has ended without some of its positions, or whose order another hand has cancelled, and for each hedge that
    was refused, or that has ended unfilled. It stays true after the plan's end. Not of a close whose caller is told so in the answer to the place."""
    said: set[str] = set()
    for part in walk(look.root):
        if not isinstance(part, OrderPart):
            continue
        if isinstance(part.quantity, FromPosition) and not is_heard(look.root, part, look.record(part)):
            said.update(texts.left_by_hand(*left) for left in _left_by_hand(look, part))
        if isinstance(part.quantity, FromExposure):
            said.update(_stopped_hedges(look, part))
        if look.record(part).own not in (PartState.FAILED, PartState.REJECTED):
            continue
        if isinstance(part.quantity, FromExposure):
            said.update(texts.hedging_ended(*refused) for refused in _refusals(look, part))
        elif isinstance(part.quantity, FromPosition) and not is_heard(look.root, part, look.record(part)):
            if look.record(part).own is PartState.FAILED:
                said.update(filter(None, [_not_closed(look.record(part))]))
            said.update(texts.left_by_refusal(*refused) for refused in _refusals(look, part))
            said.update(texts.reversal_short(*refused) for refused in _short_reversals(look, part))
    return tuple(sorted(said))


def _refusals(look: Look, part: OrderPart) -> Iterator[tuple[str | None, int, str | None]]:
    """Yield (broker, units, why) of each row that a broker, or a check before it, has refused. (A row that was cleared is told by its open units.)"""
    for row in look.record(part).rows or ():
        legs = [leg for leg in look.legs(part) if leg.instance == row.key]
        refused = [leg for leg in legs if leg.state is LegState.REJECTED]
        left = min(row.units, abs(row.quantity)) - sum(leg.filled for leg in legs)
        if left > 0 and not row.cleared and (row.refusal or refused):
            broker = refused[-1].broker if refused else row.broker
            yield broker, left, row.refusal or refused[-1].status_message


def _stopped_hedges(look: Look, part: OrderPart) -> Iterator[str]:
    """Yield a sentence for each hedge that ended unfilled, and its part with it, although no caller has ended them."""
    record = look.record(part)
    if record.own not in (PartState.CANCELLED, PartState.EXPIRED) or (record.ending and record.ending.by_caller):
        return
    for leg in look.legs(part):
        expired = leg.state is LegState.EXPIRED
        if leg.unfilled > 0 and leg.accepted and (expired or _is_cancelled_by_hand(leg)):
            yield texts.hedging_stopped(leg.broker, leg.unfilled, expired=expired)


def _left_by_hand(look: Look, part: OrderPart) -> Iterator[tuple[str, int]]:
    """Yield (broker, units) of each row whose order another hand has cancelled, or made smaller, before the row was closed. (A row that was cleared is
    told by its open units.)"""
    for row in look.record(part).rows or ():
        legs = [leg for leg in look.legs(part) if leg.instance == row.key]
        by_hand = [leg for leg in legs if leg.taken_off > 0 or _is_cancelled_by_hand(leg)]
        left = min(row.units, abs(row.quantity)) - sum(leg.filled for leg in legs)
        ended = row.refusal is None and not row.cleared and not any(leg.live for leg in legs)
        if by_hand and left > 0 and ended:
            yield by_hand[-1].broker, left


def _is_cancelled_by_hand(leg: Leg) -> bool:
    return leg.state is LegState.CANCELLED and leg.cancel_reason is None and not leg.immediate


def _short_reversals(look: Look, part: OrderPart) -> Iterator[tuple[str | None, int, str | None]]:
    """Yield (broker, units, why) of each row that was closed and of whose reversal an order was refused."""
    for row in look.record(part).rows or ():
        legs = [leg for leg in look.legs(part) if leg.instance == row.key]
        refused, filled = [leg for leg in legs if leg.state is LegState.REJECTED], sum(leg.filled for leg in legs)
        if refused and abs(row.quantity) <= filled < row.units:
            yield refused[-1].broker, row.units - filled, refused[-1].status_message


def is_heard(root: Part, part: OrderPart, record: PartRecord) -> bool:
    """Whether the caller hears what a close could not do: it is due when its plan is placed, and the answer to that waits for it."""
    return not record.rows_unheard and is_due_at_once(root, part)


def is_due_at_once(root: Part, part: OrderPart) -> bool:
    """Whether a close is due when its plan is placed."""
    above = [one for one in walk(root) if f"{part.path}.".startswith(f"{one.path}.")]
    return part in first_orders_of(root) and all(one.when is None for one in above)


# --- one row -------------------------------------------------------------------------------------------------------------


def work_row(look: Look, part: OrderPart, context: Context, row: RowToClose, *, over: bool) -> Verdict | None:
    """Send the missing units of a row and move its resting legs. Return how the row has ended; None while it goes on."""
    row = _not_reversed(look, part, row)
    look.guarded.add(row.instrument_id)
    # A leg that its broker never had, or has refused for a time, does not count: the row is read again before another order leaves.
    refused = refused_legs(look, part, row)
    own = [leg for leg in look.legs(part) if leg.instance == row.key and not goes_again(part, leg)]
    legs = [leg for leg in own if leg not in refused]
    verdict = _stopped(part, row, legs)
    sending = Sending(look=look, part=_as_row(part, row), context=context, target=row.units)
    if verdict is None:
        if not over:
            _send(sending, row, legs, refused)
            _shrink(sending, legs)
        move_legs(sending, [leg for leg in legs if leg.live])
        if not over:
            note_passed(look, sending.part)
            note_unmatched(look, sending.part, legs)
    if any(leg.live for leg in legs) or _on_the_way(look, part, row):
        return None
    filled = sum(leg.filled for leg in legs)
    if verdict is not None:
        return verdict
    if filled >= row.units - forgone(part, legs) - taken_off(legs):
        return Verdict(PartState.COMPLETED if filled else PartState.CANCELLED)
    return Verdict(PartState.EXPIRED, refused[-1].status_message if refused else None) if over else None


def refused_legs(look: Look, part: OrderPart, row: RowToClose) -> list[Leg]:
    """Return the row's orders whose refusal is not its end (`refused_exits.py`): the close had taken away what guarded the position, or the engine has
    put the price outside of the exchange's limits. The caller who waits for the answer hears of a refusal there, and it ends the row."""
    return [
        leg for leg in look.legs(part) if leg.instance == row.key and _refused_for_now(look, part, leg, row.cleared)
    ]


def refused_for_now(look: Look, part: OrderPart) -> dict[str, str]:
    """Return leg id -> row key of all such orders of a part, also of rows that wait for a price and are no rows meanwhile."""
    record = look.record(part)
    cleared = {*record.rows_cleared, *(row.key for row in record.rows or () if row.cleared)}
    return {
        leg.leg_id: leg.instance
        for leg in look.legs(part)
        if leg.instance is not None and _refused_for_now(look, part, leg, leg.instance in cleared)
    }


def _refused_for_now(look: Look, part: OrderPart, leg: Leg, cleared: bool) -> bool:
    heard = is_heard(look.root, part, look.record(part)) and not leg.refused_late
    return is_refused(leg) and not heard and (cleared or leg.beyond_limits)


def is_given_up(look: Look, part: OrderPart, row: RowToClose) -> bool:
    """Whether a row's order has ended unfilled and none follows, although the part goes on for the sake of other rows: its holder has cancelled it."""
    legs = [leg for leg in look.legs(part) if leg.instance == row.key]
    ended = bool(legs) and not any(leg.live for leg in legs) and not _on_the_way(look, part, row)
    return ended and not refused_legs(look, part, row) and not any(goes_again(part, leg) for leg in legs)


def _as_row(part: OrderPart, row: RowToClose) -> OrderPart:
    """Return the part for one row, with the row's instrument, side, product and broker."""
    return attrs.evolve(
        part,
        instrument_id=row.instrument_id,
        transaction_type=row.closing_side.value,
        product=row.product,
        broker=row.broker,
    )


def _stopped(part: OrderPart, row: RowToClose, legs: Sequence[Leg]) -> Verdict | None:
    if row.refusal is None:
        return stopped(part, legs)
    accepted = any(leg.accepted for leg in legs)
    return Verdict(PartState.FAILED if accepted else PartState.REJECTED, row.refusal)


def _on_the_way(look: Look, part: OrderPart, row: RowToClose) -> list[NewLeg]:
    return [order for order in look.on_the_way(part) if order.instance == row.key]


def _send(sending: Sending, row: RowToClose, legs: Sequence[Leg], refused: Sequence[Leg]) -> None:
    look, part = sending.look, sending.part
    under_way = _on_the_way(look, part, row)
    out = sum(leg.spoken_for for leg in legs) + sum(order.quantity for order in under_way)
    missing = row.units - forgone(part, legs) - out
    asked = Asked(quantity=missing, instance=Instance(key=row.key, leg_id="", quantity=missing, price=_NO_PRICE))
    record = look.record(part)
    if missing > 0:
        _say_refused(look, part, refused)
    waits = record.rows_again or row.broker in record.rows_unread or _is_too_soon(look, refused)
    if missing <= 0 or waits or sending.priced(missing, asked) is None:
        return
    read_before = any(record.rows_at is None or leg.ended_at >= record.rows_at for leg in refused)
    if read_before or _is_old(look, part, fresh_start=not legs and not under_way):
        look.note(part, rows_again=True)
    else:
        sending.place(missing, asked=asked)


def _say_refused(look: Look, part: OrderPart, refused: Sequence[Leg]) -> None:
    """Say why nothing of the row stands, while it waits for its next try and while it is read again for it."""
    if refused:
        newest = max(refused, key=lambda leg: leg.ended_at)
        block(look, part, texts.close_refused(newest.broker, newest.status_message))


def _is_too_soon(look: Look, refused: Sequence[Leg]) -> bool:
    """Whether the row waits for its next try."""
    if refused:
        look.wake(again_at(refused))
    return look.now < again_at(refused)


def _is_old(look: Look, part: OrderPart, *, fresh_start: bool) -> bool:
    """Whether the rows must be read again first. For a row that has sent something, only after a restart."""
    read_at = look.record(part).rows_at
    return read_at is None or (fresh_start and look.now - read_at > ROWS_SECONDS)


def _shrink(sending: Sending, legs: Sequence[Leg]) -> None:
    """Take off a row's resting orders what is more than the row still wants: a reversal has become a close."""
    too_much = sum(leg.committed - leg.added for leg in legs) - sending.target
    for leg in reversed(legs):
        off = min(too_much, leg.unfilled) if leg.live else 0
        if off > 0:
            too_much -= off
            if leg.changeable:
                reduce(sending.look, leg, leg.quantity - off)


def _not_reversed(look: Look, part: OrderPart, row: RowToClose) -> RowToClose:
    """Return the row. While entries are locked out, a reversal is only a close: it opens nothing (3.44)."""
    why = look.market.lockout() if row.units > abs(row.quantity) else None
    if why is None:
        return row
    rows = look.record(part).rows or ()
    closing = attrs.evolve(row, units=abs(row.quantity))
    replaced = tuple(closing if known_row.key == row.key else known_row for known_row in rows)
    look.note(part, rows=replaced, status_message=texts.closed_not_reversed(why))
    return closing


# --- what was read --------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class FoundRows:
    """The result of reading the rows."""

    rows: tuple[RowToClose, ...]
    """The rows that may be closed."""
    nets: Mapping[str, int]
    """`RowToClose.key` -> signed net units, for every row that was read."""
    message: str | None
    """Says what could not be read or cleared."""
    status_message: str | None = None
    """Says what is closed in another way than the caller asked."""
    waits: Mapping[str, str] = attrs.field(factory=dict)
    """Instrument -> why positions in it are not among the rows: their close could not leave now. What rests at them was left alone."""
    unread: tuple[str, ...] = ()
    """Brokers that could not be read, and are to be read again."""
    read: Collection[str] | None = None
    """The brokers that were read. Rows of other brokers stay as they are. None: rows that were not found are no longer there."""
    at: float
    """Epoch seconds."""


def with_rows(record: PartRecord, legs: Collection[Leg], under_way: Collection[str], found: FoundRows) -> PartRecord:
    """Return the part's record with the rows that were read. `legs` are the part's own legs; `under_way` are the row keys of orders that
    have no leg yet.

    A row for which something was sent stays as it was first read, and sends no more than what is still open. A row whose order goes again stays
    where its broker was not read now: what other brokers show says nothing about it. It is read again before its next order.
    """
    begun = {leg.instance for leg in legs if not leg.never_reached} | set(under_way)
    not_read: list[RowToClose] = []
    if found.read is not None:
        begun |= {row.key for row in record.rows or () if row.refusal is not None}
        not_read = [row for row in record.rows or () if row.key not in begun and row.broker not in found.read]
    kept = [_still_there(row, legs, found) for row in record.rows or () if row.key in begun]
    new = [attrs.evolve(row, cleared=row.key in record.rows_cleared) for row in found.rows if row.key not in begun]
    return attrs.evolve(
        record,
        rows=(*kept, *not_read, *new),
        cleared_first=(),
        rows_message=found.message,
        rows_at=found.at,
        rows_again=any(row.broker not in found.unread for row in not_read),
        rows_wait=found.waits,
        rows_unread=found.unread,
        status_message=found.status_message or record.status_message,
    )


def _still_there(row: RowToClose, legs: Collection[Leg], found: FoundRows) -> RowToClose:
    if found.read is not None and row.broker not in found.read:
        return row
    own = [leg for leg in legs if leg.instance == row.key]
    side = 1 if row.quantity > 0 else -1
    open_units = found.nets.get(row.key, 0) * side + row.units - abs(row.quantity)
    more = max(0, open_units - sum(leg.unfilled for leg in own if leg.live))
    return attrs.evolve(row, units=min(row.units, sum(leg.committed for leg in own) + more))


def refused_row(record: PartRecord, key: str | None, sentence: str) -> PartRecord:
    """Note that a check refused the order for one row. The other rows go on."""
    rows = record.rows or ()
    return attrs.evolve(
        record, rows=tuple(attrs.evolve(row, refusal=sentence) if row.key == key else row for row in rows)
    )


def not_fresh(parts: Mapping[str, PartRecord]) -> Mapping[str, PartRecord]:
    """Return the records as they are after a restart. Rows read before the restart are read again before more is sent for them."""
    return {path: attrs.evolve(part, rows_at=None, nets=None) for path, part in parts.items()}
