"""5paisa's order book and trade book.

Source: docs/brokers/fivepaisa.md, section 4. A trade names its order only by the exchange's number. So a trade book that
is not empty is read together with the order book, which has both numbers.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import OddRows, order_names, read_rows
from onebroker.brokers.codec.fields import Row
from onebroker.brokers.codec.order_rows import Instrument, OrderFields, TradeFields, at
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.fivepaisa.values import STATUSES
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerError, CallKind, WireRequest, WireResponse
from onebroker.config.vocabulary import OrderStatus

_ORDERS = ("OrderBookDetail",)
_TRADES = ("TradeBookDetail", "OrderBookDetail")
"""An empty trade book comes under the order book's name."""
_WORKING = frozenset({OrderStatus.OPEN})


def working_status(word: object, trigger: object, triggered: object) -> str:
    """Return our status. `trigger`: the trigger price as the broker writes it, rupees. A stop that waits for its trigger is
    not working in the market yet, though 5paisa calls it Pending."""
    status = STATUSES.read(word)
    if status in _WORKING and (fields.number(trigger) or 0.0) > 0 and str(triggered).strip().upper() == "N":
        return OrderStatus.PENDING
    return status


def exchange_number(value: object) -> str | None:
    """Return the exchange's number of an order; 0 means no number yet."""
    number = fields.text(value)
    return None if number is None or number.strip() in ("", "0") else number.strip()


def _status(row: Row) -> str:
    return working_status(fields.required(row, "OrderStatus"), row.get("SLTriggerRate"), row.get("SLTriggered"))


def _side(row: Row) -> str:
    return values.side(row.get("BuySell"))


def _product(row: Row) -> str:
    """Return our product, which for delivery depends on the segment."""
    token = values.broker_token(row.get("Exch"), row.get("ExchType"), row.get("ScripCode"))
    return values.product(row.get("DelvIntra"), values.segment_of(token))


def _trade_number(row: Row) -> str:
    """Return the exchange's number of the order that a trade belongs to."""
    return fields.required(row, "ExchOrderID").strip()


ORDERS = OrderFields(
    order_id=("BrokerOrderId", "BrokerOrderID"),
    status=_status,
    transaction_type=_side,
    product=_product,
    order_type=lambda row: values.order_type(row.get("AtMarket"), row.get("SLTriggerRate")),
    validity=lambda row: values.validity(row.get("OrderValidity")),
    quantity="Qty",
    filled="TradedQty",
    disclosed="DisClosedQty",
    price="Rate",
    trigger_price="SLTriggerRate",
    average_price="AveragePrice",
    exchange_order_id=at(exchange_number, "ExchOrderID"),
    status_message="Reason",
    order_timestamp=at(values.date_text, "BrokerOrderTime"),
    exchange_timestamp=at(values.date_text, "ExchOrderTime"),
    tag=lambda row: fields.text(row.get("RemoteOrderID")) or fields.text(row.get("RemoteOrderId")),
)
_ORDER_OF_TRADE = "BrokerOrderId"
"""The field into which `_trade_row` writes the number of a trade's order; the broker's row has no such field."""
TRADES = TradeFields(
    trade_id="ExchangeTradeID",
    order_id=_ORDER_OF_TRADE,
    transaction_type=_side,
    product=_product,
    quantity="Qty",
    price="Rate",
    exchange_order_id=_trade_number,
    exchange_trade_id="ExchangeTradeID",
    trade_timestamp="ExchangeTradeTime",
    exchange_timestamp="ExchangeTradeTime",
)
_NAME = order_names(("BrokerOrderId", "BrokerOrderID"), ("RemoteOrderID", "RemoteOrderId"), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield _order_book(access)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as 5paisa lists them."""
    return read_rows(wire.listed(responses[0], *_ORDERS), lambda row: _order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the trade book, and after it, where it is not empty, the order book: the order book then has the order of every trade."""
    answer = yield wire.request(access, CallKind.READ, wire.TRADES, {})
    if _holds_trades(answer):
        yield _order_book(access)


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades; a trade whose order is not in the book keeps the exchange's number as its order id.

    If a row of the order book cannot be read, a trade that may belong to it cannot be read either.
    """
    trades = wire.listed(responses[0], *_TRADES)
    orders = [row for response in responses[1:] for row in wire.listed(response, *_ORDERS)]
    try:
        numbers, unread = dict(read_rows(orders, _order_number)), ""
    except OddRows as odd:
        numbers, unread = dict(odd.readable), str(odd)

    def trade(row: Row) -> TradeRow:
        if unread and _exchange_name(row) not in numbers:
            raise BadAnswer(f"a trade of an order that cannot be told: of the order book {unread}")
        return _trade_row(row, numbers, listings)

    return read_rows(trades, trade)


def token_of(row: Row) -> str:
    """Return the broker_token of a row that names its instrument; raise `BadAnswer` when it does not."""
    return values.broker_token(
        fields.required(row, "Exch"), fields.required(row, "ExchType"), fields.required(row, "ScripCode")
    )


def _order_book(access: Access) -> WireRequest:
    return wire.request(access, CallKind.READ, wire.ORDERS, {})


def _holds_trades(answer: WireResponse) -> bool:
    try:
        return bool(wire.listed(answer, *_TRADES))
    except BrokerError:
        return False  # parsing reports what is wrong with it


def _exchange_name(row: Row) -> tuple[str, str]:
    """Return the name that the exchange gives an order; each market of an exchange numbers its own orders."""
    return values.segment(row.get("Exch"), row.get("ExchType")), str(row.get("ExchOrderID")).strip()


def _order_number(row: Row) -> tuple[tuple[str, str], str]:
    return _exchange_name(row), fields.required(row, "BrokerOrderId", "BrokerOrderID")


def _order_row(row: Row, listings: Mapping[str, Listing]) -> OrderRow:
    return ORDERS.row(row, _instrument(row, listings))


def _trade_row(row: Row, numbers: Mapping[tuple[str, str], str], listings: Mapping[str, Listing]) -> TradeRow:
    """Return one trade. `numbers`: the exchange's name of an order -> the broker's number of it."""
    order_id = numbers.get(_exchange_name(row)) or _trade_number(row)
    return TRADES.row({**row, _ORDER_OF_TRADE: order_id}, _instrument(row, listings))


def _instrument(row: Row, listings: Mapping[str, Listing]) -> Instrument:
    token = token_of(row)
    symbol = fields.required(row, "ScripName", "ScripCode").strip()
    return Instrument(token, symbol, values.segment_of(token), values.contract_units(token, listings))
