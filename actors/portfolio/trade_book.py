"""The trade book: today's trades at every broker (rules 2.2.3, 2.2.4). Pure."""

import math
from typing import Annotated

import msgspec

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.book_assembler import BookAssembler
from onebroker.actors.portfolio.book_rows import SortKey, Tallied, Tally, engine_columns
from onebroker.actors.portfolio.order_owners import LegIndex, LegOwner
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import TradeRow
from onebroker.config.money import rupees, value_paise
from onebroker.config.schema_marks import known_words
from onebroker.config.vocabulary import Product, Side


class TradeView(msgspec.Struct, frozen=True, gc=False):
    """An element of `trades`, fields in the order of rules 2.2.3."""

    broker: str
    """Broker code."""
    trade_id: str
    order_id: str
    """The broker's own id of the order."""
    exchange_order_id: str | None
    exchange_trade_id: str | None
    instrument_id: str | None
    """Null when the catalogue does not know the broker's token."""
    instrument_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code, such as NSE_EQ."""
    transaction_type: Annotated[str, known_words(Side)]
    product: Annotated[str, known_words(Product)]
    """A broker's unknown word passes through upper-cased."""
    quantity: int
    """Units."""
    price: float
    """Rupees."""
    value: float
    """quantity x price, rounded to paise."""
    trade_timestamp: str | None
    """As the broker writes it; so times can be compared only within one broker."""
    exchange_timestamp: str | None
    engine_parent_id: str | None
    """The engine's parent that placed the order; null, like the next three fields, for an order placed elsewhere."""
    synthetic_type: str | None
    intent_id: str | None
    leg_role: str | None


class TradeSummary(msgspec.Struct, frozen=True, kw_only=True):
    count: int
    """Trades of the day, whatever the filters."""
    buy_value: float
    """Rupees, like the other values."""
    sell_value: float
    total_value: float


class TradeBook:
    """The trade book's own rules (book_rows.Book)."""

    resource: Resource = "trades"
    list_name = "trades"

    def key(self, row: TradeRow) -> str:
        """Return the row's key: a trade reported twice is one trade. A broker's trade ids alone may not be unique, so the figures are part of
        the key; otherwise a fill could be lost."""
        return f"{row.order_id}:{row.trade_id}:{row.quantity}:{row.price}"

    def settle(self, before: TradeRow, new: TradeRow) -> TradeRow:
        return new

    def owner(self, legs: LegIndex, broker: str, row: TradeRow) -> LegOwner | None:
        """Return the owner of the trade's order. A trade itself carries no tag."""
        return legs.owner(broker, row.order_id, None)

    def view(
        self, broker: str, row: TradeRow, amount: int, instrument_id: str | None, owner: LegOwner | None
    ) -> TradeView:
        columns = engine_columns(owner)
        # By place, in the order of the fields: to name twenty fields takes longer than all else about a row.
        return TradeView(
            broker,
            row.trade_id,
            row.order_id,
            row.exchange_order_id,
            row.exchange_trade_id,
            instrument_id,
            row.instrument_token,
            row.tradingsymbol,
            row.exchange,
            row.transaction_type,
            row.product,
            row.quantity,
            row.price,
            rupees(amount),
            row.trade_timestamp,
            row.exchange_timestamp,
            columns.engine_parent_id,
            columns.synthetic_type,
            columns.intent_id,
            columns.leg_role,
        )

    def sort_key(self, row: TradeRow) -> SortKey:
        return row.trade_timestamp or "", row.trade_id

    def tally(self, row: TradeRow) -> Tallied:
        return row.transaction_type, row.transaction_type, _value(row)

    def summary(self, total: Tally) -> TradeSummary:
        buy, sell = total.amounts[Side.BUY], total.amounts[Side.SELL]
        return TradeSummary(
            count=total.counts.total(),
            buy_value=rupees(buy),
            sell_value=rupees(sell),
            total_value=rupees(total.amounts.total()),
        )


def _value(row: TradeRow) -> int:
    return value_paise(row.quantity, row.price) if math.isfinite(row.price) else 0


class TradeBookAssembler(BookAssembler[TradeRow]):
    def __init__(self, catalogue: Published[CatalogueState], legs: LegIndex) -> None:
        super().__init__(TradeBook(), catalogue, legs)
