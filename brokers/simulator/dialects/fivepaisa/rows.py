"""5paisa's JSON rows, made from the exchange's truth. Quantities are in 5paisa's own count, prices in rupees."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import (
    Row,
    day_change,
    depth_rows,
    four_places,
    in_lots,
    percent,
    position_facts,
    rupees,
)
from onebroker.brokers.simulator.dialects.fivepaisa.naming import Name
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
from onebroker.config.vocabulary import Product, Side, Validity

NULL_DATE = "/Date(-62135596800000)/"
PRODUCTS = {Product.CNC: "D", Product.NRML: "D", Product.MIS: "I"}
SIDES = {Side.BUY: "B", Side.SELL: "S"}
_VALIDITIES = {Validity.DAY: 0, Validity.IOC: 3}
_BUY, _SELL = 66, 83


def date_of(moment: datetime | None) -> str:
    """Return a time as REST answers write it: milliseconds since the epoch. The offset is for information only."""
    return NULL_DATE if moment is None else f"/Date({int(moment.timestamp() * 1000)}+0530)/"


def was_triggered(order: SimOrder) -> bool:
    return order.order_type.takes_trigger and order.status in (SimStatus.OPEN, SimStatus.COMPLETE)


def status_word(order: SimOrder) -> str:
    """Return the book's status word. One of the words ends with a blank."""
    if order.status is SimStatus.AFTER_MARKET:
        return "AH Modified" if order.modifications else "AH Placed"
    if order.status is SimStatus.CANCELLED and order.new.after_market and order.exchange_order_id is None:
        return "AH Cancelled"
    if order.status in (SimStatus.OPEN, SimStatus.TRIGGER_PENDING):
        if was_triggered(order) and not order.filled_quantity:
            return "SL Triggered"
        return "Modified" if order.modifications else "Pending"
    return {
        SimStatus.COMPLETE: "Fully Executed",
        SimStatus.CANCELLED: "Cancelled ",
        SimStatus.EXPIRED: "Cancelled",  # 5paisa has no word for expired
        SimStatus.REJECTED: "Rejected By 5P",
    }[order.status]


def request_type(order: SimOrder) -> str:
    if order.status in (SimStatus.CANCELLED, SimStatus.EXPIRED):
        return "C"
    return "M" if order.modifications else "P"


def exchange_number(order: SimOrder) -> str:
    return order.exchange_order_id or "0"


def order_row(order: SimOrder, name: Name, client_id: str) -> Row:
    units = name.units
    return {
        "AHProcess": "N",
        "AfterHours": "Y" if order.new.after_market else "N",
        "AtMarket": "N" if order.order_type.takes_price else "Y",
        "AveragePrice": rupees(order.average_price),
        "BrokerOrderId": int(order.order_id),
        "BrokerOrderTime": date_of(order.placed_at),
        "BuySell": SIDES[order.new.side],
        "DelvIntra": PRODUCTS[order.new.product],
        "DisClosedQty": order.disclosed_quantity // units,
        "Exch": name.exchange,
        "ExchOrderID": exchange_number(order),
        "ExchOrderTime": date_of(order.exchange_at),
        "ExchType": name.kind,
        "MarketLot": name.contract.lot_size // units,
        "OldorderQty": 0,
        "OrderRequesterCode": client_id,
        "OrderStatus": status_word(order),
        "OrderValidUpto": f"{order.placed_at:%d %b %Y}",
        "OrderValidity": _VALIDITIES[order.validity],
        "PendingQty": order.pending_quantity // units,
        "Qty": order.quantity // units,
        "Rate": rupees(order.price),
        "Reason": order.status_message or "",
        "RemoteOrderID": order.new.tag or "",
        "RequestType": request_type(order),
        "SLTriggerRate": rupees(order.trigger_price),
        "SLTriggered": "Y" if was_triggered(order) else "N",
        "SMOProfitRate": 0,
        "SMOSLLimitRate": 0,
        "SMOSLTriggerRate": 0,
        "SMOTrailingSL": 0,
        "ScripCode": name.code,
        "ScripName": name.name,
        "TerminalId": 0,
        "TradedQty": order.filled_quantity // units,
        "WithSL": "Y" if order.order_type.takes_trigger else "N",
    }


def status_row(order: SimOrder, name: Name) -> Row:
    """Return the row for a status request. Its exchange number is a number."""
    units = name.units
    return {
        "AveragePrice": rupees(order.average_price),
        "Exch": name.exchange,
        "ExchOrderID": int(exchange_number(order)),
        "ExchOrderTime": date_of(order.exchange_at),
        "ExchType": name.kind,
        "MtfFlag": "N",
        "OrderQty": order.quantity // units,
        "OrderRate": rupees(order.price),
        "PendingQty": order.pending_quantity // units,
        "ScripCode": name.code,
        "Status": status_word(order).strip(),
        "Symbol": name.symbol,
        "TradedQty": order.filled_quantity // units,
    }


def order_answer(order: SimOrder, name: Name, client_id: str, at: datetime, *, placed: bool) -> Row:
    """Return the answer to place, modify and cancel. A placed order has no exchange number in it yet."""
    return {
        "BrokerOrderID": int(order.order_id),
        "ClientCode": client_id,
        "Exch": name.exchange,
        "ExchOrderID": "0" if placed else exchange_number(order),
        "ExchType": name.kind,
        "LocalOrderID": 0,
        "RMSResponseCode": 1,
        "RemoteOrderID": order.new.tag or "",
        "ScripCode": name.code,
        "Time": date_of(at),
    }


def trade_row(fill: SimFill, order: SimOrder, name: Name) -> Row:
    units = name.units
    return {
        "BuySell": SIDES[fill.side],
        "DelvIntra": PRODUCTS[fill.product],
        "Exch": name.exchange,
        "ExchOrderID": fill.exchange_order_id,
        "ExchType": name.kind,
        "ExchangeTradeID": fill.trade_id,
        "ExchangeTradeTime": date_of(fill.at),
        "Multiplier": units,
        "OrgQty": order.quantity // units,
        "PendingQty": order.pending_quantity // units,
        "Qty": fill.quantity // units,
        "Rate": rupees(fill.price),
        "ScripCode": name.code,
        "ScripName": name.name,
        "TradeType": "R",
    }


def position_row(position: SimPosition, name: Name, market: Market) -> Row:
    """Return one position. Bought and sold units are today's; the carried leg has its own fields."""
    units = name.units
    facts = position_facts(position, market)
    return {
        "BODPositionPrice": rupees(position.overnight_price) if facts.carried else 0,
        "BodQty": in_lots(facts.carried, units),
        "BookedPL": rupees(four_places(facts.realized)),
        "BuyAvgRate": rupees(facts.day_buy.average),
        "BuyQty": facts.day_buy.quantity // units,
        "BuyValue": rupees(facts.day_buy.value),
        "Exch": name.exchange,
        "ExchType": name.kind,
        "LTP": rupees(market.last_price),
        "MTOM": rupees(four_places(facts.unrealized)),
        "Multiplier": units,
        "NetQty": in_lots(facts.quantity, units),
        "OrderFor": PRODUCTS[position.product],
        "PreviousClose": rupees(market.previous_close),
        "ScripCode": name.code,
        "ScripName": name.name,
        "SellAvgRate": rupees(facts.day_sell.average),
        "SellQty": facts.day_sell.quantity // units,
        "SellValue": rupees(facts.day_sell.value),
    }


def holding_row(holding: SimHolding, name: Name, bse_code: int, market: Market) -> Row:
    """Return one holding. Pledged units are part of the demat quantity and have no field of their own. Units bought yesterday are in the pool."""
    settled = holding.settled_quantity + holding.collateral_quantity
    return {
        "AvgRate": rupees(holding.average_price),
        "BseCode": bse_code,
        "CurrentPrice": rupees(market.last_price),
        "DPQty": settled,
        "Exch": name.exchange,
        "ExchType": name.kind,
        "FullName": name.contract.name.upper(),
        "MTFPledge": 0,
        "MTFQty": 0,
        "NseCode": name.code if name.exchange == "N" else 0,
        "POASigned": "N",
        "PoolQty": holding.t1_quantity,
        "Quantity": settled + holding.t1_quantity,
        "ScripMultiplier": 1,
        "Symbol": name.name,
    }


def equity_margin(funds: SimFunds) -> Row:
    return {
        "AdhocMargin": 0,
        "CollateralValueAfterHairCut": rupees(funds.collateral),
        "DPFreeStockValue": 0,
        "DerivativeMargin": rupees(funds.span + funds.exposure),
        "FundsPayln": 0,
        "FundsWithdrawal": 0,
        "GrossHoldingValue": 0,
        "GrossHoldingValueCoverPercentage": 0,
        "HairCut": 0,
        "Ledgerbalance": rupees(funds.opening_cash + funds.realized - funds.delivery),
        "MFCollateralValueAfterHaircut": 0,
        "MarginBlockedForPendingOrders": 0,
        "MarginBlockedforOpenPostion_Cash": rupees(funds.span + funds.exposure),
        "MarginBlockedforOpenPostion_Collateral": 0,
        "MarginBlockedforPendingOrder_Cash": 0,
        "MarginBlockedforPendingOrder_Collateral": 0,
        "MarginUtilized": rupees(funds.used - funds.delivery),
        "NetAvailableMargin": rupees(funds.available),
        "OptionsPremium": rupees(funds.option_premium),
        "TodaysLoss": rupees(max(-funds.realized, Decimal(0))),
        "TotalCollateralValue": rupees(funds.collateral),
        "Unsettled_Credits": 0,
    }


def seconds_of_day(market: Market) -> int:
    moment = from_epoch(market.exchange_time)
    return moment.hour * 3600 + moment.minute * 60 + moment.second


def market_feed_row(name: Name, market: Market) -> Row:
    """Return a market feed row. It has no open."""
    change = day_change(market)
    return {
        "Chg": rupees(change),
        "ChgPcnt": rupees(percent(change, market.previous_close)),
        "Exch": name.exchange,
        "ExchType": name.kind,
        "High": rupees(market.high),
        "LastRate": rupees(market.last_price),
        "Low": rupees(market.low),
        "PClose": rupees(market.previous_close),
        "Symbol": name.name,
        "TickDt": date_of(from_epoch(market.exchange_time)),
        "Time": seconds_of_day(market),
        "Token": name.code,
        "TotalQty": market.volume // name.units,
    }


def snapshot_row(name: Name, market: Market) -> Row:
    return {
        "Exchange": name.exchange,
        "ExchangeType": name.kind,
        "High": rupees(market.high),
        "LastTradedPrice": rupees(market.last_price),
        "LastTradedQty": market.last_quantity // name.units,
        "Low": rupees(market.low),
        "Open": rupees(market.open),
        "OpenInterest": market.oi // name.units,
        "PClose": rupees(market.previous_close),
        "ScripCode": name.code,
        "Volume": market.volume // name.units,
    }


def levels(market: Market, units: int) -> list[Row]:
    """Return five bids, then five asks."""
    return [*_side(market.buy, _BUY, units), *_side(market.sell, _SELL, units)]


def _side(side: Sequence[Level], flag: int, units: int) -> list[Row]:
    def row(level: Level) -> Row:
        return {
            "Quantity": level.quantity // units,
            "Price": rupees(level.price),
            "NumberOfOrders": level.orders,
            "BbBuySellFlag": flag,
        }

    return depth_rows(side, row, {"Quantity": 0, "Price": 0, "NumberOfOrders": 0, "BbBuySellFlag": flag})
