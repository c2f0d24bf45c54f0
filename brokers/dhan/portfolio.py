"""Dhan's positions, holdings and funds.

Source: DhanHQ v2 documentation, "Portfolio and Positions" and "Funds & Margin", not re-read by us. The answers carry no
last price for a position; for a holding they do so only recently.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_rows, read_views
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.dhan.books import symbol
from onebroker.brokers.records import FundsRow, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import BrokerRefusal, CallKind, WireResponse

_NO_HOLDINGS = re.compile(r"\bno holding", re.IGNORECASE)
_BSE_SECURITY = re.compile(r"5\d{5}")
"""Security ids of BSE shares are the exchange's six-digit codes (general knowledge, unchecked)."""


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.POSITIONS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today."""

    def views(row: Mapping[str, object]) -> list[PositionRow]:
        net = _net_row(row, listings)
        return [net, _day_row(row, listings)] if _traded_today(row) else [net]

    return read_views(wire.rows(responses[0]), views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.HOLDINGS)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return the holdings; Dhan answers an error for an account without holdings (general knowledge, unchecked)."""
    try:
        rows = wire.rows(responses[0])
    except BrokerRefusal as refusal:
        if refusal.code == wire.NO_HOLDINGS or _NO_HOLDINGS.search(refusal.message):
            return []
        raise
    return read_rows(rows, _holding_row)


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.FUNDS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the single pool of funds; no segments, no pools. Two keys are misspelt on the wire; both spellings are read."""
    funds = fields.row_of(wire.data(responses[0]))
    return FundsRow(
        available_balance=_figure(funds, "availabelBalance", "availableBalance"),
        cash_balance=_figure(funds, "sodLimit"),
        collateral_value=_figure(funds, "collateralAmount"),
        margin_utilized=_figure(funds, "utilizedAmount"),
        withdrawable_balance=_figure(funds, "withdrawableBalance"),
        uncleared_funds=_figure(funds, "receiveableAmount", "receivableAmount"),
        pending_withdrawal=_figure(funds, "blockedPayoutAmount"),
    )


def _figure(row: Mapping[str, object], *names: str) -> float | None:
    figures = (fields.number(row.get(name)) for name in names)
    return next((figure for figure in figures if figure is not None), None)


def _traded_today(row: Mapping[str, object]) -> bool:
    return bool(fields.quantity(row, "dayBuyQty") or fields.quantity(row, "daySellQty"))


def _token(row: Mapping[str, object]) -> str:
    return values.token(fields.required(row, "exchangeSegment"), fields.required(row, "securityId"))


def _units(row: Mapping[str, object], token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the row's quantities: its multiplier where it counts in lots; None when nothing gives
    them.

    A multiplier of 1 may mean that none is given, so a known listing is used first.
    """
    if values.segment(token) in values.UNIT_SEGMENTS:
        return 1
    multiplier = fields.whole(row.get("multiplier"))
    if multiplier > 1:
        return multiplier
    return values.contract_units(token, listings) or (multiplier if multiplier == 1 else None)


def _net_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> PositionRow:
    token = _token(row)
    known = _units(row, token, listings)
    units = known or 1
    net = fields.quantity(row, "netQty")
    carried_buy, carried_sell = (
        fields.quantity(row, "carryForwardBuyQty"),
        fields.quantity(row, "carryForwardSellQty"),
    )
    bought, sold = fields.quantity(row, "buyQty"), fields.quantity(row, "sellQty")
    buy_average, sell_average = fields.price(row.get("buyAvg")), fields.price(row.get("sellAvg"))
    product = values.PRODUCTS.read(row.get("productType"))
    position = PositionRow(
        position_key=f"{token}:{product}",
        view="net",
        product=product,
        instrument_token=token,
        tradingsymbol=symbol(row, "tradingSymbol", token, listings),
        exchange=values.segment(token),
        quantity=net * units,
        overnight_quantity=(carried_buy - carried_sell) * units,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=_value(row, ("carryForwardBuyValue", "dayBuyValue"), bought, buy_average, units),
        sell_value=_value(row, ("carryForwardSellValue", "daySellValue"), sold, sell_average, units),
        average_price=_net_average(row, net, carried=bool(carried_buy or carried_sell)),
        multiplier=fields.number(row.get("multiplier")) or 1.0,
        realized=fields.number(row.get("realizedProfit")),
        unrealized=fields.number(row.get("unrealizedProfit")),
    )
    return in_contracts(position) if known is None else position


def _net_average(row: Mapping[str, object], net: int, *, carried: bool) -> float | None:
    """Return the cost of the open quantity. The documents call buyAvg and sellAvg marked to market, and costPrice the
    actual cost. So for a row with a carried leg only costPrice is used: the others would be yesterday's close (lesson
    11)."""
    if not net:
        return None
    cost, traded = fields.price(row.get("costPrice")), fields.price(row.get("buyAvg" if net > 0 else "sellAvg"))
    return cost if carried else traded or cost


def _day_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> PositionRow:
    """Return today's part of a row; its result is not reported separately, nor are today's averages."""
    token = _token(row)
    known = _units(row, token, listings)
    units = known or 1
    bought, sold = fields.quantity(row, "dayBuyQty"), fields.quantity(row, "daySellQty")
    buy_value = _value(row, ("dayBuyValue",), bought, fields.price(row.get("buyAvg")), units)
    sell_value = _value(row, ("daySellValue",), sold, fields.price(row.get("sellAvg")), units)
    value, count = (buy_value, bought) if bought > sold else (sell_value, sold)
    product = values.PRODUCTS.read(row.get("productType"))
    position = PositionRow(
        position_key=f"{token}:{product}",
        view="day",
        product=product,
        instrument_token=token,
        tradingsymbol=symbol(row, "tradingSymbol", token, listings),
        exchange=values.segment(token),
        quantity=(bought - sold) * units,
        overnight_quantity=0,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=buy_value,
        sell_value=sell_value,
        average_price=value / (count * units) if bought != sold and value else None,
        multiplier=fields.number(row.get("multiplier")) or 1.0,
    )
    return in_contracts(position) if known is None else position


def _value(
    row: Mapping[str, object], names: Sequence[str], lots: int, average: float | None, units: int
) -> float | None:
    """Return the rupees of one side; None where the row does not give all of its legs.

    The documents do not say whether values of contracts include the multiplier. The quantity and average of the side
    decide it.
    """
    legs = [fields.number(row.get(name)) for name in names]
    value = None if None in legs else fields.rupee_sum(legs)
    if value is None or units == 1 or average is None:
        return value
    without = lots * average
    return value if abs(value - without * units) <= abs(value - without) else value * units


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    t1 = fields.quantity(row, "t1Qty")
    exchange = fields.required(row, "exchange")
    return HoldingRow(
        instrument_token=_holding_token(exchange, fields.required(row, "securityId")),
        tradingsymbol=fields.required(row, "tradingSymbol"),
        exchange=exchange,
        isin=fields.text(row.get("isin")),
        # totalQty includes the T1 units and, as far as is known, the pledged ones.
        settled_quantity=max(fields.quantity(row, "totalQty") - t1, 0),
        t1_quantity=t1,
        collateral_quantity=fields.quantity(row, "collateralQty"),
        average_price=fields.price(row.get("avgCostPrice")),
        last_price=fields.price(row.get("lastTradedPrice")),
    )


def _holding_token(exchange: str, security_id: str) -> str:
    """Return the token of a holding. For exchange `ALL` it is the share's NSE id, or BSE's id where the share is listed only there."""
    if exchange == "ALL":
        exchange = "BSE" if _BSE_SECURITY.fullmatch(security_id) else "NSE"
    return values.token(f"{exchange}_EQ", security_id)
