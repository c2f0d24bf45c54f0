"""Upstox' JSON rows, made from the exchange's truth."""

from collections.abc import Mapping, Sequence
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
    stamp,
)
from onebroker.brokers.simulator.dialects.upstox.naming import Name
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
from onebroker.config.vocabulary import Product

RECEIVED = "put order req received"
STATUSES: Mapping[SimStatus, str] = {
    SimStatus.AFTER_MARKET: "after market order req received",
    SimStatus.TRIGGER_PENDING: "trigger pending",
    SimStatus.OPEN: "open",
    SimStatus.COMPLETE: "complete",
    SimStatus.CANCELLED: "cancelled",
    SimStatus.REJECTED: "rejected",
    SimStatus.EXPIRED: "cancelled",  # Upstox has no word for expired
}
_PRODUCTS = {Product.CNC: "D", Product.NRML: "D", Product.MIS: "I"}
_EMPTY_LEVEL = {"quantity": 0, "price": 0.0, "orders": 0}


def order_row(order: SimOrder, name: Name, client_id: str) -> Row:
    """Return one order of the book. Details, history and the stream have the same fields."""
    units = name.units
    return {
        "exchange": name.exchange,
        "product": _PRODUCTS[order.new.product],
        "price": rupees(order.price),
        "quantity": order.quantity // units,
        "status": STATUSES[order.status],
        "guid": None,
        "tag": order.new.tag,
        "instrument_token": name.key,
        "placed_by": client_id,
        "trading_symbol": name.tradingsymbol,
        "tradingsymbol": name.tradingsymbol,
        "order_type": order.order_type.value,
        "validity": order.validity.value,
        "trigger_price": rupees(order.trigger_price),
        "disclosed_quantity": order.disclosed_quantity // units,
        "transaction_type": order.new.side.value,
        "average_price": rupees(order.average_price),
        "filled_quantity": order.filled_quantity // units,
        "pending_quantity": order.pending_quantity // units,
        "status_message": order.status_message,
        "status_message_raw": order.status_message,
        "exchange_order_id": order.exchange_order_id or "",
        "parent_order_id": None,
        "order_id": order.order_id,
        "variety": "AMO" if order.new.after_market else "SIMPLE",
        "order_timestamp": stamp(order.placed_at),
        "exchange_timestamp": stamp(order.exchange_at),
        "is_amo": order.new.after_market,
        "order_request_id": str(1 + order.modifications),
        "order_ref_id": f"5{order.order_id}",
    }


def received_row(row: Row) -> Row:
    """Return an order's row at the moment when Upstox has taken the order and has not yet passed it on."""
    return row | {
        "status": RECEIVED,
        "average_price": 0,
        "filled_quantity": 0,
        "pending_quantity": row["quantity"],
        "exchange_order_id": "",
        "exchange_timestamp": None,
        "status_message": "",
        "status_message_raw": None,
    }


def trade_row(fill: SimFill, order: SimOrder, name: Name) -> Row:
    return {
        "exchange": name.exchange,
        "product": _PRODUCTS[fill.product],
        "trading_symbol": name.tradingsymbol,
        "tradingsymbol": name.tradingsymbol,
        "instrument_token": name.key,
        "order_type": order.order_type.value,
        "transaction_type": fill.side.value,
        "quantity": fill.quantity // name.units,
        "exchange_order_id": fill.exchange_order_id,
        "order_id": fill.order_id,
        "exchange_timestamp": stamp(fill.at),
        "average_price": rupees(fill.price),
        "trade_id": fill.trade_id,
        "order_ref_id": f"5{fill.order_id}",
        "order_timestamp": stamp(order.placed_at),
    }


def position_row(position: SimPosition, name: Name, market: Market) -> Row:
    """Return a row of the one list. A side without trades today has the price 0. The documents also show a blank there, which the official client
    cannot read."""
    units = name.units
    facts = position_facts(position, market)
    return {
        "exchange": name.exchange,
        "multiplier": float(units),
        "value": rupees(facts.value),
        "pnl": rupees(four_places(facts.realized + facts.unrealized)),
        "product": _PRODUCTS[position.product],
        "instrument_token": name.key,
        "average_price": rupees(facts.held_price) if facts.quantity else None,
        "buy_value": rupees(facts.bought.value),
        "overnight_quantity": in_lots(facts.carried, units),
        "day_buy_value": rupees(facts.day_buy.value),
        "day_buy_price": rupees(facts.day_buy.average),
        "overnight_buy_amount": rupees(facts.carried_buy.value),
        "overnight_buy_quantity": facts.carried_buy.quantity // units,
        "day_buy_quantity": facts.day_buy.quantity // units,
        "day_sell_value": rupees(facts.day_sell.value),
        "day_sell_price": rupees(facts.day_sell.average),
        "overnight_sell_amount": rupees(facts.carried_sell.value),
        "overnight_sell_quantity": facts.carried_sell.quantity // units,
        "day_sell_quantity": facts.day_sell.quantity // units,
        "quantity": in_lots(facts.quantity, units),
        "last_price": rupees(market.last_price),
        "unrealised": rupees(four_places(facts.unrealized)),
        "realised": rupees(four_places(facts.realized)),
        "sell_value": rupees(facts.sold.value),
        "trading_symbol": name.tradingsymbol,
        "tradingsymbol": name.tradingsymbol,
        "close_price": rupees(market.previous_close),
        "buy_price": rupees(facts.bought.average),
        "sell_price": rupees(facts.sold.average),
    }


def holding_row(holding: SimHolding, name: Name, market: Market) -> Row:
    """Return one holding. Upstox' quantity includes pledged units, but not T1 units."""
    return {
        "isin": name.contract.isin,
        "cnc_used_quantity": 0,
        "collateral_type": "WC",
        "company_name": name.contract.name.upper(),
        "haircut": 0.2,
        "product": "D",
        "quantity": holding.settled_quantity + holding.collateral_quantity,
        "trading_symbol": name.tradingsymbol,
        "tradingsymbol": name.tradingsymbol,
        "last_price": rupees(market.last_price),
        "close_price": rupees(market.previous_close),
        "pnl": rupees((market.last_price - holding.average_price) * holding.total_quantity),
        "day_change": rupees(day_change(market)),
        "day_change_percentage": rupees(percent(day_change(market), market.previous_close)),
        "instrument_token": name.key,
        "average_price": rupees(holding.average_price),
        "collateral_quantity": holding.collateral_quantity,
        "collateral_update_quantity": 0,
        "t1_quantity": holding.t1_quantity,
        "exchange": name.exchange,
    }


def funds(funds: SimFunds) -> Row:
    """Return the v3 tree. Margins and the realised loss (negative for a profit) are taken out of the cash. The unrealised loss is shown but not taken
    out."""
    lines: Row = {
        "mtf": 0.0,
        "loss": {
            "total": rupees(-funds.realized),
            "realised": rupees(-funds.realized),
            "unrealised": rupees(-funds.unrealized),
        },
        "span_exposure": rupees(funds.span + funds.exposure),
        "cash_margin_var_elm": 0.0,
        "premium_present": rupees(funds.option_premium),
        "delivery_margin": {"total": rupees(funds.delivery), "equity": rupees(funds.delivery), "fo_settlement": 0.0},
    }
    nothing: Row = {
        "total": 0.0,
        "mtf": 0.0,
        "span_exposure": 0.0,
        "cash_margin_var_elm": 0.0,
        "premium_present": 0.0,
        "delivery_margin": {"total": 0.0, "equity": 0.0, "fo_settlement": 0.0},
    }
    used = funds.used - funds.realized
    return {
        "available_to_trade": {
            "total": rupees(funds.available),
            "cash_available_to_trade": {
                "total": rupees(funds.opening_cash - used),
                "cash": {
                    "opening_balance": rupees(funds.opening_cash),
                    "added_today": 0.0,
                    "withdrawn_today": 0.0,
                    "amount_from_stock_sale": 0.0,
                    "unpaid_charges": 0,
                },
                "margin_used": {"total": rupees(used), **lines},
            },
            "pledge_available_to_trade": {
                "margin_from_pledge": {
                    "total": rupees(funds.collateral),
                    "equity": rupees(funds.collateral),
                    "mutual_funds": 0.0,
                },
                "margin_used": nothing,
            },
        },
        "unavailable_to_trade": {
            "cash_unavailable_to_trade": {"unsettled_profit": {"todays_profit": 0.0, "previous_days": 0.0}},
            "pledge_unavailable_to_trade": {"equity": 0.0, "mutual_funds": 0.0},
        },
    }


def old_funds(funds: SimFunds) -> Row:
    """Return the v2 answer. Since the purses were merged, everything is under equity."""
    equity: Row = {
        "used_margin": rupees(funds.used),
        "payin_amount": 0.0,
        "span_margin": rupees(funds.span),
        "adhoc_margin": 0.0,
        "notional_cash": rupees(funds.opening_cash),
        "available_margin": rupees(funds.available),
        "exposure_margin": rupees(funds.exposure),
    }
    return {"equity": equity, "commodity": dict.fromkeys(equity, 0)}


def order_margins(blocked: Sequence[Blocked]) -> Row:
    """Return what orders need, each by itself and together. Fields that do not apply are zero."""
    total = rupees(sum((each.total for each in blocked), Decimal(0)))
    rows = [
        {
            "span_margin": rupees(each.span),
            "exposure_margin": rupees(each.exposure),
            "equity_margin": rupees(each.delivery),
            "net_buy_premium": rupees(each.option_premium),
            "additional_margin": 0.0,
            "total_margin": rupees(each.total),
            "tender_margin": 0.0,
        }
        for each in blocked
    ]
    return {"margins": rows, "required_margin": total, "final_margin": total}


def quote_row(name: Name, market: Market) -> Row:
    """Return a v2 quote. The day's close is the last price while the market is open."""
    units = name.units
    return {
        "ohlc": {
            "open": rupees(market.open),
            "high": rupees(market.high),
            "low": rupees(market.low),
            "close": rupees(market.last_price),
        },
        "depth": {"buy": _levels(market.buy, units), "sell": _levels(market.sell, units)},
        "timestamp": from_epoch(market.exchange_time).isoformat(timespec="milliseconds"),
        "instrument_token": name.key,
        "symbol": name.tradingsymbol,
        "last_price": rupees(market.last_price),
        "volume": None if name.contract.is_index else market.volume // units,
        "average_price": rupees(market.average_price),
        "oi": float(market.oi // units),
        "net_change": rupees(day_change(market)),
        "total_buy_quantity": float(market.buy_quantity // units),
        "total_sell_quantity": float(market.sell_quantity // units),
        "lower_circuit_limit": rupees(market.lower_circuit),
        "upper_circuit_limit": rupees(market.upper_circuit),
        "last_trade_time": str(int(market.last_trade_time * 1000)),
        "oi_day_high": float(market.oi_day_high // units),
        "oi_day_low": float(market.oi_day_low // units),
    }


def new_quote_row(name: Name, market: Market) -> Row:
    """Return a v3 quote: the v2 fields, with the previous close under its own name."""
    return quote_row(name, market) | {
        "prev_close_price": rupees(market.previous_close),
        "ohlc": live_bar(name, market),
        "previous_oi": float(market.oi // name.units),
    }


def ltp_row(name: Name, market: Market) -> Row:
    return {
        "last_price": rupees(market.last_price),
        "instrument_token": name.key,
        "ltq": market.last_quantity // name.units,
        "volume": market.volume // name.units,
        "cp": rupees(market.previous_close),
    }


def live_bar(name: Name, market: Market) -> Row:
    midnight = from_epoch(market.exchange_time).replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "open": rupees(market.open),
        "high": rupees(market.high),
        "low": rupees(market.low),
        "close": rupees(market.last_price),
        "volume": market.volume // name.units,
        "ts": int(midnight.timestamp()) * 1000,
    }


def ohlc_row(name: Name, market: Market) -> Row:
    """Return the day's bar only. Minute bars come from the candle call."""
    return {
        "last_price": rupees(market.last_price),
        "instrument_token": name.key,
        "prev_ohlc": None,
        "live_ohlc": live_bar(name, market),
    }


def _levels(levels: tuple[Level, ...], units: int) -> list[Row]:
    def row(level: Level) -> Row:
        return {"quantity": level.quantity // units, "price": rupees(level.price), "orders": level.orders}

    return depth_rows(levels, row, _EMPTY_LEVEL)
