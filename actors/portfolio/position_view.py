"""One row of the positions document: the brokers' own rows of one instrument and product, merged (architecture 7). Pure.

Accounting: every figure is the brokers' own, added up; nothing is matched again across brokers. What a broker does not say
is null in the merged row, never a stand-in; its own figures stand beside it in `by_broker`.
"""

from collections.abc import Iterable
from typing import TypeAlias, cast

import msgspec

from onebroker.actors.portfolio.prices import price_or_none
from onebroker.brokers.records import PositionRow
from onebroker.config.instruments import Identity, price_places
from onebroker.config.money import paise, quotient, round_half_up, rupees, scaled, value_paise
from onebroker.config.vocabulary import POSITION_PRODUCTS, pass_through

_UNMAPPED_PLACES = 4
_COST_PLACES = 8


class PositionPnl(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Rupees; null where a broker of the row does not say."""

    realized: float | None
    unrealized: float | None
    total: float | None


class BrokerPosition(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An element of `by_broker`: the broker's own row."""

    broker: str
    position_key: str
    instrument_token: str
    tradingsymbol: str
    quantity: int | None
    average_price: float | None
    pnl: PositionPnl
    contracts: int | msgspec.UnsetType = msgspec.UNSET
    """Only where `quantity` is null: what the broker reports, signed, in contracts of which the units are not known."""


class Own(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one broker's row adds to its group, in whole units of money; None where the broker does not say."""

    shown: BrokerPosition
    buy_paise: int | None
    sell_paise: int | None
    realized_paise: int | None
    unrealized_paise: int | None
    cost: int | None
    """What is held cost, in hundred-millionths of a rupee: so every average a broker writes stays exact, and the order of brokers
    cannot matter."""


class PositionView(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A row of `net` or `day`."""

    instrument_id: str | None
    """This and the other identity fields are null when the catalogue does not know the broker's token."""
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
    """Units, signed; null where a broker of the row counts contracts of a size not known, as are the other quantities."""
    buy_quantity: int | None
    sell_quantity: int | None
    buy_value: float | None
    sell_value: float | None
    buy_average: float | None
    sell_average: float | None
    average_price: float | None
    """Null when nothing is held, when a broker gives none, or when brokers are on opposite sides."""
    last_price: float | None
    """As the broker most recently read reports it."""
    multiplier: float | None
    """The brokers' own figure; null when they differ."""
    overnight_quantity: int | None
    pnl: PositionPnl
    by_broker: tuple[BrokerPosition, ...]


Member: TypeAlias = tuple[str, PositionRow]
"""(broker, its row)."""


def position_product(product: str) -> str:
    """Return the word of a product on a position; terms without one pass through upper-cased (spec 2 §2.1)."""
    return POSITION_PRODUCTS.get(product, pass_through(product))


def merge_position(
    members: tuple[Member, ...],
    owns: tuple[Own, ...],
    identity: Identity | None,
    last_price: float | None,
) -> PositionView:
    """Merge the rows of one instrument and product. `members` in the order of the broker codes, each with what it adds in `owns`;
    `last_price` as reported."""
    places = places_of(identity)
    rows = [row for _, row in members]
    buy_quantity, sell_quantity = _units(row.buy_quantity for row in rows), _units(row.sell_quantity for row in rows)
    buy_paise, sell_paise = _known_sum([own.buy_paise for own in owns]), _known_sum([own.sell_paise for own in owns])
    multipliers = {row.multiplier for row in rows}
    fields = dict.fromkeys(_IDENTITY_FIELDS) if identity is None else identity.fields()
    return PositionView(
        **fields,
        product=position_product(rows[0].product),
        quantity=_units(row.quantity for row in rows),
        buy_quantity=buy_quantity,
        sell_quantity=sell_quantity,
        buy_value=None if buy_paise is None else rupees(buy_paise),
        sell_value=None if sell_paise is None else rupees(sell_paise),
        buy_average=_average(buy_paise, buy_quantity, places),
        sell_average=_average(sell_paise, sell_quantity, places),
        average_price=_held_average(rows, owns, places),
        last_price=_rounded(last_price, places),
        multiplier=multipliers.pop() if len(multipliers) == 1 else None,
        overnight_quantity=_units(row.overnight_quantity for row in rows),
        pnl=_pnl(
            _known_sum([own.realized_paise for own in owns]), _known_sum([own.unrealized_paise for own in owns])
        ),
        by_broker=tuple([own.shown for own in owns]),
    )


_IDENTITY_FIELDS = (
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type",
)  # fmt: skip


def places_of(identity: Identity | None) -> int:
    """Return the decimals of a group's prices."""
    return _UNMAPPED_PLACES if identity is None else price_places(identity.segment)


def own_part(broker: str, row: PositionRow, places: int) -> Own:
    """Work out what one row adds to its group; prices are shown with `places` decimals."""
    average = _own_average(row)
    realized = None if row.realized is None else paise(row.realized)
    unrealized = _unrealized_paise(row)
    shown = BrokerPosition(
        broker=broker,
        position_key=row.position_key,
        instrument_token=row.instrument_token,
        tradingsymbol=row.tradingsymbol,
        quantity=row.quantity,
        average_price=_rounded(average, places),
        pnl=_pnl(realized, unrealized),
        contracts=msgspec.UNSET if row.contracts is None else row.contracts,
    )
    return Own(
        shown=shown,
        buy_paise=_side_paise(row.buy_quantity, row.buy_value),
        sell_paise=_side_paise(row.sell_quantity, row.sell_value),
        realized_paise=realized,
        unrealized_paise=unrealized,
        cost=None if average is None or row.quantity is None else row.quantity * scaled(average, _COST_PLACES),
    )


def _own_average(row: PositionRow) -> float | None:
    """A closed row has no average; zero on an open one is a stand-in (lesson 11). Never the last price."""
    return price_or_none(row.average_price) if row.quantity != 0 else None


def _held_average(rows: list[PositionRow], owns: tuple[Own, ...], places: int) -> float | None:
    if any(row.quantity is None for row in rows):
        return None if len(rows) > 1 else owns[0].shown.average_price
    held = [(row.quantity, own.cost) for row, own in zip(rows, owns, strict=True) if row.quantity]
    if not held or len({quantity > 0 for quantity, _ in held}) != 1:
        return None
    cost = _known_sum([cost for _, cost in held])
    return None if cost is None else quotient(cost, sum(quantity for quantity, _ in held) * 10**_COST_PLACES, places)


def _unrealized_paise(row: PositionRow) -> int | None:
    """The broker's figure; where it gives none, what its own average and last price say."""
    if row.unrealized is not None:
        return paise(row.unrealized)
    if row.quantity == 0:
        return 0
    average, last = _own_average(row), price_or_none(row.last_price)
    if average is None or last is None or row.quantity is None:
        return None
    return value_paise(row.quantity, last) - value_paise(row.quantity, average)


def _pnl(realized: int | None, unrealized: int | None) -> PositionPnl:
    total = None if realized is None or unrealized is None else realized + unrealized
    return PositionPnl(realized=_rupees(realized), unrealized=_rupees(unrealized), total=_rupees(total))


def _known_sum(figures: list[int | None]) -> int | None:
    """Return the sum, or None when one of the figures is not known."""
    return None if None in figures else sum(cast("list[int]", figures))


def _rounded(price: float | None, places: int) -> float | None:
    return None if price is None else round_half_up(price, places)


def _units(quantities: Iterable[int | None]) -> int | None:
    """Add quantities up; one that is not known in units makes the sum unknown."""
    return _known_sum(list(quantities))


def _rupees(amount_paise: int | None) -> float | None:
    return None if amount_paise is None else rupees(amount_paise)


def _side_paise(quantity: int | None, value: float | None) -> int | None:
    """Return what a side is worth; one without units is worth zero, one with units and no value is not known."""
    if value is not None:
        return paise(value)
    return 0 if quantity == 0 else None


def _average(value_in_paise: int | None, quantity: int | None, places: int) -> float | None:
    return None if value_in_paise is None or not quantity else quotient(value_in_paise, quantity * 100, places)
