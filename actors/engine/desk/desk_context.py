"""What all requests at the desk share: finding the broker that holds an order, sending a message that belongs to no parent, and asking the engine."""

import contextlib
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import attrs
import trio

from onebroker.actors.engine.books.accepted_orders import accepted_order
from onebroker.actors.engine.books.fresh_reads import read_soon
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.messages import EngineAnswer, EngineMessage, EngineStatus
from onebroker.actors.engine.orders.intents import Intent, IntentKind, answered
from onebroker.actors.engine.parent import answers
from onebroker.actors.engine.placing.send_once import Message, RoomBy, send_ahead, whenever
from onebroker.actors.kernel.mailbox import Address, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.messages import Sent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Op, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal

ROOM_SECONDS = 5.0
"""How long a cancel, a change or a flatten waits for room (order-engine 4.5)."""
MARGIN_SECONDS = 1.0
KEEP_SECONDS = 1.0
"""How long an answer waits for the store to keep it."""

R = TypeVar("R")


@attrs.frozen(kw_only=True)
class Held:
    """An order, and the broker that holds it."""

    broker: str
    row: OrderRow

    def named(self) -> dict[str, Any]:
        return {"broker": self.broker, "order_id": self.row.order_id}


@attrs.frozen(kw_only=True)
class DeskContext:
    """What every request at the desk is given: the engine's context, the engine, and its status."""

    context: EngineContext
    engine: Address[EngineMessage]
    status: Published[EngineStatus]

    # --- finding ----------------------------------------------------------------------------------------------------

    def find(self, order_id: str, broker: str | None) -> Held:
        """Return the order; exactly one broker must hold it. Raises Refusal 404 and 409."""
        holders = [
            Held(broker=code, row=row)
            for code, handle in self.context.sessions.items()
            if broker in (None, code) and (row := _held_row(handle, order_id)) is not None
        ]
        if not holders:
            sentence = f"{texts.ORDER_NOT_FOUND} ({keys.DOCUMENT_KEYS['orders']})"
            raise Refusal(404, sentence, {"order_id": order_id})
        if len(holders) > 1:
            brokers = [held.broker for held in holders]
            raise Refusal(409, texts.SEVERAL_BROKERS, {"order_id": order_id, "brokers": brokers})
        return holders[0]

    async def appeared(self, order_id: str, broker: str | None) -> Held:
        """Return the order as `find` does. An order that the engine has just placed may not be in its broker's book yet; it is then taken as it
        was accepted. Where that is not enough, the order is waited for as long as a parent's cancel waits (rules 2.4.6). Raises Refusal 404 and
        409."""
        late = [
            handle
            for code, handle in self.context.sessions.items()
            if broker in (None, code)
            and order_id not in handle.view.value.orders
            and self.context.legs.owner(code, order_id, None) is not None
            and accepted_order(handle, order_id, self.context.clock.now()) is None
        ]
        with trio.move_on_after(self.context.settings.parent_cancel_wait):
            for handle in late:
                read_soon(handle, "orders")
                while order_id not in handle.view.value.orders:
                    await handle.view.wait_newer(handle.view.version)
        return self.find(order_id, broker)

    def parent_of(self, held: Held) -> str | None:
        """Return the id of the engine parent that an order belongs to; None when it belongs to none."""
        owner = self.context.legs.owner(held.broker, held.row.order_id, held.row.tag)
        return None if owner is None else owner.parent_id

    # --- sending ----------------------------------------------------------------------------------------------------

    def room_deadline(self) -> float:
        """Return until when (monotonic seconds) a message waits for room."""
        return self.context.clock.monotonic() + ROOM_SECONDS

    async def send(self, message: Message, priority: Priority) -> Sent:
        """Send one order message that no parent needs to know. Raises LoginNeeded, RoomFull, CapReached, StoreError: then nothing was sent."""
        return await send_ahead(
            self.context,
            message,
            RoomBy(priority=priority, deadline=self.room_deadline()),
            write=self.context.store.write,
            leave_before=whenever,
        )

    def session(self, broker: str) -> SessionHandle:
        return self.context.session(broker)

    # --- the engine -------------------------------------------------------------------------------------------------

    @property
    def engine_runs(self) -> bool:
        return self.status.value.running

    async def engine_comes(self, until: float, *, after: int = -1) -> bool:
        """Wait until `until` (monotonic seconds) for an engine that is starting, as a placed order does; return whether it runs. `after` is the
        version of a status that has since proved wrong: a newer status is waited for."""
        with trio.move_on_after(max(0.0, until - self.context.clock.monotonic())):
            await self.status.wait_newer(after)
            while self.status.value.starting:
                await self.status.wait_newer(self.status.version)
        return self.engine_runs and self.status.version > after

    def engine_deadline(self, routed: float) -> float:
        """Return until when a request read at `routed` waits for an engine that is starting (rules 2.4.2)."""
        return routed + self.context.settings.engine_wait_seconds

    def ask_seconds(self) -> float:
        """Return how long a message to a parent may take: for room, for a just-placed order to appear, and for the broker."""
        settings = self.context.settings
        return ROOM_SECONDS + settings.parent_cancel_wait + settings.broker_timeout_seconds + 2 * MARGIN_SECONDS

    async def ask_engine(self, make: Callable[[Reply[R]], EngineMessage]) -> R:
        """Ask a parent through the engine. Raises NotOurs, ActorNotRunning, AskTimedOut, and the parent's own refusals."""
        return await self.engine.ask(make, self.ask_seconds())

    def intent(self, kind: IntentKind, body: Mapping[str, Any]) -> Intent:
        return Intent(intent_id=str(uuid.uuid4()), kind=kind, body=body)

    async def keep(self, intent: Intent, answer: EngineAnswer) -> None:
        """Keep an intent's answer for a caller who has stopped waiting (order-engine 5.3), before the answer is given. A store that is away or
        slow gets it later."""
        with contextlib.suppress(StoreError), trio.move_on_after(KEEP_SECONDS):
            await self.context.store.write(*self._kept(intent, answer))
            return
        self.keep_soon(intent, answer)

    def keep_soon(self, intent: Intent, answer: EngineAnswer) -> None:
        """Keep an intent's answer without waiting."""
        self.context.store.post(*self._kept(intent, answer))

    def _kept(self, intent: Intent, answer: EngineAnswer) -> tuple[Op, ...]:
        return answered(intent, answers.encode(answer), self.context.settings.answer_keep_seconds)

    # --- the store --------------------------------------------------------------------------------------------------

    def check_store(self, named: Mapping[str, Any]) -> None:
        """Raise Refusal 503 while Redis is away: then the desk sends nothing."""
        if not self.context.store.reachable:
            raise Refusal(503, texts.redis_unreadable("the store is away"), named)

    # --- time -------------------------------------------------------------------------------------------------------

    def timing(self, routed: float, sent: Sent | None) -> dict[str, float]:
        """Return `timing_ms`: preparation is everything but the broker, room, write-ahead and hand-over included (lesson 36)."""
        broker_seconds = sent.broker_seconds if sent is not None else 0.0
        spent = self.context.clock.monotonic() - routed
        timing = {"preparation": answers.milliseconds(spent - broker_seconds)}
        return timing if sent is None else {**timing, "broker": answers.milliseconds(broker_seconds)}


def _held_row(handle: SessionHandle, order_id: str) -> OrderRow | None:
    view = handle.view.value
    return view.orders.get(order_id) or view.unseen.get(order_id)


def refused(refusal: Refusal) -> EngineAnswer:
    return EngineAnswer(status=refusal.status, body=refusal.body())
