"""The desk: cancels by order id, alive without the engine's lock. One task a request (order-engine 5.1).

It finds the one broker whose book holds the order, hands an engine leg to its parent, and sends everything else itself.
"""

from collections.abc import Mapping
from typing import TypeAlias

import attrs
import trio

from onebroker.actors.engine.answers import milliseconds
from onebroker.actors.engine.doors import EngineDoors
from onebroker.actors.engine.dry_run import shown_url
from onebroker.actors.engine.messages import CancelLeg, EngineAnswer, EngineMessage, EngineStatus, NotOurs
from onebroker.actors.engine.sending import ask_room, send_once
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut, Mailbox, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.messages import LoginNeeded, ReturnRoom, RoomFull, Sent, result
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable, WireRequest
from onebroker.brokers.transport.budget import Priority
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import OUTCOME_STATUS, Outcome, is_finished

ROOM_SECONDS = 5.0
"""How long a cancel waits for room (order-engine 4.5)."""
MARGIN_SECONDS = 1.0


@attrs.frozen(kw_only=True)
class CancelOrder:
    """Cancel one order by the broker's own id (spec 2 §4.5)."""

    order_id: str
    broker: str | None
    dry_run: bool
    routed: float
    """Monotonic seconds at which the request was read."""
    reply: Reply[EngineAnswer]


DeskMessage: TypeAlias = CancelOrder


@attrs.frozen(kw_only=True)
class _Held:
    broker: str
    row: OrderRow


class DeskActor:
    def __init__(
        self,
        *,
        mailbox: Mailbox[DeskMessage],
        doors: EngineDoors,
        engine: Address[EngineMessage],
        status: Published[EngineStatus],
    ) -> None:
        self._mailbox = mailbox
        self._doors = doors
        self._engine = engine
        self._status = status

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        async with trio.open_nursery() as nursery:
            task_status.started()
            async for message in self._mailbox:
                nursery.start_soon(self._cancel, message)

    async def _cancel(self, message: CancelOrder) -> None:
        held = self._find(message)
        if isinstance(held, EngineAnswer):
            message.reply.answer(held)
        elif is_finished(held.row.status):
            message.reply.answer(_refused(409, texts.already(held.row.status), held))
        else:
            message.reply.answer(await self._cancel_held(message, held))

    def _find(self, message: CancelOrder) -> _Held | EngineAnswer:
        """Exactly one broker must hold the order."""
        holders = [
            _Held(broker=code, row=row)
            for code, door in self._doors.sessions.items()
            if message.broker in (None, code) and (row := door.view.value.orders.get(message.order_id)) is not None
        ]
        if not holders:
            error = f"{texts.ORDER_NOT_FOUND} ({keys.DOCUMENT_KEYS['orders']})"
            return EngineAnswer(status=404, body={"error": error, "order_id": message.order_id})
        if len(holders) > 1:
            brokers = [held.broker for held in holders]
            return EngineAnswer(
                status=409, body={"error": texts.SEVERAL_BROKERS, "order_id": message.order_id, "brokers": brokers}
            )
        return holders[0]

    async def _cancel_held(self, message: CancelOrder, held: _Held) -> EngineAnswer:
        door = self._doors.sessions[held.broker]
        access = door.view.value.access
        if access is None:
            return _refused(503, texts.no_login(held.broker), held)
        if not self._doors.store.reachable:
            return _refused(503, texts.redis_unreadable("the store is away"), held)
        try:
            request = door.broker.orders.cancel_request(access, held.row, self._doors.clock.now())
            if message.dry_run:
                return self._dry_run(message, held, request)
            sent = await self._send(held, request)
        except NotSendable as error:
            return _refused(503, texts.cancel_not_built(str(error)), held)
        except LoginNeeded:
            return _refused(503, texts.no_login(held.broker), held)
        except RoomFull:
            return _refused(503, texts.CANCEL_RATE_BUDGET_FULL, held)
        except StoreError as error:
            return _refused(503, texts.redis_unreadable(str(error)), held)
        return self._answer(message, held, sent)

    async def _send(self, held: _Held, request: WireRequest) -> Sent:
        """Through the parent when the order is a leg of a running engine's open parent, else by ourselves."""
        owner = self._doors.legs.owner(held.broker, held.row.order_id, held.row.tag)
        if owner is not None and self._status.value.running:
            try:
                return await self._through_parent(held, owner.parent_id)
            except NotOurs:
                pass  # a finished parent's order: nobody else acts on it
            except ActorNotRunning as error:
                if error.taken:  # the message may have left
                    return result(
                        Outcome.UNKNOWN, "the order engine stopped while it cancelled this order", reached=True
                    )
        return await self._by_ourselves(held, request)

    async def _through_parent(self, held: _Held, parent_id: str) -> Sent:
        deadline = self._doors.clock.monotonic() + ROOM_SECONDS

        def ask(reply: Reply[Sent]) -> CancelLeg:
            return CancelLeg(parent_id=parent_id, row=held.row, broker=held.broker, deadline=deadline, reply=reply)

        wait_seconds = ROOM_SECONDS + self._doors.settings.broker_timeout_seconds + 2 * MARGIN_SECONDS
        try:
            return await self._engine.ask(ask, wait_seconds)
        except AskTimedOut as error:
            if not error.queued:
                raise RoomFull from error
            return result(Outcome.UNKNOWN, str(error), reached=True)

    async def _by_ourselves(self, held: _Held, request: WireRequest) -> Sent:
        door = self._doors.sessions[held.broker]
        clock = self._doors.clock
        permit = await ask_room(door, Priority.CANCEL, clock.monotonic() + ROOM_SECONDS, clock)
        try:
            await self._doors.store.write(Set(keys.rate(held.broker), permit.counts))
        except StoreError:
            await door.address.tell(ReturnRoom(permit=permit))
            raise
        return await send_once(
            door,
            request,
            permit,
            leave_before=float("inf"),
            timeout_seconds=self._doors.settings.broker_timeout_seconds,
            clock=clock,
        )

    def _dry_run(self, message: CancelOrder, held: _Held, request: WireRequest) -> EngineAnswer:
        return EngineAnswer(
            status=200,
            body={
                "broker": held.broker,
                "order_id": held.row.order_id,
                "status_before_cancel": held.row.status,
                "dry_run": True,
                "request": {"method": request.method, "url": shown_url(request.url)},
                "timing_ms": self._timing(message, None),
            },
        )

    def _answer(self, message: CancelOrder, held: _Held, sent: Sent) -> EngineAnswer:
        answer = sent.answer
        return EngineAnswer(
            status=OUTCOME_STATUS[answer.outcome],
            body={
                "broker": held.broker,
                "order_id": held.row.order_id,
                "status_before_cancel": held.row.status,
                "outcome": answer.outcome.value,
                "status_message": answer.status_message,
                "broker_response": answer.broker_response,
                "timing_ms": self._timing(message, sent),
            },
        )

    def _timing(self, message: CancelOrder, sent: Sent | None) -> Mapping[str, float]:
        """Preparation is everything but the broker: room, write-ahead and hand-over included (lesson 36)."""
        broker_seconds = sent.broker_seconds if sent is not None else 0.0
        spent = self._doors.clock.monotonic() - message.routed
        timing = {"preparation": milliseconds(spent - broker_seconds)}
        return timing if sent is None else {**timing, "broker": milliseconds(broker_seconds)}


def _refused(status: int, sentence: str, held: _Held) -> EngineAnswer:
    body = {"error": sentence, "broker": held.broker, "order_id": held.row.order_id}
    return EngineAnswer(status=status, body=body)
