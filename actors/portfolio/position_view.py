"""One row of the positions document: the brokers' own rows of one instrument and product, merged (architecture 7). Pure.

Accounting: every figure is the sum of the brokers' own figures; trades are not matched again across brokers. A figure that a broker does not
report is null in the merged row, never a stand-in. `by_broker` shows each broker's own figures.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, TypeAlias, cast

import msgspec

from onebroker.actors.portfolio.broker_prices import price_or_none
from onebroker.brokers.records import PositionRow
from onebroker.config.instruments import Identity, price_places
from onebroker.config.money import paise, quotient, round_half_up, rupees, scaled, value_paise
from onebroker.config.schema_marks import schema_of
from onebroker.config.vocabulary import POSITION_PRODUCTS, pass_through

_UNMAPPED_PLACES = 4
_COST_PLACES = 8


class PositionPnl(msgspec.Struct, frozen=True, gc=False):
    """Rupees; null when the figure is not known for a broker of the row."""

    realized: float | None
    unrealized: float | None
    total: float | None


class BrokerPosition(msgspec.Struct, frozen=True, gc=False):
    """An element of `by_broker`: the broker's own row."""

    broker: str
    position_key: str
    instrument_token: str
    tradingsymbol: str
    quantity: int | None
    """Units, signed: below zero for a short position."""
    average_price: float | None
    """Rupees."""
    pnl: PositionPnl
    contracts: int | msgspec.UnsetType = msgspec.UNSET
    """Only when `quantity` is null: the broker's signed quantity, in contracts whose units are not known."""
    covered_by_holdings: bool | msgspec.UnsetType = msgspec.UNSET
    """(ours) True for a delivery row below zero whose units are in the broker's holdings: a sale out of the holdings, not a short. Else absent."""


class Figures(NamedTuple):
    """The sums over the rows of a group, or one row's part of them. None = not known for a broker."""

    quantity: int | None
    buy_quantity: int | None
    sell_quantity: int | None
    overnight_quantity: int | None
    buy_paise: int | None
    sell_paise: int | None
    realized_paise: int | None
    unrealized_paise: int | None
    cost: int | None
    """The cost of the held units, in hundred-millionths of a rupee. So every average of a broker stays exact, and the order of brokers cannot
    matter."""


class Own(msgspec.Struct, frozen=True, gc=False):
    """One broker's row as its group uses it: computed once, when the row changes."""

    shown: BrokerPosition
    encoded: msgspec.Raw
    """`shown` as JSON."""
    figures: Figures
    price: float | None
    """The last price that the row reports; None = it reports no valid price."""
    live_price: float | None
    """The live quote's price, used in place of a missing `price`."""
    multiplier: float


class PositionView(msgspec.Struct, frozen=True, gc=False):
    """A row of `net` or `day`."""

    instrument_id: str | None
    """Null, like the other identity fields, when the catalogue does not know the broker's token."""
    exchange: str | None
    segment: str | None
    shape: str | None
    symbol: str | None
    underlying_symbol: str | None
    expiry_date: str | None
    strike_price: float | None
    option_type: str | None
    product: str
    """delivery, intraday, carry, cover, bracket, margin_trading, or the broker's term upper-cased."""
    quantity: int | None
    """Units, signed. Null when a broker of the row counts contracts of unknown size, or does not report today's trades. The same holds for
    the other quantities."""
    buy_quantity: int | None
    sell_quantity: int | None
    buy_value: float | None
    """Rupees."""
    sell_value: float | None
    """Rupees."""
    buy_average: float | None
    sell_average: float | None
    average_price: float | None
    """Null when nothing is held, when a broker gives no average, or when brokers are on opposite sides."""
    last_price: float | None
    """The price from the most recently read broker that reports one. If no broker reports a price, the live quote's price."""
    multiplier: float | None
    """The brokers' own figure; null when their figures differ."""
    overnight_quantity: int | None
    pnl: PositionPnl
    by_broker: tuple[Annotated[msgspec.Raw, schema_of("BrokerPosition")], ...]
    """Each broker's own row, a `BrokerPosition` as JSON."""


IdentityValues: TypeAlias = tuple[
    str | None, str | None, str | None, str | None, str | None, str | None, str | None, float | None, str | None
]
"""The values of the nine identity fields, in the order of the rules."""
_NO_IDENTITY: IdentityValues = (None, None, None, None, None, None, None, None, None)


class Naming(msgspec.Struct, frozen=True, gc=False):
    """The fields that the rows of a group have in common."""

    identity: IdentityValues
    """The nine identity fields in the order of the rules, all null when the catalogue does not know the instrument."""
    product: str
    places: int
    """Decimals of the group's prices."""


def position_product(product: str) -> str:
    """Return the position word for a product. Terms without such a word pass through upper-cased (rules 2.2.1)."""
    return POSITION_PRODUCTS.get(product) or pass_through(product)


def naming(instrument_id: str | None, identity: Identity | None, product: str) -> Naming:
    """Return the naming of a group. `product` is the document's word."""
    if identity is None:
        return Naming(_NO_IDENTITY, product, _UNMAPPED_PLACES)
    values: IdentityValues = (
        instrument_id, identity.exchange, identity.segment, identity.shape.value, identity.symbol,
        identity.underlying_symbol, identity.expiry_date, identity.strike_price, identity.option_type,
    )  # fmt: skip
    return Naming(values, product, price_places(identity.segment))


def merge_position(owns: Sequence[Own], named: Naming, last_price: float | None) -> tuple[PositionView, Figures]:
    """Merge the rows of one instrument and product, given in the order of the broker codes. `last_price` is not rounded yet. Return the row to
    show, and the sums it was made from."""
    total = _totals(owns)
    multipliers = {own.multiplier for own in owns}
    places = named.places
    view = PositionView(
        *named.identity,
        named.product,
        total.quantity,
        total.buy_quantity,
        total.sell_quantity,
        _rupees(total.buy_paise),
        _rupees(total.sell_paise),
        _average(total.buy_paise, total.buy_quantity, places),
        _average(total.sell_paise, total.sell_quantity, places),
        _held_average(owns, total, places),
        _rounded(last_price, places),
        multipliers.pop() if len(multipliers) == 1 else None,
        total.overnight_quantity,
        _pnl(total.realized_paise, total.unrealized_paise),
        tuple([own.encoded for own in owns]),
    )
    return view, total


def _totals(owns: Sequence[Own]) -> Figures:
    columns = list(zip(*[own.figures for own in owns], strict=True))
    if None not in owns[0].figures:  # then nearly always no figure of the group is None
        try:
            return Figures._make(map(sum, columns))
        except TypeError:
            pass
    return Figures._make(map(_sum_or_none, columns))


def _sum_or_none(figures: tuple[int | None, ...]) -> int | None:
    """Return `known_sum`, faster for figures that are nearly always known."""
    try:
        return sum(cast("tuple[int, ...]", figures))
    except TypeError:
        return None


def is_unpriced(row: PositionRow) -> bool:
    """Tell whether an open row comes without a valid last price."""
    return row.quantity != 0 and price_or_none(row.last_price) is None


def own_part(broker: str, row: PositionRow, places: int, live_price: float | None = None) -> Own:
    """Compute one row's part of its group. Prices are shown with `places` decimals. `live_price` is for an unpriced row."""
    average = _own_average(row)
    realized = None if row.realized is None else paise(row.realized)
    unrealized = _unrealized_paise(row, live_price)
    # By place, in the order of the fields, here and in `merge_position`: to name them takes longer than to compute them.
    shown = BrokerPosition(
        broker,
        row.position_key,
        row.instrument_token,
        row.tradingsymbol,
        row.quantity,
        _rounded(average, places),
        _pnl(realized, unrealized),
        msgspec.UNSET if row.contracts is None else row.contracts,
        True if row.covered_by_holdings else msgspec.UNSET,
    )
    figures = Figures(
        row.quantity,
        row.buy_quantity,
        row.sell_quantity,
        row.overnight_quantity,
        side_paise(row.buy_quantity, row.buy_value),
        side_paise(row.sell_quantity, row.sell_value),
        realized,
        unrealized,
        _cost(row.quantity, average),
    )
    encoded = msgspec.Raw(msgspec.json.encode(shown))
    return Own(shown, encoded, figures, price_or_none(row.last_price), live_price, row.multiplier)


def _own_average(row: PositionRow) -> float | None:
    """Return the row's own average; never the last price. A closed row has none. On an open row, zero is a stand-in, so None (lesson 11)."""
    return price_or_none(row.average_price) if row.quantity != 0 else None


def _cost(quantity: int | None, average: float | None) -> int | None:
    if quantity == 0:
        return 0
    return None if average is None or quantity is None else quantity * scaled(average, _COST_PLACES)


def _held_average(owns: Sequence[Own], total: Figures, places: int) -> float | None:
    if total.quantity is None:
        return None if len(owns) > 1 else owns[0].shown.average_price
    held = sum([abs(own.figures.quantity or 0) for own in owns])
    if total.cost is None or held == 0 or held != abs(total.quantity):  # not known, nothing held, or opposite sides
        return None
    return quotient(total.cost, total.quantity * 10**_COST_PLACES, places)


def _unrealized_paise(row: PositionRow, live_price: float | None = None) -> int | None:
    """Return the broker's figure in paise. If it gives none, compute it from its own average and last price; without a last price, use
    `live_price`. None = not known."""
    if row.unrealized is not None:
        return paise(row.unrealized)
    if row.quantity == 0:
        return 0
    average, last = _own_average(row), price_or_none(row.last_price) or live_price
    if average is None or last is None or row.quantity is None:
        return None
    return value_paise(row.quantity, last) - value_paise(row.quantity, average)


def total_paise(row: PositionRow, live_price: float | None = None) -> int | None:
    """Return realized + unrealized of a net row in paise, from the broker's figures. Without a realized figure, compute the total from its buy
    and sell sides. If the sides are not complete, return only the unrealized figure. `live_price` stands in for a last price that the broker
    does not give. None = not known."""
    unrealized = _unrealized_paise(row, live_price)
    if row.realized is not None:
        return None if unrealized is None else paise(row.realized) + unrealized
    if not _tells_both_sides(row):
        return unrealized
    bought, sold = side_paise(row.buy_quantity, row.buy_value), side_paise(row.sell_quantity, row.sell_value)
    last = price_or_none(row.last_price) or live_price
    if bought is None or sold is None or row.quantity is None or (row.quantity and last is None):
        return None
    return sold - bought + (value_paise(row.quantity, last) if last is not None else 0)


def _tells_both_sides(row: PositionRow) -> bool:
    """Tell whether the two sides explain the whole quantity. If they do not, some of the position's trades are missing, and a total from the
    two sides would show false profit or loss."""
    if row.quantity is None or row.buy_quantity is None or row.sell_quantity is None:
        return False
    return row.buy_quantity - row.sell_quantity == row.quantity


def _pnl(realized: int | None, unrealized: int | None) -> PositionPnl:
    total = None if realized is None or unrealized is None else realized + unrealized
    return PositionPnl(_rupees(realized), _rupees(unrealized), _rupees(total))


def known_sum(figures: Sequence[int | None]) -> int | None:
    """Return the sum, or None when any of the figures is not known."""
    return None if None in figures else sum(cast("Sequence[int]", figures))


def _rounded(price: float | None, places: int) -> float | None:
    return None if price is None else round_half_up(price, places)


def _rupees(amount_paise: int | None) -> float | None:
    return None if amount_paise is None else rupees(amount_paise)


def side_paise(quantity: int | None, value: float | None) -> int | None:
    """Return the value of a side in paise. A side without units is worth zero; None when a side with units has no value."""
    if value is not None:
        return paise(value)
    return 0 if quantity == 0 else None


def _average(value_in_paise: int | None, quantity: int | None, places: int) -> float | None:
    return None if value_in_paise is None or not quantity else quotient(value_in_paise, quantity * 100, places)
