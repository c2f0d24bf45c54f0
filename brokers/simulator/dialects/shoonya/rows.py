"""Shoonya's rows, made from the exchange's truth. Every value is a text, and a quantity of zero is left out."""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import Leg, Row, day_change, percent, position_facts
from onebroker.brokers.simulator.dialects.shoonya.envelope import stamp
from onebroker.brokers.simulator.dialects.shoonya.naming import Name
from onebroker.brokers.simulator.world.model import (
    Market,
    SimFill,
    SimFunds,
    SimHolding,
    SimOrder,
    SimPosition,
    SimStatus,
)
from onebroker.config.clock import from_epoch
from onebroker.config.money import plain
from onebroker.config.vocabulary import OrderType, Product, Side

STATUSES = {
    SimStatus.AFTER_MARKET: "AFTER MARKET ORDER REQ RECEIVED",
    SimStatus.TRIGGER_PENDING: "TRIGGER_PENDING",
    SimStatus.OPEN: "OPEN",
    SimStatus.COMPLETE: "COMPLETE",
    SimStatus.CANCELLED: "CANCELED",
    SimStatus.REJECTED: "REJECTED",
    SimStatus.EXPIRED: "CANCELED",  # Shoonya has no word for expired
}
REPORTS = {
    SimStatus.AFTER_MARKET: "NewAck",
    SimStatus.TRIGGER_PENDING: "TriggerPending",
    SimStatus.OPEN: "New",
    SimStatus.COMPLETE: "Fill",
    SimStatus.CANCELLED: "Canceled",
    SimStatus.REJECTED: "Rejected",
    SimStatus.EXPIRED: "Canceled",
}
_SIDES = {Side.BUY: "B", Side.SELL: "S"}
_PRODUCTS = {Product.CNC: ("C", "CNC"), Product.MIS: ("I", "MIS"), Product.NRML: ("M", "NRML")}
_TYPES = {OrderType.LIMIT: "LMT", OrderType.SL: "SL-LMT", OrderType.MARKET: "MKT", OrderType.SL_M: "SL-MKT"}
_LEVELS = 5
_TWO = Decimal("0.01")


def exchange_stamp(moment: datetime | None) -> str:
    """Return a time as the exchange's fields write it. None becomes a day long ago."""
    return "01-01-1980 00:00:00" if moment is None else f"{moment:%d-%m-%Y %H:%M:%S}"


def order_row(order: SimOrder, name: Name, client_id: str) -> Row:
    """Return one order of the book. The history has the same fields."""
    row = {
        "stat": "Ok",
        "norenordno": order.order_id,
        "exchordid": order.exchange_order_id or "",
        "kidid": "1",
        "uid": client_id,
        "actid": client_id,
        **_instrument(name),
        **_terms(order, name),
        "status": STATUSES[order.status],
        "st_intrn": STATUSES[order.status],
        "rpt": REPORTS[order.status],
        **_fills(order, name),
        "rejreason": _reason(order, client_id),
        "norentm": stamp(order.updated_at),
        "ordenttm": str(int(order.placed_at.timestamp())),
        "exch_tm": exchange_stamp(order.exchange_at),
    }
    return _filled(row)


def order_update(order: SimOrder, fill: SimFill | None, name: Name, client_id: str) -> Row:
    """Return one order as the stream sends it: without the instrument's token, and with the fill that caused the update."""
    row = {
        "t": "om",
        "norenordno": order.order_id,
        "uid": client_id,
        "actid": client_id,
        "exch": name.exchange,
        "tsym": name.tradingsymbol,
        **_terms(order, name),
        "pcode": _PRODUCTS[order.new.product][0],
        "status": STATUSES[order.status],
        "reporttype": "Fill" if fill is not None else "Replaced" if order.modifications else REPORTS[order.status],
        "exchordid": order.exchange_order_id or "",
        "rejreason": _reason(order, client_id),
        "norentm": stamp(order.updated_at),
        "exch_tm": exchange_stamp(order.exchange_at),
        "kidid": "1",
    }
    del row["prd"]
    if fill is not None or order.filled_quantity:
        row |= _fills(order, name)
    elif order.cancelled_quantity:
        row["cancelqty"] = name.quantity(order.cancelled_quantity)
    if fill is not None:
        row |= _fill(fill, name)
    return _filled(row)


def received(row: Row) -> Row:
    """Return an order's update at the moment when Shoonya has taken the order and has not yet passed it on."""
    left_out = ("exchordid", "fillshares", "avgprc", "flid", "flqty", "flprc", "fltm", "cancelqty", "rejreason")
    kept = {name: value for name, value in row.items() if name not in left_out}
    return kept | {"status": "PENDING", "reporttype": "NewAck", "exch_tm": exchange_stamp(None)}


def trade_row(fill: SimFill, order: SimOrder, name: Name, client_id: str) -> Row:
    row = {
        "stat": "Ok",
        "norenordno": fill.order_id,
        "exchordid": fill.exchange_order_id,
        "kidid": "1",
        "uid": client_id,
        "actid": client_id,
        **_instrument(name),
        **_terms(order, name),
        **_fills(order, name),
        **_fill(fill, name),
        "cstFrm": "C",
        "norentm": stamp(fill.at),
        "exch_tm": exchange_stamp(fill.at),
    }
    return _filled(row)


def position_row(position: SimPosition, name: Name, market: Market, client_id: str) -> Row:
    """Return a row of the one list. The carried leg is priced at the previous close; `upld` fields are at its cost."""
    cost = position_facts(position, market, places=None)
    marked = position_facts(position, market, places=None, carried_price=market.previous_close)
    carried_price = position.overnight_price if cost.carried else None
    product, alias = _PRODUCTS[position.product]
    row = {
        "stat": "Ok",
        "uid": client_id,
        "actid": client_id,
        **_instrument(name),
        "prd": product,
        "s_prdt_ali": alias,
        "netqty": name.quantity(cost.quantity),
        "netavgprc": name.price(marked.held_price),
        "netupldprc": name.price(cost.held_price),
        "upldprc": name.price(carried_price),
        "cforgavgprc": name.price(carried_price),
        **_leg("daybuy", cost.day_buy, name),
        **_leg("daysell", cost.day_sell, name),
        **_leg("cfbuy", marked.carried_buy, name),
        **_leg("cfsell", marked.carried_sell, name),
        "lp": name.price(market.last_price),
        "rpnl": f"{cost.realized.quantize(_TWO)}",
        "urmtom": f"{marked.unrealized.quantize(_TWO)}",
        "bep": name.price(cost.held_price),
    }
    return {key: value for key, value in row.items() if not (key.endswith("qty") and value == "0" and key != "netqty")}


def holding_row(holding: SimHolding, names: list[Name]) -> Row:
    """Return one holding under all its names. An average or quantity that does not exist is left out."""
    row: Row = {
        "stat": "Ok",
        "exch_tsym": [
            {
                "exch": name.exchange,
                "token": name.token,
                "tsym": name.tradingsymbol,
                "pp": str(name.places),
                "ti": name.price(name.contract.tick_size),
                "ls": str(name.lot),
                "isin": name.contract.isin or "",
            }
            for name in names
        ],
        "prd": "C",
        "s_prdt_ali": "CNC",
        "sell_amt": "0.000000",
    }
    for field, units in (
        ("npoadqty", holding.settled_quantity),
        ("dpqty", holding.settled_quantity),
        ("brkcolqty", holding.collateral_quantity),
        ("btstqty", holding.t1_quantity),
    ):
        if units:
            row[field] = str(units)
    if holding.average_price:
        row["upldprc"] = names[0].price(holding.average_price)
    return row


def funds(funds: SimFunds) -> Row:
    """Return the one purse. Results count as used margin, so a profit is negative there."""
    figures = {
        "cash": funds.opening_cash,
        "payin": Decimal(0),
        "payout": Decimal(0),
        "daycash": Decimal(0),
        "unclearedcash": Decimal(0),
        "brkcollamt": funds.collateral,
        "collateral": Decimal(0),
        "aux_brkcollamt": Decimal(0),
        "grcoll": funds.collateral,
        "marginused": funds.used - funds.realized,
        "span": funds.span,
        "expo": funds.exposure,
        "premium": funds.option_premium,
        "cbu": funds.delivery,
        "rpnl": -funds.realized,
        "urmtom": -funds.unrealized,
        "span_d_m": funds.span,
        "expo_d_m": funds.exposure,
        "pendordval": Decimal(0),
        "turnover": Decimal(0),
    }
    return {"prfname": "SHOONYA1", **{name: f"{value.quantize(_TWO)}" for name, value in figures.items()}}


def order_margin(funds: SimFunds, needed: Decimal) -> Row:
    """Return what one order needs. If the money is not enough, `marginused` is the missing sum, and `remarks` says so."""
    cash, used = funds.available + funds.used, funds.used + needed
    lacking = used > cash
    figures = {
        "cash": cash,
        "marginused": used - cash if lacking else used,
        "marginusedprev": funds.used,
        "ordermargin": needed,
    }
    remarks = "Insufficient Balance" if lacking else ""
    return {**{name: f"{value.quantize(_TWO)}" for name, value in figures.items()}, "remarks": remarks}


def touchline(name: Name, market: Market) -> Row:
    """Return the fields that frames and quotes share. Indices have neither depth nor volume."""
    change = percent(day_change(market), market.previous_close, places=None)
    row: Row = {
        "lp": name.price(market.last_price),
        "pc": f"{change:.2f}",
        "o": name.price(market.open),
        "h": name.price(market.high),
        "l": name.price(market.low),
        "c": name.price(market.previous_close),
    }
    if name.contract.is_index:
        return row
    row |= {"v": name.quantity(market.volume), "ap": name.price(market.average_price)}
    if market.oi:
        row |= {"oi": name.quantity(market.oi), "poi": name.quantity(market.oi_day_low)}
    return row | _level(name, market, 1, with_orders=False)


def depth(name: Name, market: Market) -> Row:
    """Return the fields that depth frames and quotes share."""
    row = touchline(name, market)
    if name.contract.is_index:
        return row
    row |= {
        "ltt": f"{from_epoch(market.last_trade_time):%H:%M:%S}",
        "ltq": name.quantity(market.last_quantity),
        "tbq": name.quantity(market.buy_quantity),
        "tsq": name.quantity(market.sell_quantity),
        "lc": name.price(market.lower_circuit),
        "uc": name.price(market.upper_circuit),
        "52h": name.price(market.high),
        "52l": name.price(market.low),
    }
    for place in range(1, _LEVELS + 1):
        row |= _level(name, market, place, with_orders=True)
    return row


def quote(name: Name, market: Market) -> Row:
    """Return the object of GetQuotes. The documents' sample spells one key So5."""
    row = depth(name, market) | {
        **_instrument(name),
        "symname": name.symbol,
        "isin": name.contract.isin or "",
        "prcftr_d": f"({plain(name.factor)} / 1 ) * (1 / 1)",
        "lut": str(int(market.exchange_time)),
    }
    if not name.contract.is_index:
        row["ltd"] = f"{from_epoch(market.last_trade_time):%d-%m-%Y}"
        if "so5" in row:
            row["So5"] = row.pop("so5")
    return row


def _instrument(name: Name) -> Row:
    return {
        "exch": name.exchange,
        "tsym": name.tradingsymbol,
        "token": name.token,
        "instname": name.instrument,
        "cname": name.contract.name.upper(),
        "dname": name.tradingsymbol,
        "pp": str(name.places),
        "ti": name.price(name.contract.tick_size),
        "ls": str(name.lot),
        "mult": plain(name.factor) if name.exchange == "CDS" else "1",
        "prcftr": f"{name.factor:.6f}",
    }


def _terms(order: SimOrder, name: Name) -> Row:
    product, alias = _PRODUCTS[order.new.product]
    terms: Row = {
        "trantype": _SIDES[order.new.side],
        "prctyp": _TYPES[order.order_type],
        "ret": order.validity.value,
        "prd": product,
        "s_prdt_ali": alias,
        "qty": name.quantity(order.quantity),
        "prc": name.price(order.price),
        "remarks": order.new.tag or "",
        "ordersource": "API",
    }
    if order.trigger_price is not None:
        terms["trgprc"] = name.price(order.trigger_price)
    if order.disclosed_quantity:
        terms["dscqty"] = name.quantity(order.disclosed_quantity)
    if order.new.after_market:
        terms["amo"] = "Yes"
    return terms


def _fills(order: SimOrder, name: Name) -> Row:
    """Return the fields of fills and cancelled units. Each is left out when there are none."""
    row: Row = {}
    if order.filled_quantity:
        row |= {"fillshares": name.quantity(order.filled_quantity), "avgprc": f"{order.average_price:.4f}"}
    if order.cancelled_quantity:
        row["cancelqty"] = name.quantity(order.cancelled_quantity)
    return row


def _fill(fill: SimFill, name: Name) -> Row:
    return {
        "flid": fill.trade_id,
        "flqty": name.quantity(fill.quantity),
        "flprc": name.price(fill.price),
        "fltm": exchange_stamp(fill.at),
    }


def _reason(order: SimOrder, client_id: str) -> str:
    if order.status is not SimStatus.REJECTED:
        return ""
    return f"RED:RULE:{{{order.status_message}}} for C-{client_id} [DEFAULT]"


def _filled(row: Row) -> Row:
    """Leave out empty fields: optional fields are absent, not empty."""
    return {name: value for name, value in row.items() if value != ""}


def _level(name: Name, market: Market, place: int, *, with_orders: bool) -> Row:
    row: Row = {}
    for letter, levels in (("b", market.buy), ("s", market.sell)):
        for level in levels[place - 1 : place]:
            row |= {f"{letter}p{place}": name.price(level.price), f"{letter}q{place}": name.quantity(level.quantity)}
            if with_orders:
                row[f"{letter}o{place}"] = str(level.orders)
    return row


def _leg(head: str, leg: Leg, name: Name) -> Row:
    return {
        f"{head}qty": name.quantity(leg.quantity),
        f"{head}amt": f"{leg.value.quantize(_TWO)}",
        f"{head}avgprc": name.price(leg.average),
    }
