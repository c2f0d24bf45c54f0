"""SmartAPI's JSON rows, made from the exchange's truth. Most rows carry numbers as texts, as the real ones do."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.angelone.naming import Name
from onebroker.brokers.simulator.dialects.facts import (
    FOUR_PLACES,
    Leg,
    Row,
    day_change,
    depth_rows,
    in_lots,
    percent,
    position_facts,
    rupees,
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
_TWO_PLACES = Decimal("0.01")
_EMPTY_LEVEL = {"price": 0.0, "quantity": 0, "orders": 0}
_NAMESPACE = uuid.UUID("5a1c8c0e-90f7-4a4e-9d0b-0f6f6a7a3c11")


def time_text(moment: datetime | None) -> str:
    """Return a time as SmartAPI writes it: `20-Oct-2020 13:10:59`, Indian time."""
    return "" if moment is None else f"{moment:%d-%b-%Y %H:%M:%S}"


def digits(value: Decimal | None, places: int = 2) -> str:
    """Return a price or sum as SmartAPI's text, with at least `places` decimals. None is zero."""
    whole = (value or Decimal(0)).quantize(FOUR_PLACES)
    head, _, tail = f"{whole:f}".partition(".")
    return f"{head}.{tail.rstrip('0').ljust(places, '0')}"


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
        "updatetime": time_text(order.updated_at),
        "exchtime": time_text(order.exchange_at),
        "exchorderupdatetime": time_text(order.exchange_at),
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
    units, facts = name.units, position_facts(position, market)
    bought, sold, value = facts.bought, facts.sold, facts.value
    net_price = Leg(abs(facts.quantity), abs(value), FOUR_PLACES).average
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
        "buyqty": str(bought.quantity // units),
        "sellqty": str(sold.quantity // units),
        "buyamount": digits(bought.value),
        "sellamount": digits(sold.value),
        "symbolgroup": name.contract.series or "XX",
        "strikeprice": str(_contract(name)["strikeprice"]),
        "optiontype": name.contract.identity.option_type or "",
        "expirydate": name.expiry,
        "lotsize": str(name.contract.lot_size if name.exchange != "CDS" else 1),
        "cfbuyqty": str(facts.carried_buy.quantity // units),
        "cfsellqty": str(facts.carried_sell.quantity // units),
        "cfbuyamount": digits(facts.carried_buy.value),
        "cfsellamount": digits(facts.carried_sell.value),
        "buyavgprice": digits(bought.average),
        "sellavgprice": digits(sold.average),
        "avgnetprice": digits(net_price),
        "netvalue": f"{'-' if value < 0 else ''} {digits(abs(value))}".strip(),
        "netqty": str(in_lots(facts.quantity, units)),
        "totalbuyvalue": digits(bought.value),
        "totalsellvalue": digits(sold.value),
        "cfbuyavgprice": digits(facts.carried_buy.average),
        "cfsellavgprice": digits(facts.carried_sell.average),
        "totalbuyavgprice": digits(bought.average),
        "totalsellavgprice": digits(sold.average),
        "netprice": digits(net_price),
        "realised": digits(facts.realized),
        "unrealised": digits(facts.unrealized),
        "ltp": digits(market.last_price),
        "close": digits(market.previous_close),
        "pnl": digits(facts.realized + facts.unrealized),
    }


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
        "profitandloss": rupees(gain.quantize(_TWO_PLACES)),
        "pnlpercentage": rupees(percent(gain, cost, _TWO_PLACES)),
    }


def all_holdings(held: Sequence[tuple[SimHolding, Name, Market]]) -> Row:
    """Return the holdings and their totals."""
    now = sum((market.last_price * holding.total_quantity for holding, _, market in held), Decimal(0))
    paid = sum((holding.average_price * holding.total_quantity for holding, _, _ in held), Decimal(0))
    return {
        "holdings": [holding_row(*row) for row in held],
        "totalholding": {
            "totalholdingvalue": rupees(now),
            "totalinvvalue": rupees(paid),
            "totalprofitandloss": rupees(now - paid),
            "totalpnlpercentage": rupees(percent(now - paid, paid, _TWO_PLACES)),
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
        "exchFeedTime": time_text(from_epoch(market.exchange_time)),
        "exchTradeTime": time_text(from_epoch(market.last_trade_time) if market.last_trade_time else None),
        "netChange": rupees(day_change(market)),
        "percentChange": rupees(percent(day_change(market), market.previous_close, _TWO_PLACES)),
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


def _levels(levels: tuple[Level, ...], units: int) -> list[Row]:
    def row(level: Level) -> Row:
        return {"price": rupees(level.price), "quantity": level.quantity // units, "orders": level.orders}

    return depth_rows(levels, row, _EMPTY_LEVEL)
