"""Orders of ours that the store has forgotten, because it came back without its last writes (order-engine 2.5, K19). Pure.

A leg's token is a hash of intent, part, running number and the engine's run. So the tokens of a parent's possible next legs can be
computed. An order that shows such a token left before the loss. It is taken up as if its leg had been written as `sending`. The memory
that its part would have of it is restored as far as possible; where it cannot be restored, the part sends nothing more.

A broker that was asked by token (`lost_orders`) may have an order that no book shows yet. Such an order is taken up too, and its plan
waits for the book.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import attrs

from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.engine.orders.lost_legs import FoundOrder, NextLeg
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.orders.states import ParentEvent, moved_parent
from onebroker.actors.engine.orders.transitions import AFTER_HALT
from onebroker.actors.engine.plan.execution_kinds import Daily, Ladder
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.parts import FromPosition, OrderPart, Part, walk
from onebroker.actors.engine.plan.price_kinds import Discretion, FromFillPrice
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.brokers.records import OrderRow
from onebroker.config.messages import unknown_orders as texts
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderType

AHEAD = 64
"""How many of a parent's next running numbers are tried: attempts that were never written also use up numbers."""
FREE_NUMBERS = 2
"""Brokers are asked for the orders of this many free running numbers below the last leg's number, and of as many above it. Two exits
may leave at once, and an attempt that was never written also uses up a number. Where an order is found, the next numbers follow."""
SIMPLE_PART = "entry"
_OF_ROW = (
    "tradingsymbol",
    "transaction_type",
    "product",
    "order_type",
    "validity",
    "quantity",
    "price",
    "trigger_price",
)
"""Fields that only the book gives of an order that was found by its token."""

Strangers = Mapping[tuple[str, str], OrderRow]
"""(broker, token) -> an order of today with a token that neither the engine nor the store knows."""


def with_lost_legs(
    record: ParentRecord, strangers: Strangers, today: str, now: float, runs: Collection[int] = (1,)
) -> ParentRecord:
    """Return the parent with those strangers added that are its own orders; the same object when there are none.

    `now` in epoch seconds; `today`: the broking day, YYYY-MM-DD; `runs`: the engine's runs that may have sent them. A parent that has ended
    gets its orders too.
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


def with_found_legs(record: ParentRecord, found: Iterable[FoundOrder], today: str, now: float) -> ParentRecord:
    """Return the parent with those found orders added that are its own; the same object when there are none. Units as in `with_lost_legs`."""
    root = None if record.plan is None else decode_plan(record.plan)
    for order in found:
        tokens, numbers = {leg.token for leg in record.legs}, {number_of(leg) for leg in record.legs}
        is_known = order.leg.token in tokens or order.leg.number in numbers
        if order.parent_id == record.parent_order_id and not is_known:
            leg = attrs.evolve(_found_leg(record, root, order), session_day=today, sent_at=now, updated_at=now)
            record = _taken_up(record, root, leg)
    return record


def next_legs(record: ParentRecord, runs: Collection[int], free: int = FREE_NUMBERS) -> Iterator[NextLeg]:
    """Yield the legs that brokers are asked for, lowest number first. `free`: how many free numbers below and above the last leg's; `runs`: the
    engine's runs that may have sent them."""
    taken = {number_of(leg) for leg in record.legs}
    last = max(taken, default=-1)
    if record.plan is None:
        parts: list[tuple[str, str, str | None]] = [(SIMPLE_PART, record.instrument_id, None)]
        numbers = [] if taken else [0]
    else:
        orders = [part for part in walk(decode_plan(record.plan)) if isinstance(part, OrderPart)]
        parts = [(part.path, part.instrument_id, part.broker) for part in orders]
        between = [number for number in range(last) if number not in taken]
        numbers = [*between[-free:], *range(last + 1, last + 1 + free)]
    for number in numbers:
        for path, instrument_id, broker in parts:
            for run in runs:
                token = leg_token(record.intent_id, path, number, run)
                yield NextLeg(token=token, part=path, number=number, instrument_id=instrument_id, broker=broker)


def as_shown(record: ParentRecord, leg: LegRecord, row: OrderRow) -> LegRecord:
    """Return a leg that was found by its token, with the values of the book that now shows it."""
    shown = _leg(record, leg.part, number_of(leg), leg.broker, row)
    leg = attrs.evolve(leg, found_by_token=False, **{name: getattr(shown, name) for name in _OF_ROW})
    root = None if record.plan is None else decode_plan(record.plan)
    return leg if root is None else attrs.evolve(leg, instance=_instance(_part_of(root, leg.part), leg))


def _next_tokens(record: ParentRecord, root: Part | None, runs: Collection[int]) -> Iterator[tuple[str, str, int]]:
    """Yield (token, part path, running number) of every leg that the parent may have sent although its record does not hold it."""
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
    """Make the leg of an order with the values of its book. Its state is `sending`; the book then moves it on like any other leg."""
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


def _found_leg(record: ParentRecord, root: Part | None, found: FoundOrder) -> LegRecord:
    """Make the leg of an order of which only the token is known. Its likely values come from its part, or from the caller's body."""
    part = None if root is None else _part_of(root, found.leg.part)
    body = record.body
    return LegRecord(
        leg_id=f"{record.parent_order_id}.{found.leg.number}",
        part=found.leg.part,
        token=found.leg.token,
        broker=found.broker,
        segment=found.segment,
        instrument_token=found.instrument_token,
        tradingsymbol=found.tradingsymbol,
        transaction_type=str(body.get("transaction_type", "")) if part is None else part.transaction_type,
        product=str(body.get("product", "")) if part is None else part.product,
        order_type=OrderType.LIMIT.value,
        validity=str(body.get("validity", "")) if part is None else part.validity,
        quantity=0,
        price=None,
        trigger_price=None,
        session_day="",
        state=LegState.UNKNOWN,
        order_id=found.order_id,
        found_by_token=True,
    )


def _part_of(root: Part, path: str) -> OrderPart:
    part = next(part for part in walk(root) if part.path == path)
    assert isinstance(part, OrderPart)
    return part


def _instance(part: OrderPart, leg: LegRecord) -> str | None:
    closing = leg.transaction_type != part.transaction_type and not isinstance(part.quantity, FromPosition)
    return CLOSING if closing else None


def _taken_up(record: ParentRecord, root: Part | None, leg: LegRecord) -> ParentRecord:
    if record.state is ParentState.HALTED:
        leg = attrs.evolve(leg, cancel_reason=AFTER_HALT)
    record = moved_parent(record, ParentEvent.SENT, updated_at=leg.updated_at)
    if root is None:
        return record.with_leg(leg)
    part = _part_of(root, leg.part)
    leg = attrs.evolve(
        leg,
        instrument_id=part.instrument_id,
        piece=sum(other.part == leg.part for other in record.legs),
        instance=_instance(part, leg),
    )
    return attrs.evolve(record.with_leg(leg), parts=_begun(record, root, part, leg))


def _begun(record: ParentRecord, root: Part, part: OrderPart, leg: LegRecord) -> Mapping[str, PartRecord]:
    """Return the parts' records. The leg's part and all parts above it are marked as due and fired, since the leg was sent."""
    above = (part.path for part in walk(root) if leg.part == part.path or leg.part.startswith(f"{part.path}."))
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
    """Whether each order of the part is for one fill, row or rung, so that it is unknown for which of these the lost order was."""
    each = isinstance(part.price, FromFillPrice | Discretion) or isinstance(part.quantity, FromPosition)
    return each or isinstance(part.execution, Ladder)
