"""Order messages of one session: each takes a place in the budget, then is sent exactly once. Child-task code of the session actor."""

import math
from collections.abc import Container
from functools import partial

import attrs

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.budget_counts import encode_counts
from onebroker.actors.sessions.counted_calls import RATE_LIMIT_PAUSE_SECONDS
from onebroker.actors.sessions.messages import AskRoom, CapReached, Permit, RoomFull, SendOrder, Sent, result
from onebroker.brokers.broker import OrderAnswer, OrderCodec
from onebroker.brokers.codec.order_messages import answer_to
from onebroker.brokers.requests import CallKind, NotSent, OutcomeUnknown
from onebroker.brokers.transport.budget import BudgetFull, DailyCapReached, Moment, Place
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.interface import Transport
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock
from onebroker.config.events import BudgetFull as NoBudgetRoom
from onebroker.config.events import OrderAnswered, OrderRejected, OrderSent
from onebroker.config.vocabulary import Outcome

FULL_AGAIN_SECONDS = 60.0
"""A full budget is told at most once in this time."""


class OrderDesk:
    """Takes room in the budget and sends order messages. Holds no orders."""

    def __init__(
        self, code: str, *, transport: Transport, gate: BudgetGate, clock: Clock, codec: OrderCodec, events: Events
    ) -> None:
        self._code = code
        self._events = events
        self._full_told_at = -math.inf
        """Monotonic seconds at which a full budget was told last."""
        self._transport = transport
        self.last_url: str | None = None
        """The address of the last order message."""
        self._gate = gate
        self._clock = clock
        self._codec = codec

    async def take_room(self, message: AskRoom) -> None:
        """Answer with a permit as soon as there is room, or refuse at the deadline or the day's cap."""
        if message.reply.done:
            return
        budget, now = self._gate.budget, Moment.of(self._clock)
        began = now.monotonic
        if budget.daily_cap is not None and budget.daily_room(message.priority, now) == 0:
            sent = budget.order_messages_today(now)
            self._refuse(message, CapReached(sent, budget.daily_cap, budget.exit_reserve))
            return
        try:
            place = await self._gate.acquire(CallKind.ORDER, message.priority, message.deadline)
        except DailyCapReached as cap:
            self._refuse(message, CapReached(cap.sent, cap.cap, cap.reserve))
        except BudgetFull:
            self._refuse(message, RoomFull())
        else:
            if message.reply.done:  # the caller has gone and cannot use the permit
                self._gate.give_back(place)
            message.reply.answer(self._permit(place, self._clock.monotonic() - began))

    def take_free_room(self, priority: Priority) -> Permit | None:
        """Return a permit if there is room now and no message waits that comes first; else None."""
        place = self._gate.try_take(CallKind.ORDER, priority)
        return None if place is None else self._permit(place, 0.0)

    def _permit(self, place: Place, waited_seconds: float) -> Permit:
        counts = encode_counts(self._gate.budget.dump(Moment.of(self._clock)))
        return Permit(place=place, counts=counts, waited_seconds=waited_seconds)

    def _refuse(self, message: AskRoom, why: CapReached | RoomFull) -> None:
        """Refuse the room. The event is told only if the caller still waits: an order may have found its room at another broker."""
        now = self._clock.monotonic()
        if not message.reply.done and now - self._full_told_at >= FULL_AGAIN_SECONDS:
            self._full_told_at = now
            words = str(why) if isinstance(why, CapReached) else "the rate budget has no room for an order message"
            self._events.tell(NoBudgetRoom(broker=self._code, why=words))
        message.reply.refuse(why)

    def return_room(self, permit: Permit) -> None:
        self._gate.give_back(permit.place)

    async def send(self, message: SendOrder, known: Container[str]) -> Sent:
        """Send once and return what we know of the outcome. Never raises an error that a broker or a network causes.

        `known`: the ids of the orders that the broker shows now. A new order cannot have one of these ids.
        """
        began = self._clock.monotonic()
        if began >= message.leave_before:
            return self._not_sent(message, began, "the order engine's lock may be lost, so this was not sent")
        self.last_url = message.request.url
        request = attrs.evolve(message.request, on_departure=partial(self._departs, message))
        try:
            response = await self._transport.send(request, message.timeout_seconds)
        except NotSent as error:
            return self._not_sent(message, began, str(error))
        except OutcomeUnknown as error:
            answer = OrderAnswer(
                outcome=Outcome.UNKNOWN, order_id=None, status_message=str(error), broker_response=None
            )
        else:
            self._gate.landed(message.permit.place)
            answer = answer_to(self._codec, message.request, response, known=known)
        if answer.rate_limited:
            self._gate.close_for(RATE_LIMIT_PAUSE_SECONDS)
        sent = Sent(answer=answer, broker_seconds=self._clock.monotonic() - began, reached=True)
        self._tell(message.event, sent)
        return sent

    def _departs(self, message: SendOrder) -> None:
        """Tell that the message leaves now, and how long it took to get here."""
        event, origin, handed_at = message.event, message.origin, message.handed_at
        if origin is not None and handed_at is not None:
            now, waited = self._clock.monotonic(), message.permit.waited_seconds
            event = attrs.evolve(
                event,
                prepared_ms=_milliseconds(handed_at - origin.at - waited),
                queued_ms=_milliseconds(now - handed_at + waited),
                triggered_ms=_milliseconds(now - origin.at) if origin.is_market else None,
            )
        self._events.tell(event)

    def _tell(self, message: OrderSent, sent: Sent) -> None:
        """Tell the answer, and a rejection that the broker's book will not show, because the order has no id."""
        self._events.tell(_answered(message, sent))
        answer = sent.answer
        if message.verb == "place" and answer.outcome is Outcome.REJECTED and answer.order_id is None:
            self._events.tell(
                OrderRejected(
                    broker=message.broker, parent=message.parent, leg=message.leg, words=answer.status_message
                )
            )

    def _not_sent(self, message: SendOrder, began: float, why: str) -> Sent:
        self.return_room(message.permit)
        return result(Outcome.REJECTED, why, broker_seconds=self._clock.monotonic() - began, reached=False)


def _milliseconds(seconds: float) -> float:
    """Return milliseconds with three decimals. A wall clock that is set back between a quote and its order may give less than nothing."""
    return max(0.0, round(seconds * 1000, 3))


def _answered(message: OrderSent, sent: Sent) -> OrderAnswered:
    return OrderAnswered(
        broker=message.broker,
        verb=message.verb,
        outcome=sent.answer.outcome.value,
        broker_ms=round(sent.broker_seconds * 1000),
        parent=message.parent,
        leg=message.leg,
        token=message.token,
        order_id=sent.answer.order_id or message.order_id,
        words=sent.answer.status_message,
    )
