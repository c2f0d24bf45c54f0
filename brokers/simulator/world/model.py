"""The simulator's own nouns: contracts, markets, orders, fills, accounts. Shared by exchange.py, accounts.py and the dialects.

Everything here is the exchange's truth, in units and rupees. A dialect translates it into its broker's words (lots, paise).
"""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

import attrs

from onebroker.config.instruments import Identity, bare_segment, calendar_of
from onebroker.config.vocabulary import OrderType, Product, Side, Validity


@attrs.frozen(kw_only=True)
class Contract:
    """One listed instrument."""

    identity: Identity
    instrument_id: str
    name: str
    isin: str | None
    exchange_token: int
    """The exchange's own number, unique within `exchange_segment`."""
    lot_size: int
    """Units per lot; 1 for cash. For currency and commodity contracts: the units of the underlying in one contract."""
    tick_size: Decimal
    freeze_quantity: int | None
    """The largest order that the exchange takes, in units. None = no limit."""
    series: str
    """EQ, BE, GB … for cash; empty for derivatives and indices."""
    base_price: Decimal
    """The price where the seeded walk starts (the first previous close)."""
    band_percent: Decimal
    """Orders beyond previous close ± this percentage are refused."""

    @cached_property
    def bare(self) -> str:
        return bare_segment(self.identity.segment)

    @cached_property
    def calendar(self) -> str:
        return calendar_of(self.bare)

    @cached_property
    def is_index(self) -> bool:
        return self.bare.endswith("_indices")

    @property
    def quoted_in_lots(self) -> bool:
        """Whether brokers that quote in lots do so for this contract: true for currency and commodity contracts."""
        return self.calendar in ("currency", "commodity")


@attrs.frozen
class Level:
    price: Decimal
    quantity: int
    orders: int


@attrs.frozen(kw_only=True)
class Market:
    """What the exchange publishes now about one contract. Index markets have no book and no volume."""

    tick_size: Decimal
    last_price: Decimal
    last_quantity: int
    last_trade_time: float
    """Epoch seconds."""
    exchange_time: float
    average_price: Decimal
    open: Decimal
    high: Decimal
    low: Decimal
    previous_close: Decimal
    volume: int
    buy_quantity: int
    sell_quantity: int
    oi: int
    oi_day_high: int
    oi_day_low: int
    upper_circuit: Decimal
    lower_circuit: Decimal
    buy: tuple[Level, ...]
    """Best first, at most five."""
    sell: tuple[Level, ...]


class SimStatus(StrEnum):
    AFTER_MARKET = "after_market"
    """Accepted outside trading hours; goes to the book at the next open."""
    TRIGGER_PENDING = "trigger_pending"
    OPEN = "open"
    COMPLETE = "complete"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    EXPIRED = "expired"

    @property
    def finished(self) -> bool:
        return self in (SimStatus.COMPLETE, SimStatus.CANCELLED, SimStatus.REJECTED, SimStatus.EXPIRED)


@attrs.frozen(kw_only=True)
class NewOrder:
    """A new order as a dialect hands it to the exchange."""

    instrument_id: str
    side: Side
    product: Product
    order_type: OrderType
    validity: Validity
    quantity: int
    disclosed_quantity: int = 0
    price: Decimal | None = None
    trigger_price: Decimal | None = None
    after_market: bool = False
    tag: str | None = None


@attrs.frozen(kw_only=True)
class SimOrder:
    """The present state of one order of one account. It is replaced, never changed."""

    order_id: str
    """In the broker's own style: digits, unique within the account and the day."""
    exchange_order_id: str | None
    """None until the exchange accepts the order."""
    broker: str
    new: NewOrder
    status: SimStatus
    status_message: str | None
    quantity: int
    price: Decimal | None
    trigger_price: Decimal | None
    order_type: OrderType
    validity: Validity
    disclosed_quantity: int
    filled_quantity: int
    filled_value: Decimal
    """₹; average = filled_value / filled_quantity."""
    placed_at: datetime
    updated_at: datetime
    exchange_at: datetime | None
    modifications: int = 0

    @property
    def pending_quantity(self) -> int:
        return 0 if self.status.finished else self.quantity - self.filled_quantity

    @property
    def cancelled_quantity(self) -> int:
        return self.quantity - self.filled_quantity if self.status in (SimStatus.CANCELLED, SimStatus.EXPIRED) else 0

    @property
    def average_price(self) -> Decimal:
        """Zero before the first fill; four places."""
        if not self.filled_quantity:
            return Decimal(0)
        return (self.filled_value / self.filled_quantity).quantize(Decimal("0.0001"))


@attrs.frozen(kw_only=True)
class SimFill:
    trade_id: str
    order_id: str
    exchange_order_id: str
    broker: str
    instrument_id: str
    side: Side
    product: Product
    quantity: int
    price: Decimal
    at: datetime


@attrs.frozen(kw_only=True)
class SimPosition:
    """One account's position in one instrument and product, with the carried leg and today's leg apart. Units and rupees."""

    instrument_id: str
    product: Product
    overnight_quantity: int
    """Signed."""
    overnight_price: Decimal
    """Average price of the carried leg (yesterday's close after mark-to-market for futures)."""
    day_buy_quantity: int
    day_buy_value: Decimal
    day_sell_quantity: int
    day_sell_value: Decimal

    @property
    def quantity(self) -> int:
        return self.overnight_quantity + self.day_buy_quantity - self.day_sell_quantity


@attrs.frozen(kw_only=True)
class SimHolding:
    instrument_id: str
    settled_quantity: int
    """Free units. Pledged and T1 units are not included; they have their own fields."""
    t1_quantity: int
    collateral_quantity: int
    average_price: Decimal

    @property
    def total_quantity(self) -> int:
        return self.settled_quantity + self.t1_quantity + self.collateral_quantity


@attrs.frozen(kw_only=True)
class SimFunds:
    """Rupees. `segment pools`: `equity` and `commodity` are separate at brokers with two pools."""

    opening_cash: Decimal
    collateral: Decimal
    span: Decimal
    exposure: Decimal
    option_premium: Decimal
    delivery: Decimal
    """Money paid for shares bought today, minus money received for shares sold."""
    realized: Decimal
    unrealized: Decimal

    @property
    def used(self) -> Decimal:
        return self.span + self.exposure + self.option_premium + self.delivery

    @property
    def available(self) -> Decimal:
        return self.opening_cash + self.collateral + self.realized - self.used


class RefusalReason(StrEnum):
    """Why the exchange or an account's risk check refuses a message before an order id exists. Dialects put it into words."""

    UNKNOWN_INSTRUMENT = "unknown_instrument"
    NOT_TRADABLE = "not_tradable"
    BAD_QUANTITY = "bad_quantity"
    BAD_LOT = "bad_lot"
    BAD_TICK = "bad_tick"
    BAD_PRICE = "bad_price"
    FREEZE = "freeze"
    PRICE_BAND = "price_band"
    MARKET_CLOSED = "market_closed"
    NO_MARGIN = "no_margin"
    NO_HOLDING = "no_holding"
    UNKNOWN_ORDER = "unknown_order"
    ORDER_FINISHED = "order_finished"
    FORCED = "forced"
    """Set by the control API's reject_orders and reject_cancels."""


class SimRefusal(Exception):
    """A refusal before anything happened. `message` is the exchange's own sentence."""

    def __init__(self, reason: RefusalReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
