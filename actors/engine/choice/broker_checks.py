"""The hard checks of one broker for one order, in order (order-engine 4.1). Each gives the reason that is written to `skipped`. Pure."""

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum

import attrs

from onebroker.actors.engine.choice.costs import Cost
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.actors.engine.choice.market_protection import needs_stand_in
from onebroker.actors.engine.choice.net_held import net_held
from onebroker.actors.engine.orders.contract_size import ContractSize, differs
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.broker import Broker
from onebroker.brokers.records import Listing
from onebroker.config.instruments import bare_segment
from onebroker.config.messages import orders as texts
from onebroker.config.money import is_multiple


class Why(StrEnum):
    """The kind of reason. Only brokers that could take such an order decide the status of the whole answer. `OTHER` and `LOGIN` mark brokers that
    could not take it at all: excluded, without a login, without the instrument or the product."""

    LOT = "lot"
    CONTRACT_SIZE = "contract_size"
    FREEZE = "freeze"
    CAP = "cap"
    RATE = "rate"
    PRICE = "price"
    MONEY = "money"
    LOGIN = "login"
    UNANSWERED = "unanswered"
    LISTING = "listing"
    """Its list has not got the instrument now."""
    DELIVERY = "delivery"
    """It cannot deliver the shares of a delivery sale, or nobody knows whether it can."""
    OTHER = "other"


@attrs.frozen
class Skipped:
    """A broker passed over."""

    broker: str
    reason: str
    why: Why = Why.OTHER
    limit: int | None = None
    """With FREEZE: the most units that the broker takes in one order."""


@attrs.frozen(kw_only=True)
class Deliverable:
    """What one broker can deliver of the share of a delivery sale now (`actors/engine/choice/holders.py`)."""

    units: int
    """By the rows that are known; never below zero."""
    known: bool
    """False when the holdings could not be read: there may be more."""


@attrs.frozen(kw_only=True)
class Candidate:
    """One broker in its present state, with the order it may get."""

    broker: Broker
    view: SessionView
    order: LegOrder
    """As this broker would get it: a limit order where the broker takes no MARKET orders and the order has nowhere else to go."""
    excluded: bool = False
    unanswered: int = 0
    """How many of the last orders it did not answer, while it is out because of them."""
    intraday_closed: bool = False
    """Whether it already closes intraday positions for the day."""
    size: ContractSize | None = None
    """Set for a currency or commodity contract."""
    freeze: int | None = None
    """Most units in one order here; None = not known."""
    available: Decimal | None = None
    """Free money in rupees; None = not known, or not looked at."""
    needed: Decimal | None = None
    """Roughly how many rupees the order needs; None = not known, or not looked at."""
    in_flight: int = 0
    """Units of our own orders on the same side that are under way and not yet in the book."""
    alternatives: frozenset[str] = frozenset()
    """`LegOrder.alternatives` now."""
    deliverable: Deliverable | None = None
    """Of a delivery sale; None for any other order."""
    is_settled: Callable[[], bool] = attrs.field(default=lambda: False, eq=False, repr=False)
    """Tells whether the broker's position in the instrument and product agrees with its fills (4.11). Until it does, the position may be gone."""
    cost: Cost | None = None
    """None = a charge or the price is not known."""
    held: int = attrs.field()
    """Net units of the instrument and product at the broker. Looked up once: a copy of the candidate with its money and cost keeps the number."""

    @held.default
    def _look_held(self) -> int:
        return net_held(self.order, self.listing, self.view)

    @property
    def only_way_out(self) -> bool:
        """Whether this is a close pinned to this broker: it has nowhere else to go."""
        return self.order.closes and self.order.broker == self.broker.code

    @property
    def is_tried_here(self) -> bool:
        """Whether neither the exclusion list nor unanswered orders stop the order: it is pinned to this broker, and closes, or is owed by its plan."""
        return self.only_way_out or (self.order.owed and self.order.broker == self.broker.code)

    @property
    def listing(self) -> Listing | None:
        return self.order.instrument.listings.get(self.broker.code)


PASSES = frozenset({Why.RATE, Why.CAP, Why.PRICE, Why.MONEY, Why.LOGIN, Why.UNANSWERED})
"""Reasons that concern the moment, not the order. An order that must be sent in any case waits until they have passed."""

Check = Callable[[Candidate], Skipped | None]


def first_failure(candidate: Candidate) -> Skipped | None:
    """Return the first check the candidate fails, or None when it can take the order."""
    return next((failure for check in CHECKS if (failure := check(candidate)) is not None), None)


def _skip(candidate: Candidate, reason: str, why: Why = Why.OTHER) -> Skipped:
    return Skipped(candidate.broker.code, reason, why)


def _not_excluded(candidate: Candidate) -> Skipped | None:
    out = candidate.excluded and not candidate.is_tried_here
    return _skip(candidate, texts.EXCLUDED_BY_CONFIGURATION) if out else None


def _sends_orders(candidate: Candidate) -> Skipped | None:
    return None if candidate.broker.capabilities.segments else _skip(candidate, texts.ORDERS_NOT_SENT)


def _logged_in(candidate: Candidate) -> Skipped | None:
    return None if candidate.view.live else _skip(candidate, texts.no_login(candidate.broker.code), Why.LOGIN)


def _carries(candidate: Candidate) -> Skipped | None:
    return None if candidate.listing is not None else _skip(candidate, texts.DOES_NOT_CARRY, Why.LISTING)


def _takes(candidate: Candidate) -> Skipped | None:
    """Segment, product, order type, validity, after-market and disclosed quantity, by the capability table."""
    can, order = candidate.broker.capabilities, candidate.order
    segment = order.instrument.identity.segment
    offered = (
        (segment in can.segments, order.product),
        (order.product in can.products.get(order.calendar, ()), order.product),
        (order.order_type in can.order_types_in(segment), order.order_type),
        (order.validity in can.validities, order.validity),
        (can.after_market or not order.after_market, "after_market"),
        (can.disclosed_quantity or not order.disclosed_quantity, "disclosed_quantity"),
    )
    refused = next((word for is_offered, word in offered if not is_offered), None)
    if refused is None:
        return None
    if refused == order.order_type and candidate.only_way_out and needs_stand_in(order, can.order_types_in(segment)):
        return _skip(candidate, texts.NO_PRICE_KNOWN, Why.PRICE)
    return _skip(candidate, texts.does_not_take(refused, bare_segment(segment)))


def _delivers(candidate: Candidate) -> Skipped | None:
    """A delivery sale goes where all its units can be delivered. A plan's exit of units that the plan itself bought there needs no rows for it.
    A broker whose holdings are not known gets only a sale that names it."""
    can, order, code = candidate.deliverable, candidate.order, candidate.broker.code
    if can is None or can.units >= order.quantity or candidate.only_way_out:
        return None
    if order.own_units is not None and order.own_units(code, None) >= order.quantity:
        return None
    if not can.known:
        return None if order.broker == code else _skip(candidate, texts.HOLDINGS_NOT_READ, Why.DELIVERY)
    return _skip(candidate, texts.cannot_deliver(can.units, order.quantity), Why.DELIVERY)


def _whole_lots(candidate: Candidate) -> Skipped | None:
    """Checks against this broker's own lots. A contract's trusted size is compared earlier (`choose`)."""
    lot = candidate.listing.lot_size if candidate.listing and candidate.size is None else None
    if lot is None or is_multiple(Decimal(candidate.order.quantity), Decimal(lot)):
        return None
    return _skip(candidate, texts.not_whole_lots(lot), Why.LOT)


def _intraday_open(candidate: Candidate) -> Skipped | None:
    return _skip(candidate, texts.INTRADAY_CLOSED) if candidate.intraday_closed else None


def _contract_size(candidate: Candidate) -> Skipped | None:
    listing, size = candidate.listing, candidate.size
    if listing is None:
        return None
    if listing.contract_units is None:
        return _skip(candidate, texts.contract_size("unknown"), Why.CONTRACT_SIZE)
    if size is not None and size.trusted is not None and differs(listing, size.trusted):
        return _skip(candidate, texts.contract_size("differs"), Why.CONTRACT_SIZE)
    return None


def _under_freeze(candidate: Candidate) -> Skipped | None:
    if candidate.freeze is None or candidate.order.quantity <= candidate.freeze:
        return None
    return Skipped(candidate.broker.code, texts.above_freeze(candidate.freeze), Why.FREEZE, candidate.freeze)


def _has_money(candidate: Candidate) -> Skipped | None:
    available, needed = candidate.available, candidate.needed
    if available is None or needed is None or available >= needed or candidate.only_way_out:
        return None
    return _skip(candidate, texts.not_enough_money(available, needed), Why.MONEY)


def _answers(candidate: Candidate) -> Skipped | None:
    if not candidate.unanswered or candidate.is_tried_here:
        return None
    return _skip(candidate, texts.did_not_answer(candidate.unanswered), Why.UNANSWERED)


def _cap_left(candidate: Candidate) -> Skipped | None:
    room = candidate.view.room
    if room is None or room.daily_cap is None:
        return None
    kept = 0 if candidate.order.closes and not candidate.order.keeps_off_reserve else room.exit_reserve
    if room.order_messages_today < room.daily_cap - kept:
        return None
    sentence = texts.daily_cap(candidate.broker.code, room.order_messages_today, room.daily_cap, kept)
    return _skip(candidate, sentence, Why.CAP)


CHECKS: tuple[Check, ...] = (
    _not_excluded,
    _sends_orders,
    _logged_in,
    _carries,
    _takes,
    _delivers,
    _whole_lots,
    _intraday_open,
    _contract_size,
    _under_freeze,
    _has_money,
    _answers,
    _cap_left,
)
