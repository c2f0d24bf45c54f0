"""Upstox' positions, holdings and funds.

Source: documentation pages "Get Positions", "Get MTF Positions", "Get Holdings", "Get Fund and Margin V3", read 2026-11-20.
"""

from collections.abc import Iterable, Mapping, Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.records import FundsRow, HoldingRow, PositionRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.upstox import values, wire
from onebroker.config.money import paise, rupees


def position_requests(access: Access) -> tuple[WireRequest, ...]:
    return (wire.request(access, CallKind.READ, "GET", wire.POSITIONS),)


def parse_positions(responses: Sequence[WireResponse]) -> list[PositionRow]:
    """Return both views of the one list: net for every row, day for the rows that traded today."""
    rows = values.rows_of(wire.data(responses[0]))
    net = [_net_row(row) for row in rows]
    return net + [_day_row(row) for row in rows if _traded_today(row)]


def holding_requests(access: Access) -> tuple[WireRequest, ...]:
    """Two calls: margin-trading units are only in the margin-trading positions."""
    return (
        wire.request(access, CallKind.READ, "GET", wire.HOLDINGS),
        wire.request(access, CallKind.READ, "GET", wire.MARGIN_TRADING_POSITIONS),
    )


def parse_holdings(responses: Sequence[WireResponse]) -> list[HoldingRow]:
    """Return the settled and T1 holdings, then the margin-trading ones."""
    holdings, margin = (values.rows_of(wire.data(response)) for response in responses)
    return [_holding_row(row) for row in holdings] + [
        _margin_row(row) for row in margin if values.whole(row.get("quantity"))
    ]


def fund_requests(access: Access) -> tuple[WireRequest, ...]:
    return (wire.request(access, CallKind.READ, "GET", wire.FUNDS),)


def parse_funds(responses: Sequence[WireResponse]) -> FundsRow:
    """Return the one pool of funds; no segments, no pools.

    In the tree every `total` is the sum of its lines, money paid out is negative, and margin used is positive:
    total = cash legs - cash margin used + margin from pledge - pledge margin used.
    """
    tree = values.row_of(wire.data(responses[0]))
    trade, blocked = _part(tree, "available_to_trade"), _part(tree, "unavailable_to_trade")
    cash, pledge = _part(trade, "cash_available_to_trade"), _part(trade, "pledge_available_to_trade")
    legs, cash_used = _part(cash, "cash"), _part(cash, "margin_used")
    pledged, pledge_used = _part(pledge, "margin_from_pledge"), _part(pledge, "margin_used")
    loss = _part(cash_used, "loss")
    unsettled = _part(_part(blocked, "cash_unavailable_to_trade"), "unsettled_profit")
    used = (cash_used, pledge_used)
    todays_loss = values.number(loss.get("realised"))
    open_loss = values.number(loss.get("unrealised"))
    paid_out = values.number(legs.get("withdrawn_today"))
    return FundsRow(
        available_balance=values.number(trade.get("total")),
        # Cash before margins: what is left of it plus what the margins took of it.
        cash_balance=_sum((cash.get("total"), cash_used.get("total"))),
        collateral_value=values.number(pledged.get("total")),
        margin_utilized=_sum(part.get("total") for part in used),
        # Profit of today is kept out of trading until it settles; a loss is taken out of the cash at once.
        realized=_sum((unsettled.get("todays_profit"), None if todays_loss is None else -todays_loss)),
        unrealized=None if open_loss is None else -open_loss,
        # SPAN and exposure come as one figure.
        span_margin=_sum(part.get("span_exposure") for part in used),
        other_margin=_sum([_line(part, name) for part in used for name in _OTHER_MARGINS]),
        pay_in_today=values.number(legs.get("added_today")),
        pay_out_today=None if paid_out is None else abs(paid_out),
        uncleared_funds=_sum((unsettled.get("todays_profit"), unsettled.get("previous_days"))),
    )


_OTHER_MARGINS = ("mtf", "cash_margin_var_elm", "premium_present", "delivery_margin")
"""The lines of margin used besides span_exposure and loss; delivery_margin is a tree of its own with a total."""


def _line(used: Mapping[str, object], name: str) -> object:
    line = used.get(name)
    return line.get("total") if isinstance(line, dict) else line


def _traded_today(row: Mapping[str, object]) -> bool:
    return bool(values.whole(row.get("day_buy_quantity")) or values.whole(row.get("day_sell_quantity")))


def _multiplier(row: Mapping[str, object], token: str) -> float:
    multiplier = values.number(row.get("multiplier"))
    if not multiplier or multiplier < 0:
        if values.segment(token) in values.LOT_SEGMENTS:
            raise BadAnswer(f"a position in {token} without its multiplier")
        return 1.0
    return multiplier


def _net_row(row: Mapping[str, object]) -> PositionRow:
    token = values.required(row, "instrument_token")
    multiplier = _multiplier(row, token)
    units = values.whole(multiplier)
    quantity = values.whole(row.get("quantity")) * units
    bought = values.whole(row.get("overnight_buy_quantity")) + values.whole(row.get("day_buy_quantity"))
    sold = values.whole(row.get("overnight_sell_quantity")) + values.whole(row.get("day_sell_quantity"))
    product = values.product(row.get("product"), token)
    return PositionRow(
        position_key=f"{token}:{product}",
        view="net",
        product=product,
        instrument_token=token,
        tradingsymbol=values.required(row, "trading_symbol", "tradingsymbol"),
        exchange=values.required(row, "exchange"),
        quantity=quantity,
        overnight_quantity=values.whole(row.get("overnight_quantity")) * units,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=_value(row.get("buy_value"), bought, row.get("buy_price"), units),
        sell_value=_value(row.get("sell_value"), sold, row.get("sell_price"), units),
        # Null on rows that were closed, and then nothing of ours either.
        average_price=values.price(row.get("average_price")) if quantity else None,
        last_price=values.price(row.get("last_price")),
        close_price=values.price(row.get("close_price")),
        multiplier=multiplier,
        realized=values.number(row.get("realised")),
        unrealized=values.number(row.get("unrealised")),
    )


def _day_row(row: Mapping[str, object]) -> PositionRow:
    """Return today's part of a row; its result is not reported apart."""
    token = values.required(row, "instrument_token")
    multiplier = _multiplier(row, token)
    units = values.whole(multiplier)
    bought, sold = values.whole(row.get("day_buy_quantity")), values.whole(row.get("day_sell_quantity"))
    # day_*_price is "" where nothing was bought or sold.
    average = row.get("day_buy_price") if bought > sold else row.get("day_sell_price")
    product = values.product(row.get("product"), token)
    return PositionRow(
        position_key=f"{token}:{product}",
        view="day",
        product=product,
        instrument_token=token,
        tradingsymbol=values.required(row, "trading_symbol", "tradingsymbol"),
        exchange=values.required(row, "exchange"),
        quantity=(bought - sold) * units,
        buy_quantity=bought * units,
        sell_quantity=sold * units,
        buy_value=_value(row.get("day_buy_value"), bought, row.get("day_buy_price"), units),
        sell_value=_value(row.get("day_sell_value"), sold, row.get("day_sell_price"), units),
        average_price=values.price(average) if bought != sold else None,
        last_price=values.price(row.get("last_price")),
        close_price=values.price(row.get("close_price")),
        multiplier=multiplier,
    )


def _value(reported: object, contracts: int, price: object, units: int) -> float | None:
    """Return a row's value in rupees.

    The documents do not say whether values of contracts have the multiplier in them, so the row's own quantity and price
    decide which of the two it is.
    """
    value, each = values.number(reported), values.price(price)
    if value is None or units == 1 or each is None:
        return value
    without = contracts * each
    return value if abs(value - without * units) <= abs(value - without) else value * units


def _holding_row(row: Mapping[str, object]) -> HoldingRow:
    return HoldingRow(
        instrument_token=values.required(row, "instrument_token"),
        tradingsymbol=values.required(row, "trading_symbol", "tradingsymbol"),
        exchange=values.required(row, "exchange"),
        isin=values.text(row.get("isin")),
        # Upstox' quantity is everything settled, pledged units among them; T1 units are beside it.
        settled_quantity=values.whole(row.get("quantity")),
        t1_quantity=values.whole(row.get("t1_quantity")),
        collateral_quantity=values.whole(row.get("collateral_quantity")),
        average_price=values.price(row.get("average_price")),
        last_price=values.price(row.get("last_price")),
        close_price=values.price(row.get("close_price")),
    )


def _margin_row(row: Mapping[str, object]) -> HoldingRow:
    token = values.required(row, "instrument_token")
    return HoldingRow(
        instrument_token=token,
        tradingsymbol=values.required(row, "trading_symbol", "tradingsymbol"),
        exchange=values.required(row, "exchange"),
        # A cash key ends in the ISIN.
        isin=token.partition("|")[2] or None if values.segment(token) in values.CASH_SEGMENTS else None,
        settled_quantity=0,
        margin_quantity=values.whole(row.get("quantity")),
        margin_average_price=values.price(row.get("average_price")),
        last_price=values.price(row.get("last_price")),
        close_price=values.price(row.get("close_price")),
    )


def _part(tree: Mapping[str, object], name: str) -> Mapping[str, object]:
    return values.row_of(tree.get(name) or {})


def _sum(figures: Iterable[object]) -> float | None:
    """Add rupee figures exactly; None when none is given."""
    given = [figure for figure in map(values.number, figures) if figure is not None]
    return rupees(sum(map(paise, given))) if given else None
