"""The cost of one order at one broker, line by line in paise (order-engine 4.2). Pure.

Each line is rounded half up; the tax on services is computed from the rounded lines that it applies to.
"""

from datetime import date
from decimal import ROUND_HALF_UP, Decimal

import attrs

from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.brokers.records import Listing
from onebroker.config.charges.rows import BrokerageRow, Charges, Group, StatutoryRow
from onebroker.config.instruments import ADJUSTABLE_SEGMENTS
from onebroker.config.money import rupees
from onebroker.config.vocabulary import Product, Side

_PERCENT = Decimal(100)
_FUNDS = "exchange_traded_funds"
_HEADS = {"equity": "equity", "equity_index": "equity", "currency": "currency", "currency_index": "currency",
          "commodity": "commodity", "commodity_index": "commodity"}  # fmt: skip
"""Name of a derivative's segment before `_futures` or `_options` -> first word of its group."""


@attrs.frozen(kw_only=True)
class Cost:
    """Paise."""

    brokerage: int
    exchange: int
    regulator: int
    stamp: int
    transaction_tax: int
    gst: int
    dp: int
    """Depository charge, its tax included."""
    later_dp: int = 0
    """Depository charge of the later sale of a delivery bought here; not part of this order's cost."""

    @property
    def total(self) -> int:
        return self.brokerage + self.exchange + self.regulator + self.stamp + self.transaction_tax + self.gst + self.dp

    @property
    def compared(self) -> int:
        """The amount by which brokers are compared: a delivery that is cheap to buy may be expensive to sell again."""
        return self.total + self.later_dp

    def shown(self) -> dict[str, float]:
        """Return `estimated_cost` of a dry run, in rupees (order-engine 5.4)."""
        lines = attrs.asdict(self, filter=lambda field, _: field.name != "later_dp")
        return {"total": rupees(self.total), **{name: rupees(amount) for name, amount in lines.items()}}


def group_of(segment: str, product: str) -> Group:
    """Return the group of a bare segment; for shares and what is traded like shares, the product decides."""
    if segment in ADJUSTABLE_SEGMENTS:
        return Group.EQUITY_INTRADAY if product == Product.MIS else Group.EQUITY_DELIVERY
    head, _, shape = segment.rpartition("_")
    return Group(f"{_HEADS[head]}_{shape}") if head in _HEADS else Group.OTHER


@attrs.frozen(kw_only=True)
class Levies:
    """What state, exchange and regulator charge for an order: the same at every broker. Paise."""

    value: Decimal
    """Value of the order, in rupees."""
    exchange: int
    taxed_exchange: int
    """The part of `exchange` to which the tax on services applies."""
    regulator: int
    stamp: int
    transaction_tax: int


def levies_of(order: LegOrder, price: Decimal | None, charges: Charges, day: date) -> Levies | None:
    """Return the levies at `price`; None when the price or the charges are not known."""
    row = charges.statutory_row(order.instrument.identity.exchange, _levied_as(order), day)
    if price is None or row is None:
        return None
    value, buys = order.quantity * price, Side(order.transaction_type) is Side.BUY
    regulator = charges.farm_regulator_percent if _is_farm_good(order, charges) else row.regulator_percent
    return Levies(
        value=value,
        exchange=_share(value, row.exchange_percent),
        taxed_exchange=_share(value, row.exchange_percent - row.fund_percent),
        regulator=_share(value, regulator),
        stamp=_share(value, row.stamp_percent) if buys else 0,
        transaction_tax=_share(value, _tax_percent(order, row, charges, buys=buys)),
    )


def cost_of(
    order: LegOrder, broker: str, levies: Levies | None, charges: Charges, day: date, *, lot: int, dp_paid: bool
) -> Cost | None:
    """Return the cost at a broker; None when the levies or its brokerage are not known.

    `lot` is in units. `dp_paid`: this instrument was already sold out of the account there today, so the depository charge is paid.
    """
    group = group_of(order.segment, order.product)
    own = charges.brokerage_row(broker, group, order.product, day)
    if levies is None or own is None:
        return None
    brokerage = _paise(_brokerage(own, levies.value, -(-order.quantity // lot)))
    taxed = Decimal(brokerage + levies.taxed_exchange + levies.regulator) / 100
    delivered = group is Group.EQUITY_DELIVERY and order.product == Product.CNC
    fee = _paise(charges.dp_fee(broker, levies.value, day)) if delivered else 0
    sells = Side(order.transaction_type) is Side.SELL
    return Cost(
        brokerage=brokerage,
        exchange=levies.exchange,
        regulator=levies.regulator,
        stamp=levies.stamp,
        transaction_tax=levies.transaction_tax,
        gst=_share(taxed, charges.gst_percent),
        dp=fee if sells and not dp_paid else 0,
        later_dp=0 if sells else fee,
    )


def lot_of(order: LegOrder, listing: Listing | None) -> int:
    """Return the units of one lot, for a brokerage charged per lot."""
    own = listing.lot_size if listing is not None else None
    return own or order.instrument.lot_size or 1


def _levied_as(order: LegOrder) -> Group:
    """Return the group whose levies an order pays: a delivered fund pays a different tax than a share."""
    group = group_of(order.segment, order.product)
    return Group.FUND_DELIVERY if group is Group.EQUITY_DELIVERY and order.segment == _FUNDS else group


def _is_farm_good(order: LegOrder, charges: Charges) -> bool:
    underlying = order.instrument.identity.underlying_symbol
    return order.calendar == "commodity" and underlying is not None and charges.is_farm_good(underlying)


def _is_untaxed_fund(order: LegOrder, charges: Charges) -> bool:
    symbol = order.instrument.identity.symbol
    return order.segment == _FUNDS and symbol is not None and charges.is_untaxed_fund(symbol)


def _tax_percent(order: LegOrder, statutory: StatutoryRow, charges: Charges, *, buys: bool) -> Decimal:
    if _is_farm_good(order, charges) or _is_untaxed_fund(order, charges):
        return Decimal(0)
    return statutory.tax_buy_percent if buys else statutory.tax_sell_percent


def _brokerage(row: BrokerageRow, value: Decimal, lots: int) -> Decimal:
    if row.per_lot is not None:
        return row.per_lot * lots
    if row.percent is None:
        return row.flat or Decimal(0)
    amount = max(value * row.percent / _PERCENT, row.minimum or Decimal(0))
    return amount if row.cap is None else min(amount, row.cap)


def _share(value: Decimal, percent: Decimal) -> int:
    return _paise(value * percent / _PERCENT)


def _paise(amount: Decimal) -> int:
    return int(amount.scaleb(2).quantize(Decimal(1), ROUND_HALF_UP))
