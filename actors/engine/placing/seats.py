"""Prepares a leg before it is sent: its record and exact request for a broker that could take it, and room at one broker."""

from collections.abc import Iterable

import attrs

from onebroker.actors.engine.choice.broker_checks import Candidate, Skipped, Why
from onebroker.actors.engine.choice.choose import still_passes
from onebroker.actors.engine.choice.ranking import held_part, is_holder, passes_lock
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.engine.orders.parent_records import LegRecord, ParentRecord
from onebroker.actors.engine.placing.budget_room import ask_room, first_room
from onebroker.actors.engine.placing.message_events import place_event
from onebroker.actors.engine.placing.send_once import Message
from onebroker.actors.sessions.acknowledged_changes import placing
from onebroker.actors.sessions.messages import CapReached, LoginNeeded, Origin, Permit, RoomFull
from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.records import OrderRow
from onebroker.brokers.requests import NotSendable
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.messages import orders as texts
from onebroker.config.vocabulary import OrderStatus

ROOM_BEFORE_DEADLINE_SECONDS = 1.0
"""A place waits for room until this long before its caller's deadline (order-engine 4.5)."""


@attrs.frozen(kw_only=True)
class Built:
    """A leg with the exact message that places it."""

    leg: LegRecord
    message: Message


@attrs.frozen(kw_only=True)
class Planned:
    """A leg ready to be sent, with its request and its room in the budget."""

    leg: LegRecord
    message: Message
    permit: Permit


@attrs.frozen(kw_only=True)
class Seat:
    """The place of a new leg: its parent, part, number, day and run."""

    record: ParentRecord
    part: str
    """Part path; `entry` for a simple order."""
    number: int
    """The leg's running number within its parent."""
    day: str
    """YYYY-MM-DD, the broking day."""
    run: int
    """The run of the engine."""
    origin: Origin | None = None
    """What makes the order."""


def _build(seat: Seat, candidate: Candidate, context: EngineContext) -> Built | Skipped:
    broker, order, listing = candidate.broker, candidate.order, candidate.listing
    access = candidate.view.access
    if listing is None or access is None:
        return Skipped(broker.code, texts.no_login(broker.code), Why.LOGIN)
    token = leg_token(seat.record.intent_id, seat.part, seat.number, seat.run)
    leg = LegRecord(
        leg_id=f"{seat.record.parent_order_id}.{seat.number}",
        part=seat.part,
        token=token,
        broker=broker.code,
        segment=order.instrument.identity.segment,
        instrument_token=listing.broker_token,
        tradingsymbol=listing.tradingsymbol,
        transaction_type=order.transaction_type,
        product=order.product,
        order_type=order.order_type,
        validity=order.validity,
        quantity=order.quantity,
        price=order.price,
        trigger_price=order.trigger_price,
        session_day=seat.day,
    )
    sent = ticket(candidate, token)
    try:
        request = broker.orders.place_request(access, sent, context.clock.now())
    except NotSendable as error:
        return Skipped(broker.code, str(error))
    # Brokers have their own words for after-market orders; their books give them.
    placed = placing(_as_accepted(sent), complete=not sent.after_market)
    passage = Passage.EXIT if passes_lock(candidate) else Passage.ENTRY
    sure = order.exit and order.own_units is None
    event = place_event(seat.record, leg, order.instrument.instrument_id)
    return Built(
        leg=leg,
        message=Message(
            broker=broker.code,
            request=request,
            when_accepted=placed,
            event=event,
            passage=passage,
            origin=seat.origin,
            still_exit=None if sure else lambda: still_passes(candidate, leg.leg_id, context),
        ),
    )


def _as_accepted(sent: OrderTicket) -> OrderRow:
    """Return the order as its broker's book will first show it."""
    return OrderRow(
        order_id="",
        status=OrderStatus.PENDING.value,
        transaction_type=sent.transaction_type,
        product=sent.product,
        order_type=sent.order_type,
        validity=sent.validity,
        instrument_token=sent.listing.broker_token,
        tradingsymbol=sent.listing.tradingsymbol,
        exchange=sent.listing.exchange,
        quantity=sent.quantity,
        pending_quantity=sent.quantity,
        disclosed_quantity=sent.disclosed_quantity,
        price=float(sent.price or 0),
        trigger_price=float(sent.trigger_price or 0),
        tag=sent.token,
    )


def ticket(candidate: Candidate, token: str) -> OrderTicket:
    """Return the order as it is sent to one broker."""
    order = candidate.order
    assert candidate.listing is not None
    return OrderTicket(
        listing=candidate.listing,
        segment=order.instrument.identity.segment,
        transaction_type=order.transaction_type,
        product=order.product,
        order_type=order.order_type,
        validity=order.validity,
        quantity=order.quantity,
        disclosed_quantity=order.disclosed_quantity,
        price=order.price,
        trigger_price=order.trigger_price,
        after_market=order.after_market,
        token=token,
    )


async def take_room(
    seat: Seat, candidates: Iterable[Candidate], *, closes: bool, deadline: float, context: EngineContext
) -> tuple[Planned | None, list[Skipped]]:
    """Take room at the best broker that has some now; a dearer broker with room wins over waiting. Else take it at the first broker that
    gets room until `deadline` (monotonic seconds). Candidates come best first. The second result lists brokers that could not be sent
    the leg, or had no room.

    Brokers that hold the position or shares, or a part of them, are waited for first. Sent elsewhere, the order would open a position, or be refused because
    there are no shares.
    """
    skipped: list[Skipped] = []
    holders: list[Candidate] = []
    holders_of_a_part: list[Candidate] = []
    others: list[Candidate] = []
    for candidate in candidates:
        is_part = held_part(candidate) > 0
        (holders if is_holder(candidate) else holders_of_a_part if is_part else others).append(candidate)
    for some in (holders, holders_of_a_part, others):
        planned, without = await _first_of(seat, some, closes=closes, deadline=deadline, context=context)
        skipped += without
        if planned is not None:
            return planned, skipped
    return None, skipped


async def _first_of(
    seat: Seat, candidates: list[Candidate], *, closes: bool, deadline: float, context: EngineContext
) -> tuple[Planned | None, list[Skipped]]:
    priority = Priority.EXIT if closes else Priority.ENTRY
    skipped: list[Skipped] = []
    full: dict[str, Built] = {}
    for candidate in candidates:
        built = _build(seat, candidate, context)  # built one by one: none after the broker that gets the leg
        if isinstance(built, Skipped):
            skipped.append(built)
            continue
        code = built.leg.broker
        try:
            permit = await ask_room(context.sessions[code], priority, context.clock.monotonic(), context.clock)
        except RoomFull:
            full[code] = built
        except (CapReached, LoginNeeded) as error:
            skipped.append(_without_room(code, error, closes=closes))
        else:
            return _seated(built, permit), skipped
    waited_for = {code: context.sessions[code] for code in full}
    found = await first_room(waited_for, priority, deadline, context.clock)
    if isinstance(found, tuple):
        code, permit = found
        return _seated(full[code], permit), skipped
    return None, [*skipped, *(_without_room(code, error, closes=closes) for code, error in found.items())]


def _seated(built: Built, permit: Permit) -> Planned:
    return Planned(leg=built.leg, message=built.message, permit=permit)


def _without_room(code: str, error: Exception, *, closes: bool) -> Skipped:
    match error:
        case CapReached():
            kept = 0 if closes else error.reserve
            return Skipped(code, texts.daily_cap(code, error.sent, error.cap, kept), Why.CAP)
        case RoomFull():
            return Skipped(code, texts.RATE_FULL_REASON, Why.RATE)
    return Skipped(code, texts.no_login(code), Why.LOGIN)
