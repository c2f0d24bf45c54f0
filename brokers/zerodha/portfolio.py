"""Kite's positions, holdings and funds.

Source: kite.trade/docs/connect/v3/portfolio and /user, read 2026-11-20.
"""

from collections.abc import Iterable, Mapping, Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, PositionRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import values, wire
from onebroker.config.money import paise, rupees

VIEWS = ("net", "day")

POOLS = ("equity", "commodity")
"""Two purses: equity pays for shares, equity derivatives and currency; commodity for MCX."""


def position_requests(access: Access) -> tuple[WireRequest, ...]:
    return (wire.request(access, CallKind.READ, "GET", wire.POSITIONS),)


def parse_positions(responses: Sequence[WireResponse]) -> list[PositionRow]:
    """Return the net view (carried and today's) and the day view (today's only); closed rows stay with quantity 0."""
    views = values.row_of(wire.data(responses[0]))
    return [_position_row(view, row) for view in VIEWS for row in values.rows_of(views.get(view))]


def holding_requests(access: Access) -> tuple[WireRequest, ...]:
    return (wire.request(access, CallKind.READ, "GET", wire.HOLDINGS),)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    return [_holding_row(row) for row in values.rows_of(wire.data(responses[0]))]


def fund_requests(access: Access) -> tuple[WireRequest, ...]:
    return (wire.request(access, CallKind.READ, "GET", wire.MARGINS),)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return both purses added up, and each apart in `segments` and `pools`; a purse that is not enabled counts nowhere."""
    answer = values.row_of(wire.data(responses[0]))
    purses = {name: values.row_of(answer[name]) for name in POOLS if answer.get(name) is not None}
    purses = {name: purse for name, purse in purses.items() if purse.get("enabled") is not False}
    available = [_part(purse, "available") for purse in purses.values()]
    utilised = [_part(purse, "utilised") for purse in purses.values()]
    return FundsRow(
        available_balance=_sum(purse.get("net") for purse in purses.values()),
        cash_balance=_sum(part.get("cash") for part in available),
        collateral_value=_sum(part.get("collateral") for part in available),
        adhoc_credit=_sum(part.get("adhoc_margin") for part in available),
        margin_utilized=_sum(part.get("debits") for part in utilised),
        realized=_sum(part.get("m2m_realised") for part in utilised),
        unrealized=_sum(part.get("m2m_unrealised") for part in utilised),
        span_margin=_sum(part.get("span") for part in utilised),
        exposure_margin=_sum(part.get("exposure") for part in utilised),
        other_margin=_sum(part.get(name) for part in utilised for name in ("option_premium", "delivery")),
        pay_in_today=_sum(part.get("intraday_payin") for part in available),
        pay_out_today=_sum(part.get("payout") for part in utilised),
        segments={name: _funds_segment(purse) for name, purse in purses.items()},
        pools={name: values.number(purse.get("net")) or 0.0 for name, purse in purses.items()},
    )


def _position_row(view: str, row: Mapping[str, object]) -> PositionRow:
    exchange, symbol = values.required(row, "exchange"), values.required(row, "tradingsymbol")
    multiplier = values.number(row.get("multiplier"))
    if multiplier is None and exchange in values.LOT_EXCHANGES:
        raise BadAnswer(f"a position in {symbol} without its multiplier")
    # Kite's values are quantity x price x multiplier everywhere; where it speaks units the multiplier is 1.
    units = values.whole(multiplier) or 1
    quantity = values.whole(row.get("quantity")) * units
    product = values.product(row.get("product"))
    realized, unrealized = values.number(row.get("realised")), values.number(row.get("unrealised"))
    if quantity == 0:
        # Recorded closed rows carry their whole result as unrealised, which nothing open can have.
        realized, unrealized = values.number(row.get("pnl")), 0.0
    return PositionRow(
        position_key=f"{exchange}:{symbol}:{product}",
        view=view,
        product=product,
        instrument_token=values.required(row, "instrument_token"),
        tradingsymbol=symbol,
        exchange=exchange,
        quantity=quantity,
        overnight_quantity=values.whole(row.get("overnight_quantity")) * units,
        buy_quantity=values.whole(row.get("buy_quantity")) * units,
        sell_quantity=values.whole(row.get("sell_quantity")) * units,
        buy_value=values.number(row.get("buy_value")),
        sell_value=values.number(row.get("sell_value")),
        # On closed rows it is zero or stale.
        average_price=values.price(row.get("average_price")) if quantity else None,
        last_price=values.price(row.get("last_price")),
        close_price=values.price(row.get("close_price")),
        multiplier=1.0 if multiplier is None else multiplier,
        realized=realized,
        unrealized=unrealized,
    )


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    margin = values.row_of(row.get("mtf") or {})
    collateral = values.whole(row.get("collateral_quantity"))
    return HoldingRow(
        instrument_token=values.required(row, "instrument_token"),
        tradingsymbol=values.required(row, "tradingsymbol"),
        exchange=values.required(row, "exchange"),
        isin=values.text(row.get("isin")),
        # Kite's quantity is the free units: neither pledged, nor T1, nor margin-trading ones are part of it.
        settled_quantity=values.whole(row.get("quantity")) + collateral,
        t1_quantity=values.whole(row.get("t1_quantity")),
        margin_quantity=values.whole(margin.get("quantity")),
        collateral_quantity=collateral,
        average_price=values.price(row.get("average_price")),
        margin_average_price=values.price(margin.get("average_price")),
        last_price=values.price(row.get("last_price")),
        close_price=values.price(row.get("close_price")),
    )


def _funds_segment(purse: Mapping[str, object]) -> FundsSegment:
    utilised = _part(purse, "utilised")
    return FundsSegment(
        available_balance=values.number(purse.get("net")),
        margin_utilized=values.number(utilised.get("debits")),
        span_margin=values.number(utilised.get("span")),
        exposure_margin=values.number(utilised.get("exposure")),
    )


def _part(purse: Mapping[str, object], name: str) -> Mapping[str, object]:
    return values.row_of(purse.get(name) or {})


def _sum(figures: Iterable[object]) -> float | None:
    """Add rupee figures exactly; None when no purse gives one."""
    given = [figure for figure in map(values.number, figures) if figure is not None]
    return rupees(sum(map(paise, given))) if given else None
