"""Dhan's JSON rows made from the exchange's truth."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.dhan.naming import Name
from onebroker.brokers.simulator.dialects.facts import (
    Row,
    day_change,
    depth_rows,
    four_places,
    position_facts,
    rupees,
    stamp,
)
from onebroker.brokers.simulator.exchange.risk import Blocked
from onebroker.brokers.simulator.world.model import (
    Level,
    Market,
    SimFill,
    SimFunds,
    SimHolding,
    SimOrder,
    SimPosition,
    SimStatus,
)
from onebroker.config.clock import from_epoch
from onebroker.config.vocabulary import OrderType, Product

STATUSES: Mapping[SimStatus, str] = {
    SimStatus.AFTER_MARKET: "TRANSIT",
    SimStatus.TRIGGER_PENDING: "PENDING",
    SimStatus.OPEN: "PENDING",
    SimStatus.COMPLETE: "TRADED",
    SimStatus.CANCELLED: "CANCELLED",
    SimStatus.REJECTED: "REJECTED",
    SimStatus.EXPIRED: "EXPIRED",
}
PRODUCTS = {Product.CNC: "CNC", Product.NRML: "MARGIN", Product.MIS: "INTRADAY"}
ORDER_TYPES = {
    OrderType.MARKET: "MARKET", OrderType.LIMIT: "LIMIT", OrderType.SL: "STOP_LOSS", OrderType.SL_M: "STOP_LOSS_MARKET",
}  # fmt: skip
NO_TIME = "0001-01-01 00:00:00"
_EMPTY_LEVEL = {"quantity": 0, "orders": 0, "price": 0.0}


def time_text(moment: datetime | None) -> str:
    """Return a time as Dhan writes it: Indian time without an offset, and a placeholder for no time."""
    return stamp(moment) or NO_TIME


def status_word(order: SimOrder) -> str:
    if order.status is SimStatus.OPEN and order.filled_quantity:
        return "PART_TRADED"
    return STATUSES[order.status]


def accepted(order: SimOrder) -> Row:
    """Return the answer to a placed or modified order: in transit, or refused by the exchange at once."""
    refused = order.status is SimStatus.REJECTED
    answer: Row = {"orderId": order.order_id, "orderStatus": "REJECTED" if refused else "TRANSIT"}
    return answer | {"omsErrorDescription": order.status_message} if refused else answer


def order_row(order: SimOrder, name: Name, client_id: str) -> Row:
    units = name.units
    return {
        "dhanClientId": client_id,
        "orderId": order.order_id,
        "exchangeOrderId": order.exchange_order_id or "0",
        "correlationId": order.new.tag or "",
        "orderStatus": status_word(order),
        "transactionType": order.new.side.value,
        "exchangeSegment": name.segment,
        "productType": PRODUCTS[order.new.product],
        "orderType": ORDER_TYPES[order.order_type],
        "validity": order.validity.value,
        "tradingSymbol": name.tradingsymbol,
        "securityId": str(name.security_id),
        "quantity": order.quantity // units,
        "disclosedQuantity": order.disclosed_quantity // units,
        "price": rupees(order.price),
        "triggerPrice": rupees(order.trigger_price),
        "afterMarketOrder": order.new.after_market,
        "boProfitValue": 0.0,
        "boStopLossValue": 0.0,
        "legName": None,
        "createTime": time_text(order.placed_at),
        "updateTime": time_text(order.updated_at),
        "exchangeTime": time_text(order.exchange_at),
        **_contract_fields(name),
        "omsErrorCode": "0" if order.status is not SimStatus.REJECTED else "DH-906",
        "omsErrorDescription": order.status_message,
        "algoId": "0",
        "remainingQuantity": (order.quantity - order.filled_quantity) // units,
        "averageTradedPrice": rupees(order.average_price),
        "filledQty": order.filled_quantity // units,
    }


def trade_row(fill: SimFill, order: SimOrder, name: Name, client_id: str) -> Row:
    return {
        "dhanClientId": client_id,
        "orderId": fill.order_id,
        "exchangeOrderId": fill.exchange_order_id,
        "exchangeTradeId": fill.trade_id,
        "transactionType": fill.side.value,
        "exchangeSegment": name.segment,
        "productType": PRODUCTS[fill.product],
        "orderType": ORDER_TYPES[order.order_type],
        "tradingSymbol": name.tradingsymbol,
        "customSymbol": name.display,
        "securityId": str(name.security_id),
        "tradedQuantity": fill.quantity // name.units,
        "tradedPrice": rupees(fill.price),
        "createTime": time_text(order.placed_at),
        "updateTime": NO_TIME,
        "exchangeTime": time_text(fill.at),
        **_contract_fields(name),
    }


def position_row(position: SimPosition, name: Name, market: Market, client_id: str) -> Row:
    """Return a row of the one list. Values are rupees; quantities are lots where Dhan counts in lots."""
    units = name.units
    facts = position_facts(position, market)
    bought, sold = facts.bought.quantity // units, facts.sold.quantity // units
    return {
        "dhanClientId": client_id,
        "tradingSymbol": name.tradingsymbol,
        "securityId": str(name.security_id),
        "positionType": "LONG" if facts.quantity > 0 else "SHORT" if facts.quantity < 0 else "CLOSED",
        "exchangeSegment": name.segment,
        "productType": PRODUCTS[position.product],
        "buyAvg": rupees(facts.bought.average),
        "costPrice": rupees(facts.held_price),
        "buyQty": bought,
        "sellAvg": rupees(facts.sold.average),
        "sellQty": sold,
        "netQty": bought - sold,
        "realizedProfit": rupees(four_places(facts.realized)),
        "unrealizedProfit": rupees(four_places(facts.unrealized)),
        "rbiReferenceRate": 1.0,
        "multiplier": units,
        "carryForwardBuyQty": facts.carried_buy.quantity // units,
        "carryForwardSellQty": facts.carried_sell.quantity // units,
        "carryForwardBuyValue": rupees(facts.carried_buy.value),
        "carryForwardSellValue": rupees(facts.carried_sell.value),
        "dayBuyQty": facts.day_buy.quantity // units,
        "daySellQty": facts.day_sell.quantity // units,
        "dayBuyValue": rupees(facts.day_buy.value),
        "daySellValue": rupees(facts.day_sell.value),
        **_contract_fields(name),
        "crossCurrency": False,
    }


def holding_row(holding: SimHolding, name: Name, market: Market) -> Row:
    """Return one holding. Dhan's total includes T1 and pledged units, and a holding is not split by exchange."""
    return {
        "exchange": "ALL",
        "tradingSymbol": name.tradingsymbol,
        "securityId": str(name.security_id),
        "isin": name.contract.isin,
        "totalQty": holding.total_quantity,
        "dpQty": holding.settled_quantity + holding.collateral_quantity,
        "t1Qty": holding.t1_quantity,
        "availableQty": holding.settled_quantity,
        "collateralQty": holding.collateral_quantity,
        "avgCostPrice": rupees(holding.average_price),
        "lastTradedPrice": rupees(market.last_price),
    }


def funds(funds: SimFunds, client_id: str) -> Row:
    """Return the funds. Two keys are misspelt, as on the wire. A realised profit reduces the used amount."""
    return {
        "dhanClientId": client_id,
        "availabelBalance": rupees(funds.available),
        "sodLimit": rupees(funds.opening_cash),
        "collateralAmount": rupees(funds.collateral),
        "receiveableAmount": 0.0,
        "utilizedAmount": rupees(funds.used - funds.realized),
        "blockedPayoutAmount": 0.0,
        "withdrawableBalance": rupees(max(funds.available - funds.collateral, Decimal(0))),
    }


def order_margin(blocked: Blocked, funds: SimFunds) -> Row:
    """Return what one order needs. The brokerage is not in the total, and leverage is a text."""
    return {
        "totalMargin": rupees(blocked.total),
        "spanMargin": rupees(blocked.span),
        "exposureMargin": rupees(blocked.exposure),
        "availableBalance": rupees(funds.available),
        "variableMargin": rupees(blocked.option_premium + blocked.delivery),
        "insufficientBalance": rupees(max(blocked.total - funds.available, Decimal(0))),
        "brokerage": 0.0,
        "leverage": "1.00",
    }


def ltp_row(name: Name, market: Market) -> Row:
    return {"last_price": rupees(market.last_price)}


def ohlc_row(name: Name, market: Market) -> Row:
    """Return the price and the day's OHLC. The close is the previous one while the market is open."""
    day = {
        "open": rupees(market.open),
        "close": rupees(market.previous_close),
        "high": rupees(market.high),
        "low": rupees(market.low),
    }
    return {"last_price": rupees(market.last_price), "ohlc": day}


def quote_row(name: Name, market: Market) -> Row:
    units = name.units
    return {
        "average_price": rupees(market.average_price),
        "buy_quantity": market.buy_quantity // units,
        "depth": {"buy": _levels(market.buy, units), "sell": _levels(market.sell, units)},
        "last_price": rupees(market.last_price),
        "last_quantity": market.last_quantity // units,
        "last_trade_time": from_epoch(market.last_trade_time).strftime("%d/%m/%Y %H:%M:%S"),
        "lower_circuit_limit": rupees(market.lower_circuit),
        "net_change": rupees(day_change(market)),
        "ohlc": ohlc_row(name, market)["ohlc"],
        "oi": market.oi // units,
        "oi_day_high": market.oi_day_high // units,
        "oi_day_low": market.oi_day_low // units,
        "sell_quantity": market.sell_quantity // units,
        "upper_circuit_limit": rupees(market.upper_circuit),
        "volume": market.volume // units,
    }


def _contract_fields(name: Name) -> Row:
    return {
        "drvExpiryDate": name.expiry or "0001-01-01",
        "drvOptionType": name.option_type,
        "drvStrikePrice": name.strike,
    }


def _levels(levels: tuple[Level, ...], units: int) -> list[Row]:
    def row(level: Level) -> Row:
        return {"quantity": level.quantity // units, "orders": level.orders, "price": rupees(level.price)}

    return depth_rows(levels, row, _EMPTY_LEVEL)
