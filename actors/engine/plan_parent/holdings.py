"""How a plan handles positions: it reads the positions that it closes or hedges, and ends its own exits where another plan closes a
position (order-engine 1.3, 3.15). A layer of a plan parent's actor, between `life.py` and `callers.py`.
"""

import math

import attrs
import trio

from onebroker.actors.engine.books.fresh_reads import read_soon
from onebroker.actors.engine.context.messages import EndExits
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.orders.records import ParentRecord
from onebroker.actors.engine.parent.cancelling import CALLER
from onebroker.actors.engine.plan.machine.advance import Outcome as Looked
from onebroker.actors.engine.plan.machine.clearing import Closing, without_exits
from onebroker.actors.engine.plan.machine.exposure import with_nets
from onebroker.actors.engine.plan.machine.positions import ROWS_SECONDS, with_rows
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
from onebroker.actors.engine.plan_parent.clearing import Clearing
from onebroker.actors.engine.plan_parent.life import PlanLife
from onebroker.actors.engine.plan_parent.placing import SENDS
from onebroker.actors.engine.plan_parent.rows import PlanRows
from onebroker.actors.kernel.mailbox import ActorNotRunning
from onebroker.actors.sessions.messages import Sent
from onebroker.brokers.records import OrderRow

POSITIONS_SECONDS = 10.0
"""Positions that a condition looks at are asked for again when older than this (the condition takes none older than 30 s)."""


class PlanHoldings(PlanLife):
    """One plan, without the requests of its callers. Built as `ParentActor` is."""

    def _prepare(self, record: ParentRecord) -> None:
        super()._prepare(record)
        clearing = Clearing(
            self._parent_id,
            self._doors,
            self._lock,
            cancel_own=self._cancel_own,
            end_own_exits=self._end_own_exits,
            acts=lambda: self._record.state in SENDS,
        )
        self._rows = PlanRows(self._doors, clearing)
        self._sums_positions = any(looks_at_positions(part.when) for part in walk(self._root)) or any(
            part.lifetime is not None and looks_at_positions(part.lifetime.when) for part in walk(self._root)
        )

    def _look(self, nursery: trio.Nursery) -> Looked:
        looked = super()._look(nursery)
        if self._sums_positions:
            self._read_positions_soon()
        return looked

    def _read_positions_soon(self) -> None:
        """Ask for the positions that a condition looks at again, before they are too old to act on."""
        now = self._clock.monotonic()
        for door in self._doors.sessions.values():
            view = door.view.value
            read = -math.inf if view.positions_read_started is None else view.positions_read_started
            if view.live and now - read > POSITIONS_SECONDS:
                read_soon(door, "positions")

    # --- rows -------------------------------------------------------------------------------------------------------

    async def _read_rows(self, path: str) -> None:
        """Read the positions that a part closes, or its exposure. The result is in the record before an order that follows from it leaves."""
        try:
            await self._recorder.write()  # record that the part is due, before any order at the positions is cancelled
            part = self._part_at(path)
            if isinstance(part.quantity, FromPosition):
                await self._read_to_close(part, part.quantity)
            elif isinstance(part.quantity, FromExposure):
                await self._read_exposure(part, part.quantity)
        finally:
            self._is_read(path)
            self._under_way -= 1

    def _is_read(self, path: str) -> None:
        self._reading.discard(path)
        self._news.set()
        self._traffic.tell()

    async def _read_to_close(self, part: OrderPart, form: FromPosition) -> None:
        """Read the rows, hand them to the plan, and hold them until the orders for them are at their brokers."""
        before, sent = self._parts[part.path], self._keys_sent(part)
        rows = before.rows or ()
        form = attrs.evolve(form, most=form.most if before.quantity is None else before.quantity)
        owner = f"{self._parent_id} {part.path}"
        found = await self._rows.to_close(part, form, [row for row in rows if row.key in sent], owner)
        record = self._parts[part.path]
        if self._record.state not in SENDS or record.own is not None:
            return
        legs = [leg for leg in self._inputs().legs if leg.part == part.path]
        self._take_parts({**self._parts, part.path: with_rows(record, legs, self._keys_sent(part), found)})
        with self._doors.closes.hold([row.key for row in found.rows], owner):
            self._is_read(part.path)
            await self._traffic.until(lambda: self._is_out(part) and not self._is_unsent(part), ROWS_SECONDS)
            await self._traffic.until(lambda: self._is_out(part), math.inf)

    def _is_out(self, part: OrderPart) -> bool:
        """Whether no order of a part is on its way to a broker; each order takes a few seconds at most."""
        under_way = any(new.part == part.path for new in self._placing.under_way)
        return not under_way and not any(
            leg.part == part.path and self._traffic.busy(leg.leg_id) for leg in self._record.legs
        )

    def _keys_sent(self, part: OrderPart) -> set[str]:
        """Return the keys of a part's rows for which an order was sent or is about to be sent."""
        legs = [leg.instance for leg in self._record.legs if leg.part == part.path]
        under_way = [new.instance for new in self._placing.under_way if new.part == part.path]
        return {key for key in (*legs, *under_way) if key is not None}

    def _closes_soon(self) -> bool:
        """Whether positions are being read, or no order has left yet for a row that was read. The caller's answer waits for these orders."""
        return any(
            isinstance(part, OrderPart) and isinstance(part.quantity, FromPosition) and self._is_unsent(part)
            for part in walk(self._root)
        )

    def _is_unsent(self, part: OrderPart) -> bool:
        record = self._parts.get(part.path, PartRecord())
        if record.own is not None or record.ending is not None:
            return False
        if part.path in self._reading or record.rows_again:
            return True
        sent = self._keys_sent(part)
        unsent = [row for row in record.rows or () if row.key not in sent and row.refusal is None]
        return record.rows is not None and (not record.rows or bool(unsent))

    async def _read_exposure(self, part: OrderPart, form: FromExposure) -> None:
        traded = {leg.broker for leg in self._record.legs if leg.part == part.path and leg.filled_quantity}
        nets, holders = await self._rows.of_exposure(part, form, self._parts[part.path], traded)
        read = with_nets(self._parts[part.path], nets, holders, self._clock.epoch())
        self._take_parts({**self._parts, part.path: read})

    # --- clearing ---------------------------------------------------------------------------------------------------

    async def _cancel_own(self, broker: str, row: OrderRow, leg_id: str, deadline: float) -> Sent:
        return await self._cancelling.cancel(broker, row, self._record.leg(leg_id), CALLER, deadline)

    def _end_exits(self, message: EndExits, nursery: trio.Nursery) -> None:
        self._under_way += 1
        nursery.start_soon(self._end_exits_for, message)

    async def _end_exits_for(self, message: EndExits) -> None:
        try:
            await self._end_own_exits(message.closing)
            message.reply.answer(None)
        finally:
            message.reply.refuse(ActorNotRunning("the order engine", taken=True))  # nothing when it was answered
            self._under_way -= 1

    async def _end_own_exits(self, closing: Closing) -> None:
        """End the exits that wait at positions which are about to be closed, and record that. Wait until none of them is on its way."""
        if self._record.state not in SENDS:
            return
        await self._first.wait()
        ended = without_exits(self._root, self._inputs(), closing)
        if not ended:
            return
        self._take_parts({**self._parts, **ended})
        await self._looked_again()
        await self._recorder.write()
        await self._traffic.until(
            lambda: not any(new.part in ended for new in self._placing.under_way),
            self._doors.settings.cancel_confirm_seconds,
        )


def looks_at_positions(condition: Condition | None) -> bool:
    """Whether a condition is, or contains, a condition on the joint profit and loss of positions."""
    match condition:
        case JointPnl():
            return True
        case AllOf() | AnyOf():
            return any(map(looks_at_positions, condition.conditions))
    return False
