"""How a plan handles positions: it reads the positions that it closes or hedges, and ends its own exits where another plan closes a
position (order-engine 1.3, 3.15). Part of a plan parent's actor.
"""

import functools
import math
from collections.abc import Collection, Container, Mapping

import attrs

from onebroker.actors.engine.books.fresh_reads import read_soon
from onebroker.actors.engine.books.settled_positions import judged
from onebroker.actors.engine.context.second_figures import SecondFigures
from onebroker.actors.engine.orders.part_state import PartRecord, RowToClose
from onebroker.actors.engine.parent.leg_cancel import CLOSED
from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.plan.machine.cleared_exits import Closing, ExitName, without_exits
from onebroker.actors.engine.plan.machine.exposure import with_nets
from onebroker.actors.engine.plan.machine.leg_actions import ReadRows
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.position_closes import (
    ROWS_SECONDS,
    is_heard,
    refused_for_now,
    with_rows,
)
from onebroker.actors.engine.plan.parts import (
    AllOf,
    AnyOf,
    Condition,
    FromExposure,
    FromPosition,
    JointPnl,
    OrderPart,
    walk,
)
from onebroker.actors.engine.plan_parent.looks import Looks
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan
from onebroker.actors.engine.plan_parent.position_rows import PlanRows
from onebroker.actors.engine.plan_parent.resting_order_cancel import Clearing
from onebroker.actors.sessions.messages import Sent
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import OrderRow

POSITIONS_SECONDS = 10.0
"""Positions that a condition looks at are asked for again when older than this (the condition takes none older than 30 s)."""
SETTLES_SECONDS = 30.0
"""So long after a fill they are asked for again and again until they agree with it: no joint figure is known meanwhile."""
MOST_READS = 3
"""How often an exposure whose units have changed is read, until two reads agree; then the next look reads it again."""


class PlanPositions:
    """The positions that one plan closes or hedges. Only the plan's actor calls it."""

    def __init__(self, parent: OpenParent, plan: OpenPlan, looks: Looks) -> None:
        self._parent = parent
        self._plan = plan
        self._looks = looks
        self._recorder = parent.recorder
        self._context = parent.context
        self._clock = parent.clock
        clearing = Clearing(
            parent.parent_id,
            parent.context,
            parent.lock,
            cancel_own=self._cancel_own,
            end_own_exits=self.end_exits,
            acts=lambda: plan.sends,
        )
        self._rows = PlanRows(parent.context, clearing)
        self._nets: SecondFigures[int, None] = SecondFigures()
        """The units of each exposure, by part and instrument, as two reads have shown them."""
        self._sums_positions = any(looks_at_positions(part.when) for part in walk(plan.root)) or any(
            part.lifetime is not None and looks_at_positions(part.lifetime.when) for part in walk(plan.root)
        )

    def read_soon(self) -> None:
        """Ask for the positions that a condition looks at again, before they are too old to act on."""
        if not self._sums_positions:
            return
        for code, handle in self._context.sessions.items():
            if handle.view.value.live and self._needs_a_read(code, handle.view.value):
                read_soon(handle, "positions")

    def _needs_a_read(self, code: str, view: SessionView) -> bool:
        now, read, filled = self._clock.monotonic(), view.positions_read_started, view.fills_moved_at
        if read is None or now - read > POSITIONS_SECONDS:
            return True
        if filled is None or now > filled + SETTLES_SECONDS:
            return False
        found = judged(self._context, code)
        return read < filled or found is None or bool(found.doubts)

    # --- rows -------------------------------------------------------------------------------------------------------

    async def read(self, action: ReadRows) -> None:
        """Read the positions that a part closes, or its exposure. The result is in the record before an order that follows from it leaves."""
        path = action.part
        try:
            await self._recorder.write()  # record that the part is due, before any order at the positions is cancelled
            part = self._plan.part_at(path)
            if isinstance(part.quantity, FromPosition):
                await self._read_to_close(part, part.quantity, without_price=action.without_price)
            elif isinstance(part.quantity, FromExposure):
                await self._read_exposure(part, part.quantity)
        finally:
            self._is_read(path)

    def _is_read(self, path: str) -> None:
        self._looks.reading.pop(path, None)
        self._plan.news.tell()
        self._parent.traffic.tell()

    async def _read_to_close(self, part: OrderPart, form: FromPosition, *, without_price: bool) -> None:
        """Read the rows, hand them to the plan, and hold them until the orders for them are at their brokers."""
        before, sent = self._plan.parts[part.path], self._keys_sent(part)
        rows = before.rows or ()
        form = attrs.evolve(form, most=form.most if before.quantity is None else before.quantity)
        owner = f"{self._parent.parent_id} {part.path}"
        failed = {**self._refused(part), **self._never_reached(part)}
        standing = self._keys_sent(part, but=failed)
        begun = [row for row in rows if row.key in standing]
        again_for = frozenset(key for key in failed.values() if key in standing)
        waits = functools.partial(self._note_whether_heard, part)
        # What was sent for the others stays as it is. So only the brokers are read again that could not be read.
        others_sent = all(row.key in sent or row.refusal is not None for row in rows)
        again = before.rows_unread if others_sent and not before.rows_again and not before.rows_wait else ()
        note = functools.partial(self._note_guards, part.path)
        found = await self._rows.to_close(
            part, form, begun, owner, again_for, without_price=without_price, waits=waits, only=again or None, note=note
        )
        if again:
            said = dict.fromkeys(filter(None, [before.rows_message, found.message]))  # of the others, and of these
            found = attrs.evolve(found, message="; ".join(said) or None)
        record = self._plan.parts[part.path]
        if not self._plan.sends or record.own is not None:
            return
        legs = [leg for leg in self._looks.inputs().legs if leg.part == part.path and leg.leg_id not in failed]
        self._plan.take_changed(part.path, with_rows(record, legs, self._keys_sent(part, but=failed), found))
        with self._context.closes.hold(again_for.union(row.key for row in found.rows), owner):
            self._is_read(part.path)
            await self._parent.traffic.until(lambda: self._is_out(part) and not self._is_unsent(part), ROWS_SECONDS)
            await self._parent.traffic.until(lambda: self._is_out(part), math.inf)

    def _note_whether_heard(self, part: OrderPart) -> bool:
        """Note whether the caller had the answer before any row was read. Return whether what cannot be closed now is closed later: nobody hears that it
        could not be."""
        record = self._plan.parts[part.path]
        if self._plan.record.answered and record.rows is None and not record.rows_unheard:
            self._plan.take_changed(part.path, attrs.evolve(record, rows_unheard=True))
        return not is_heard(self._plan.root, part, self._plan.parts[part.path])

    async def _note_guards(self, path: str, rows: Collection[RowToClose]) -> None:
        """Record that a close ends what guards these positions, before it does so: if the process ends then, the next knows it. So does whoever ends the
        plan before it has its first rows."""
        record = self._plan.parts[path]
        new = sorted((row for row in rows if row.key not in record.rows_cleared), key=lambda row: row.key)
        if new:
            keys, first = tuple(row.key for row in new), tuple(new) if record.rows is None else ()
            left = attrs.evolve(record, cleared_first=(*record.cleared_first, *first))
            self._plan.take_changed(path, attrs.evolve(left, rows_cleared=(*record.rows_cleared, *keys)))
            await self._recorder.write()

    def _is_out(self, part: OrderPart) -> bool:
        """Whether no order of a part is on its way to a broker; each order takes a few seconds at most."""
        under_way = any(new.part == part.path for new in self._looks.under_way)
        return not under_way and not any(
            leg.part == part.path and self._parent.traffic.busy(leg.leg_id) for leg in self._plan.record.legs
        )

    def _refused(self, part: OrderPart) -> Mapping[str, str]:
        """Return leg id -> row key of the part's orders that were refused and go again."""
        return refused_for_now(Look(self._plan.root, self._looks.inputs()), part)

    def _never_reached(self, part: OrderPart) -> Mapping[str, str]:
        """Return leg id -> row key of the part's orders that their brokers never had."""
        legs = [leg for leg in self._looks.inputs().legs if leg.part == part.path and leg.never_reached]
        return {leg.leg_id: leg.instance for leg in legs if leg.instance is not None}

    def _keys_sent(self, part: OrderPart, but: Container[str] = ()) -> set[str]:
        """Return the keys of a part's rows for which an order was sent, other than `but` (leg ids), or is about to be sent."""
        legs = [leg.instance for leg in self._plan.record.legs if leg.part == part.path and leg.leg_id not in but]
        under_way = [new.instance for new in self._looks.under_way if new.part == part.path]
        return {key for key in (*legs, *under_way) if key is not None}

    def closes_soon(self) -> bool:
        """Whether positions are being read, or no order has left yet for a row that was read. The caller's answer waits for these orders."""
        return any(
            isinstance(part, OrderPart) and isinstance(part.quantity, FromPosition) and self._is_unsent(part)
            for part in walk(self._plan.root)
        )

    def _is_unsent(self, part: OrderPart) -> bool:
        record = self._plan.parts.get(part.path, PartRecord())
        if record.own is not None or record.ending is not None:
            return False
        if part.path in self._looks.reading or record.rows_again:
            return True
        if record.rows_unread and not record.rows:
            return False
        sent = self._keys_sent(part, but=self._refused(part))
        unsent = [row for row in record.rows or () if row.key not in sent and row.refusal is None]
        return record.rows is not None and (not record.rows or bool(unsent))

    async def _read_exposure(self, part: OrderPart, form: FromExposure) -> None:
        traded = {leg.broker for leg in self._plan.record.legs if leg.part == part.path and leg.filled_quantity}
        nets, holders, unread = None, frozenset(self._plan.parts[part.path].holders), frozenset[str]()
        for _ in range(MOST_READS):
            moment = self._clock.monotonic()
            nets, holders, unread = await self._rows.of_exposure(part, form, self._plan.parts[part.path], traded)
            if nets is None or self._is_borne_out(part.path, nets, moment):
                break
            nets = None
        record = self._plan.parts[part.path]
        read = with_nets(record, nets, holders, self._clock.epoch(), unread=unread)
        self._plan.take_changed(part.path, read)

    def _is_borne_out(self, path: str, nets: Mapping[str, int], moment: float) -> bool:
        """Whether two reads show these units, the later begun at `moment` (monotonic seconds). A hedge is not sent for what one read alone shows."""
        judged = [
            (units, self._nets.judge((path, instrument_id), units, moment, None, lambda *_: 0.0, first_waits=True))
            for instrument_id, units in nets.items()
        ]
        return all(one is not None and not one.doubts and one.value == units for units, one in judged)

    # --- clearing ---------------------------------------------------------------------------------------------------

    async def _cancel_own(self, broker: str, row: OrderRow, leg_id: str, deadline: float) -> Sent:
        return await self._parent.cancelling.cancel(broker, row, self._plan.record.leg(leg_id), CLOSED, deadline)

    async def end_exits(self, closing: Closing) -> frozenset[ExitName]:
        """End the exits that wait at positions which are about to be closed, and record that. Wait until none of them is on its way. Return them."""
        if not self._plan.sends:
            return frozenset()
        await self._looks.first.wait()
        ended = without_exits(self._plan.root, self._looks.inputs(), closing)
        if not ended:
            return frozenset()
        self._plan.take({**self._plan.parts, **ended})
        await self._looks.again()
        await self._recorder.write()
        await self._parent.traffic.until(
            lambda: not any(new.part in ended for new in self._looks.under_way),
            self._context.settings.cancel_confirm_seconds,
        )
        return frozenset(ExitName.of(self._plan.part_at(path)) for path in ended)


def looks_at_positions(condition: Condition | None) -> bool:
    """Whether a condition is, or contains, a condition on the joint profit and loss of positions."""
    match condition:
        case JointPnl():
            return True
        case AllOf() | AnyOf():
            return any(map(looks_at_positions, condition.conditions))
    return False
