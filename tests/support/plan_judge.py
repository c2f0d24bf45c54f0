"""What must hold after any day of plans, judged on the exchange's ledger and on everything that was ever stored (rules 2.3;
order-engine 2.1-2.3)."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar

from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState, decode_parent
from onebroker.actors.engine.plan.execution_kinds import Ladder
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING, Reason
from onebroker.actors.engine.plan.parts import (
    FromFill,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Rule,
    SequencePart,
    Units,
    own_orders_of,
    walk,
)
from onebroker.actors.engine.plan.price_kinds import is_stop
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.actors.engine.shown.parent_view import parent_record
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from tests.support.day import Day
from tests.support.plan_shapes import OTHER

State = TypeVar("State", bound=str)
Filled: TypeAlias = defaultdict[tuple[str, bool], int]
"""(part path, whether of closing legs) -> units filled, by the ledger."""
L, P = LegState, ParentState
_LEG_ENDS = {L.COMPLETE, L.CANCELLED, L.REJECTED, L.EXPIRED}
_AT_BROKER = {L.PENDING, L.OPEN, *_LEG_ENDS}
LEG_STEPS = {
    L.SENDING: {L.UNKNOWN, L.NOT_SENT} | _AT_BROKER,
    L.UNKNOWN: {L.NOT_SENT} | _AT_BROKER,
    L.NOT_SENT: _AT_BROKER,  # row 13c
    L.PENDING: {L.OPEN, L.CANCELLING} | _LEG_ENDS,
    L.OPEN: {L.PENDING, L.CANCELLING}
    | _LEG_ENDS,  # taken by the broker, then heard to wait for its trigger or the exchange
    L.CANCELLING: {L.OPEN} | _LEG_ENDS,  # row 32
}
"""Leg state -> the states that rows 7-18 and 28-34 lead to from it."""
_PART_ENDS = {"completed", "cancelled", "rejected", "expired", "failed"}
PART_STEPS = {
    "pending": {"waiting", "held", "sending", "working"} | _PART_ENDS,
    "waiting": {"held", "sending", "working", "cancelling"} | _PART_ENDS,
    "held": {"waiting", "sending", "working", "cancelling"} | _PART_ENDS,
    "sending": {"waiting", "held", "working", "cancelling"} | _PART_ENDS,
    "working": {"waiting", "held", "sending", "cancelling"} | _PART_ENDS,
    "cancelling": {"working"} | _PART_ENDS,
}
_PARENT_ENDS = {P.COMPLETED, P.CANCELLED, P.REJECTED, P.EXPIRED, P.FAILED, P.HALTED}
PARENT_STEPS = {
    P.RECEIVED: {P.ARMED, P.WORKING, P.CANCELLING} | _PARENT_ENDS,
    P.ARMED: {P.WORKING, P.CANCELLING} | _PARENT_ENDS,
    P.WORKING: {P.CANCELLING} | _PARENT_ENDS,
    P.CANCELLING: {P.CANCELLED, P.HALTED},
}
_ENDED_AT_EXCHANGE = {
    L.COMPLETE: {"complete"}, L.CANCELLED: {"cancelled", "expired"}, L.EXPIRED: {"cancelled", "expired"},
    L.REJECTED: {"rejected"},
}  # fmt: skip


def histories(day: Day) -> dict[str, list[ParentRecord]]:
    """Return, by parent id, every version of its record that the store took, in their order."""
    found: defaultdict[str, list[ParentRecord]] = defaultdict(list)
    for ops in day.store.commits:
        for op in ops:
            if isinstance(op, Set) and op.key.startswith(keys.parent("")):
                record = decode_parent(op.value)
                found[record.parent_order_id].append(record)
    return found


def judge(day: Day, *, resized: Collection[str] = frozenset(), changed: bool = False) -> None:
    """Hold all that must hold; `resized` are parents of which a caller may have made an order larger, `changed` whether one has
    changed any order."""
    told = histories(day)
    judge_sends(day, told)
    judge_book(day, told)
    for versions in told.values():
        judge_steps(versions)
        if versions[-1].plan is not None:
            if versions[-1].parent_order_id not in resized:
                judge_sizes(versions)
            judge_fills(day, versions[-1], resized=versions[-1].parent_order_id in resized)
            if versions[-1].state is P.WORKING and not changed:
                assert unprotected(versions[-1]) == {}, versions[-1]


def judge_sends(day: Day, told: Mapping[str, Sequence[ParentRecord]]) -> None:
    """Nothing is sent twice: a token for each leg, a place for each token."""
    tokens = [leg.token for versions in told.values() for leg in versions[-1].legs]
    assert len(tokens) == len(set(tokens))
    sent = Counter(message["tag"] for message in day.messages("place"))
    assert [tag for tag, count in sent.items() if count > 1] == []
    assert {tag.lower() for tag in sent} <= set(tokens), "an order of no leg"


def judge_book(day: Day, told: Mapping[str, Sequence[ParentRecord]]) -> None:
    """Each order at a broker has its leg, and both say the same of it; nothing rests under a parent that has ended well."""
    legs = {(leg.broker, leg.order_id): (one[-1], leg) for one in told.values() for leg in one[-1].legs if leg.order_id}
    true = {(order["broker"], order["order_id"]): order for order in day.ledger()["orders"]}
    assert legs.keys() <= true.keys()
    for message in day.messages("place"):
        if message["order_id"] is not None:
            name = (message["broker"], message["order_id"])
            assert name in legs, f"{name} has no leg"
    for name, (parent, leg) in legs.items():
        _judge_leg(parent, leg, true[name])


def _judge_leg(parent: ParentRecord, leg: LegRecord, order: Mapping[str, Any]) -> None:
    said = f"{leg.leg_id} {leg.state.value} of {parent.state.value} parent: {order}"
    assert leg.filled_quantity == order["filled_quantity"], said
    if leg.state.final:
        assert order["status"] in _ENDED_AT_EXCHANGE[leg.state], said
        return
    assert order["status"] in ("open", "trigger_pending", "after_market"), said
    assert parent.state not in (P.COMPLETED, P.CANCELLED, P.REJECTED), said
    assert leg.wanted is None, said
    assert leg.quantity == order["quantity"], said
    assert leg.price == _number(order["price"]), said
    assert leg.trigger_price == _number(order["trigger_price"]), said


def _number(value: object) -> Decimal | None:
    return None if value is None else Decimal(str(value))


# --- statuses --------------------------------------------------------------------------------------------------------------


def judge_steps(versions: Sequence[ParentRecord]) -> None:
    """Every state follows from the one before by the tables; what lies between two writes may have been passed through."""
    plan = versions[0].plan
    orders = (
        {} if plan is None else {part.path: part for part in walk(decode_plan(plan)) if isinstance(part, OrderPart)}
    )
    for before, after in itertools.pairwise(versions):
        late = plan is None and any(leg.cancel_reason == "late" for leg in after.legs)  # row 13c
        # A service that ended before the store acknowledged a write goes on, and writes, from what it knew before.
        late = late or after.updated_at < before.updated_at
        # A cancel that is written ahead while the last fill comes in is not sent: the parent has completed.
        told = before.state.value in ("cancelling", "cancelled") and after.state.value == "completed"
        late = late or (told and all(leg.state.value == "complete" for leg in after.legs))
        assert late or _reaches(PARENT_STEPS, before.state, after.state), (before.state, after.state)
        for leg in before.legs:
            now = after.leg(leg.leg_id)
            if now is None:
                assert leg.unsent, "only what never left gives way, to the next try"
                continue
            assert _reaches(LEG_STEPS, leg.state, now.state), (leg.leg_id, leg.state, now.state)
            assert now.filled_quantity >= leg.filled_quantity
            assert leg.order_id is None or now.order_id is not None
        for path, part in before.parts.items():
            shown = after.parts[path].state.value
            if path in orders:
                again = part.state.value == "completed"  # a late fill of what it hangs on (rows 13c, 43)
                assert again or _reaches(PART_STEPS, part.state.value, shown), (path, part.state, shown)
            elif part.state.final and part.state.value != "completed":
                assert shown == part.state.value, (path, part.state, shown)


def _reaches(steps: Mapping[State, AbstractSet[State]], before: State, after: State) -> bool:
    reached, fresh = {before}, {before}
    while fresh and after not in reached:
        fresh = {state for one in fresh for state in steps.get(one, ())} - reached
        reached |= fresh
    return after in reached


# --- sizes -----------------------------------------------------------------------------------------------------------------


def committed(leg: LegRecord) -> int:
    """What a leg may come to, as far as its record says."""
    wanted = 0 if leg.wanted is None or leg.wanted.quantity is None else leg.wanted.quantity
    return leg.filled_quantity if leg.state.final else max(leg.quantity, wanted, leg.filled_quantity)


def judge_sizes(versions: Sequence[ParentRecord]) -> None:
    """Nothing leaves that is more than what was known of the fills allows: looked at in the record that was written ahead of it."""
    assert versions[0].plan is not None
    root = decode_plan(versions[0].plan)
    for before, after in itertools.pairwise(versions):
        for leg in after.legs:
            was = before.leg(leg.leg_id)
            grown = (
                was is not None and committed(leg) > committed(was) and leg.wanted is not None and was.wanted is None
            )
            if (was is None or grown) and leg.instance != CLOSING:
                _judge_size(root, after, leg)


def _judge_size(root: Part, record: ParentRecord, leg: LegRecord) -> None:
    own = sum(committed(one) for one in record.legs if one.part == leg.part and one.instance != CLOSING)
    most = _most(root, record, leg)
    assert most is None or own <= most, f"{leg.leg_id} for {own} in all where {most} were left: {record.legs}"


def _filled(record: ParentRecord, paths: Collection[str], *, closing: bool = False) -> int:
    return sum(leg.filled_quantity for leg in record.legs if leg.part in paths and (leg.instance == CLOSING) is closing)


def _paths(part: Part) -> set[str]:
    return {order.path for order in own_orders_of(part)}


def _most(root: Part, record: ParentRecord, leg: LegRecord) -> int | None:
    """Return the units that a part may have out in all, by the fills in the record; None = that is not judged here."""
    line = _line(root, leg.part)
    part = line[-1]
    assert isinstance(part, OrderPart)
    asked = record.parts[part.path].quantity
    most = [asked] if asked is not None else []
    if isinstance(part.quantity, Units) and asked is None and not _restores(part):
        most.append(part.quantity.quantity)
    base = _base(line)
    if base is not None and isinstance(part.quantity, FromFill) and part.quantity.ratio == 1 and _same(base, part):
        most.append(_filled(record, _paths(base)) - _filled(record, _paths(base), closing=True))
    group = line[-2] if len(line) > 1 else None
    if isinstance(group, OneCancelsOthersPart) and group.rule in (Rule.SHRINK, Rule.TRIGGER):
        total = _total(group, base, record)
        others = sum(_filled(record, _paths(child)) for child in group.children if child is not part)
        if total is not None:
            most.append(max(total - others, _filled(record, {part.path})))
    return min(most, default=None)


def _restores(part: OrderPart) -> bool:
    return isinstance(part.execution, Ladder) and part.execution.restore


def _same(base: Part, part: OrderPart) -> bool:
    return all(order.instrument_id == part.instrument_id for order in own_orders_of(base))


def _line(root: Part, path: str) -> list[Part]:
    """Return the parts from the root down to a path."""
    for part in walk(root):
        if part.path == path:
            return [one for one in walk(root) if path == one.path or path.startswith(f"{one.path}.")]
    raise AssertionError(path)


def _base(line: Sequence[Part]) -> Part | None:
    """Return what the last part of a line hangs on; None when on nothing."""
    for above, below in zip(reversed(line[:-1]), reversed(line[1:]), strict=True):
        if isinstance(above, OrderPart):
            return above
        if isinstance(above, SequencePart) and below is above.then:
            return above.first
    return None


def _total(group: OneCancelsOthersPart, base: Part | None, record: ParentRecord) -> int | None:
    """Return what a group guards in all."""
    children = [child for child in group.children if isinstance(child, OrderPart)]
    if base is not None and all(_same(base, child) for child in children):
        return _filled(record, _paths(base))
    units = [child.quantity.quantity for child in children if isinstance(child.quantity, Units)]
    return max(units) if len(units) == len(group.children) else None


# --- fills -----------------------------------------------------------------------------------------------------------------


def judge_fills(day: Day, record: ParentRecord, *, resized: bool) -> None:
    """The parent's quantities are the ledger's; more than asked was filled only as far as the parent says so."""
    assert record.plan is not None
    root = decode_plan(record.plan)
    true: Filled = defaultdict(int)
    orders = {(order["broker"], order["order_id"]): order for order in day.ledger()["orders"]}
    for leg in record.legs:
        if leg.order_id is not None:
            true[leg.part, leg.instance == CLOSING] += orders[leg.broker, leg.order_id]["filled_quantity"]
    shown = parent_record(record)["parameters"]["parts"]
    for part in walk(root):
        if isinstance(part, OrderPart):
            assert shown[part.path]["filled_quantity"] == true[part.path, False], part.path
            if isinstance(part.quantity, Units) and not _restores(part) and not resized:
                assert true[part.path, False] <= part.quantity.quantity, (
                    f"{part.path} filled more than asked: {record.legs}"
                )
    excess = sum(_excess(root, part, true) for part in walk(root))
    assert record.over_filled_quantity == excess, f"{record.over_filled_quantity} for {excess}: {record.legs}"
    if excess:
        assert record.status_message == f"exits filled {excess} more than the entry"


def _excess(root: Part, part: Part, true: Filled) -> int:
    """Return by how much the exits of a part, or two sides of one pair that hangs on nothing, have filled more than they were to."""
    if isinstance(part, OrderPart) and part.each_fill is not None:
        return _beyond(part, list(own_orders_of(part.each_fill)), true)
    if isinstance(part, SequencePart):
        return _beyond(part.first, [one for one in own_orders_of(part.then) if one.quantity == FromFill()], true)
    if not isinstance(part, OneCancelsOthersPart) or part.rule not in (Rule.SHRINK, Rule.TRIGGER):
        return 0
    if _base(_line(root, part.path)) is None:
        filled = sum(true[child.path, False] for child in part.children)
        return max(0, filled - max(_units(child) for child in part.children))
    return 0


def _units(part: Part) -> int:
    assert isinstance(part, OrderPart)
    assert isinstance(part.quantity, Units)
    return part.quantity.quantity


def _beyond(base: Part, exits: Sequence[OrderPart], true: Filled) -> int:
    own = list(own_orders_of(base))
    closing = [
        one
        for one in exits
        if all(
            (one.instrument_id, one.transaction_type) == (each.instrument_id, OTHER[each.transaction_type])
            for each in own
        )
    ]
    kept = sum(true[one.path, False] - true[one.path, True] for one in own)
    return max(0, sum(true[one.path, False] for one in closing) - kept) if closing else 0


def _gave_up(leg: LegRecord) -> bool:
    """Whether a leg's end ends its part: somebody cancelled it, or its broker did not take it (rows 8-18)."""
    if leg.state is L.CANCELLED:
        return leg.cancel_reason not in Reason.GIVES_BACK
    return leg.state in (L.REJECTED, L.EXPIRED, L.NOT_SENT)


def unprotected(record: ParentRecord) -> dict[str, int]:
    """Return what a working plan has opened that its stop, still alive, neither guards nor has closed: nothing, once all is at
    rest, unless a caller has made an exit smaller."""
    assert record.plan is not None
    root = decode_plan(record.plan)
    open_units: dict[str, int] = {}
    for part in walk(root):
        if not isinstance(part, OrderPart) or part.each_fill is None or part.each_fill.when is not None:
            continue
        exits = list(own_orders_of(part.each_fill))
        stops = [one for one in exits if is_stop(one.price) and one.when is None and isinstance(one.quantity, FromFill)]
        for stop in stops:
            now = record.parts[stop.path]
            given_up = any(leg.part == stop.path and _gave_up(leg) for leg in record.legs)
            if given_up or now.state.final or now.ending is not None or stop.instrument_id != part.instrument_id:
                continue
            kept = _filled(record, {part.path}) - _filled(record, {part.path}, closing=True)
            closed = _filled(record, {one.path for one in exits})
            out = sum(committed(leg) - leg.filled_quantity for leg in record.legs if leg.part == stop.path)
            if kept - closed - out > 0:
                open_units[stop.path] = kept - closed - out
    return open_units
