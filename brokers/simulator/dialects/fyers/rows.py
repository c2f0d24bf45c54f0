"""Fyers' JSON rows, made from the exchange's truth."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import (
    Row,
    day_change,
    depth_rows,
    four_places,
    percent,
    position_facts,
    rupees,
)
from onebroker.brokers.simulator.dialects.fyers.naming import Name
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
_EMPTY_LEVEL = {"price": 0, "volume": 0, "ord": 0}


def time_text(moment: datetime) -> str:
    """Return a time as Fyers writes it: Indian time, with the month's name."""
    return f"{moment:%d-%b-%Y %H:%M:%S}"


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
        "orderDateTime": time_text(order.placed_at),
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
        "orderDateTime": time_text(fill.at),
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
    units, facts, product = name.units, position_facts(position, market), PRODUCTS[position.product]
    bought, sold, quantity = facts.bought.quantity // units, facts.sold.quantity // units, facts.quantity
    return {
        "symbol": name.ticker,
        "id": f"{name.ticker}-{product}",
        "buyAvg": rupees(facts.bought.average),
        "buyQty": bought,
        "buyVal": rupees(facts.bought.value),
        "sellAvg": rupees(facts.sold.average),
        "sellQty": sold,
        "sellVal": rupees(facts.sold.value),
        "netAvg": rupees(facts.held_price),
        "avgPrice": rupees(facts.held_price),
        "netQty": bought - sold,
        "side": (quantity > 0) - (quantity < 0),
        "qty": abs(quantity) // units,
        "productType": product,
        "realized_profit": rupees(four_places(facts.realized)),
        "unrealized_profit": rupees(four_places(facts.unrealized)),
        "pl": rupees(four_places(facts.realized + facts.unrealized)),
        "ltp": rupees(market.last_price),
        "crossCurrency": "",
        "rbiRefRate": 1,
        "fyToken": name.fy_token,
        "exchange": name.exchange,
        "segment": name.segment,
        "dayBuyQty": facts.day_buy.quantity // units,
        "daySellQty": facts.day_sell.quantity // units,
        "cfBuyQty": facts.carried_buy.quantity // units,
        "cfSellQty": facts.carried_sell.quantity // units,
        "qtyMulti_com": units,
        "slNo": place,
    }


def positions(rows: list[Row]) -> Row:
    """Return the list of positions, and the totals of its rows."""
    overall = {
        "count_total": len(rows),
        "count_open": sum(bool(row["netQty"]) for row in rows),
        "pl_total": _total(rows, "pl"),
        "pl_realized": _total(rows, "realized_profit"),
        "pl_unrealized": _total(rows, "unrealized_profit"),
    }
    return {"netPositions": rows, "overall": overall}


def holdings(held: Sequence[tuple[SimHolding, Name, Market]]) -> Row:
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
    invested = sum((holding.average_price * holding.total_quantity for holding, _, _ in held), Decimal(0))
    current = sum((market.last_price * holding.total_quantity for holding, _, market in held), Decimal(0))
    overall = {
        "count_total": len(rows),
        "total_investment": rupees(invested),
        "total_current_value": rupees(current),
        "total_pl": rupees(current - invested),
        "pnl_perc": rupees(percent(current - invested, invested)),
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
    change = day_change(market)
    best_ask, best_bid = _best(market.sell), _best(market.buy)
    quote = {
        "ch": rupees(change),
        "chp": rupees(percent(change, market.previous_close)),
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
    change = day_change(market)
    return row | {
        "o": rupees(market.open),
        "h": rupees(market.high),
        "l": rupees(market.low),
        "c": rupees(market.previous_close),
        "chp": rupees(percent(change, market.previous_close)),
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
    def row(level: Level) -> Row:
        return {"price": rupees(level.price), "volume": level.quantity // units, "ord": level.orders}

    return depth_rows(levels, row, _EMPTY_LEVEL)


def _total(rows: list[Row], name: str) -> float:
    return rupees(sum((Decimal(str(row[name])) for row in rows), Decimal(0)))
