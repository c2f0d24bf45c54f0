"""Orders of ours that the store has forgotten: it came back without its last writes (order-engine 2.5, K19). Pure.

A leg's token is a hash of intent, part, running number and the engine's run, so the tokens that a parent's next legs would have can be worked out.
An order that shows one of them left before the loss: it is taken up as if its leg had been written as `sending`, and what its
part would have remembered of it is put back as far as it can be told. Where it cannot, the part sends nothing more.
"""

from collections.abc import Collection, Iterator, Mapping

import attrs

from onebroker.actors.engine.plan.executions import Daily, Ladder
from onebroker.actors.engine.plan.machine.legs import CLOSING
from onebroker.actors.engine.plan.parts import FromPosition, OrderPart, Part, walk
from onebroker.actors.engine.plan.prices import Discretion, FromFillPrice
from onebroker.actors.engine.plan.state import PartRecord
from onebroker.actors.engine.plan.stored import decode_plan
from onebroker.actors.engine.records import LegRecord, ParentRecord, ParentState
from onebroker.actors.engine.tokens import leg_token
from onebroker.brokers.records import OrderRow
from onebroker.config.messages import unknown_orders as texts
from onebroker.config.money import exact

AHEAD = 64
"""So many of a parent's next running numbers are tried: attempts that were never written use numbers up, too."""
SIMPLE_PART = "entry"

Strangers = Mapping[tuple[str, str], OrderRow]
"""(broker, token) -> an order of today with a token that neither engine nor store knows."""


def with_lost_legs(
    record: ParentRecord, strangers: Strangers, today: str, now: float, runs: Collection[int] = (1,)
) -> ParentRecord:
    """Return the parent with those of the strangers that are its own; the very object when none is.

    `now` in epoch seconds, `today` the broking day, YYYY-MM-DD; `runs` of the engine that may have sent them. Of a parent that has ended too: what it sent is its own.
    """
    by_token = {token: broker for broker, token in strangers}
    if not by_token:
        return record
    root = None if record.plan is None else decode_plan(record.plan)
    for token, path, number in _next_tokens(record, root, runs):
        if token in by_token:
            row = strangers[by_token[token], token]
            leg = _leg(record, path, number, by_token[token], row)
            leg = attrs.evolve(leg, token=token, session_day=today, sent_at=now, updated_at=now)
            record = _taken_up(record, root, leg)
    return record


def _next_tokens(record: ParentRecord, root: Part | None, runs: Collection[int]) -> Iterator[tuple[str, str, int]]:
    """Yield (token, part path, running number) of every leg that the parent may have sent without its record knowing it."""
    taken = {number_of(leg) for leg in record.legs}
    if root is None:
        paths, numbers = [SIMPLE_PART], range(1)
    else:
        paths = [part.path for part in walk(root) if isinstance(part, OrderPart)]
        numbers = range(max(taken, default=-1) + 1 + AHEAD)
    for number in numbers:
        for path in paths if number not in taken else ():
            for run in runs:
                yield leg_token(record.intent_id, path, number, run), path, number


def number_of(leg: LegRecord) -> int:
    """Return a leg's running number within its parent."""
    return int(leg.leg_id.rpartition(".")[2])


def _leg(record: ParentRecord, path: str, number: int, broker: str, row: OrderRow) -> LegRecord:
    """Make the leg of an order as its book shows it; its state is `sending`, and the book says the rest as it does of any."""
    return LegRecord(
        leg_id=f"{record.parent_order_id}.{number}",
        part=path,
        token="",
        broker=broker,
        segment="",
        instrument_token=row.instrument_token,
        tradingsymbol=row.tradingsymbol,
        transaction_type=row.transaction_type,
        product=row.product,
        order_type=row.order_type,
        validity=row.validity,
        quantity=row.quantity,
        price=exact(row.price) or None,
        trigger_price=exact(row.trigger_price) or None,
        session_day="",
    )


def _taken_up(record: ParentRecord, root: Part | None, leg: LegRecord) -> ParentRecord:
    state = record.state if record.state.final or record.state is ParentState.CANCELLING else ParentState.WORKING
    record = attrs.evolve(record, state=state, updated_at=leg.updated_at)
    if root is None:
        return record.with_leg(leg)
    part = next(one for one in walk(root) if one.path == leg.part)
    assert isinstance(part, OrderPart)
    closing = leg.transaction_type != part.transaction_type and not isinstance(part.quantity, FromPosition)
    leg = attrs.evolve(
        leg,
        instrument_id=part.instrument_id,
        piece=sum(one.part == leg.part for one in record.legs),
        instance=CLOSING if closing else None,
    )
    return attrs.evolve(record.with_leg(leg), parts=_begun(record, root, part, leg))


def _begun(record: ParentRecord, root: Part, part: OrderPart, leg: LegRecord) -> Mapping[str, PartRecord]:
    """Return the parts' records, in which the leg's part and all above it have had their turn, since the leg was sent."""
    above = (one.path for one in walk(root) if leg.part == one.path or leg.part.startswith(f"{one.path}."))
    parts = dict(record.parts)
    for path in above:
        before = parts.get(path, PartRecord())
        due_at = leg.sent_at if before.due_at is None else before.due_at
        parts[path] = attrs.evolve(before, due_at=due_at, fired=True)
    own = parts[part.path]
    if isinstance(part.execution, Daily):
        own = attrs.evolve(own, armed_day=leg.session_day)
    if _is_one_of_many(part):
        own = attrs.evolve(own, refusal=texts.lost_by_the_store(leg.broker))
    return {**parts, part.path: own}


def _is_one_of_many(part: OrderPart) -> bool:
    """Whether the part's orders stand for single fills, rows or rungs, so that nothing says for which of them this one was."""
    each = isinstance(part.price, FromFillPrice | Discretion) or isinstance(part.quantity, FromPosition)
    return each or isinstance(part.execution, Ladder)
