"""Upstox' positions, holdings and funds.

Source: documentation pages "Get Positions", "Get MTF Positions", "Get Holdings", "Get Fund and Margin V3", not re-read by us.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import read_some, read_views
from onebroker.brokers.records import FundsRow, HoldingRow, Listing, PositionRow, in_contracts
from onebroker.brokers.requests import CallKind, WireResponse
from onebroker.brokers.upstox import values, wire


def position_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.POSITIONS)


def parse_positions(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[PositionRow]:
    """Return both views of the same list: the net view of every row, the day view of rows that traded today."""

    def views(row: Mapping[str, object]) -> list[PositionRow]:
        net = _net_row(row, listings)
        return [net, _day_row(row, listings)] if _traded_today(row) else [net]

    return read_views(fields.rows_of(wire.data(responses[0])), views)


def holding_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield two calls: margin-trading units are only in the margin-trading positions."""
    yield wire.request(access, CallKind.READ, "GET", wire.HOLDINGS)
    yield wire.request(access, CallKind.READ, "GET", wire.MARGIN_TRADING_POSITIONS)


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return the settled and T1 holdings, then the margin-trading ones."""
    readers = (_holding_row, _margin_row)
    pairs = [
        (read, row)
        for read, response in zip(readers, responses, strict=True)
        for row in fields.rows_of(wire.data(response))
    ]
    return read_some(pairs, lambda pair: pair[0](pair[1]))


def fund_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.request(access, CallKind.READ, "GET", wire.FUNDS)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the single pool of funds; no segments, no pools.

    In the tree every `total` is the sum of its lines, money paid out is negative, and margin used is positive: total =
    cash legs - cash margin used + margin from pledge - pledge margin used.
    """
    tree = fields.row_of(wire.data(responses[0]))
    trade, blocked = fields.part(tree, "available_to_trade"), fields.part(tree, "unavailable_to_trade")
    cash, pledge = fields.part(trade, "cash_available_to_trade"), fields.part(trade, "pledge_available_to_trade")
    legs, cash_used = fields.part(cash, "cash"), fields.part(cash, "margin_used")
    pledged, pledge_used = fields.part(pledge, "margin_from_pledge"), fields.part(pledge, "margin_used")
    loss = fields.part(cash_used, "loss")
    unsettled = fields.part(fields.part(blocked, "cash_unavailable_to_trade"), "unsettled_profit")
    used = (cash_used, pledge_used)
    todays_loss = fields.number(loss.get("realised"))
    open_loss = fields.number(loss.get("unrealised"))
    paid_out = fields.number(legs.get("withdrawn_today"))
    return FundsRow(
        available_balance=fields.number(trade.get("total")),
        # Cash before margins: what is left of it plus what the margins took from it.
        cash_balance=fields.rupee_sum((cash.get("total"), cash_used.get("total"))),
        collateral_value=fields.number(pledged.get("total")),
        margin_utilized=fields.rupee_sum(part.get("total") for part in used),
        # Today's profit cannot be traded with until it settles; a loss is taken from the cash at once.
        realized=fields.rupee_sum((unsettled.get("todays_profit"), None if todays_loss is None else -todays_loss)),
        unrealized=None if open_loss is None else -open_loss,
        # SPAN and exposure come as one figure.
        span_margin=fields.rupee_sum(part.get("span_exposure") for part in used),
        other_margin=fields.rupee_sum([_line(part, name) for part in used for name in _OTHER_MARGINS]),
        pay_in_today=fields.number(legs.get("added_today")),
        pay_out_today=None if paid_out is None else abs(paid_out),
        uncleared_funds=fields.rupee_sum((unsettled.get("todays_profit"), unsettled.get("previous_days"))),
    )


_OTHER_MARGINS = ("mtf", "cash_margin_var_elm", "premium_present", "delivery_margin")
"""Lines of margin used other than span_exposure and loss; delivery_margin is a tree of its own with a total."""


def _line(used: Mapping[str, object], name: str) -> object:
    line = used.get(name)
    return line.get("total") if isinstance(line, dict) else line


def _traded_today(row: Mapping[str, object]) -> bool:
    return bool(fields.quantity(row, "day_buy_quantity") or fields.quantity(row, "day_sell_quantity"))


def _units(row: Mapping[str, object], token: str, listings: Mapping[str, Listing]) -> int | None:
    """Return the units in one of the row's quantities: its own multiplier, else the listing's; None when neither gives them."""
    multiplier = fields.number(row.get("multiplier"))
    if multiplier is not None and multiplier > 0 and multiplier == int(multiplier):
        return int(multiplier)
    return values.contract_units(token, listings)


def _net_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> PositionRow:
    token = fields.required(row, "instrument_token")
    known = _units(row, token, listings)
    units = known or 1
    quantity = fields.quantity(row, "quantity") * units
    bought = fields.quantity(row, "overnight_buy_quantity") + fields.quantity(row, "day_buy_quantity")
    sold = fields.quantity(row, "overnight_sell_quantity") + fields.quantity(row, "day_sell_quantity")
    product = values.product(row.get("product"), token)
    position = PositionRow(
        position_key=f"{token}:{product}",
        view="net",
        product=product,
        instrument_token=token,
        tradingsymbol=fields.required(row, "trading_symbol", "tradingsymbol"),
        exchange=fields.required(row, "exchange"),
        quantity=quantity,
        overnight_quantity=fields.quantity(row, "overnight_quantity") * units,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=_value(row.get("buy_value"), bought, row.get("buy_price"), units),
        sell_value=_value(row.get("sell_value"), sold, row.get("sell_price"), units),
        # Null on rows that were closed; then our value is null too.
        average_price=fields.price(row.get("average_price")) if quantity else None,
        last_price=fields.price(row.get("last_price")),
        close_price=fields.price(row.get("close_price")),
        multiplier=fields.number(row.get("multiplier")) or 1.0,
        realized=fields.number(row.get("realised")),
        unrealized=fields.number(row.get("unrealised")),
    )
    return in_contracts(position) if known is None else position


def _day_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> PositionRow:
    """Return today's part of a row; its result is not reported separately."""
    token = fields.required(row, "instrument_token")
    known = _units(row, token, listings)
    units = known or 1
    bought, sold = fields.quantity(row, "day_buy_quantity"), fields.quantity(row, "day_sell_quantity")
    # day_*_price is "" where nothing was bought or sold.
    average = row.get("day_buy_price") if bought > sold else row.get("day_sell_price")
    product = values.product(row.get("product"), token)
    position = PositionRow(
        position_key=f"{token}:{product}",
        view="day",
        product=product,
        instrument_token=token,
        tradingsymbol=fields.required(row, "trading_symbol", "tradingsymbol"),
        exchange=fields.required(row, "exchange"),
        quantity=(bought - sold) * units,
        overnight_quantity=0,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=_value(row.get("day_buy_value"), bought, row.get("day_buy_price"), units),
        sell_value=_value(row.get("day_sell_value"), sold, row.get("day_sell_price"), units),
        average_price=fields.price(average) if bought != sold else None,
        last_price=fields.price(row.get("last_price")),
        close_price=fields.price(row.get("close_price")),
        multiplier=fields.number(row.get("multiplier")) or 1.0,
    )
    return in_contracts(position) if known is None else position


def _value(reported: object, contracts: int, price: object, units: int) -> float | None:
    """Return a row's value in rupees.

    The documents do not say whether values of contracts include the multiplier. The row's own quantity and price decide
    it.
    """
    value, average = fields.number(reported), fields.price(price)
    if value is None or units == 1 or average is None:
        return value
    without = contracts * average
    return value if abs(value - without * units) <= abs(value - without) else value * units


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    return HoldingRow(
        instrument_token=fields.required(row, "instrument_token"),
        tradingsymbol=fields.required(row, "trading_symbol", "tradingsymbol"),
        exchange=fields.required(row, "exchange"),
        isin=fields.text(row.get("isin")),
        # Upstox' quantity is all settled units, including pledged ones; T1 units are separate.
        settled_quantity=fields.quantity(row, "quantity"),
        t1_quantity=fields.quantity(row, "t1_quantity"),
        collateral_quantity=fields.quantity(row, "collateral_quantity"),
        average_price=fields.price(row.get("average_price")),
        last_price=fields.price(row.get("last_price")),
        close_price=fields.price(row.get("close_price")),
    )


def _margin_row(row: Mapping[str, object]) -> HoldingRow | None:
    if not fields.quantity(row, "quantity"):
        return None
    token = fields.required(row, "instrument_token")
    return HoldingRow(
        instrument_token=token,
        tradingsymbol=fields.required(row, "trading_symbol", "tradingsymbol"),
        exchange=fields.required(row, "exchange"),
        # A cash key ends in the ISIN.
        isin=token.partition("|")[2] or None if values.segment(token) in values.CASH_SEGMENTS else None,
        settled_quantity=0,
        margin_quantity=fields.quantity(row, "quantity"),
        margin_average_price=fields.price(row.get("average_price")),
        last_price=fields.price(row.get("last_price")),
        close_price=fields.price(row.get("close_price")),
    )
