"""Kite's JSON rows, made from the exchange's truth."""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import (
    Leg,
    Row,
    day_change,
    depth_rows,
    in_lots,
    percent,
    position_facts,
    rupees,
    stamp,
)
from onebroker.brokers.simulator.dialects.zerodha.naming import Name
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

STATUSES: Mapping[SimStatus, str] = {
    SimStatus.AFTER_MARKET: "AMO REQ RECEIVED",
    SimStatus.TRIGGER_PENDING: "TRIGGER PENDING",
    SimStatus.OPEN: "OPEN",
    SimStatus.COMPLETE: "COMPLETE",
    SimStatus.CANCELLED: "CANCELLED",
    SimStatus.REJECTED: "REJECTED",
    SimStatus.EXPIRED: "LAPSED",
}

_EMPTY_LEVEL = {"price": 0, "quantity": 0, "orders": 0}


def order_row(order: SimOrder, name: Name, client_id: str) -> Row:
    """Return one order of the book. A row of an SDK's `order_history` has the same fields."""
    units = name.units
    return {
        "placed_by": client_id,
        "order_id": order.order_id,
        "exchange_order_id": order.exchange_order_id,
        "parent_order_id": None,
        "status": STATUSES[order.status],
        "status_message": order.status_message,
        "status_message_raw": order.status_message,
        "order_timestamp": stamp(order.updated_at),
        "exchange_update_timestamp": stamp(order.exchange_at),
        "exchange_timestamp": stamp(order.exchange_at),
        "variety": variety(order),
        "modified": order.modifications > 0,
        "exchange": name.exchange,
        "tradingsymbol": name.tradingsymbol,
        "instrument_token": name.token,
        "order_type": order.order_type.value,
        "transaction_type": order.new.side.value,
        "validity": order.validity.value,
        "validity_ttl": 0,
        "product": order.new.product.value,
        "quantity": order.quantity // units,
        "disclosed_quantity": order.disclosed_quantity // units,
        "price": rupees(order.price),
        "trigger_price": rupees(order.trigger_price),
        "average_price": rupees(order.average_price),
        "filled_quantity": order.filled_quantity // units,
        "pending_quantity": order.pending_quantity // units,
        "cancelled_quantity": order.cancelled_quantity // units,
        "market_protection": 0,
        "meta": {},
        "tag": order.new.tag,
        "tags": [order.new.tag] if order.new.tag else [],
        "guid": f"01{order.order_id}",
    }


def variety(order: SimOrder) -> str:
    return "amo" if order.new.after_market else "regular"


def trade_row(fill: SimFill, name: Name) -> Row:
    return {
        "trade_id": fill.trade_id,
        "order_id": fill.order_id,
        "exchange": name.exchange,
        "tradingsymbol": name.tradingsymbol,
        "instrument_token": name.token,
        "product": fill.product.value,
        "average_price": rupees(fill.price),
        "quantity": fill.quantity // name.units,
        "exchange_order_id": fill.exchange_order_id,
        "transaction_type": fill.side.value,
        "fill_timestamp": stamp(fill.at),
        "order_timestamp": fill.at.strftime("%H:%M:%S"),
        "exchange_timestamp": stamp(fill.at),
    }


def position_row(position: SimPosition, name: Name, market: Market, *, day_only: bool) -> Row:
    """Return a row of the net view, or with `day_only` of the day view, which leaves the carried leg out. Averages are not rounded. The `m2m` sums
    count the carried leg at the previous close."""
    facts = position_facts(position, market, with_carried=not day_only, places=None)
    marked = position_facts(
        position, market, carried_price=market.previous_close, with_carried=not day_only, places=None
    )
    result = rupees(facts.total_gain)
    units = name.units
    return {
        "tradingsymbol": name.tradingsymbol,
        "exchange": name.exchange,
        "instrument_token": name.token,
        "product": position.product.value,
        "quantity": facts.quantity // units,
        "overnight_quantity": in_lots(facts.carried, units),
        "multiplier": units,
        "average_price": rupees(facts.held_price),
        "close_price": rupees(market.previous_close) if facts.carried else 0,
        "last_price": rupees(market.last_price),
        "value": rupees(facts.value),
        "pnl": result,
        "m2m": rupees(marked.total_gain),
        "unrealised": result,
        "realised": 0,
        **_leg("buy", facts.bought, units),
        "buy_m2m": rupees(marked.bought.value),
        **_leg("sell", facts.sold, units),
        "sell_m2m": rupees(marked.sold.value),
        **_leg("day_buy", facts.day_buy, units),
        **_leg("day_sell", facts.day_sell, units),
    }


def _leg(word: str, leg: Leg, units: int) -> Row:
    """Return a leg's fields. A leg without units has the whole number 0 as its price."""
    return {
        f"{word}_quantity": leg.quantity // units,
        f"{word}_price": rupees(leg.average) if leg.quantity else 0,
        f"{word}_value": rupees(leg.value),
    }


def holding_row(holding: SimHolding, name: Name, market: Market) -> Row:
    return {
        "tradingsymbol": name.tradingsymbol,
        "exchange": name.exchange,
        "instrument_token": name.token,
        "isin": name.contract.isin or "",
        "product": "CNC",
        "price": 0,
        "quantity": holding.settled_quantity,
        "used_quantity": 0,
        "t1_quantity": holding.t1_quantity,
        "realised_quantity": holding.settled_quantity,
        "authorised_quantity": 0,
        "authorised_date": None,
        "authorisation": {},
        "opening_quantity": holding.settled_quantity,
        "short_quantity": 0,
        "collateral_quantity": holding.collateral_quantity,
        "collateral_type": "WC" if holding.collateral_quantity else "",
        "discrepancy": False,
        "average_price": rupees(holding.average_price),
        "last_price": rupees(market.last_price),
        "close_price": rupees(market.previous_close),
        "pnl": rupees((market.last_price - holding.average_price) * holding.total_quantity),
        "day_change": rupees(day_change(market)),
        "day_change_percentage": _day_percent(market),
        "mtf": {"quantity": 0, "used_quantity": 0, "average_price": 0, "value": 0, "initial_margin": 0},
    }


def _day_percent(market: Market) -> float:
    """Return the day's change in percent, not rounded."""
    return rupees(percent(day_change(market), market.previous_close, places=None)) if market.previous_close else 0


def margins(funds: SimFunds) -> dict[str, Row]:
    """Return both purses. All of the account's money is in the equity purse."""
    empty = SimFunds(**dict.fromkeys(SimFunds.__annotations__, Decimal(0)))
    return {"equity": _purse(funds), "commodity": _purse(empty)}


def order_margin(name: Name, blocked: Blocked) -> Row:
    """Return what one order needs. Charges are not computed here; at Kite they are not part of the total either."""
    return {
        "type": "commodity" if name.exchange == "MCX" else "equity",
        "tradingsymbol": name.tradingsymbol,
        "exchange": name.exchange,
        "span": rupees(blocked.span),
        "exposure": rupees(blocked.exposure),
        "option_premium": rupees(blocked.option_premium),
        "additional": 0,
        "bo": 0,
        "cash": rupees(blocked.delivery),
        "var": 0,
        "pnl": {"realised": 0, "unrealised": 0},
        "leverage": 1,
        "charges": {"transaction_tax": 0, "transaction_tax_type": "stt", "exchange_turnover_charge": 0, "sebi_turnover_charge": 0,
                    "brokerage": 0, "stamp_duty": 0, "gst": {"igst": 0, "cgst": 0, "sgst": 0, "total": 0}, "total": 0},
        "total": rupees(blocked.total),
    }  # fmt: skip


def _purse(funds: SimFunds) -> Row:
    return {
        "enabled": True,
        "net": rupees(funds.available),
        "available": {
            "adhoc_margin": 0,
            "cash": rupees(funds.opening_cash),
            "opening_balance": rupees(funds.opening_cash),
            "live_balance": rupees(funds.available),
            "collateral": rupees(funds.collateral),
            "intraday_payin": 0,
        },
        "utilised": {
            "debits": rupees(funds.used - funds.realized),
            "exposure": rupees(funds.exposure),
            "m2m_realised": rupees(funds.realized),
            "m2m_unrealised": rupees(funds.unrealized),
            "option_premium": rupees(funds.option_premium),
            "payout": 0,
            "span": rupees(funds.span),
            "holding_sales": 0,
            "turnover": 0,
            "liquid_collateral": 0,
            "stock_collateral": rupees(funds.collateral),
            "delivery": rupees(funds.delivery),
        },
    }


def ltp_row(name: Name, market: Market) -> Row:
    return {"instrument_token": name.token, "last_price": rupees(market.last_price)}


def ohlc_row(name: Name, market: Market) -> Row:
    """Return the OHLC row. Kite's close is the previous day's."""
    day = {
        "open": rupees(market.open),
        "high": rupees(market.high),
        "low": rupees(market.low),
        "close": rupees(market.previous_close),
    }
    return {**ltp_row(name, market), "ohlc": day}


def quote_row(name: Name, market: Market) -> Row:
    units = name.units
    traded = stamp(from_epoch(market.last_trade_time)) if market.last_trade_time else None
    return {
        "instrument_token": name.token,
        "timestamp": stamp(from_epoch(market.exchange_time)),
        "last_trade_time": traded,
        "last_price": rupees(market.last_price),
        "last_quantity": market.last_quantity // units,
        "buy_quantity": market.buy_quantity // units,
        "sell_quantity": market.sell_quantity // units,
        "volume": market.volume // units,
        "average_price": rupees(market.average_price),
        "oi": market.oi // units,
        "oi_day_high": market.oi_day_high // units,
        "oi_day_low": market.oi_day_low // units,
        "net_change": 0,
        "lower_circuit_limit": rupees(market.lower_circuit),
        "upper_circuit_limit": rupees(market.upper_circuit),
        "ohlc": ohlc_row(name, market)["ohlc"],
        "depth": {"buy": _levels(market.buy, units), "sell": _levels(market.sell, units)},
    }


def _levels(levels: tuple[Level, ...], units: int) -> list[Row]:
    def row(level: Level) -> Row:
        return {"price": rupees(level.price), "quantity": level.quantity // units, "orders": level.orders}

    return depth_rows(levels, row, _EMPTY_LEVEL)
