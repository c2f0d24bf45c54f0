"""Kotak Neo's JSON rows, made from the exchange's truth, with texts and numbers where the broker has them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import Row, day_change, depth_rows, percent, position_facts
from onebroker.brokers.simulator.dialects.kotakneo.naming import Name
from onebroker.brokers.simulator.dialects.symbols import MONTHS
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
from onebroker.config.vocabulary import OrderType, Side

RECEIVED = "put order req received"
STATUSES: Mapping[SimStatus, str] = {
    SimStatus.AFTER_MARKET: "after market order req received",
    SimStatus.TRIGGER_PENDING: "trigger pending",
    SimStatus.OPEN: "open",
    SimStatus.COMPLETE: "complete",
    SimStatus.CANCELLED: "cancelled",
    SimStatus.REJECTED: "rejected",
    SimStatus.EXPIRED: "cancelled",  # Kotak Neo has no word for expired
}
_TYPES = {OrderType.LIMIT: "L", OrderType.MARKET: "MKT", OrderType.SL: "SL", OrderType.SL_M: "SL-M"}
_SIDES = {Side.BUY: "B", Side.SELL: "S"}
_EMPTY_LEVEL = {"price": "0.0000", "quantity": "0", "orders": "0"}
_NONE, _NO_REASON = "NA", "--"


class Stamps:
    """`updRecvTm` of orders: nanoseconds that grow with every change of an order, and stay the same without a change."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[SimOrder, int]] = {}

    def of(self, order: SimOrder) -> int:
        held = self._held.get(order.order_id)
        if held is not None and held[0] == order:
            return held[1]
        stamp = int(order.updated_at.timestamp() * 1_000_000) * 1000 + 474
        if held is not None:
            stamp = max(stamp, held[1] + 10)
        self._held[order.order_id] = (order, stamp)
        return stamp


def text_of(value: Decimal | None) -> str:
    """Return a price or sum as the order back end writes it. None is zero."""
    return f"{value or 0:.2f}"


def day_text(moment: datetime) -> str:
    return f"{moment.day:02d}-{MONTHS[moment.month - 1].title()}-{moment.year}"


def stamp(moment: datetime | None) -> str:
    """Return a time as the books write it: Indian time without an offset; `NA` for None."""
    return _NONE if moment is None else f"{day_text(moment)} {moment:%H:%M:%S}"


def slashed(moment: datetime) -> str:
    return f"{moment:%Y/%m/%d %H:%M:%S}"


def _instrument(name: Name) -> Row:
    """The instrument fields that every row of the books has."""
    identity = name.contract.identity
    return {
        "exSeg": name.segment,
        "trdSym": name.tradingsymbol,
        "sym": name.symbol,
        "series": name.contract.series or "XX",
        "optTp": identity.option_type or ("- " if name.is_cash else "XX"),
        "stkPrc": f"{identity.strike_price or 0:.2f}",
        "lotSz": str(name.lot),
        "multiplier": str(name.units),
        "precision": "4" if name.segment == "cde_fo" else "2",
        "genNum": "1",
        "genDen": "1",
        "prcNum": "1",
        "prcDen": "1",
    }


def order_row(order: SimOrder, name: Name, stamps: Stamps) -> Row:
    """Return one order of the book."""
    units, status = name.units, STATUSES[order.status]
    seconds = int(order.updated_at.timestamp())
    return {
        **_instrument(name),
        "actId": "",
        "algId": _NONE,
        "avgPrc": text_of(order.average_price),
        "brdLtQty": str(name.lot),
        "cnlQty": order.cancelled_quantity // units,
        "dscQty": order.disclosed_quantity // units,
        "exCfmTm": stamp(order.exchange_at),
        "exOrdId": order.exchange_order_id or _NONE,
        "expDt": _NONE if name.is_cash else str(name.contract.identity.expiry_date),
        "fldQty": order.filled_quantity // units,
        "unFldSz": order.pending_quantity // units,
        "boeSec": seconds,
        "uSec": str(seconds),
        "mktPro": "0",
        "nOrdNo": order.order_id,
        "ordDtTm": stamp(order.placed_at),
        "ordEntTm": stamp(order.placed_at),
        "ordGenTp": "AMO" if order.new.after_market else _NONE,
        "prod": order.new.product.value,
        "prc": text_of(order.price),
        "prcTp": _TYPES[order.order_type],
        "qty": order.quantity // units,
        "rejRsn": order.status_message or _NO_REASON,
        "rmk": _NO_REASON,
        "stat": status,
        "ordSt": status,
        "tckSz": f"{name.contract.tick_size:.4f}",
        "tok": name.token,
        "trnsTp": _SIDES[order.new.side],
        "trgPrc": text_of(order.trigger_price),
        "vldt": order.validity.value,
        "hsUpTm": slashed(order.updated_at),
        "GuiOrdId": order.new.tag or "",
        "ordSrc": "",
        "usrId": "",
        "updRecvTm": stamps.of(order),
        "it": name.contract.series or name.instrument_type,
    }


def history_row(order: SimOrder, name: Name, stamps: Stamps) -> Row:
    """Return one state of an order's history. Several fields have other names than in the book."""
    row = order_row(order, name, stamps)
    return row | {
        "exchTmstp": str(row.pop("exCfmTm")).replace(":", ": "),
        "exchOrdId": row.pop("exOrdId"),
        "ordDur": row.pop("vldt"),
        "flDtTm": stamp(order.updated_at),
        "dclQty": str(row.pop("dscQty")),
        "brdLtQty": name.lot,
        "exch": name.contract.identity.exchange.upper(),
    }


def trade_row(fill: SimFill, order: SimOrder, name: Name) -> Row:
    """Return one trade. Quantity and price are the fill's. The order's quantity and price, and the token, are not in the row."""
    seconds = int(fill.at.timestamp())
    return {
        **_instrument(name),
        "avgPrc": text_of(fill.price),
        "boeSec": seconds,
        "exOrdId": fill.exchange_order_id,
        "exTm": stamp(order.exchange_at or fill.at),
        "fldQty": fill.quantity // name.units,
        "flDt": day_text(fill.at),
        "flId": fill.trade_id,
        "flLeg": 1,
        "flTm": f"{fill.at:%H:%M:%S}",
        "nOrdNo": fill.order_id,
        "ordDur": _NONE,
        "prcTp": _TYPES[order.order_type],
        "prod": fill.product.value,
        "rptTp": "fill",
        "trnsTp": _SIDES[fill.side],
        "hsUpTm": slashed(fill.at),
        "GuiOrdId": order.new.tag or "",
        "tok": "",
        "updRecvTm": int(fill.at.timestamp() * 1_000_000) * 1000 + 176,
        "prc": "",
        "qty": 0,
        "it": name.contract.series or name.instrument_type,
    }


def position_row(position: SimPosition, name: Name, market: Market, now: datetime) -> Row:
    """Return one position. The carried leg is valued at the previous close."""
    units, facts = name.units, position_facts(position, market, carried_price=market.previous_close)
    return {
        **_instrument(name),
        "actId": "",
        "brdLtQty": name.lot,
        "cfBuyAmt": text_of(facts.carried_buy.value),
        "cfSellAmt": text_of(facts.carried_sell.value),
        "cfBuyQty": str(facts.carried_buy.quantity // units),
        "cfSellQty": str(facts.carried_sell.quantity // units),
        "buyAmt": text_of(facts.day_buy.value),
        "sellAmt": text_of(facts.day_sell.value),
        "flBuyQty": str(facts.day_buy.quantity // units),
        "flSellQty": str(facts.day_sell.quantity // units),
        "prod": position.product.value,
        "tok": name.token,
        "type": name.instrument_type,
        "sqrFlg": "Y",
        "posFlg": "true",
        "hsUpTm": slashed(now),
        "expDt": _NONE if name.is_cash else str(name.contract.identity.expiry_date),
        "upldPrc": "0.00",
        "dscQty": "",
        "ltp": text_of(market.last_price),
        "updRecvTm": int(now.timestamp() * 1_000_000) * 1000,
    }


def holding_row(holding: SimHolding, name: Name, market: Market) -> Row:
    """Return one holding: the total quantity, and the sellable quantity separately. Its numbers are JSON numbers."""
    quantity = holding.total_quantity
    value = quantity * market.last_price
    cost = quantity * holding.average_price
    return {
        "displaySymbol": name.symbol,
        "symbol": name.symbol,
        "averagePrice": float(holding.average_price),
        "quantity": quantity,
        "sellableQuantity": holding.settled_quantity,
        "exchangeSegment": name.segment,
        "exchangeIdentifier": name.token,
        "holdingCost": float(cost),
        "mktValue": float(value),
        "closingPrice": float(market.last_price),
        "prevDayLtp": float(market.previous_close),
        "unrealisedGainLoss": float(value - cost),
        "instrumentToken": int(name.token) * 7 + 3,  # a number of Kotak's own
        "instrumentName": name.contract.name.upper(),
        "instrumentType": "Equity",
        "series": name.contract.series,
        "marketLot": 1,
        "isAlternateScrip": False,
    }


def limits(funds: SimFunds, now: datetime) -> Row:
    """Return the flat object. Every figure is a text."""
    zeros = dict.fromkeys(
        (
            "RmsCollateral", "AdhocMargin", "NotionalCash", "RmsPayInAmt", "RmsPayOutAmt", "MarginVarPrsnt",
            "SpecialMarginPrsnt", "DeliveryMarginPresent", "FoSpanrgnMisPrsnt", "FoExpMrgnMisPrsnt",
            "CurSpanMrgnNrmlPrsnt", "CurSpanMrgnMisPrsnt", "CurExpMrgnNrmlPrsnt", "CurExpMrgnMisPrsnt",
            "ComSpanMrgnNrmlPrsnt", "ComSpanMrgnMisPrsnt", "ComExpsrMrgnNrmlPrsnt", "ComExpsrMrgnMisPrsnt",
            "CashRlsMtomPrsnt", "CashUnRlsMtomPrsnt", "ComRlsMtomPrsnt", "ComUnRlsMtomPrsnt", "CurRlsMtomPrsnt",
            "CurUnRlsMtomPrsnt", "RealizedMtomPrsnt", "UnrealizedMtomPrsnt",
        ),
        "0",
    )  # fmt: skip
    return {
        "Category": "CLIENT_SPECIAL",
        **zeros,
        "Net": str(funds.available),
        "MarginUsed": text_of(funds.used),
        "CollateralValue": text_of(funds.opening_cash),
        "Collateral": text_of(funds.collateral),
        "SpanMarginPrsnt": text_of(funds.span),
        "ExposureMarginPrsnt": text_of(funds.exposure),
        "PremiumPrsnt": text_of(funds.option_premium),
        "MarginScripBasketPrsnt": text_of(funds.delivery),
        "FoSpanrgnNrmlPrsnt": text_of(funds.span),
        "FoExpMrgnNrmlPrsnt": text_of(funds.exposure),
        "FoRlsMtomPrsnt": text_of(funds.realized),
        "FoUnRlsMtomPrsnt": text_of(funds.unrealized),
        "TimeStamp": str(int(now.timestamp() * 1000)),
    }


def margin(funds: SimFunds, needed: Decimal) -> Row:
    """Return what one order needs, and what the account has. Only this call's sums have six decimals."""
    short = max(needed - funds.available, Decimal(0))
    sums = {
        "avlCash": funds.available,
        "totMrgnUsd": funds.used + needed,
        "mrgnUsd": funds.used,
        "ordMrgn": needed,
        "reqdMrgn": short,
        "avlMrgn": Decimal(0),
        "insufFund": short,
    }
    return {**{name: f"{value:.6f}" for name, value in sums.items()}, "rmsVldtd": "NOT_OK" if short else "OK"}


def quote_row(name: Name, market: Market, wanted: str) -> Row:
    """Return one quote with the parts that the filter asks for. Every figure is a text."""
    units = name.units
    head: Row = {
        "exchange_token": name.token,
        "display_symbol": name.tradingsymbol,
        "exchange": name.segment,
        "lstup_time": str(int(market.exchange_time)),
    }
    change = day_change(market)
    parts: Mapping[str, Row] = {
        "ltp": {
            "ltp": _quoted(market.last_price),
            "last_traded_quantity": str(market.last_quantity // units),
            "total_buy": str(market.buy_quantity // units),
            "total_sell": str(market.sell_quantity // units),
            "last_volume": str(market.volume // units),
            "avg_cost": _quoted(market.average_price),
            "change": _quoted(change),
            "per_change": _quoted(percent(change, market.previous_close, None)),
        },
        "oi": {"open_int": str(0 if name.is_cash else market.oi // units)},
        "circuit_limits": {
            "low_price_range": _quoted(market.lower_circuit),
            "high_price_range": _quoted(market.upper_circuit),
        },
        "52W": {"year_high": text_of(market.upper_circuit * 2), "year_low": text_of(market.lower_circuit / 2)},
        "ohlc": {
            "ohlc": {
                "open": _quoted(market.open),
                "high": _quoted(market.high),
                "low": _quoted(market.low),
                "close": _quoted(market.previous_close),
            }
        },
        "depth": {"depth": {"buy": _levels(market.buy, units), "sell": _levels(market.sell, units)}},
    }
    for part, row in parts.items():
        if wanted in ("all", part):
            head |= row
    return head


def _quoted(value: Decimal) -> str:
    return f"{value:.4f}"


def _levels(levels: Sequence[Level], units: int) -> list[Row]:
    def row(level: Level) -> Row:
        return {
            "price": _quoted(level.price),
            "quantity": str(level.quantity // units),
            "orders": str(level.orders),
        }

    return depth_rows(levels, row, _EMPTY_LEVEL)
