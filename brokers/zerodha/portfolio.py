"""Kite's positions, holdings and funds.

Sources: Zerodha's recorded answers; Kite Connect 3 documentation, portfolio and user, not re-read by us.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_rows
from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import CallKind, WireResponse
from onebroker.brokers.zerodha import values, wire

VIEWS = ("net", "day")

POOLS = ("equity", "commodity")
"""Two purses: equity pays for shares, equity derivatives and currency; commodity pays for MCX."""


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.POSITIONS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return the net view (carried and today's) and the day view (today's only); closed rows stay with quantity 0."""
    views = fields.row_of(wire.data(responses[0]))
    rows = [(view, row) for view in VIEWS for row in fields.rows_of(views.get(view))]
    return read_rows(rows, lambda shown: _position_row(*shown, listings))


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.HOLDINGS)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    return read_rows(fields.rows_of(wire.data(responses[0])), _holding_row)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.MARGINS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the sum of both purses, and each purse in `segments` and `pools`; a purse that is not enabled is ignored."""
    answer = fields.row_of(wire.data(responses[0]))
    purses = {name: fields.row_of(answer[name]) for name in POOLS if answer.get(name) is not None}
    purses = {name: purse for name, purse in purses.items() if purse.get("enabled") is not False}
    available = [fields.part(purse, "available") for purse in purses.values()]
    utilised = [fields.part(purse, "utilised") for purse in purses.values()]
    return FundsRow(
        available_balance=fields.rupee_sum(purse.get("net") for purse in purses.values()),
        cash_balance=fields.rupee_sum(part.get("cash") for part in available),
        collateral_value=fields.rupee_sum(part.get("collateral") for part in available),
        adhoc_credit=fields.rupee_sum(part.get("adhoc_margin") for part in available),
        margin_utilized=fields.rupee_sum(part.get("debits") for part in utilised),
        realized=fields.rupee_sum(part.get("m2m_realised") for part in utilised),
        unrealized=fields.rupee_sum(part.get("m2m_unrealised") for part in utilised),
        span_margin=fields.rupee_sum(part.get("span") for part in utilised),
        exposure_margin=fields.rupee_sum(part.get("exposure") for part in utilised),
        other_margin=fields.rupee_sum(part.get(name) for part in utilised for name in ("option_premium", "delivery")),
        pay_in_today=fields.rupee_sum(part.get("intraday_payin") for part in available),
        pay_out_today=fields.rupee_sum(part.get("payout") for part in utilised),
        segments={name: _funds_segment(purse) for name, purse in purses.items()},
        pools={name: fields.number(purse.get("net")) or 0.0 for name, purse in purses.items()},
    )


def _units(exchange: str, token: str, multiplier: float | None, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of a row's quantities; None when neither the row nor the listing gives them. Kite's values
    are always quantity x price x multiplier, and where it counts in units the multiplier is 1."""
    if multiplier is not None and multiplier > 0 and multiplier == int(multiplier):
        return int(multiplier)
    return values.contract_units(exchange, token, listings)


def _position_row(view: str, row: Mapping[str, object], listings: Mapping[str, Listing]) -> PositionRow:
    exchange, symbol = fields.required(row, "exchange"), fields.required(row, "tradingsymbol")
    multiplier = fields.number(row.get("multiplier"))
    known = _units(exchange, fields.required(row, "instrument_token"), multiplier, listings)
    units = known or 1
    quantity = fields.quantity(row, "quantity") * units
    product = values.PRODUCTS.read(row.get("product"))
    realized, unrealized = fields.number(row.get("realised")), fields.number(row.get("unrealised"))
    if quantity == 0:
        # Recorded closed rows show their whole result as unrealised, which only an open row can have.
        realized, unrealized = fields.number(row.get("pnl")), 0.0
    position = PositionRow(
        position_key=f"{exchange}:{symbol}:{product}",
        view=view,
        product=product,
        instrument_token=fields.required(row, "instrument_token"),
        tradingsymbol=symbol,
        exchange=exchange,
        quantity=quantity,
        overnight_quantity=fields.quantity(row, "overnight_quantity") * units,
        buy_quantity=fields.quantity(row, "buy_quantity") * units,
        sell_quantity=fields.quantity(row, "sell_quantity") * units,
        buy_value=fields.number(row.get("buy_value")),
        sell_value=fields.number(row.get("sell_value")),
        # On closed rows it is zero or stale.
        average_price=fields.price(row.get("average_price")) if quantity else None,
        last_price=fields.price(row.get("last_price")),
        close_price=fields.price(row.get("close_price")),
        multiplier=1.0 if multiplier is None else multiplier,
        realized=realized,
        unrealized=unrealized,
    )
    return in_contracts(position) if known is None else position


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    # Recorded rows of the compact form have neither pledged nor margin-trading units.
    margin, collateral = row.get("mtf"), fields.whole(row.get("collateral_quantity"))
    margin = None if margin is None else fields.row_of(margin)
    return HoldingRow(
        instrument_token=fields.required(row, "instrument_token"),
        tradingsymbol=fields.required(row, "tradingsymbol"),
        exchange=fields.required(row, "exchange"),
        isin=fields.text(row.get("isin")),
        # Kite's quantity is the free units: it contains no pledged, T1 or margin-trading units.
        settled_quantity=fields.quantity(row, "quantity") + collateral,
        t1_quantity=fields.quantity(row, "t1_quantity"),
        margin_quantity=0 if margin is None else fields.quantity(margin, "quantity"),
        collateral_quantity=collateral,
        average_price=fields.price(row.get("average_price")),
        margin_average_price=None if margin is None else fields.price(margin.get("average_price")),
        last_price=fields.price(row.get("last_price")),
        close_price=fields.price(row.get("close_price")),
    )


def _funds_segment(purse: Mapping[str, object]) -> FundsSegment:
    utilised = fields.part(purse, "utilised")
    return FundsSegment(
        available_balance=fields.number(purse.get("net")),
        margin_utilized=fields.number(utilised.get("debits")),
        span_margin=fields.number(utilised.get("span")),
        exposure_margin=fields.number(utilised.get("exposure")),
    )
