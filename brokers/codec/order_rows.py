"""Makes records of the rows of order books and trade books. In a table, a broker's `books.py` says where each field
stands; the rules that all brokers share (units, the pending part, absent prices) stand here.

A field of a table is the name of the broker's field, or a tuple of names, of which the first that is filled counts. Where
a broker is odd, it is a function of the row. A value that no row holds (a fill that another call told) is put into a copy
of the row first: `{**row, "filled": 3}`.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple, TypeAlias, TypeVar

import attrs

from onebroker.brokers.codec import fields
from onebroker.brokers.codec.fields import Row, iso_time, number, required, text, unfilled, whole
from onebroker.brokers.records import OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer

T = TypeVar("T")
Names: TypeAlias = str | tuple[str, ...]


class Instrument(NamedTuple):
    """The instrument that a row names, and the unit of the row's quantities."""

    token: str
    """The token by which the catalogue knows it (`Listing.broker_token`)."""
    tradingsymbol: str
    exchange: str
    """The broker's own code."""
    contract_units: int | None = 1
    """As `OrderRow.contract_units`."""
    factor: Decimal | None = None
    """Units in one of the row's quantities, only where this is not `contract_units` (0.1 for gold in grams)."""

    @property
    def scale(self) -> int | Decimal:
        """Units in one of the row's quantities; 1 where they are not known: the quantities then stay the broker's own."""
        return (self.contract_units or 1) if self.factor is None else self.factor


def at(read: Callable[[object], T | None], *names: str) -> Callable[[Row], T | None]:
    """Return a function of a row: the value of the first of the fields `names` for which `read` returns one, else None."""
    if len(names) == 1:
        (name,) = names
        return lambda row: read(row.get(name))

    def first(row: Row) -> T | None:
        for name in names:
            value = read(row.get(name))
            if value is not None:
                return value
        return None

    return first


def _names(given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given


def _nothing(row: Row) -> None:
    return None


def _required(given: Names | Callable[[Row], str]) -> Callable[[Row], str]:
    if callable(given):
        return given
    names = _names(given)
    return lambda row: required(row, *names)


def _text(given: Names | Callable[[Row], str | None] | None) -> Callable[[Row], str | None]:
    if given is None:
        return _nothing
    return given if callable(given) else at(text, *_names(given))


def _time(given: Names | Callable[[Row], str | None] | None) -> Callable[[Row], str | None]:
    if given is None:
        return _nothing
    return given if callable(given) else at(iso_time, *_names(given))


def _rupees(given: str | Callable[[Row], float]) -> Callable[[Row], float]:
    return given if callable(given) else lambda row: number(row.get(given)) or 0.0


def _quantity(given: Names | Callable[[Row], int]) -> Callable[[Row], int]:
    if callable(given):
        return given
    names = _names(given)
    return lambda row: fields.quantity(row, *names)


def _filled(given: str | Callable[[Row, str], int]) -> Callable[[Row, str], int]:
    return given if callable(given) else lambda row, status: fields.filled(row, given, status)


def _disclosed(given: str | Callable[[Row], int] | None) -> Callable[[Row], int]:
    if given is None:
        return lambda row: 0
    return given if callable(given) else lambda row: whole(row.get(given))


def _trade_price(given: Names | Callable[[Row], float | None]) -> Callable[[Row], float | None]:
    return given if callable(given) else at(fields.price, *_names(given))


def _in_units(quantity: int, scale: int | Decimal) -> int:
    if scale == 1:
        return quantity
    units = quantity * scale
    if units != int(units):
        raise BadAnswer(f"a quantity of {units} units")
    return int(units)


def _as_told(row: Row, status: str, order_type: str, quantity: int, filled: int) -> str:
    return status


@attrs.frozen(kw_only=True)
class OrderFields:
    """Where an order's fields stand in a broker's rows. Words are read by `Words.at` and `Words.required_at`."""

    order_id: Callable[[Row], str] = attrs.field(converter=_required)
    status: Callable[[Row], str]
    standing: Callable[[Row, str, str, int, int], str] = _as_told
    """The status that counts, made of the row, its status (ours), its order type (ours), its quantity and its filled
    quantity in units. For brokers whose word alone does not say it."""
    transaction_type: Callable[[Row], str]
    product: Callable[[Row], str]
    order_type: Callable[[Row], str]
    validity: Callable[[Row], str]
    quantity: Callable[[Row], int] = attrs.field(converter=_quantity)
    """Quantities are as the broker counts them."""
    filled: Callable[[Row, str], int] = attrs.field(converter=_filled)
    """A name is read by `fields.filled`; a function takes the row and its status (ours, before `standing`)."""
    disclosed: Callable[[Row], int] = attrs.field(converter=_disclosed, default=None)
    price: Callable[[Row], float] = attrs.field(converter=_rupees)
    """Rupees; 0.0 where the row gives none. The two prices below too."""
    trigger_price: Callable[[Row], float] = attrs.field(converter=_rupees)
    average_price: Callable[[Row], float] = attrs.field(converter=_rupees)
    exchange_order_id: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)
    parent_order_id: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)
    status_message: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)
    order_timestamp: Callable[[Row], str | None] = attrs.field(converter=_time, default=None)
    """ISO 8601 with the IST offset: a name is read by `fields.iso_time`."""
    exchange_timestamp: Callable[[Row], str | None] = attrs.field(converter=_time, default=None)
    tag: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)
    variety: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)

    def row(self, row: Row, instrument: Instrument) -> OrderRow:
        """Return one order in its current state, in units; raise `BadAnswer` for a row that lacks a field that it must have.

        Pending and cancelled quantities are derived (`fields.unfilled`): where brokers report them, they contradict
        themselves.
        """
        token, tradingsymbol, exchange, units, _ = instrument
        scale = instrument.scale
        status, order_type = self.status(row), self.order_type(row)
        quantity = _in_units(self.quantity(row), scale)
        filled = _in_units(self.filled(row, status), scale)
        status = self.standing(row, status, order_type, quantity, filled)
        pending, cancelled = unfilled(status, quantity, filled)
        return OrderRow(
            order_id=self.order_id(row),
            status=status,
            transaction_type=self.transaction_type(row),
            product=self.product(row),
            order_type=order_type,
            validity=self.validity(row),
            instrument_token=token,
            tradingsymbol=tradingsymbol,
            exchange=exchange,
            quantity=quantity,
            filled_quantity=filled,
            pending_quantity=pending,
            cancelled_quantity=cancelled,
            disclosed_quantity=_in_units(self.disclosed(row), scale),
            price=self.price(row),
            trigger_price=self.trigger_price(row),
            average_price=self.average_price(row),
            exchange_order_id=self.exchange_order_id(row),
            parent_order_id=self.parent_order_id(row),
            status_message=self.status_message(row),
            order_timestamp=self.order_timestamp(row),
            exchange_timestamp=self.exchange_timestamp(row),
            tag=self.tag(row),
            variety=self.variety(row),
            contract_units=units,
        )


@attrs.frozen(kw_only=True)
class TradeFields:
    """Where a trade's fields stand in a broker's rows."""

    trade_id: Callable[[Row], str] = attrs.field(converter=_required)
    order_id: Callable[[Row], str] = attrs.field(converter=_required)
    transaction_type: Callable[[Row], str]
    product: Callable[[Row], str]
    quantity: Callable[[Row], int] = attrs.field(converter=_quantity)
    """As the broker counts it."""
    price: Callable[[Row], float | None] = attrs.field(converter=_trade_price)
    """Rupees."""
    exchange_order_id: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)
    exchange_trade_id: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)
    trade_timestamp: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)
    """As the broker writes it; the exchange's time too."""
    exchange_timestamp: Callable[[Row], str | None] = attrs.field(converter=_text, default=None)

    def row(self, row: Row, instrument: Instrument) -> TradeRow:
        """Return one trade, in units; raise `BadAnswer` for a row without a price, or without a field that it must have."""
        price = self.price(row)
        if price is None:
            raise BadAnswer("a trade without a price")
        return TradeRow(
            trade_id=self.trade_id(row),
            order_id=self.order_id(row),
            transaction_type=self.transaction_type(row),
            product=self.product(row),
            instrument_token=instrument.token,
            tradingsymbol=instrument.tradingsymbol,
            exchange=instrument.exchange,
            quantity=_in_units(self.quantity(row), instrument.scale),
            price=price,
            exchange_order_id=self.exchange_order_id(row),
            exchange_trade_id=self.exchange_trade_id(row),
            trade_timestamp=self.trade_timestamp(row),
            exchange_timestamp=self.exchange_timestamp(row),
            contract_units=instrument.contract_units,
        )
