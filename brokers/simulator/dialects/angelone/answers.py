"""SmartAPI's JSON rows, made from the exchange's truth. Most rows carry numbers as texts, as the real ones do."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.angelone.naming import Name, digits, lots, rupees
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

Row = dict[str, object]

RECEIVED = ("AB09", "open pending")
STATUSES: Mapping[SimStatus, tuple[str, str]] = {
    SimStatus.AFTER_MARKET: ("AB06", "after market order req received"),
    SimStatus.TRIGGER_PENDING: ("AB10", "trigger pending"),
    SimStatus.OPEN: ("AB01", "open"),
    SimStatus.COMPLETE: ("AB05", "complete"),
    SimStatus.CANCELLED: ("AB02", "cancelled"),
    SimStatus.REJECTED: ("AB03", "rejected"),
    SimStatus.EXPIRED: ("AB02", "cancelled"),  # SmartAPI has no word for expired
}
PRODUCTS = {Product.CNC: "DELIVERY", Product.MIS: "INTRADAY", Product.NRML: "CARRYFORWARD"}
ORDER_TYPES = {
    OrderType.MARKET: "MARKET",
    OrderType.LIMIT: "LIMIT",
    OrderType.SL: "STOPLOSS_LIMIT",
    OrderType.SL_M: "STOPLOSS_MARKET",
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DEPTH_LEVELS = 5
_NAMESPACE = uuid.UUID("5a1c8c0e-90f7-4a4e-9d0b-0f6f6a7a3c11")


def stamp(moment: datetime | None) -> str:
    """Return a time as SmartAPI writes it: `20-Oct-2020 13:10:59`, Indian time."""
    if moment is None:
        return ""
    return f"{moment.day:02d}-{_MONTHS[moment.month - 1]}-{moment.year} {moment:%H:%M:%S}"


def unique_id(order: SimOrder) -> str:
    return str(uuid.uuid5(_NAMESPACE, order.order_id))


def variety(order: SimOrder) -> str:
    if order.new.after_market:
        return "AMO"
    return "STOPLOSS" if order.new.order_type.takes_trigger else "NORMAL"


def status_of(order: SimOrder) -> tuple[str, str]:
    """Return the order's status as the order socket's code and the book's word."""
    if order.status is SimStatus.CANCELLED and order.new.after_market and order.exchange_order_id is None:
        return ("AB07", "cancelled after market order")
    return STATUSES[order.status]


def order_row(order: SimOrder, name: Name) -> Row:
    """Return one order of the book. Prices are numbers, quantities are texts."""
    units = name.units
    word = status_of(order)[1]
    return {
        "variety": variety(order),
        "ordertype": ORDER_TYPES[order.order_type],
        "producttype": PRODUCTS[order.new.product],
        "duration": order.validity.value,
        "price": rupees(order.price),
        "triggerprice": rupees(order.trigger_price),
        "quantity": str(order.quantity // units),
        "disclosedquantity": str(order.disclosed_quantity // units),
        "squareoff": 0.0,
        "stoploss": 0.0,
        "trailingstoploss": 0.0,
        "tradingsymbol": name.tradingsymbol,
        "transactiontype": order.new.side.value,
        "exchange": name.exchange,
        "symboltoken": name.token,
        "ordertag": order.new.tag or "",
        **_contract(name),
        "lotsize": str(name.contract.lot_size if name.exchange != "CDS" else 1),
        "cancelsize": str(order.cancelled_quantity // units),
        "averageprice": rupees(order.average_price),
        "filledshares": str(order.filled_quantity // units),
        "unfilledshares": str((order.quantity - order.filled_quantity) // units),
        "orderid": order.order_id,
        "text": order.status_message or "",
        "status": word,
        "orderstatus": word,
        "updatetime": stamp(order.updated_at),
        "exchtime": stamp(order.exchange_at),
        "exchorderupdatetime": stamp(order.exchange_at),
        "fillid": "",
        "filltime": "",
        "parentorderid": "",
        "uniqueorderid": unique_id(order),
        "exchangeorderid": order.exchange_order_id or "",
    }


def received_row(row: Row) -> Row:
    """Return an order's row at the moment when SmartAPI has taken the order and has not yet passed it on."""
    return row | {
        "status": RECEIVED[1],
        "orderstatus": RECEIVED[1],
        "averageprice": 0.0,
        "filledshares": "0",
        "unfilledshares": row["quantity"],
        "cancelsize": "0",
        "text": "",
        "exchtime": "",
        "exchorderupdatetime": "",
        "exchangeorderid": "",
    }


def _contract(name: Name) -> Row:
    """The fields of a derivative. The order and trade books fill them for a share too."""
    identity = name.contract.identity
    return {
        "instrumenttype": name.instrument_type,
        "strikeprice": identity.strike_price if identity.strike_price is not None else -1.0,
        "optiontype": identity.option_type or ("XX" if name.instrument_type.startswith("FUT") else ""),
        "expirydate": name.expiry,
    }


def trade_row(fill: SimFill, name: Name) -> Row:
    """Return one trade. It names neither its token nor its day."""
    contracts = fill.quantity // name.units
    return {
        "exchange": name.exchange,
        "producttype": PRODUCTS[fill.product],
        "tradingsymbol": name.tradingsymbol,
        "symbolgroup": name.contract.series or "XX",
        **_contract(name),
        "marketlot": str(name.contract.lot_size if name.exchange != "CDS" else 1),
        "precision": "4" if name.exchange == "CDS" else "2",
        "multiplier": "-1",
        "tradevalue": digits(fill.price * fill.quantity),
        "transactiontype": fill.side.value,
        "fillprice": digits(fill.price),
        "fillsize": str(contracts),
        "orderid": fill.order_id,
        "fillid": fill.trade_id,
        "filltime": fill.at.strftime("%H:%M:%S"),
    }


def position_row(position: SimPosition, name: Name, market: Market) -> Row:
    """Return a row of the one list. Its buy and sell sides include the carried leg, which the cf fields also show separately."""
    units = name.units
    carried = position.overnight_quantity
    cf_buy, cf_sell = max(carried, 0), max(-carried, 0)
    cf_buy_amount, cf_sell_amount = (each * position.overnight_price for each in (cf_buy, cf_sell))
    bought, sold = cf_buy + position.day_buy_quantity, cf_sell + position.day_sell_quantity
    bought_for, sold_for = cf_buy_amount + position.day_buy_value, cf_sell_amount + position.day_sell_value
    buy_average, sell_average = _average(bought_for, bought), _average(sold_for, sold)
    quantity = position.quantity
    value = sold_for - bought_for
    closed = min(bought, sold)
    realised = (sell_average - buy_average) * closed if closed else Decimal(0)
    held = buy_average if quantity > 0 else sell_average
    unrealised = (market.last_price - held) * quantity
    return {
        "exchange": name.exchange,
        "symboltoken": name.token,
        "producttype": PRODUCTS[position.product],
        "tradingsymbol": name.tradingsymbol,
        "symbolname": name.short_name,
        "instrumenttype": name.instrument_type,
        "priceden": "1",
        "pricenum": "1",
        "genden": "1",
        "gennum": "1",
        "precision": "4" if name.exchange == "CDS" else "2",
        "multiplier": "-1",
        "boardlotsize": "1",
        "buyqty": str(bought // units),
        "sellqty": str(sold // units),
        "buyamount": digits(bought_for),
        "sellamount": digits(sold_for),
        "symbolgroup": name.contract.series or "XX",
        "strikeprice": str(_contract(name)["strikeprice"]),
        "optiontype": name.contract.identity.option_type or "",
        "expirydate": name.expiry,
        "lotsize": str(name.contract.lot_size if name.exchange != "CDS" else 1),
        "cfbuyqty": str(cf_buy // units),
        "cfsellqty": str(cf_sell // units),
        "cfbuyamount": digits(cf_buy_amount),
        "cfsellamount": digits(cf_sell_amount),
        "buyavgprice": digits(buy_average),
        "sellavgprice": digits(sell_average),
        "avgnetprice": digits(_average(abs(value), abs(quantity))),
        "netvalue": f"{'-' if value < 0 else ''} {digits(abs(value))}".strip(),
        "netqty": str(lots(quantity, units)),
        "totalbuyvalue": digits(bought_for),
        "totalsellvalue": digits(sold_for),
        "cfbuyavgprice": digits(position.overnight_price if cf_buy else None),
        "cfsellavgprice": digits(position.overnight_price if cf_sell else None),
        "totalbuyavgprice": digits(buy_average),
        "totalsellavgprice": digits(sell_average),
        "netprice": digits(_average(abs(value), abs(quantity))),
        "realised": digits(realised),
        "unrealised": digits(unrealised),
        "ltp": digits(market.last_price),
        "close": digits(market.previous_close),
        "pnl": digits(realised + unrealised),
    }


def _average(value: Decimal, quantity: int) -> Decimal:
    return (value / quantity).quantize(Decimal("0.0001")) if quantity else Decimal(0)


def holding_row(holding: SimHolding, name: Name, market: Market) -> Row:
    """Return one holding. Its numbers are JSON numbers. The quantity includes pledged and T1 units."""
    gain = (market.last_price - holding.average_price) * holding.total_quantity
    cost = holding.average_price * holding.total_quantity
    return {
        "tradingsymbol": name.tradingsymbol,
        "exchange": name.exchange,
        "isin": name.contract.isin or "",
        "t1quantity": holding.t1_quantity,
        "realisedquantity": holding.settled_quantity + holding.collateral_quantity,
        "quantity": holding.total_quantity,
        "authorisedquantity": 0,
        "product": "DELIVERY",
        "collateralquantity": holding.collateral_quantity or None,
        "collateraltype": "WC" if holding.collateral_quantity else None,
        "haircut": 0.0,
        "averageprice": rupees(holding.average_price),
        "ltp": rupees(market.last_price),
        "symboltoken": name.token,
        "close": rupees(market.previous_close),
        "profitandloss": rupees(gain.quantize(Decimal("0.01"))),
        "pnlpercentage": rupees((gain * 100 / cost).quantize(Decimal("0.01"))) if cost else 0.0,
    }


def all_holdings(rows: Sequence[Row], held: Sequence[tuple[SimHolding, Market]]) -> Row:
    """Return the holdings and their totals."""
    now = sum((market.last_price * holding.total_quantity for holding, market in held), Decimal(0))
    paid = sum((holding.average_price * holding.total_quantity for holding, _ in held), Decimal(0))
    return {
        "holdings": list(rows),
        "totalholding": {
            "totalholdingvalue": rupees(now),
            "totalinvvalue": rupees(paid),
            "totalprofitandloss": rupees(now - paid),
            "totalpnlpercentage": rupees(((now - paid) * 100 / paid).quantize(Decimal("0.01"))) if paid else 0.0,
        },
    }


def order_margins(blocked: Blocked) -> Row:
    """Return the total need of a body's positions. SmartAPI has no separate component for exposure."""
    return {
        "totalMarginRequired": rupees(blocked.total),
        "marginComponents": {
            "netPremium": rupees(blocked.option_premium),
            "spanMargin": rupees(blocked.span + blocked.exposure),
            "marginBenefit": 0,
            "deliveryMargin": rupees(blocked.delivery),
            "nonNFOMargin": 0,
            "totOptionsPremium": rupees(blocked.option_premium),
        },
    }


def rms(funds: SimFunds) -> Row:
    """Return the one pool. Unused components are null."""

    def used(value: Decimal) -> str | None:
        return digits(value, 4) if value else None

    return {
        "net": digits(funds.available, 4),
        "availablecash": digits(funds.available, 4),
        "availableintradaypayin": "0.0000",
        "availablelimitmargin": "0.0000",
        "collateral": digits(funds.collateral, 4),
        "m2munrealized": digits(funds.unrealized, 4),
        "m2mrealized": digits(funds.realized, 4),
        "utiliseddebits": digits(funds.used, 4),
        "utilisedspan": used(funds.span),
        "utilisedoptionpremium": used(funds.option_premium),
        "utilisedholdingsales": None,
        "utilisedexposure": used(funds.exposure),
        "utilisedturnover": None,
        "utilisedpayout": digits(max(funds.available - funds.collateral, Decimal(0)), 4),
    }


def full_quote(name: Name, market: Market) -> Row:
    units = name.units
    return {
        **ohlc_quote(name, market),
        "lastTradeQty": market.last_quantity // units,
        "exchFeedTime": stamp(from_epoch(market.exchange_time)),
        "exchTradeTime": stamp(from_epoch(market.last_trade_time) if market.last_trade_time else None),
        "netChange": rupees(market.last_price - market.previous_close),
        "percentChange": _percent(market),
        "avgPrice": rupees(market.average_price),
        "tradeVolume": market.volume // units,
        "opnInterest": market.oi // units,
        "lowerCircuit": rupees(market.lower_circuit),
        "upperCircuit": rupees(market.upper_circuit),
        "totBuyQuan": market.buy_quantity // units,
        "totSellQuan": market.sell_quantity // units,
        "52WeekLow": rupees(market.low),
        "52WeekHigh": rupees(market.high),
        "depth": {"buy": _levels(market.buy, units), "sell": _levels(market.sell, units)},
    }


def ltp_quote(name: Name, market: Market) -> Row:
    return {
        "exchange": name.exchange,
        "tradingSymbol": name.tradingsymbol,
        "symbolToken": name.token,
        "ltp": rupees(market.last_price),
    }


def ohlc_quote(name: Name, market: Market) -> Row:
    """Return prices and the day's OHLC. SmartAPI's close is the previous day's."""
    return {**ltp_quote(name, market), **_day(market)}


def single_ltp(name: Name, market: Market) -> Row:
    """Return the older one-instrument answer, with lower-case names."""
    return {
        "exchange": name.exchange,
        "tradingsymbol": name.tradingsymbol,
        "symboltoken": name.token,
        **_day(market),
        "ltp": rupees(market.last_price),
    }


def _day(market: Market) -> Row:
    return {
        "open": rupees(market.open),
        "high": rupees(market.high),
        "low": rupees(market.low),
        "close": rupees(market.previous_close),
    }


def _percent(market: Market) -> float:
    if not market.previous_close:
        return 0.0
    change = (market.last_price - market.previous_close) * 100 / market.previous_close
    return rupees(change.quantize(Decimal("0.01")))


def _levels(levels: tuple[Level, ...], units: int) -> list[Row]:
    rows: list[Row] = [
        {"price": rupees(level.price), "quantity": level.quantity // units, "orders": level.orders}
        for level in levels[:_DEPTH_LEVELS]
    ]
    return rows + [{"price": 0.0, "quantity": 0, "orders": 0}] * (_DEPTH_LEVELS - len(rows))
