"""The order book: today's orders at every broker (rules 2.2.2, 2.2.4). Pure."""

import math
from typing import Annotated

import msgspec

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.book_assembler import BookAssembler
from onebroker.actors.portfolio.book_rows import SortKey, Tallied, Tally, engine_columns
from onebroker.actors.portfolio.order_owners import LegIndex, LegOwner
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import OrderRow
from onebroker.config.money import quotient, scaled
from onebroker.config.schema_marks import known_words
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity, is_finished

_PLACES = 8
"""Decimals with which averages are added up: only the sum is rounded (rules 2.2.4), not its parts."""


class OrderView(msgspec.Struct, frozen=True, gc=False):
    """An element of `orders`, fields in the order of rules 2.2.2."""

    broker: str
    """Broker code."""
    order_id: str
    """The broker's own id, which modify and cancel take."""
    exchange_order_id: str | None
    parent_order_id: str | None
    """The broker's own id of the order that this order belongs to."""
    status: Annotated[str, known_words(OrderStatus)]
    """COMPLETE, CANCELLED, REJECTED and EXPIRED are final. A broker's unknown word passes through upper-cased."""
    status_message: str | None
    """The broker's words."""
    id: str
    """The broker's own name of the instrument, the same as `instrument_token`. The rules list both, with `tradingsymbol`, as the broker's own
    naming. Without this, brokers with only one such name would leave one of the fields empty."""
    instrument_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code, such as NSE_EQ."""
    transaction_type: Annotated[str, known_words(Side)]
    product: Annotated[str, known_words(Product)]
    """A broker's unknown word passes through upper-cased. The same holds for order_type and validity."""
    order_type: Annotated[str, known_words(OrderType)]
    validity: Annotated[str, known_words(Validity)]
    quantity: int
    """Units, like the other quantities."""
    filled_quantity: int
    pending_quantity: int
    cancelled_quantity: int
    disclosed_quantity: int
    price: float
    """Rupees; 0 of an order without a limit."""
    trigger_price: float
    """Rupees; 0 of an order without a trigger."""
    average_price: float
    """Rupees for one unit that filled; 0 while nothing has."""
    order_timestamp: str | None
    """ISO 8601 with the offset of India."""
    exchange_timestamp: str | None
    tag: str | None
    """The caller's tag."""
    instrument_id: str | None
    """Null when the catalogue does not know the broker's token."""
    engine_parent_id: str | None
    """The engine's parent that placed the order; null, like the next three fields, for an order placed elsewhere."""
    synthetic_type: str | None
    """`simple` or `plan`. The type that was asked for is the parent's `routed_from`."""
    intent_id: str | None
    leg_role: str | None
    """The part of the plan, such as `root.each_fill.children.0`; `entry` for a simple order."""


class OrderSummary(msgspec.Struct, frozen=True, kw_only=True):
    count: int
    """Orders of the day, whatever the filters."""
    by_status: dict[str, int]
    """Known statuses in the order of the rules, then passed-through statuses by name; only statuses that occur."""
    filled_value: float
    """Rupees: the sum of filled quantity x average price."""


class OrderBook:
    """The order book's own rules (book_rows.Book)."""

    resource: Resource = "orders"
    list_name = "orders"

    def key(self, row: OrderRow) -> str:
        return row.order_id

    def settle(self, before: OrderRow, new: OrderRow) -> OrderRow:
        """Return `before` if `new` changes the status of a finished order, which never changes (rules 2.3.1). Otherwise return `new`: late
        figures with the same status are taken."""
        return before if is_finished(before.status) and new.status != before.status else new

    def owner(self, legs: LegIndex, broker: str, row: OrderRow) -> LegOwner | None:
        return legs.owner(broker, row.order_id, row.tag)

    def view(
        self, broker: str, row: OrderRow, amount: int, instrument_id: str | None, owner: LegOwner | None
    ) -> OrderView:
        """Render a row. An order of ours shows its caller's tag in place of the engine's token."""
        columns = engine_columns(owner)
        # By place, in the order of the fields: to name thirty fields takes longer than all else about a row.
        return OrderView(
            broker,
            row.order_id,
            row.exchange_order_id,
            row.parent_order_id,
            row.status,
            row.status_message,
            row.instrument_token,
            row.instrument_token,
            row.tradingsymbol,
            row.exchange,
            row.transaction_type,
            row.product,
            row.order_type,
            row.validity,
            row.quantity,
            row.filled_quantity,
            row.pending_quantity,
            row.cancelled_quantity,
            row.disclosed_quantity,
            row.price,
            row.trigger_price,
            row.average_price,
            row.order_timestamp,
            row.exchange_timestamp,
            row.tag if owner is None else owner.tag,
            instrument_id,
            columns.engine_parent_id,
            columns.synthetic_type,
            columns.intent_id,
            columns.leg_role,
        )

    def sort_key(self, row: OrderRow) -> SortKey:
        return row.order_timestamp or "", row.order_id

    def tally(self, row: OrderRow) -> Tallied:
        known = math.isfinite(row.average_price)
        return row.status, "filled_value", row.filled_quantity * scaled(row.average_price, _PLACES) if known else 0

    def summary(self, total: Tally) -> OrderSummary:
        known = [status.value for status in OrderStatus]
        order = known + sorted(status for status in total.counts if status not in known)
        return OrderSummary(
            count=total.counts.total(),
            by_status={status: total.counts[status] for status in order if total.counts[status]},
            filled_value=quotient(total.amounts["filled_value"], 10**_PLACES, 2),
        )


class OrderBookAssembler(BookAssembler[OrderRow]):
    def __init__(self, catalogue: Published[CatalogueState], legs: LegIndex) -> None:
        super().__init__(OrderBook(), catalogue, legs)
