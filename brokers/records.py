"""Row types that occur in large numbers: codecs decode a broker's answers into them, already in our words and units.

Quantities are whole units (never lots), prices are rupees as parsed, times are as each field says. `None` means that the
broker did not give the figure. The code that builds documents decides what that means (zero in funds, null average in
positions).
"""

from collections.abc import Mapping

import msgspec

Number = int | float


class DepthLevel(msgspec.Struct, frozen=True, gc=False):
    price: float
    quantity: int
    orders: int | None = None


class Tick(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One market-data update of one instrument at one broker. Quantities in units."""

    broker_token: str
    last_price: float
    average_price: float | None = None
    open: float | None = None
    high: float | None = None
    low: float | None = None
    previous_close: float | None = None
    last_quantity: int | None = None
    volume: int | None = None
    buy_quantity: int | None = None
    sell_quantity: int | None = None
    oi: int | None = None
    oi_day_high: int | None = None
    oi_day_low: int | None = None
    buy: tuple[DepthLevel, ...] | None = None
    """Best level first, empty levels dropped; None = this packet carries no depth (because of its mode; the book is not empty)."""
    sell: tuple[DepthLevel, ...] | None = None
    last_trade_time: float | None = None
    """Epoch seconds."""
    exchange_time: float | None = None
    """Epoch seconds."""


class OrderRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One order of a broker's book or order stream (rules 2.2.2, without the fields that the engine adds)."""

    order_id: str
    status: str
    """OrderStatus, or the broker's word in upper case when it has no OrderStatus."""
    transaction_type: str
    product: str
    order_type: str
    validity: str
    instrument_token: str
    """The broker token by which the catalogue knows the instrument (`Listing.broker_token`)."""
    tradingsymbol: str
    exchange: str
    """The broker's own code."""
    quantity: int
    filled_quantity: int = 0
    pending_quantity: int = 0
    cancelled_quantity: int = 0
    disclosed_quantity: int = 0
    price: float = 0.0
    trigger_price: float = 0.0
    average_price: float = 0.0
    exchange_order_id: str | None = None
    parent_order_id: str | None = None
    status_message: str | None = None
    order_timestamp: str | None = None
    """ISO 8601 with the IST offset, like all *_timestamp of orders."""
    exchange_timestamp: str | None = None
    tag: str | None = None
    variety: str | None = None
    """The broker's own word, where modify and cancel need it (Kite's variety)."""
    contract_units: int | None = 1
    """Units in one of the broker's own quantities; the row's quantities are already multiplied by it. None = the broker
    counts in lots and the units per lot are not known: the quantities of this row are then lots."""


class TradeRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One trade (rules 2.2.3). Timestamps are passed through as the broker writes them."""

    trade_id: str
    order_id: str
    transaction_type: str
    product: str
    instrument_token: str
    tradingsymbol: str
    exchange: str
    quantity: int
    price: float
    exchange_order_id: str | None = None
    exchange_trade_id: str | None = None
    trade_timestamp: str | None = None
    exchange_timestamp: str | None = None
    contract_units: int | None = 1
    """As `OrderRow.contract_units`."""


class PositionRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One position of one broker, in units. Values are quantity x price x multiplier-of-units, so plain rupees.

    Where the broker counts contracts and the units in one contract are not known, every non-zero quantity is None. The
    values made from such quantities are None too (`in_contracts`). The row is shown, and nobody can mistake contracts for
    units.
    """

    position_key: str
    """Names the row within its broker and view; the same in every read."""
    view: str
    """`net` or `day`."""
    product: str
    """Our Product word, or the broker's word in upper case."""
    instrument_token: str
    tradingsymbol: str
    exchange: str
    quantity: int | None
    """Signed. In the net view None only because the units in a contract are not known; in the day view also where a leg
    is not reported."""
    overnight_quantity: int | None = None
    """Signed: the quantity carried in from the day before. None = not reported, here and in all figures below. A day row
    carries nothing in: 0."""
    buy_quantity: int | None = None
    """In the net view this includes the carried quantity, so `buy_quantity` - `sell_quantity` is `quantity`."""
    sell_quantity: int | None = None
    contracts: int | None = None
    """Signed; the broker's own quantity, where `quantity` is None because the units in a contract are not known."""
    buy_value: float | None = None
    """₹ paid for buy_quantity (carried legs included in the net view)."""
    sell_value: float | None = None
    average_price: float | None = None
    """None when the broker gives no average, or a figure known to be a stand-in; never the last price."""
    last_price: float | None = None
    close_price: float | None = None
    multiplier: float = 1.0
    """The broker's own figure, shown as is; quantity is already in units."""
    realized: float | None = None
    unrealized: float | None = None
    covered_by_holdings: bool = False
    """(ours) Of a delivery row below zero: whether the broker's holdings have these units. Then it is a sale out of the holdings, not a short. No
    codec sets it; the session does, which knows both books."""


def in_contracts(row: PositionRow) -> PositionRow:
    """Return a row whose quantities were read as contracts of unknown size: its non-zero quantities are not known in units."""
    return msgspec.structs.replace(
        row,
        quantity=0 if row.quantity == 0 else None,
        overnight_quantity=0 if row.overnight_quantity == 0 else None,
        buy_quantity=0 if row.buy_quantity == 0 else None,
        sell_quantity=0 if row.sell_quantity == 0 else None,
        buy_value=row.buy_value if row.buy_quantity == 0 else None,
        sell_value=row.sell_value if row.sell_quantity == 0 else None,
        contracts=row.quantity or None,
    )


class HoldingRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One holding of one broker; buckets in units (rules 1.2.5)."""

    instrument_token: str
    tradingsymbol: str
    exchange: str
    isin: str | None
    settled_quantity: int
    """Free and pledged units that have settled."""
    t1_quantity: int = 0
    margin_quantity: int = 0
    """Margin-trading units."""
    collateral_quantity: int = 0
    """Pledged units. Here they are part of settled_quantity. Brokers differ in this, and the codec makes them the same."""
    average_price: float | None = None
    """Average of the settled and T1 units."""
    margin_average_price: float | None = None
    last_price: float | None = None
    close_price: float | None = None


class FundsSegment(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One of `equity`, `derivatives`, `currency`, `commodity`, where the broker reports that segment separately. Rupees."""

    available_balance: float | None = None
    margin_utilized: float | None = None
    span_margin: float | None = None
    exposure_margin: float | None = None


class FundsRow(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A broker's funds in rupees (rules 1.2.5); None = not reported."""

    available_balance: float | None = None
    cash_balance: float | None = None
    collateral_value: float | None = None
    adhoc_credit: float | None = None
    margin_utilized: float | None = None
    withdrawable_balance: float | None = None
    realized: float | None = None
    unrealized: float | None = None
    span_margin: float | None = None
    exposure_margin: float | None = None
    other_margin: float | None = None
    pay_in_today: float | None = None
    pay_out_today: float | None = None
    uncleared_funds: float | None = None
    pending_withdrawal: float | None = None
    segments: Mapping[str, FundsSegment] = {}
    pools: Mapping[str, float] = {}
    """Segment -> free cash; empty for a broker with a single pool."""


class Candle(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    start: float
    """Epoch seconds of the candle's start."""
    open: float
    high: float
    low: float
    close: float
    volume: int | None = None
    oi: int | None = None


class Listing(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One broker's names of one instrument: what its order, quote and stream calls need."""

    broker_token: str
    """The name that the catalogue and this broker's ticks, orders and positions use; unique within the broker."""
    tradingsymbol: str
    exchange: str
    """The broker's own exchange or segment code."""
    lot_size: int | None = None
    """Units per lot."""
    tick_size: float | None = None
    """Rupees."""
    freeze_quantity: int | None = None
    """Units; None = unknown, never 1."""
    contract_units: int | None = 1
    """Units in one of the broker's own order quantities: above 1 where the broker counts in lots (Kite's MCX and CDS).
    None = it counts in lots and the units per lot are not known. Then its quantities cannot be read, and no order is
    sent."""
    other_names: str | None = None
    """Further names that this broker's calls need, in its codec's own spelling (Groww's stream token and candle symbol)."""
