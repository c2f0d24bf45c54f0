"""Converts between a plan's machine and the stored and sent records: legs for the machine, orders for the choice of a broker. Pure."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.orders.leg_refusals import Refusals
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.orders.states import ParentEvent
from onebroker.actors.engine.plan.machine.leg_actions import Leg, NewLeg
from onebroker.brokers.codec.refusals import says_price_limits, says_shortage
from onebroker.brokers.records import TradeRow
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderType, Side, Validity


def leg_of(
    leg: LegRecord,
    refusals: Mapping[str, Refusals],
    *,
    busy: bool,
    settling: bool = False,
    taken_off: int | None = None,
    may_grow: bool = False,
    trades: Iterable[TradeRow] | None = None,
    triggered_at: float | None = None,
) -> Leg:
    """Return a stored leg as the machine sees it. While the result of a change is not known, the larger quantity counts. `taken_off`: the units
    that another hand took off the leg and that are not sent again; None: all of them. `may_grow`: that can change. `trades`: its broker's trade book, where the broker has told
    no average of the leg's fills for a while. `triggered_at`: since when its broker's book shows it triggered."""
    untold = trades is not None
    refused = refusals.get(leg.leg_id, Refusals())
    wanted = leg.wanted.quantity if leg.wanted is not None and leg.wanted.quantity is not None else leg.quantity
    return Leg(
        leg_id=leg.leg_id,
        part=leg.part,
        broker=leg.broker,
        instrument_id=leg.instrument_id,
        side=Side(leg.transaction_type),
        quantity=max(leg.quantity, wanted),
        filled=leg.filled_quantity,
        average=fill_price(leg, trades) if untold else None if leg.average_price is None else exact(leg.average_price),
        price_untold=untold and fill_price(leg, trades) is None,
        order_type=OrderType(leg.order_type),
        immediate=leg.validity == Validity.IOC,
        price=leg.price,
        trigger=leg.trigger_price,
        state=LegState.CANCELLING if leg.cancel_accepted and not leg.state.final else leg.state,
        status_message=leg.status_message,
        shortage=leg.state is LegState.REJECTED and says_shortage(leg.status_message or ""),
        beyond_limits=refused.beyond_limits
        or (leg.state is LegState.REJECTED and says_price_limits(leg.status_message or "")),
        refused_late=leg.refused_late,
        cancel_reason=leg.cancel_reason,
        piece=leg.piece,
        instance=leg.instance,
        sent_at=leg.sent_at,
        moved_at=leg.moved_at,
        changes=leg.modifies,
        refused=refused.change,
        refused_why=refused.why,
        refused_at=refused.changed_at,
        settling=settling,
        cancels=refused.cancels,
        cancelled_at=refused.cancelled_at,
        wanted_since=refused.wanted_since,
        not_left=refused.not_left,
        busy=busy,
        fills_unknown=leg.fills_unknown,
        given_up=leg.given_up,
        unsent=leg.unsent,
        triggered_at=triggered_at,
        ended_at=leg.updated_at,
        taken_off=leg.taken_off if taken_off is None else taken_off,
        former=leg.quantity + leg.taken_off if leg.taken_off > 0 else None,
        may_grow=may_grow,
    )


def order_of(new: NewLeg, instrument: Instrument, *, closes: bool, prefer: str | None = None) -> LegOrder:
    """Return the machine's order in the form for choosing a broker; `prefer`: the preferred broker, which took an earlier order."""
    return LegOrder(
        instrument=instrument,
        transaction_type=new.side.value,
        product=new.product,
        order_type=new.order_type.value,
        validity=new.validity,
        quantity=new.quantity,
        disclosed_quantity=new.disclosed_quantity,
        price=new.price,
        trigger_price=new.trigger,
        broker=new.broker,
        prefer=prefer,
        closes=closes or new.is_exit,
        keeps_off_reserve=new.exit_by_type and not closes,
        owed=new.replaces,
        exit=new.known_exit,
    )


def fill_price(leg: LegRecord, trades: Iterable[TradeRow] | None) -> Decimal | None:
    """Return the best known price of a leg's fills in rupees, where its broker tells no average: that of its trades once they add up to the fill,
    else the order's own limit or trigger. None for an order without either."""
    own = [trade for trade in trades or () if trade.order_id == leg.order_id]
    units = sum(trade.quantity for trade in own)
    if own and units == leg.filled_quantity and all(trade.contract_units is not None for trade in own):
        return sum((exact(trade.price) * trade.quantity for trade in own), Decimal(0)) / units
    return leg.trigger_price if leg.price is None else leg.price


PARENT_EVENT_BY_ROOT: dict[PartState, ParentEvent] = {
    PartState.COMPLETED: ParentEvent.COMPLETED,
    PartState.CANCELLED: ParentEvent.CANCELLED,
    PartState.REJECTED: ParentEvent.REJECTED,
    PartState.EXPIRED: ParentEvent.EXPIRED,
    PartState.FAILED: ParentEvent.FAILED,
}


def event_of(record: ParentRecord, root: PartState) -> ParentEvent:
    """Return the parent event for the state of the plan's root (order-engine 2.1). A parent that its caller ends waits only for its orders."""
    if record.state is ParentState.CANCELLING and all(leg.state.final for leg in record.legs):
        return ParentEvent.NOTHING_RESTS
    if root in PARENT_EVENT_BY_ROOT:
        return PARENT_EVENT_BY_ROOT[root]
    return ParentEvent.SENT if record.legs else ParentEvent.WAITS
