"""Fyers' JSON rows, made from the exchange's truth."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.fyers.naming import Name, rupees
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
from onebroker.config.vocabulary import OrderType, Product, Side

Row = dict[str, object]

STATUSES: Mapping[SimStatus, int] = {
    SimStatus.AFTER_MARKET: 6,
    SimStatus.TRIGGER_PENDING: 6,
    SimStatus.OPEN: 6,
    SimStatus.COMPLETE: 2,
    SimStatus.CANCELLED: 1,
    SimStatus.REJECTED: 5,
    SimStatus.EXPIRED: 7,
}
TYPES = {OrderType.LIMIT: 1, OrderType.MARKET: 2, OrderType.SL_M: 3, OrderType.SL: 4}
SIDES = {Side.BUY: 1, Side.SELL: -1}
PRODUCTS = {Product.CNC: "CNC", Product.MIS: "INTRADAY", Product.NRML: "MARGIN"}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DEPTH_LEVELS = 5
_FOUR_PLACES = Decimal("0.0001")


def stamp(moment: datetime) -> str:
    """Return a time as Fyers writes it: Indian time, with the month's name."""
    return f"{moment.day:02d}-{_MONTHS[moment.month - 1]}-{moment.year} {moment:%H:%M:%S}"


def order_row(order: SimOrder, name: Name, client_id: str) -> Row:
    """Return one order of the book."""
    units = name.units
    status = STATUSES[order.status]
    return {
        "clientId": client_id,
        "id": order.order_id,
        "exchOrdId": order.exchange_order_id or "",
        "parentId": "",
        "slNo": 1,
        "qty": order.quantity // units,
        "remainingQuantity": order.pending_quantity // units,
        "filledQty": order.filled_quantity // units,
        "discloseQty": order.disclosed_quantity // units,
        "disclosedQty": order.disclosed_quantity // units,
        "dqQtyRem": 0,
        "limitPrice": rupees(order.price),
        "stopPrice": rupees(order.trigger_price),
        "tradedPrice": rupees(order.average_price),
        "type": TYPES[order.order_type],
        "fyToken": name.fy_token,
        "exchange": name.exchange,
        "segment": name.segment,
        "instrument": name.exchange_type,
        "symbol": name.ticker,
        "ex_sym": name.contract.identity.symbol or name.contract.identity.underlying_symbol,
        "description": name.contract.name.upper(),
        "offlineOrder": order.new.after_market,
        "orderDateTime": stamp(order.placed_at),
        "orderValidity": order.validity.value,
        "productType": PRODUCTS[order.new.product],
        "side": SIDES[order.new.side],
        "status": status,
        "source": "ITS",
        "pan": "ABCDE1234F",
        "message": order.status_message or "",
        "orderNumStatus": f"{order.order_id}:{status}",
        "orderTag": f"1:{order.new.tag}" if order.new.tag else "2:Untagged",
        "lp": 0.0,
        "ch": 0.0,
        "chp": 0.0,
    }


def trade_row(fill: SimFill, order: SimOrder, name: Name, client_id: str) -> Row:
    return {
        "clientId": client_id,
        "orderDateTime": stamp(fill.at),
        "orderNumber": fill.order_id,
        "exchangeOrderNo": fill.exchange_order_id,
        "exchange": name.exchange,
        "side": SIDES[fill.side],
        "segment": name.segment,
        "orderType": TYPES[order.order_type],
        "fyToken": name.fy_token,
        "productType": PRODUCTS[fill.product],
        "tradedQty": fill.quantity // name.units,
        "tradePrice": rupees(fill.price),
        "tradeValue": rupees(fill.price * fill.quantity),
        "tradeNumber": fill.trade_id,
        "row": fill.trade_id,
        "symbol": name.ticker,
        "orderTag": f"1:{order.new.tag}" if order.new.tag else "1:Untagged",
    }


def position_row(position: SimPosition, name: Name, market: Market, place: int) -> Row:
    """Return a row of the one list. Buy and sell sides include the carried leg."""
    units = name.units
    carried_buy, carried_sell = max(position.overnight_quantity, 0), max(-position.overnight_quantity, 0)
    bought, sold = carried_buy + position.day_buy_quantity, carried_sell + position.day_sell_quantity
    buy_value = carried_buy * position.overnight_price + position.day_buy_value
    sell_value = carried_sell * position.overnight_price + position.day_sell_value
    buy_average, sell_average = _average(buy_value, bought), _average(sell_value, sold)
    quantity = bought - sold
    held = buy_average if quantity > 0 else sell_average if quantity < 0 else Decimal(0)
    closed = min(bought, sold)
    realized = (sell_average - buy_average) * closed
    unrealized = (market.last_price - held) * quantity
    product = PRODUCTS[position.product]
    return {
        "symbol": name.ticker,
        "id": f"{name.ticker}-{product}",
        "buyAvg": rupees(buy_average),
        "buyQty": bought // units,
        "buyVal": rupees(buy_value),
        "sellAvg": rupees(sell_average),
        "sellQty": sold // units,
        "sellVal": rupees(sell_value),
        "netAvg": rupees(held),
        "avgPrice": rupees(held),
        "netQty": (bought // units) - (sold // units),
        "side": (quantity > 0) - (quantity < 0),
        "qty": abs(quantity) // units,
        "productType": product,
        "realized_profit": rupees(realized.quantize(_FOUR_PLACES)),
        "unrealized_profit": rupees(unrealized.quantize(_FOUR_PLACES)),
        "pl": rupees((realized + unrealized).quantize(_FOUR_PLACES)),
        "ltp": rupees(market.last_price),
        "crossCurrency": "",
        "rbiRefRate": 1,
        "fyToken": name.fy_token,
        "exchange": name.exchange,
        "segment": name.segment,
        "dayBuyQty": position.day_buy_quantity // units,
        "daySellQty": position.day_sell_quantity // units,
        "cfBuyQty": carried_buy // units,
        "cfSellQty": carried_sell // units,
        "qtyMulti_com": units,
        "slNo": place,
    }


def positions(rows: list[Row]) -> dict[str, object]:
    overall = {
        "count_total": len(rows),
        "count_open": sum(bool(row["netQty"]) for row in rows),
        "pl_total": _total(rows, "pl"),
        "pl_realized": _total(rows, "realized_profit"),
        "pl_unrealized": _total(rows, "unrealized_profit"),
    }
    return {"netPositions": rows, "overall": overall}


def holding_rows(held: list[tuple[SimHolding, Name, Market]]) -> dict[str, object]:
    """Return the holdings: a row for settled and pledged units, then a separate row for units bought yesterday."""
    rows: list[Row] = []
    for holding, name, market in held:
        settled = holding.settled_quantity + holding.collateral_quantity
        if settled:
            rows.append(_holding_row("HLD", settled, holding, name, market))
        if holding.t1_quantity:
            rows.append(_holding_row("T1", holding.t1_quantity, holding, name, market))
    for place, row in enumerate(rows):
        row["id"] = place
    invested = sum((each.average_price * each.total_quantity for each, _, _ in held), Decimal(0))
    current = sum((market.last_price * each.total_quantity for each, _, market in held), Decimal(0))
    overall = {
        "count_total": len(rows),
        "total_investment": rupees(invested),
        "total_current_value": rupees(current),
        "total_pl": rupees(current - invested),
        "pnl_perc": rupees(((current - invested) * 100 / invested).quantize(_FOUR_PLACES)) if invested else 0.0,
    }
    return {"holdings": rows, "overall": overall}


def _holding_row(kind: str, quantity: int, holding: SimHolding, name: Name, market: Market) -> Row:
    pledged = holding.collateral_quantity if kind == "HLD" else 0
    return {
        "holdingType": kind,
        "quantity": quantity,
        "remainingQuantity": quantity - pledged,
        "costPrice": rupees(holding.average_price),
        "marketVal": rupees(market.last_price * quantity),
        "ltp": rupees(market.last_price),
        "pl": rupees((market.last_price - holding.average_price) * quantity),
        "id": 0,
        "fyToken": int(name.fy_token),  # a bare number in this answer only
        "exchange": name.exchange,
        "segment": name.segment,
        "symbol": name.ticker,
        "isin": name.contract.isin,
        "qty_t1": 0,
        "remainingPledgeQuantity": -1,
        "collateralQuantity": pledged,
    }


def funds(funds: SimFunds) -> list[Row]:
    """Return the lines. All of the account's money is in the equity purse."""
    lines = (
        (1, "Total Balance", funds.opening_cash + funds.collateral + funds.realized),
        (2, "Utilized Amount", funds.used),
        (3, "Clear Balance", funds.opening_cash),
        (4, "Realized Profit and Loss", funds.realized),
        (5, "Collaterals", funds.collateral),
        (6, "Fund Transfer", Decimal(0)),
        (7, "Receivables", Decimal(0)),
        (8, "Adhoc Limit", Decimal(0)),
        (9, "Limit at start of the day", funds.opening_cash),
        (10, "Available Balance", funds.available),
    )
    return [
        {"id": number, "title": title, "equityAmount": rupees(amount), "commodityAmount": 0}
        for number, title, amount in lines
    ]


def order_margins(needed: Blocked, funds: SimFunds) -> Row:
    """Return what orders need together: by themselves, and added to what the account already uses."""
    return {
        "margin_avail": rupees(funds.available),
        "margin_total": rupees(needed.total),
        "margin_new_order": rupees(funds.used + needed.total),
    }


def quote_row(name: Name, market: Market) -> Row:
    change = market.last_price - market.previous_close
    best_ask, best_bid = _best(market.sell), _best(market.buy)
    quote = {
        "ch": rupees(change),
        "chp": _percent(change, market.previous_close),
        "lp": rupees(market.last_price),
        "spread": rupees(best_ask - best_bid),
        "ask": rupees(best_ask),
        "bid": rupees(best_bid),
        "open_price": rupees(market.open),
        "high_price": rupees(market.high),
        "low_price": rupees(market.low),
        "prev_close_price": rupees(market.previous_close),
        "atp": rupees(market.average_price),
        "volume": market.volume // name.units,
        "short_name": name.ticker.partition(":")[2],
        "exchange": name.ticker.partition(":")[0],
        "description": name.ticker,
        "original_name": name.ticker,
        "symbol": name.ticker,
        "fyToken": name.fy_token,
        "tt": str(int(market.exchange_time)),
    }
    return {"n": name.ticker, "s": "ok", "v": quote}


def unknown_quote(ticker: str) -> Row:
    """Return the refusal of one bad symbol inside a good answer."""
    return {"n": ticker, "s": "error", "v": {"code": -300, "errmsg": "invalid symbol", "symbol": ticker}}


def depth_row(name: Name, market: Market, *, with_day: bool) -> Row:
    units = name.units
    row: Row = {
        "totalbuyqty": market.buy_quantity // units,
        "totalsellqty": market.sell_quantity // units,
        "bids": _levels(market.buy, units),
        "ask": _levels(market.sell, units),
    }
    if not with_day:
        return row
    change = market.last_price - market.previous_close
    return row | {
        "o": rupees(market.open),
        "h": rupees(market.high),
        "l": rupees(market.low),
        "c": rupees(market.previous_close),
        "chp": _percent(change, market.previous_close),
        "tick_Size": rupees(name.contract.tick_size),
        "ch": rupees(change),
        "ltq": market.last_quantity // units,
        "ltt": int(market.last_trade_time),
        "ltp": rupees(market.last_price),
        "v": market.volume // units,
        "atp": rupees(market.average_price),
        "lower_ckt": rupees(market.lower_circuit),
        "upper_ckt": rupees(market.upper_circuit),
        "expiry": name.contract.identity.expiry_date or "",
        "oi": market.oi // units,
        "oiflag": bool(market.oi),
        "pdoi": market.oi // units,
        "oipercent": 0.0,
    }


def _best(levels: tuple[Level, ...]) -> Decimal:
    return levels[0].price if levels else Decimal(0)


def _levels(levels: tuple[Level, ...], units: int) -> list[Row]:
    rows: list[Row] = [
        {"price": rupees(level.price), "volume": level.quantity // units, "ord": level.orders}
        for level in levels[:_DEPTH_LEVELS]
    ]
    return rows + [{"price": 0, "volume": 0, "ord": 0}] * (_DEPTH_LEVELS - len(rows))


def _average(value: Decimal, quantity: int) -> Decimal:
    return (value / quantity).quantize(_FOUR_PLACES) if quantity else Decimal(0)


def _percent(change: Decimal, base: Decimal) -> float:
    return rupees((change * 100 / base).quantize(_FOUR_PLACES)) if base else 0.0


def _total(rows: list[Row], name: str) -> float:
    return rupees(sum((Decimal(str(row[name])) for row in rows), Decimal(0)))
