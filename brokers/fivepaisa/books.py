"""5paisa's order book and trade book.

Source: docs/brokers/fivepaisa.md, section 4. A trade names its order only by the exchange's number. So a trade book that
is not empty is read together with the order book, which has both numbers.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import OddRows, order_names, read_rows
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerError, CallKind, WireRequest, WireResponse
from onebroker.config.vocabulary import OrderStatus

_ORDERS = ("OrderBookDetail",)
_TRADES = ("TradeBookDetail", "OrderBookDetail")
"""An empty trade book comes under the order book's name."""
_WORKING = frozenset({OrderStatus.OPEN})

_NAME = order_names(("BrokerOrderId", "BrokerOrderID"), ("RemoteOrderID", "RemoteOrderId"), fields.text)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield _order_book(access)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as 5paisa lists them."""
    return read_rows(wire.listed(responses[0], *_ORDERS), lambda row: _order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the trade book, and after it, where it is not empty, the order book: which then knows the order of every trade."""
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

    def trade(row: fields.Row) -> TradeRow:
        if unread and _exchange_name(row) not in numbers:
            raise BadAnswer(f"a trade of an order that cannot be told: of the order book {unread}")
        return _trade_row(row, numbers, listings)

    return read_rows(trades, trade)


def working_status(word: object, trigger: float, triggered: object) -> str:
    """Return our status. A stop that waits for its trigger is not working in the market yet, though 5paisa calls it Pending."""
    status = values.status(word)
    if status in _WORKING and trigger > 0 and str(triggered).strip().upper() == "N":
        return OrderStatus.PENDING
    return status


def exchange_number(value: object) -> str | None:
    """Return the exchange's number of an order; 0 means no number yet."""
    number = fields.text(value)
    return None if number is None or number.strip() in ("", "0") else number.strip()


def token_of(row: Mapping[str, object]) -> str:
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


def _exchange_name(row: Mapping[str, object]) -> tuple[str, str]:
    """Return the name that the exchange gives an order; each market of an exchange numbers its own orders."""
    return values.segment(row.get("Exch"), row.get("ExchType")), str(row.get("ExchOrderID")).strip()


def _order_number(row: fields.Row) -> tuple[tuple[str, str], str]:
    return _exchange_name(row), fields.required(row, "BrokerOrderId", "BrokerOrderID")


def _order_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> OrderRow:
    token = token_of(row)
    units = values.contract_units(token, listings)
    scale = units or 1
    trigger = fields.number(row.get("SLTriggerRate")) or 0.0
    status = working_status(fields.required(row, "OrderStatus"), trigger, row.get("SLTriggered"))
    quantity = fields.quantity(row, "Qty") * scale
    filled = fields.filled(row, "TradedQty", status) * scale
    pending, cancelled = fields.unfilled(status, quantity, filled)
    return OrderRow(
        order_id=fields.required(row, "BrokerOrderId", "BrokerOrderID"),
        status=status,
        transaction_type=values.side(row.get("BuySell")),
        product=values.product(row.get("DelvIntra"), values.segment_of(token)),
        order_type=values.order_type(row.get("AtMarket"), trigger),
        validity=values.validity(row.get("OrderValidity")),
        instrument_token=token,
        tradingsymbol=fields.required(row, "ScripName", "ScripCode").strip(),
        exchange=values.segment_of(token),
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=fields.whole(row.get("DisClosedQty")) * scale,
        price=fields.number(row.get("Rate")) or 0.0,
        trigger_price=trigger,
        average_price=fields.number(row.get("AveragePrice")) or 0.0,
        exchange_order_id=exchange_number(row.get("ExchOrderID")),
        status_message=fields.text(row.get("Reason")),
        order_timestamp=values.date_text(row.get("BrokerOrderTime")),
        exchange_timestamp=values.date_text(row.get("ExchOrderTime")),
        tag=fields.text(row.get("RemoteOrderID")) or fields.text(row.get("RemoteOrderId")),
        contract_units=units,
    )


def _trade_row(
    row: Mapping[str, object], numbers: Mapping[tuple[str, str], str], listings: Mapping[str, Listing]
) -> TradeRow:
    token = token_of(row)
    units = values.contract_units(token, listings)
    price = fields.price(row.get("Rate"))
    if price is None:
        raise BadAnswer("a trade without a price")
    number = fields.required(row, "ExchOrderID").strip()
    when = fields.text(row.get("ExchangeTradeTime"))
    return TradeRow(
        trade_id=fields.required(row, "ExchangeTradeID"),
        order_id=numbers.get(_exchange_name(row), number),
        transaction_type=values.side(row.get("BuySell")),
        product=values.product(row.get("DelvIntra"), values.segment_of(token)),
        instrument_token=token,
        tradingsymbol=fields.required(row, "ScripName", "ScripCode").strip(),
        exchange=values.segment_of(token),
        quantity=fields.quantity(row, "Qty") * (units or 1),
        price=price,
        exchange_order_id=number,
        exchange_trade_id=fields.text(row.get("ExchangeTradeID")),
        trade_timestamp=when,
        exchange_timestamp=when,
        contract_units=units,
    )
