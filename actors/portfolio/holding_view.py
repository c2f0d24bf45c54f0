"""One row of the holdings document: the brokers' own rows of one company, merged (architecture 7). Pure."""

from collections.abc import Sequence

import msgspec

from onebroker.actors.portfolio.broker_prices import price_or_none
from onebroker.brokers.records import HoldingRow
from onebroker.config.instruments import price_places
from onebroker.config.money import quotient, round_half_up, rupees, value_paise

_SECURITY_PLACES = 2
_PERCENT_PLACES = 4
"""The same as for a quote's change_percent (rules 1.2.3)."""


class HoldingPnl(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Rupees of the whole holding; null when a figure needed for it is not known."""

    unrealized: float | None
    day_change: float | None
    """quantity x (last_price - the previous close the brokers report)."""
    day_change_percentage: float | None


class HoldingView(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An element of `holdings`, fields in the order of rules 1.2.5."""

    instrument_id: str | None
    """Null when the catalogue does not know the broker's token."""
    isin: str | None
    symbol: str
    exchange: str
    segment: str | None
    """Null like `instrument_id`."""
    quantity: int
    """Units of all buckets together: settled, T1, margin trading."""
    average_price: float | None
    """invested_value / quantity; null when a broker does not report the cost of a bucket."""
    invested_value: float | None
    """Rupees; each bucket at its own average price."""
    last_price: float | None
    """Rupees; null while no price is known."""
    current_value: float | None
    """quantity x last_price."""
    pnl: HoldingPnl
    collateral_quantity: int
    """Pledged units, which `quantity` includes."""


class Company(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The identity of a joined row."""

    instrument_id: str | None
    isin: str | None
    symbol: str
    exchange: str
    segment: str | None


class Figures(msgspec.Struct, frozen=True, gc=False):
    """What one broker's row adds to its joined row: computed once, when the row changes."""

    units: int
    cost: int | None
    """Paise; None when a bucket that holds units has no average."""
    collateral: int
    last_price: float | None
    """The price that the broker reports, in rupees, unrounded; None when it is no valid price. So is the close."""
    close_price: float | None


class Prices(msgspec.Struct, frozen=True, gc=False):
    """Prices in rupees, unrounded; None = not known."""

    last: float | None
    previous_close: float | None


class Amounts(msgspec.Struct, frozen=True, gc=False):
    """Paise of a joined row for the summary; None = not known."""

    invested: int | None
    current: int | None
    unrealized: int | None


def figures_of(row: HoldingRow) -> Figures:
    """Compute a row's figures."""
    return Figures(
        units(row),
        bucket_costs(row),
        row.collateral_quantity,
        price_or_none(row.last_price),
        price_or_none(row.close_price),
    )


def units(row: HoldingRow) -> int:
    return row.settled_quantity + row.t1_quantity + row.margin_quantity


def bucket_costs(row: HoldingRow) -> int | None:
    """Return the cost of a broker's units in paise, each bucket at its own average. None when a bucket that holds units has no average."""
    plain = row.settled_quantity + row.t1_quantity
    margin_average = row.average_price if row.margin_average_price is None else row.margin_average_price
    total = 0
    for quantity, average in ((plain, row.average_price), (row.margin_quantity, margin_average)):
        if quantity and average is None:
            return None
        total += value_paise(quantity, average) if quantity and average is not None else 0
    return total


def merge_holding(figures: Sequence[Figures], company: Company, prices: Prices) -> tuple[HoldingView, Amounts]:
    """Merge the figures of joined rows into one row. Return also its amounts."""
    places = _SECURITY_PLACES if company.segment is None else price_places(company.segment)
    quantity = sum([each.units for each in figures])
    costs = [each.cost for each in figures]
    invested = sum([cost for cost in costs if cost is not None]) if None not in costs else None
    last = None if prices.last is None else round_half_up(prices.last, places)
    current = None if last is None else value_paise(quantity, last)
    unrealized = None if current is None or invested is None else current - invested
    view = HoldingView(
        instrument_id=company.instrument_id,
        isin=company.isin,
        symbol=company.symbol,
        exchange=company.exchange,
        segment=company.segment,
        quantity=quantity,
        average_price=None if invested is None else quotient(invested, quantity * 100, places),
        invested_value=_rupees(invested),
        last_price=last,
        current_value=_rupees(current),
        pnl=_pnl(quantity, unrealized, current, last, prices.previous_close),
        collateral_quantity=sum([each.collateral for each in figures]),
    )
    return view, Amounts(invested, current, unrealized)


def _pnl(
    quantity: int, unrealized: int | None, current: int | None, last: float | None, close: float | None
) -> HoldingPnl:
    if last is None or close is None or current is None:
        return HoldingPnl(unrealized=_rupees(unrealized), day_change=None, day_change_percentage=None)
    return HoldingPnl(
        unrealized=_rupees(unrealized),
        day_change=rupees(current - value_paise(quantity, close)),
        day_change_percentage=round_half_up((last - close) / close * 100, _PERCENT_PLACES),
    )


def _rupees(amount_paise: int | None) -> float | None:
    return None if amount_paise is None else rupees(amount_paise)
