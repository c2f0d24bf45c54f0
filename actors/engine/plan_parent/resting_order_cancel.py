"""Cancels the orders that rest at positions which are about to be closed, and ends the exits that wait there (order-engine 1.3,
cancel_resting_first). Part of a plan parent's actor.

An order of an open parent is cancelled through that parent, by the engine's messages, as the desk does for a caller. All others are
cancelled directly. No two actors can block each other here: parents answer such messages next to their own work, and every wait ends.
"""

import contextlib
import math
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping

import trio

from onebroker.actors.engine.books.fresh_reads import began, read_soon
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.messages import CancelLeg, EndExits, NotOurs
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.intents import Intent, IntentKind
from onebroker.actors.engine.orders.part_state import Holding, closing_side
from onebroker.actors.engine.parent.leg_cancel import NOT_SENT
from onebroker.actors.engine.placing.message_events import cancel_event
from onebroker.actors.engine.placing.send_once import Message, RoomBy, send_ahead
from onebroker.actors.engine.placing.unshown_orders import unshown
from onebroker.actors.engine.plan.machine.cleared_exits import Closing, ExitName
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.portfolio.position_view import position_product
from onebroker.actors.sessions.acknowledged_changes import cancelling
from onebroker.actors.sessions.messages import LoginNeeded, Sent, result
from onebroker.brokers.records import OrderRow
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.vocabulary import Outcome, is_finished

ASK_MARGIN_SECONDS = 2.0
_AGAIN_SECONDS = 0.5
"""How often a cancel that could not leave is tried again, and the books are asked for again."""

OrderName = tuple[str, str]
"""Broker and order id."""
CancelOwn = Callable[[str, OrderRow, str, float], Awaitable[Sent]]
"""Cancels a leg of the asking plan itself: broker, row, leg id, monotonic deadline for room. Raises the errors in `NOT_SENT`."""


NoteGuards = Callable[[Collection[str]], Awaitable[None]]
"""Hears of positions (`RowToClose.key`) whose guards are ended: an order that rests there, a waiting exit, that would have closed the position."""


class Clearing:
    """Clears the way for the closing orders of one plan."""

    def __init__(
        self,
        parent_id: str,
        context: EngineContext,
        lock: EngineLock,
        *,
        cancel_own: CancelOwn,
        end_own_exits: Callable[[Closing], Awaitable[frozenset[ExitName]]],
        acts: Callable[[], bool],
    ) -> None:
        """`acts`: whether the plan may still send anything."""
        self._parent_id = parent_id
        self._context = context
        self._clock = context.clock
        self._lock = lock
        self._cancel_own = cancel_own
        self._end_own_exits = end_own_exits
        self._acts = acts

    async def clear(
        self, path: str, closing: Closing, nets: Mapping[Holding, int], note: NoteGuards
    ) -> Counter[Holding]:
        """End the exits and cancel the orders at these positions. Return, for each position, how many orders were not shown as finished in time.
        `path` is the closing part, whose own orders stay; `nets`: the positions' signed units; `note` hears of guards before they are cancelled."""
        ended: set[ExitName] = set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._end_exits, closing, ended)
            nursery.start_soon(self._end_own, closing, ended)
        await note(
            {h.key for h, net in nets.items() for one in ended if one.is_of(h) and one.side == closing_side(net)}
        )
        again: dict[OrderName, float] = {}
        codes = {holding.broker for holding in closing.holdings}
        with trio.move_on_after(self._context.settings.cancel_confirm_seconds):
            while self._acts():
                resting = self._unfinished(path, closing)
                await note({h.key for h, row in resting if row.transaction_type == closing_side(nets[h])})
                await self._cancel_due(path, closing, again)
                if await self._finished(path, closing, codes, again):
                    break
        left = Counter(dict.fromkeys(closing.holdings, 0))
        left.update(self.resting(path, closing.holdings))
        return left

    def resting(self, path: str, holdings: Collection[Holding]) -> Counter[Holding]:
        """Return, for each of these positions where orders rest or may be under way, how many. Not those of the closing part at `path`."""
        closing = Closing(holdings=frozenset(holdings), elsewhere=frozenset())
        found = Counter(holding for holding, _ in self._unfinished(path, closing))
        found.update(self._unshown(path, closing))
        return found

    # --- orders -----------------------------------------------------------------------------------------------------

    def _unfinished(self, path: str, closing: Closing) -> list[tuple[Holding, OrderRow]]:
        """Return the orders at these positions that have not finished; an unknown status counts as open."""
        latest = self._context.catalogue.value.latest
        found = []
        for code in sorted({holding.broker for holding in closing.holdings}):
            for row in self._context.session(code).view.value.orders.values():
                instrument_id = None if latest is None else latest.by_token(code, row.instrument_token)
                if instrument_id is None or is_finished(row.status):
                    continue
                holding = Holding(code, instrument_id, position_product(row.product))
                if holding in closing.holdings and not self._is_closing(self._owner(code, row), path):
                    found.append((holding, row))
        return found

    def _owner(self, code: str, row: OrderRow) -> LegOwner | None:
        return self._context.legs.owner(code, row.order_id, row.tag)

    def _is_closing(self, owner: LegOwner | None, path: str) -> bool:
        """Whether an order is one of the orders that close the positions."""
        return owner is not None and owner.parent_id == self._parent_id and owner.leg_role == path

    def _unshown(self, path: str, closing: Closing) -> list[Holding]:
        """Return the positions where orders of ours may be that no book shows yet. Any of them could fill after the close."""
        latest = self._context.catalogue.value.latest
        found = []
        for leg in unshown(self._context):
            instrument_id = None if latest is None else latest.by_token(leg.broker, leg.instrument_token)
            own = leg.leg_id.startswith(f"{self._parent_id}.") and leg.part == path
            if instrument_id is not None and not own:
                holding = Holding(leg.broker, instrument_id, position_product(leg.product))
                if holding in closing.holdings:
                    found.append(holding)
        return found

    async def _finished(
        self, path: str, closing: Closing, codes: Collection[str], again: Mapping[OrderName, float]
    ) -> bool:
        """Wait until books begun from now on show no unfinished order. False when an order must be cancelled before that."""
        after = self._clock.monotonic()
        handles = [self._context.session(code) for code in sorted(codes)]
        while True:
            if self._due(path, closing, again):
                return False
            fresh = all(
                (started := began(handle.view.value, "orders")) is not None and started > after for handle in handles
            )
            if fresh and not self._unfinished(path, closing) and not self._unshown(path, closing):
                return True
            for handle in handles:
                read_soon(handle, "orders")
            await _any_news(handles, _AGAIN_SECONDS)

    # --- cancels ----------------------------------------------------------------------------------------------------

    def _due(self, path: str, closing: Closing, again: Mapping[OrderName, float]) -> list[tuple[str, OrderRow]]:
        """Return the orders to cancel now, including orders that appeared only meanwhile."""
        now = self._clock.monotonic()
        return [
            (holding.broker, row)
            for holding, row in self._unfinished(path, closing)
            if again.get((holding.broker, row.order_id), -math.inf) <= now
        ]

    async def _cancel_due(self, path: str, closing: Closing, again: dict[OrderName, float]) -> None:
        """Cancel the due orders, all at the same time, each once. A cancel that could not leave is tried again soon. A cancel under way is not
        interrupted."""

        async def cancel(code: str, row: OrderRow) -> None:
            left = await self._cancel(code, row)
            again[code, row.order_id] = math.inf if left else self._clock.monotonic() + _AGAIN_SECONDS

        settings = self._context.settings
        seconds = settings.cancel_confirm_seconds + settings.broker_timeout_seconds + ASK_MARGIN_SECONDS
        with trio.move_on_after(seconds, shield=True):
            async with trio.open_nursery() as nursery:
                for code, row in self._due(path, closing, again):
                    nursery.start_soon(cancel, code, row)

    async def _cancel(self, code: str, row: OrderRow) -> bool:
        """Cancel one order; return whether the message may have left."""
        deadline = self._clock.monotonic() + self._context.settings.cancel_confirm_seconds
        owner = self._owner(code, row)
        try:
            if owner is not None and owner.parent_id == self._parent_id:
                sent: Sent | None = await self._cancel_own(code, row, owner.leg_id, deadline)
            else:
                sent = None if owner is None else await self._through_parent(code, row, owner.parent_id, deadline)
            if sent is None:
                sent = await self._directly(code, row, None if owner is None else owner.parent_id, deadline)
        except NOT_SENT:
            return False
        return not sent.goes_again

    async def _through_parent(self, code: str, row: OrderRow, parent_id: str, deadline: float) -> Sent | None:
        """Let another open parent cancel its leg. None when that parent is finished: then nobody else acts on the order."""
        engine = self._context.engine
        if engine is None:
            return None
        intent = Intent(
            intent_id=str(uuid.uuid4()), kind=IntentKind.CANCEL, body={"broker": code, "order_id": row.order_id}
        )
        wait_seconds = deadline - self._clock.monotonic() + self._context.settings.broker_timeout_seconds
        try:
            return await engine.ask(
                lambda reply: CancelLeg(
                    parent_id=parent_id,
                    row=row,
                    broker=code,
                    deadline=deadline,
                    intent=intent,
                    asked=False,
                    reply=reply,
                ),
                wait_seconds + ASK_MARGIN_SECONDS,
            )
        except NotOurs:
            return None
        except (ActorNotRunning, AskTimedOut) as error:
            return result(Outcome.UNKNOWN, str(error), reached=True)  # the cancel may have left: the book decides

    async def _directly(self, code: str, row: OrderRow, parent_id: str | None, deadline: float) -> Sent:
        handle = self._context.session(code)
        access = handle.view.value.access
        if access is None:
            raise LoginNeeded(code)
        request = handle.broker.orders.cancel_request(access, row, self._clock.now())
        return await send_ahead(
            self._context,
            Message(
                broker=code,
                request=request,
                when_accepted=cancelling(row),
                event=cancel_event(code, row, parent_id),
                passage=Passage.CANCEL,
            ),
            RoomBy(priority=Priority.CANCEL, deadline=deadline),
            write=self._context.store.write,
            leave_before=self._lock.leave_before,
        )

    # --- waiting exits ----------------------------------------------------------------------------------------------

    async def _end_own(self, closing: Closing, ended: set[ExitName]) -> None:
        ended.update(await self._end_own_exits(closing))

    async def _end_exits(self, closing: Closing, ended: set[ExitName]) -> None:
        """Let the other open parents end their exits at these positions, and wait for that, a few seconds at most. Note the `ended` exits."""
        engine = self._context.engine
        if engine is None:
            return
        wait_seconds = self._context.settings.cancel_confirm_seconds
        with contextlib.suppress(ActorNotRunning, AskTimedOut):  # an exit sent all the same is seen in the books
            exits: frozenset[ExitName] = await engine.ask(
                lambda reply: EndExits(parent_id=self._parent_id, closing=closing, reply=reply), wait_seconds
            )
            ended |= exits


async def _any_news(handles: Collection[SessionHandle], seconds: float) -> None:
    """Wait until one of the sessions has published something, at most `seconds`."""
    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:

            async def wait(handle: SessionHandle) -> None:
                await handle.view.wait_newer(handle.view.version)
                nursery.cancel_scope.cancel()

            for handle in handles:
                nursery.start_soon(wait, handle)
