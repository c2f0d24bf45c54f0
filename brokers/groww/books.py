"""Groww's order book, one list per segment, and its trade book, one list per order.

Source: docs/brokers/groww.md, section 4 (documentation, orders). There is no trade book of the day. So we request the
trades of every order with fills, and request them again only when its filled quantity has changed
(`WireRequest.version`).
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import OddRows, made_of, order_names, read_rows
from onebroker.brokers.codec.fields import Row
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields
from onebroker.brokers.groww import login, wire
from onebroker.brokers.groww.values import ORDER_TYPES, PRODUCTS, SEGMENTS, SIDES, STATUSES, VALIDITIES, Name
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

_ORDER_LIST, _TRADE_LIST = "order_list", "trade_list"
_MOST_PAGES = 200
"""More pages than a day's orders can fill in one segment under the limits."""

_Rows = list[Row]

ORDERS = OrderFields(
    order_id="groww_order_id",
    status=STATUSES.required_at("order_status"),
    transaction_type=SIDES.at("transaction_type"),
    product=PRODUCTS.at("product"),
    order_type=ORDER_TYPES.at("order_type"),
    validity=VALIDITIES.at("validity"),
    quantity="quantity",
    filled="filled_quantity",
    price="price",
    trigger_price="trigger_price",
    average_price="average_fill_price",
    status_message="remark",
    order_timestamp="created_at",
    exchange_timestamp="exchange_time",
    tag="order_reference_id",
)
TRADES = TradeFields(
    trade_id=("groww_trade_id", "exchange_trade_id"),
    order_id="groww_order_id",
    transaction_type=SIDES.at("transaction_type"),
    product=PRODUCTS.at("product"),
    quantity="quantity",
    price="price",
    exchange_order_id="exchange_order_id",
    exchange_trade_id="exchange_trade_id",
    trade_timestamp=("trade_date_time", "created_at"),
    exchange_timestamp="trade_date_time",
)
_NAME = order_names(("groww_order_id",), ("order_reference_id",), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    """Ask for every page of every segment that the account has."""
    yield from _order_pages(access)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Groww lists them, each once (an order placed between two pages shifts the others)."""
    listed = [row for response in responses for row in wire.listed(response, _ORDER_LIST)]
    rows = read_rows(listed, order_row, _NAME)
    return list({row.order_id: row for row in reversed(rows)}.values())[::-1]


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    """Ask for the order lists, then for the trades of every order with fills."""
    orders = yield from _order_pages(access)
    for row in fields.readable_rows(orders):
        try:
            filled = _fills(row)[1]
        except BadAnswer:
            continue  # reported when the answers are parsed
        if filled:
            yield from _trade_pages(access, row, filled)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades.

    Raises `BadAnswer` when an order's trades are fewer than its filled quantity, or belong to another order: an
    incomplete trade book would be taken as complete. An order that cannot be read also leaves it incomplete: `OddRows`.
    """
    orders, listed = list[Row](), list[Row]()
    for response in responses:
        if _ORDER_LIST in wire.payload(response):
            orders += wire.listed(response, _ORDER_LIST)
        else:
            listed += wire.listed(response, _TRADE_LIST)
    trades = made_of(lambda: read_rows(listed, _trade_row), _each_once)
    try:
        filled = dict(read_rows(orders, _fills))
    except OddRows as odd:
        raise odd.beside(trades) from odd
    _check_whole(filled, trades)
    return trades


def _each_once(trades: Sequence[TradeRow]) -> list[TradeRow]:
    return list({(trade.order_id, trade.trade_id): trade for trade in trades}.values())


def _fills(order: Row) -> tuple[str, int]:
    """Return an order's id and its filled quantity; raise `BadAnswer` for a row for which no trades can be requested."""
    filled = ORDERS.filled(order, ORDERS.status(order))
    if filled:
        fields.required(order, "segment")
    return fields.required(order, "groww_order_id"), filled


def order_row(row: Row) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order or no instrument."""
    return ORDERS.row(row, _instrument(row))


def _order_pages(access: Access) -> Generator[WireRequest, WireResponse, _Rows]:
    active = login.active_segments(access)
    rows: _Rows = []
    for segment in SEGMENTS:
        if segment not in active:
            continue

        def page(number: int, segment: str = segment) -> WireRequest:
            query = [("segment", segment), ("page", str(number)), ("page_size", str(wire.PAGE_SIZE))]
            return wire.request(access, CallKind.READ, "GET", wire.ORDERS, query=query)

        rows += yield from _pages(page, _ORDER_LIST, "groww_order_id")
    return rows


def _trade_pages(access: Access, order: Row, filled: int) -> Generator[WireRequest, WireResponse, _Rows]:
    order_id, segment = fields.required(order, "groww_order_id"), fields.required(order, "segment")

    def page(number: int) -> WireRequest:
        query = [("segment", segment), ("page", str(number)), ("page_size", str(wire.PAGE_STEP))]
        path = f"{wire.TRADES}/{order_id}"
        return wire.request(access, CallKind.READ, "GET", path, query=query, version=str(filled))

    return (yield from _pages(page, _TRADE_LIST, "groww_trade_id"))


def _pages(page: Callable[[int], WireRequest], name: str, key: str) -> Generator[WireRequest, WireResponse, _Rows]:
    """Request pages from 0 on until one is not full; return all rows.

    Raises `BadAnswer` for pages that do not end, for a page that repeats the page before it, and for a full page of odd
    rows only.
    """
    rows: _Rows = []
    first = None
    for number in range(_MOST_PAGES):
        answered = wire.listed((yield page(number)), name)
        rows += answered
        if not answered or len(answered) % wire.PAGE_STEP:
            return rows
        named = [fields.text(row.get(key)) for row in fields.readable_rows(answered)]
        if not named or named[0] == first:
            raise BadAnswer("a list that answers every page with the same rows, or with none that can be read")
        first = named[0]
    raise BadAnswer("a list without an end")


def _check_whole(filled: Mapping[str, int], trades: Iterable[TradeRow]) -> None:
    traded = dict.fromkeys(filled, 0)
    for trade in trades:
        if trade.order_id not in traded:
            raise BadAnswer(f"a trade of order {trade.order_id}, which was not asked for")
        traded[trade.order_id] += trade.quantity
    short = [order_id for order_id, quantity in filled.items() if traded[order_id] < quantity]
    if short:
        raise BadAnswer(f"the trades of order {short[0]} are fewer than what it filled")


def _trade_row(row: Row) -> TradeRow:
    return TRADES.row(row, _instrument(row))


def _instrument(row: Row) -> Instrument:
    name = Name.of_row(row)
    return Instrument(name.token, name.symbol, name.exchange)
