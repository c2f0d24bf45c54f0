"""ICICI Direct's order book and trade book, each requested once per exchange.

Source: docs/brokers/icicidirect.md, section 4 (README samples, documentation). No row gives an order's filled quantity.
It is the part that is neither pending nor cancelled, unless the status word gives it. No figure holds the expired part.
So we request the fills of an order that expired partly filled, and of an order whose word is new or contradicts its
figures. The trade book has one averaged row per order, without a trade's number or time. An exchange that the account
does not trade on has no book; NSE is never assumed to be such an exchange.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.codec.fields import Row
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.icicidirect import naming, values, wire
from onebroker.brokers.icicidirect.values import ORDER_TYPES, PRODUCTS, SIDES, STATUSES, VALIDITIES
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireRequest, WireResponse
from onebroker.config.clock import IST

_LISTS = len(values.ORDER_EXCHANGES)

_FILLED, _TRADE = "filled", "trade"
"""Fields that we write into a copy of a row, because the broker's rows do not have them: the filled quantity of an order,
and the name of a trade."""


def _word(row: Row) -> str:
    return values.status_word(fields.required(row, "status"))


ORDERS = OrderFields(
    order_id="order_id",
    status=lambda row: STATUSES.read(_word(row)),
    transaction_type=SIDES.at("action"),
    product=PRODUCTS.at("product_type"),
    order_type=ORDER_TYPES.at("order_type"),
    validity=VALIDITIES.at("validity"),
    quantity="quantity",
    filled=_FILLED,
    disclosed="disclosed_quantity",
    price="price",
    trigger_price="stoploss",
    average_price="average_price",
    exchange_order_id="exchange_order_id",
    parent_order_id="parent_order_id",
    order_timestamp=at(values.iso_moment, "order_datetime"),
    exchange_timestamp=at(values.iso_moment, "exchange_acknowledgement_date"),
    tag="user_remark",
)
TRADES = TradeFields(
    trade_id=_TRADE,
    order_id="order_id",
    transaction_type=SIDES.at("action"),
    product=PRODUCTS.at("product_type"),
    quantity="quantity",
    price="average_cost",
    trade_timestamp="trade_date",
    exchange_timestamp="trade_date",
)
_NAME = order_names(("order_id",), ("user_remark",), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield one call per exchange, then one for each order whose row does not give the filled quantity."""
    lists: list[WireResponse] = []
    for exchange in values.ORDER_EXCHANGES:
        answer = yield _day_request(access, wire.ORDER, exchange, now)
        _rows(exchange, answer)  # a refusal ends the read: the next exchange would refuse too
        lists += [answer]
    for row in _listed_rows(lists):
        if not _asks_fills(row):
            continue
        body = {"exchange_code": str(row.get("exchange_code")), "order_id": str(row.get("order_id"))}
        yield wire.request(access, CallKind.READ, "GET", wire.TRADES, body)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders, exchange by exchange as the broker lists them; an order shown by two exchanges is shown once."""
    fills = iter(responses[_LISTS:])
    asked = [(row, next(fills, None) if _asks_fills(row) else None) for row in _listed_rows(responses[:_LISTS])]
    orders = read_rows(asked, lambda pair: _order_of(*pair), lambda pair: _NAME(pair[0]))
    return list({order.order_id: order for order in reversed(orders)}.values())[::-1]


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    for exchange in values.ORDER_EXCHANGES:
        yield _day_request(access, wire.TRADES, exchange, now)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's executed orders, one row each; the broker's trade book does not list single trades."""
    seen: dict[str, int] = {}

    def trade(row: Row) -> TradeRow:
        order_id = fields.required(row, "order_id")
        seen[order_id] = place = seen.get(order_id, 0) + 1
        trade_id = order_id if place == 1 else f"{order_id}-{place}"
        return TRADES.row({**row, _TRADE: trade_id}, _instrument(row))

    return read_rows(_listed_rows(responses), trade)


def _asks_fills(row: Row) -> bool:
    """Tell whether the fills of an order must be requested; not for an unreadable row, which parsing reports."""
    try:
        return _filled(row) is None
    except BadAnswer:
        return False


def _order_of(row: Row, fills: WireResponse | None) -> OrderRow:
    """Return one order. `fills`: the answer about its fills, None where it was not requested."""
    filled = _filled(row)
    if filled is None:
        filled = _executed(row, fills)
    return ORDERS.row({**row, _FILLED: filled}, _instrument(row))


def _day_request(access: Access, path: str, exchange: str, now: datetime) -> WireRequest:
    # The day by India's clock: the Z is only the broker's way of writing, not a time zone.
    day = now.astimezone(IST).date().isoformat()
    body = {"exchange_code": exchange, "from_date": f"{day}T00:00:00.000Z", "to_date": f"{day}T23:59:59.000Z"}
    return wire.request(access, CallKind.READ, "GET", path, body)


def _listed_rows(responses: Sequence[WireResponse]) -> list[Row]:
    """Return the rows of all exchanges; an identical row that another exchange showed before is dropped."""
    listed: list[Row] = []
    for exchange, response in zip(values.ORDER_EXCHANGES, responses, strict=False):
        listed += [row for row in _rows(exchange, response) if row not in listed]
    return listed


def _rows(exchange: str, response: WireResponse) -> list[Row]:
    try:
        return wire.rows(response)
    except BrokerRefusal as refusal:
        if exchange != values.CERTAIN_EXCHANGE and wire.says_not_traded(refusal):
            return []
        raise


def _executed(row: Row, response: WireResponse | None) -> int:
    """Return the sum of an order's fills. Raise `BadAnswer` while an order said to be partly filled has no fills, and for
    fills of another order or instrument."""
    fills = [] if response is None else wire.rows(response)
    for fill in fills:
        _check_same(row, fill)
    executed = sum(fields.quantity(fill, "executed_quantity") for fill in fills)
    if response is None or (not executed and _word(row) in values.PARTLY_FILLED):
        raise BadAnswer("an order that was filled, without its fills")
    return executed


def _check_same(order: Row, fill: Row) -> None:
    """Raise `BadAnswer` for a fill that names another order or instrument than the requested order."""
    for name in ("order_id", "exchange_code", "stock_code"):
        asked, told = (str(row.get(name) or "").strip().upper() for row in (order, fill))
        if told and told != asked:
            raise BadAnswer(f"a fill of {name} {told}, which was not asked for")


def _filled(row: Row) -> int | None:
    """Return the executed quantity of an order; None where its row does not give it."""
    word, quantity = _word(row), fields.quantity(row, "quantity")
    if word in values.NOTHING_FILLED:
        return 0
    if word == values.ALL_FILLED:
        return quantity
    rest = [row.get(name) for name in ("pending_quantity", "cancelled_quantity")]
    if any(fields.text(units) is None for units in rest):
        return None
    left = sum(map(fields.counted, rest))
    if word in values.NOT_PARTLY_FILLED:
        return max(quantity - left, 0) if left else 0
    if word == values.PART_EXPIRED or not 0 < left < quantity:
        return None
    return quantity - left


def _instrument(row: Row) -> Instrument:
    name = naming.of_row(row)
    return Instrument(name.token, name.symbol, name.exchange)
