"""The rows of the charges tables, and the look-up of rows (order-engine 4.2). `actors/engine/choice/costs.py` turns
rows into costs.

Every percentage is a percentage of the traded value, every amount is in rupees. A row is in force from `valid_from`
until a later row of the same key; each class names its key.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any, Generic, Protocol, TypeVar

import attrs

from onebroker.config.converters import WrongFieldError
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.config.vocabulary import SENDABLE_PRODUCTS

ALWAYS = date(2000, 1, 1)
"""The `valid_from` of a row that has none."""
GST_PERCENT = Decimal(18)
"""Goods and services tax on brokerage, and on exchange and regulator charges; since July 2017."""
FARM_REGULATOR_PERCENT = Decimal("0.00001")
"""₹1 a crore, the regulator's charge on farm goods (the source named first in `statutory.py`)."""
OLD_AFTER_DAYS = 365
"""After this many days without a comparison with their sources the tables count as old: rates change with every budget."""


class Group(StrEnum):
    """Trades that are charged alike (order-engine 4.2)."""

    EQUITY_DELIVERY = "equity_delivery"
    EQUITY_INTRADAY = "equity_intraday"
    FUND_DELIVERY = "fund_delivery"
    """Exchange-traded funds that are delivered: they have their own levies, and the brokerage of `equity_delivery`."""
    EQUITY_FUTURES = "equity_futures"
    EQUITY_OPTIONS = "equity_options"
    CURRENCY_FUTURES = "currency_futures"
    CURRENCY_OPTIONS = "currency_options"
    COMMODITY_FUTURES = "commodity_futures"
    COMMODITY_OPTIONS = "commodity_options"
    OTHER = "other"


def _not_negative(_: object, field: "attrs.Attribute[Any]", value: Decimal | None) -> None:
    if value is not None and value < 0:
        raise WrongFieldError(field.name, "must not be below zero")


def _word_of(words: Iterable[str]) -> Callable[[object, "attrs.Attribute[Any]", str | None], None]:
    allowed = [str(word) for word in words]

    def check(_: object, field: "attrs.Attribute[Any]", value: str | None) -> None:
        if value is not None and value not in allowed:
            raise WrongFieldError(field.name, f"must be one of {', '.join(allowed)}")

    return check


@attrs.frozen(kw_only=True)
class StatutoryRow:
    """What the state, the exchange and the regulator charge on a trade; the same at every broker. Key: (exchange, group)."""

    exchange: str = attrs.field(validator=_word_of(TRADING_EXCHANGES))
    group: Group
    exchange_percent: Decimal = attrs.field(validator=_not_negative)
    """The exchange's transaction charge, including its investor protection fund."""
    fund_percent: Decimal = attrs.field(default=Decimal(0), validator=_not_negative)
    """The part of `exchange_percent` for the investor protection fund. This part bears no tax on services."""
    regulator_percent: Decimal = attrs.field(validator=_not_negative)
    stamp_percent: Decimal = attrs.field(validator=_not_negative)
    """On a BUY only."""
    tax_buy_percent: Decimal = attrs.field(default=Decimal(0), validator=_not_negative)
    """Securities or commodities transaction tax on a BUY."""
    tax_sell_percent: Decimal = attrs.field(default=Decimal(0), validator=_not_negative)
    """The same tax on a SELL; farm goods are free of it."""
    valid_from: date = ALWAYS
    source: str = ""

    @property
    def key(self) -> Hashable:
        return self.exchange, self.group


@attrs.frozen(kw_only=True)
class BrokerageRow:
    """What a broker charges for one order. Key: (broker, group), narrowed by `product` where it is given.

    If `per_lot` is given: `per_lot` times the lots. Else, if `percent` is given: that share of the value, at least
    `minimum`, at most `cap`. Else `flat`.
    """

    broker: str
    group: Group
    product: str | None = attrs.field(default=None, validator=_word_of(SENDABLE_PRODUCTS))
    """CNC, MIS or NRML; None = any product that has no row of its own."""
    flat: Decimal | None = attrs.field(default=None, validator=_not_negative)
    percent: Decimal | None = attrs.field(default=None, validator=_not_negative)
    minimum: Decimal | None = attrs.field(default=None, validator=_not_negative)
    cap: Decimal | None = attrs.field(default=None, validator=_not_negative)
    per_lot: Decimal | None = attrs.field(default=None, validator=_not_negative)
    valid_from: date = ALWAYS
    source: str = ""

    def __attrs_post_init__(self) -> None:
        if self.group is Group.FUND_DELIVERY:
            raise WrongFieldError("group", "fund_delivery has no brokerage of its own; give equity_delivery")
        if [self.flat, self.percent, self.per_lot].count(None) != 2:
            raise WrongFieldError("percent", "must be given, or flat or per_lot in its place: exactly one of the three")
        if self.percent is None and not self.minimum is self.cap is None:
            raise WrongFieldError("minimum" if self.minimum is not None else "cap", "goes with percent only")
        if self.minimum is not None and self.cap is not None and self.minimum > self.cap:
            raise WrongFieldError("minimum", "must not be above cap")

    @property
    def key(self) -> Hashable:
        return self.broker, self.group


@attrs.frozen(kw_only=True)
class DpRow:
    """What a broker and its depository charge for shares that leave the account: on a CNC sell, once per instrument and
    day. Key: broker. With `percent`, the fee is that share of the value, and at least `amount`."""

    broker: str
    amount: Decimal = attrs.field(validator=_not_negative)
    """Including the tax on it."""
    percent: Decimal = attrs.field(default=Decimal(0), validator=_not_negative)
    """Share of the value, including the tax on it; 0 = the amount alone."""
    valid_from: date = ALWAYS
    source: str = ""

    @property
    def key(self) -> Hashable:
        return self.broker

    def fee(self, value: Decimal) -> Decimal:
        """Return the fee in rupees for shares of this value in rupees."""
        return max(self.amount, value * self.percent / 100)


class Row(Protocol):
    """A row of any of the tables."""

    @property
    def key(self) -> Hashable: ...

    @property
    def valid_from(self) -> date: ...


R = TypeVar("R", bound=Row)


class Table(Generic[R]):
    """Rows of one kind, found by their key."""

    def __init__(self, rows: Iterable[R]) -> None:
        self.rows = tuple(rows)
        self._by_key: defaultdict[Hashable, list[R]] = defaultdict(list)
        for row in sorted(self.rows, key=lambda row: row.valid_from, reverse=True):
            self._by_key[row.key].append(row)

    def at(self, key: Hashable, day: date) -> list[R]:
        """Return the rows of a key that are in force on `day`, newest first."""
        return [row for row in self._by_key.get(key, ()) if row.valid_from <= day]

    def replaced_by(self, rows: Iterable[R]) -> "Table[R]":
        """Return a table in which `rows` replace all rows of their keys."""
        given = tuple(rows)
        keys = {row.key for row in given}
        return Table([*(row for row in self.rows if row.key not in keys), *given])


class Charges:
    """All charges tables, immutable."""

    def __init__(
        self,
        *,
        statutory: Table[StatutoryRow],
        brokerage: Table[BrokerageRow],
        dp: Table[DpRow],
        farm_goods: tuple[str, ...],
        untaxed_funds: tuple[str, ...] = (),
        farm_regulator_percent: Decimal = FARM_REGULATOR_PERCENT,
        gst_percent: Decimal = GST_PERCENT,
        checked: date = ALWAYS,
    ) -> None:
        """`farm_goods` are prefixes of the underlying symbols of commodities without transaction tax. `untaxed_funds`
        are parts of the symbols of exchange-traded funds without transaction tax. `checked` is the day on which the
        tables were last compared with their sources."""
        self.statutory = statutory
        self.brokerage = brokerage
        self.dp = dp
        self.farm_goods = farm_goods
        self.untaxed_funds = untaxed_funds
        self.farm_regulator_percent = farm_regulator_percent
        self.gst_percent = gst_percent
        self.checked = checked

    def statutory_row(self, exchange: str, group: Group, day: date) -> StatutoryRow | None:
        """Return the statutory charges in force on `day`; None if they are not known."""
        return next(iter(self.statutory.at((exchange, group), day)), None)

    def brokerage_row(self, broker: str, group: Group, product: str, day: date) -> BrokerageRow | None:
        """Return a broker's brokerage in force on `day`: the row of the product, or else the row of any product; None if not known."""
        rows = self.brokerage.at((broker, group), day)
        own = next((row for row in rows if row.product == product), None)
        return own or next((row for row in rows if row.product is None), None)

    def dp_fee(self, broker: str, value: Decimal, day: date) -> Decimal:
        """Return the cost in rupees of a delivery out of the account; 0 if it is not known. `value` is the value of the shares."""
        row = next(iter(self.dp.at(broker, day)), None)
        return Decimal(0) if row is None else row.fee(value)

    def is_farm_good(self, underlying: str) -> bool:
        """Tell whether a commodity is free of transaction tax; `underlying` is upper-case."""
        return underlying.startswith(self.farm_goods)

    def is_untaxed_fund(self, symbol: str) -> bool:
        """Tell whether an exchange-traded fund is free of transaction tax; `symbol` is upper-case."""
        return any(part in symbol for part in self.untaxed_funds)

    def age_days(self, day: date) -> int:
        """Return how many days ago the tables were last compared with their sources."""
        return (day - self.checked).days
