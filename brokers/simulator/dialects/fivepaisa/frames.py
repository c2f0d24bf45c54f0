"""What 5paisa's socket sends: quotes, depth, open interest, order messages. Quantities are in 5paisa's own count, prices in rupees."""

from onebroker.brokers.simulator.dialects.facts import Row, day_change, percent, rupees, stamp
from onebroker.brokers.simulator.dialects.fivepaisa.naming import Name
from onebroker.brokers.simulator.dialects.fivepaisa.rows import (
    PRODUCTS,
    SIDES,
    exchange_number,
    levels,
    request_type,
    seconds_of_day,
    status_word,
)
from onebroker.brokers.simulator.world.model import Market, SimFill, SimOrder, SimStatus


def quote_frame_row(name: Name, market: Market) -> Row:
    """Return a complete quote of the stream."""
    units = name.units
    bid, ask = (side[0] if side else None for side in (market.buy, market.sell))
    return {
        "Exch": name.exchange,
        "ExchType": name.kind,
        "Token": name.code,
        "LastRate": rupees(market.last_price),
        "LastQty": market.last_quantity // units,
        "TotalQty": market.volume // units,
        "High": rupees(market.high),
        "Low": rupees(market.low),
        "OpenRate": rupees(market.open),
        "PClose": rupees(market.previous_close),
        "AvgRate": rupees(market.average_price),
        "Time": seconds_of_day(market),
        "BidQty": bid.quantity // units if bid else 0,
        "BidRate": rupees(bid.price) if bid else 0,
        "OffQty": ask.quantity // units if ask else 0,
        "OffRate": rupees(ask.price) if ask else 0,
        "TBidQ": market.buy_quantity // units,
        "TOffQ": market.sell_quantity // units,
        "TickDt": f"/Date({int(market.exchange_time * 1000)})/",
        "ChgPcnt": rupees(percent(day_change(market), market.previous_close)),
    }


def depth_frame(name: Name, market: Market) -> Row:
    units = name.units
    return {
        "Exch": name.exchange,
        "ExchType": name.kind,
        "Token": name.code,
        "TBidQ": market.buy_quantity // units,
        "TOffQ": market.sell_quantity // units,
        "Details": levels(market, units),
        "TimeStamp": 0,
        "Time": f"/Date({int(market.exchange_time * 1000)})/",
    }


def open_interest_frame(name: Name, market: Market) -> Row:
    units = name.units
    return {
        "Exch": name.exchange,
        "ExchType": name.kind,
        "Token": name.code,
        "OpenInterest": market.oi // units,
        "DayHiOI": market.oi_day_high // units,
        "DayLoOI": market.oi_day_low // units,
    }


def _message_head(kind: str, order: SimOrder, name: Name, client_id: str) -> Row:
    head: Row = {
        "ReqType": kind,
        "ClientCode": client_id,
        "Exch": name.exchange,
        "ExchType": name.kind,
        "ScripCode": name.code,
        "Symbol": name.symbol,
        "ExchOrderID": exchange_number(order),
        "BuySell": SIDES[order.new.side],
        "Product": PRODUCTS[order.new.product],
        "RemoteOrderId": order.new.tag or "",
        "ReqStatus": 0,
        "Remark": "",
    }
    return head | {"Series": name.contract.series} if name.is_cash else head


def confirmation(order: SimOrder, name: Name, client_id: str) -> Row:
    """Return the message of a place, a modify or a cancel."""
    units = name.units
    kind = request_type(order)
    refused = order.status is SimStatus.REJECTED
    word = {"P": "Placed", "M": "Modified", "C": "Cancelled"}[kind]
    if order.status in (SimStatus.AFTER_MARKET, SimStatus.REJECTED, SimStatus.COMPLETE):
        word = status_word(order)
    return _message_head(kind, order, name, client_id) | {
        "BrokerOrderID": int(order.order_id),
        "ExchOrderTime": stamp(order.exchange_at) or "",
        "Qty": order.quantity // units,
        "Price": rupees(order.price),
        "PendingQty": order.pending_quantity // units,
        "TradedQty": order.filled_quantity // units,
        "AtMarket": "N" if order.order_type.takes_price else "Y",
        "WithSL": "Y" if order.order_type.takes_trigger else "N",
        "SLTriggerRate": rupees(order.trigger_price),
        "DisclosedQty": order.disclosed_quantity // units,
        "ReqStatus": int(refused),
        "Status": word,
        "Remark": order.status_message or "",
    }


def fill_message(order: SimOrder, fill: SimFill, name: Name, client_id: str) -> Row:
    """Return the message of a fill. It lacks the broker's own order number."""
    units = name.units
    whole = order.filled_quantity == order.quantity
    return _message_head("T", order, name, client_id) | {
        "ExchTradeId": fill.trade_id,
        "ExchTradeTime": stamp(fill.at) or "",
        "Qty": fill.quantity // units,
        "Price": rupees(fill.price),
        "PendingQty": (order.quantity - order.filled_quantity) // units,
        "TotalTradedQty": order.filled_quantity // units,
        "OrderQty": order.quantity // units,
        "OrderPrice": rupees(order.price),
        "Status": "Fully Executed" if whole else "Partially Executed",
    }


def trigger_message(order: SimOrder, name: Name, client_id: str) -> Row:
    """Return the message of a triggered stop. It also lacks the broker's own order number."""
    return _message_head("S", order, name, client_id) | {
        "OrderPrice": rupees(order.price),
        "SLTriggerRate": rupees(order.trigger_price),
        "SLTriggerTime": stamp(order.updated_at) or "",
        "Qty": order.quantity // name.units,
        "Status": "SL Triggered",
    }
