"""Kotak Neo's order book and trade book. `order_row` also reads those frames of the order stream that are complete
enough.

Source: docs/brokers/kotakneo.md, section 4 and recorded rows. Numbers come as numbers or texts; there are five spellings
of "none" (`values.said`).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import attrs

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.contained import order_names, read_rows
from onebroker.brokers.kotakneo import values, wire
from onebroker.brokers.records import Listing, OrderRow, TradeRow
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireResponse

_NAME = order_names(("nOrdNo",), ("GuiOrdId",), values.said)


def order_requests(access: Access, now: datetime) -> ReadFlow:
    yield wire.session_request(access, CallKind.READ, wire.ORDERS)


def parse_orders(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[OrderRow]:
    """Return the day's orders as Kotak lists them."""
    return read_rows(wire.rows(responses[0]), lambda row: order_row(row, listings), _NAME)


def trade_requests(access: Access, now: datetime) -> ReadFlow:
    """Ask for the trades; where they do not give their token, also for the orders, which give it.

    A trade's order stays in the book for good, so the orders are requested again only when another order has traded.
    """
    answer = yield wire.session_request(access, CallKind.READ, wire.TRADES)
    traded = _unnamed(answer)
    if traded:
        orders = wire.session_request(access, CallKind.READ, wire.ORDERS)
        yield attrs.evolve(orders, version=",".join(sorted(traded)))


def parse_trades(responses: Sequence[WireResponse], listings: Mapping[str, Listing]) -> list[TradeRow]:
    """Return the day's trades as Kotak lists them."""
    orders = wire.rows(responses[1]) if len(responses) > 1 else []
    tokens = {str(row.get("nOrdNo")): values.said(row.get("tok")) for row in fields.readable_rows(orders)}
    return read_rows(wire.rows(responses[0]), lambda row: _trade_row(row, listings, tokens))


def order_row(row: Mapping[str, object], listings: Mapping[str, Listing]) -> OrderRow:
    """Return one order in its current state; raise `BadAnswer` for a row that names no order."""
    segment = fields.required(row, "exSeg")
    symbol = fields.required(row, "trdSym", "sym")
    # An order refused because of its instrument may lack the token: it is shown under its symbol.
    token = values.token_of(segment, values.said(row.get("tok")) or symbol)
    units = values.row_units(row, token, listings)
    scale = units or 1
    status = values.status(fields.required(row, "ordSt", "stat"))
    quantity = fields.quantity(row, "qty") * scale
    filled = fields.filled(row, "fldQty", status) * scale
    pending, cancelled = fields.unfilled(status, quantity, filled)
    return OrderRow(
        order_id=fields.required(row, "nOrdNo"),
        status=status,
        transaction_type=values.side(row.get("trnsTp")),
        product=values.product(row.get("prod")),
        order_type=values.order_type(row.get("prcTp")),
        validity=values.validity(row.get("vldt") or row.get("ordDur")),
        instrument_token=token,
        tradingsymbol=symbol,
        exchange=segment,
        quantity=quantity,
        filled_quantity=filled,
        pending_quantity=pending,
        cancelled_quantity=cancelled,
        disclosed_quantity=fields.whole(row.get("dscQty")) * scale,
        price=fields.number(row.get("prc")) or 0.0,
        trigger_price=fields.number(row.get("trgPrc")) or 0.0,
        average_price=fields.number(row.get("avgPrc")) or 0.0,
        exchange_order_id=values.said(row.get("exOrdId")),
        status_message=values.said(row.get("rejRsn")),
        order_timestamp=values.stamp(row.get("ordDtTm")) or values.stamp(row.get("ordEntTm")),
        exchange_timestamp=values.stamp(row.get("exCfmTm")),
        tag=values.said(row.get("GuiOrdId")),
        variety=values.said(row.get("ordGenTp")),
        contract_units=units,
    )


def _unnamed(answer: WireResponse) -> set[str]:
    """Return the orders of trades without a token; an unreadable answer is left to the parser."""
    try:
        rows = fields.readable_rows(wire.rows(answer))
    except (BrokerRefusal, BadAnswer):
        return set()
    return {str(row.get("nOrdNo")) for row in rows if values.said(row.get("tok")) is None}


def _trade_row(
    row: Mapping[str, object], listings: Mapping[str, Listing], tokens: Mapping[str, str | None]
) -> TradeRow:
    segment, symbol = fields.required(row, "exSeg"), fields.required(row, "trdSym")
    order_id = fields.required(row, "nOrdNo")
    # A trade whose order is not in the book is named by its symbol, which is not a token of ours.
    token = values.token_of(segment, values.said(row.get("tok")) or tokens.get(order_id) or symbol)
    units = values.row_units(row, token, listings)
    price = fields.price(row.get("avgPrc"))
    if price is None:
        raise BadAnswer("a trade without a price")
    exchange_time, day, time_of_day = (values.said(row.get(name)) for name in ("exTm", "flDt", "flTm"))
    return TradeRow(
        trade_id=fields.required(row, "flId"),
        order_id=order_id,
        transaction_type=values.side(row.get("trnsTp")),
        product=values.product(row.get("prod")),
        instrument_token=token,
        tradingsymbol=symbol,
        exchange=segment,
        # The row's qty is zero and its prc empty: fldQty and avgPrc hold what was filled.
        quantity=fields.quantity(row, "fldQty") * (units or 1),
        price=price,
        exchange_order_id=values.said(row.get("exOrdId")),
        # The fill's own time; exTm is when the exchange took the order.
        trade_timestamp=f"{day} {time_of_day}" if day and time_of_day else exchange_time,
        exchange_timestamp=exchange_time,
        contract_units=units,
    )
