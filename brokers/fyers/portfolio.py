"""Fyers' positions, holdings and funds.

Source: documentation "FYERS API v3", user and portfolio, not re-read by us.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_rows, read_views
from onebroker.brokers.fyers import values, wire
from onebroker.brokers.fyers.books import rows_under
from onebroker.brokers.records import FundsRow, FundsSegment, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import BadAnswer, CallKind, WireResponse

POOLS = {"equity": "equityAmount", "commodity": "commodityAmount"}
"""Our segment -> the column in a line of funds. There are two purses; equity also pays for derivatives and currency."""

UTILIZED, CLEAR, REALIZED, COLLATERALS, TRANSFER, RECEIVABLES, ADHOC, AVAILABLE = 2, 3, 4, 5, 6, 7, 8, 10
"""Lines of funds by their id: 2 utilized amount, 3 clear balance, 4 realized profit and loss, 5 collaterals, 6 fund transfer,
7 receivables, 8 adhoc limit, 10 available balance (collateral in it). Also 1 total balance, 9 limit at the start of the day."""

T1 = "T1"
"""Holding type of units bought yesterday; settled ones are HLD."""


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.POSITIONS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today; closed rows stay."""

    def views(row: Mapping[str, object]) -> list[PositionRow]:
        net = _net_row(row, listings)
        return [net, _day_row(row, listings)] if _traded_today(row) else [net]

    return read_views(rows_under("netPositions", responses[0]), views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.HOLDINGS)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return the holdings. Units bought yesterday have their own row or a field of the settled row; if both name them,
    they count once."""
    rows = rows_under("holdings", responses[0])
    apart = {fields.text(row.get("symbol")) for row in fields.readable_rows(rows) if _is_t1(row)}
    return read_rows(rows, lambda row: _holding_row(row, apart))


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.FUNDS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the sum of both purses, and each purse in `segments` and `pools`.

    The lines are one record: if a line cannot be read, nobody knows which figure it held. So one such line makes all of
    them unreadable.
    """
    lines = {fields.whole(row.get("id")): row for row in rows_under("fund_limit", responses[0])}
    if AVAILABLE not in lines:
        raise BadAnswer("funds without their available balance")

    def total(line: int) -> float | None:
        return fields.rupee_sum(lines.get(line, {}).get(column) for column in POOLS.values())

    transfer = total(TRANSFER)
    return FundsRow(
        available_balance=total(AVAILABLE),
        cash_balance=total(CLEAR),
        collateral_value=total(COLLATERALS),
        adhoc_credit=total(ADHOC),
        margin_utilized=total(UTILIZED),
        realized=total(REALIZED),
        # One signed line gives what came in and what went out today.
        pay_in_today=None if transfer is None else max(transfer, 0.0),
        pay_out_today=None if transfer is None else max(-transfer, 0.0),
        uncleared_funds=total(RECEIVABLES),
        segments={
            name: FundsSegment(
                available_balance=fields.number(lines[AVAILABLE].get(column)),
                margin_utilized=fields.number(lines.get(UTILIZED, {}).get(column)),
            )
            for name, column in POOLS.items()
        },
        pools={name: fields.number(lines[AVAILABLE].get(column)) or 0.0 for name, column in POOLS.items()},
    )


def _traded_today(row: Mapping[str, object]) -> bool:
    return bool(fields.quantity(row, "dayBuyQty") or fields.quantity(row, "daySellQty"))


def _units(row: Mapping[str, object], token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the row's quantities: its own multiplier where Fyers counts in lots, else 1. None when
    neither the row nor the listing gives them."""
    if values.segment(token) in values.UNIT_SEGMENTS:
        return 1
    multiplier = fields.number(row.get("qtyMulti_com"))
    # A lot of one unit is trusted only where the instrument file agrees: 1 can also mean that nothing is given.
    if multiplier is not None and multiplier > 1:
        return fields.whole(multiplier)
    return values.contract_units(token, listings)


def _net_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> PositionRow:
    token = values.broker_token(row, "fyToken")
    ticker = fields.required(row, "symbol")
    known = _units(row, token, listings)
    units = known or 1
    lots = fields.quantity(row, "netQty")
    carried = fields.quantity(row, "cfBuyQty") - fields.quantity(row, "cfSellQty")
    bought, sold = fields.quantity(row, "buyQty"), fields.quantity(row, "sellQty")
    position = PositionRow(
        position_key=fields.required(row, "id"),
        view="net",
        product=values.PRODUCTS.read(row.get("productType")),
        instrument_token=token,
        tradingsymbol=ticker,
        exchange=values.exchange(ticker),
        quantity=lots * units,
        overnight_quantity=carried * units,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=_value(row, "buyVal", bought, "buyAvg", units),
        sell_value=_value(row, "sellVal", sold, "sellAvg", units),
        average_price=_net_average(row) if lots else None,
        last_price=fields.price(row.get("ltp")),
        multiplier=float(units),
        realized=fields.number(row.get("realized_profit")),
        unrealized=fields.number(row.get("unrealized_profit")),
    )
    return in_contracts(position) if known is None else position


def _net_average(row: Mapping[str, object]) -> float | None:
    """Return the average of an open row. On a carried row an average equal to the last price is a stand-in, and gives
    None (lesson 11).

    The average is `avgPrice`, from which the documents' sample computes its unrealized profit. `netAvg` is the
    break-even, with the realized profit taken off (71,856 against 72,256 with 400 realized on one unit). The two are
    equal only where nothing was realized.
    """
    average = fields.price(row.get("avgPrice"))
    if average is None and not fields.number(row.get("realized_profit")):
        average = fields.price(row.get("netAvg"))
    carried_only = not _traded_today(row)
    return None if carried_only and average == fields.price(row.get("ltp")) else average


def _day_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> PositionRow:
    """Return today's part of a row. Values and averages include the carried legs, so a side with a carried leg shows none."""
    token = values.broker_token(row, "fyToken")
    ticker = fields.required(row, "symbol")
    known = _units(row, token, listings)
    units = known or 1
    bought, sold = fields.quantity(row, "dayBuyQty"), fields.quantity(row, "daySellQty")
    buys = "buyAvg" if not fields.quantity(row, "cfBuyQty") else ""
    sells = "sellAvg" if not fields.quantity(row, "cfSellQty") else ""
    average = buys if bought > sold else sells
    position = PositionRow(
        position_key=fields.required(row, "id"),
        view="day",
        product=values.PRODUCTS.read(row.get("productType")),
        instrument_token=token,
        tradingsymbol=ticker,
        exchange=values.exchange(ticker),
        quantity=(bought - sold) * units,
        overnight_quantity=0,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=_value(row, "buyVal", bought, buys, units) if buys else None,
        sell_value=_value(row, "sellVal", sold, sells, units) if sells else None,
        average_price=fields.price(row.get(average)) if bought != sold else None,
        last_price=fields.price(row.get("ltp")),
        multiplier=float(units),
    )
    return in_contracts(position) if known is None else position


def _value(row: Mapping[str, object], value_name: str, lots: int, price_name: str, units: int) -> float | None:
    """Return a row's value in rupees.

    The documents do not say whether values of lots include the multiplier. The row's own quantity and price decide it.
    """
    value, price = fields.number(row.get(value_name)), fields.price(row.get(price_name))
    if value is None or units == 1 or price is None:
        return value
    without = lots * price
    return value if abs(value - without * units) <= abs(value - without) else value * units


def _is_t1(row: Mapping[str, object]) -> bool:
    return fields.text(row.get("holdingType")) == T1


def _holds_t1(row: Mapping[str, object], quantity: int, fresh: int) -> bool:
    """Tell whether the quantity includes the row's T1 units: the market value shows for how many units it is.

    In the documentation's sample it does: quantity 1, qty_t1 1, marketVal of one unit. Where the value decides nothing,
    the quantity is assumed to include them, so that nothing is counted twice.
    """
    if quantity < fresh:
        return False
    value, last = fields.price(row.get("marketVal")), fields.price(row.get("ltp"))
    if not value or not last:
        return True
    units = value / last
    return abs(units - quantity) <= abs(units - quantity - fresh)


def _holding_row(row: Mapping[str, object], apart: Collection[str | None]) -> HoldingRow:
    """`apart` holds the tickers whose T1 units have a row of their own."""
    ticker = fields.required(row, "symbol")
    quantity, fresh = fields.quantity(row, "quantity"), fields.quantity(row, "qty_t1")
    if _is_t1(row):
        settled, t1 = 0, quantity or fresh
    elif ticker in apart:
        settled, t1 = quantity, 0
    else:
        settled, t1 = quantity - (fresh if _holds_t1(row, quantity, fresh) else 0), fresh
    return HoldingRow(
        instrument_token=values.broker_token(row, "fyToken"),
        tradingsymbol=ticker,
        exchange=values.exchange(ticker),
        isin=fields.text(row.get("isin")),
        # Pledged units are assumed to be among the settled units.
        settled_quantity=settled,
        t1_quantity=t1,
        collateral_quantity=0 if _is_t1(row) else fields.quantity(row, "collateralQuantity"),
        average_price=fields.price(row.get("costPrice")),
        last_price=fields.price(row.get("ltp")),
    )
