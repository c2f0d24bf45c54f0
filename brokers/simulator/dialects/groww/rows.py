"""Groww's JSON rows, made from the exchange's truth."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import (
    Row,
    day_change,
    four_places,
    percent,
    position_facts,
    rupees,
)
from onebroker.brokers.simulator.dialects.groww.naming import Name
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
from onebroker.config.vocabulary import OrderType

STATUSES: Mapping[SimStatus, str] = {
    SimStatus.AFTER_MARKET: "NEW",
    SimStatus.TRIGGER_PENDING: "TRIGGER_PENDING",
    SimStatus.OPEN: "OPEN",
    SimStatus.COMPLETE: "EXECUTED",
    SimStatus.CANCELLED: "CANCELLED",
    SimStatus.REJECTED: "REJECTED",
    SimStatus.EXPIRED: "CANCELLED",  # Groww has no word for expired
}
ORDER_TYPES = {OrderType.MARKET: "MARKET", OrderType.LIMIT: "LIMIT", OrderType.SL: "SL", OrderType.SL_M: "SL_M"}
_NO_LEVEL = Level(Decimal(0), 0, 0)


def stamp(moment: datetime | None) -> str | None:
    """Return a time as Groww writes it: Indian time, ISO, without an offset."""
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S")


def brief(order: SimOrder) -> Row:
    """Return the fields that every answer about one order begins with."""
    return {"groww_order_id": order.order_id, "order_status": STATUSES[order.status]}


def order_row(order: SimOrder, name: Name) -> Row:
    return {
        **brief(order),
        "trading_symbol": name.trading_symbol,
        "remark": order.status_message or "",
        "quantity": order.quantity,
        "price": rupees(order.price),
        "trigger_price": rupees(order.trigger_price),
        "filled_quantity": order.filled_quantity,
        "remaining_quantity": order.pending_quantity,
        "average_fill_price": rupees(order.average_price),
        "deliverable_quantity": 0,
        "amo_status": "NA",
        "validity": order.validity.value,
        "exchange": name.exchange,
        "order_type": ORDER_TYPES[order.order_type],
        "transaction_type": order.new.side.value,
        "segment": name.segment,
        "product": order.new.product.value,
        "created_at": stamp(order.placed_at),
        "exchange_time": stamp(order.exchange_at),
        "trade_date": None if order.exchange_at is None else f"{order.exchange_at:%Y-%m-%d}T00:00:00Z",
        "order_reference_id": order.new.tag,
    }


def status_row(order: SimOrder, name: Name) -> Row:
    """Return the fields of an order that the status calls answer."""
    row = order_row(order, name)
    kept = ("groww_order_id", "order_status", "remark", "filled_quantity", "order_reference_id")
    return {field: row[field] for field in kept}


def trade_row(fill: SimFill, name: Name) -> Row:
    return {
        "price": rupees(fill.price),
        "isin": name.contract.isin,
        "quantity": fill.quantity,
        "groww_order_id": fill.order_id,
        "groww_trade_id": fill.trade_id,
        "exchange_trade_id": fill.trade_id,
        "exchange_order_id": fill.exchange_order_id,
        "trade_status": "EXECUTED",
        "trading_symbol": name.trading_symbol,
        "remark": None,
        "exchange": name.exchange,
        "segment": name.segment,
        "product": fill.product.value,
        "transaction_type": fill.side.value,
        "created_at": stamp(fill.at),
        "trade_date_time": stamp(fill.at),
        "settlement_number": None,
    }


def position_row(position: SimPosition, name: Name, market: Market) -> Row:
    """Return one row. Credit is bought today, debit is sold today, and the carried leg has its own fields."""
    facts = position_facts(position, market)
    carried_price = rupees(position.overnight_price)
    return {
        "trading_symbol": name.trading_symbol,
        "segment": name.segment,
        "credit_quantity": facts.day_buy.quantity,
        "credit_price": rupees(facts.day_buy.average),
        "debit_quantity": facts.day_sell.quantity,
        "debit_price": rupees(facts.day_sell.average),
        "carry_forward_credit_quantity": facts.carried_buy.quantity,
        "carry_forward_credit_price": carried_price if facts.carried > 0 else 0.0,
        "carry_forward_debit_quantity": facts.carried_sell.quantity,
        "carry_forward_debit_price": carried_price if facts.carried < 0 else 0.0,
        "exchange": name.exchange,
        "symbol_isin": name.contract.isin or name.trading_symbol,
        "quantity": facts.quantity,
        "product": position.product.value,
        "net_carry_forward_quantity": facts.carried,
        "net_price": rupees(facts.held_price),
        "net_carry_forward_price": carried_price if facts.carried else 0.0,
        "realised_pnl": rupees(four_places(facts.realized)),
    }


def holding_row(holding: SimHolding, name: Name) -> Row:
    """Return one holding. Groww's quantity is the settled units including pledged ones. We assume that T1 units are not part of it."""
    return {
        "isin": name.contract.isin,
        "trading_symbol": name.trading_symbol,
        "quantity": holding.settled_quantity + holding.collateral_quantity,
        "average_price": rupees(holding.average_price),
        "pledge_quantity": holding.collateral_quantity,
        "demat_locked_quantity": 0,
        "groww_locked_quantity": 0,
        "repledge_quantity": 0,
        "t1_quantity": holding.t1_quantity,
        "demat_free_quantity": holding.settled_quantity,
        "corporate_action_additional_quantity": 0,
        "active_demat_transfer_quantity": 0,
        "tradable_exchanges": [name.exchange],
    }


def order_margins(needed: Blocked, segment: str) -> Row:
    """Return what orders need together. Charges are not computed here. In the cash segment the parts have their own names."""
    cash = segment == "CASH"
    return {
        "exposure_required": 0.0 if cash else rupees(needed.exposure),
        "span_required": 0.0 if cash else rupees(needed.span),
        "option_buy_premium": rupees(needed.option_premium),
        "brokerage_and_charges": 0.0,
        "total_requirement": rupees(needed.total),
        "cash_cnc_margin_required": rupees(needed.delivery) if cash else None,
        "cash_mis_margin_required": rupees(needed.span + needed.exposure) if cash else None,
        "physical_delivery_margin_requirement": 0.0,
    }


def funds(funds: SimFunds) -> Row:
    free = rupees(funds.available)
    derivatives, equity = funds.span + funds.exposure + funds.option_premium, funds.delivery
    return {
        "clear_cash": rupees(funds.opening_cash + funds.realized),
        "net_margin_used": rupees(funds.used),
        "brokerage_and_charges": 0.0,
        "collateral_used": 0.0,
        "collateral_available": rupees(funds.collateral),
        "adhoc_margin": 0.0,
        "fno_margin_details": {
            "net_fno_margin_used": rupees(derivatives),
            "span_margin_used": rupees(funds.span),
            "exposure_margin_used": rupees(funds.exposure),
            "future_balance_available": free,
            "option_buy_balance_available": free,
            "option_sell_balance_available": free,
        },
        "equity_margin_details": {
            "net_equity_margin_used": -rupees(equity),  # negative in the documents' sample
            "cnc_margin_used": -rupees(equity),
            "mis_margin_used": 0.0,
            "cnc_balance_available": free,
            "mis_balance_available": free,
        },
    }


def ohlc_text(market: Market) -> str:
    """Return the day's figures as Groww writes them: nearly JSON. The close is the previous day's."""
    figures = (market.open, market.high, market.low, market.previous_close)
    words = ("open", "high", "low", "close")
    inside = ",".join(f"{word}: {float(figure)}" for word, figure in zip(words, figures, strict=True))
    return f"{{{inside}}}"


def quote(market: Market, name: Name) -> Row:
    bid, offer = best(market.buy), best(market.sell)
    return {
        "average_price": rupees(market.average_price),
        "bid_quantity": bid.quantity,
        "bid_price": rupees(bid.price),
        "day_change": rupees(day_change(market)),
        "day_change_perc": rupees(percent(day_change(market), market.previous_close)),
        "upper_circuit_limit": rupees(market.upper_circuit),
        "lower_circuit_limit": rupees(market.lower_circuit),
        "ohlc": ohlc_text(market),
        "depth": {"buy": _levels(market.buy), "sell": _levels(market.sell)},
        "high_trade_range": 0.0,
        "low_trade_range": 0.0,
        "implied_volatility": None,
        "last_trade_quantity": market.last_quantity,
        "last_trade_time": int(market.last_trade_time * 1000),
        "last_price": rupees(market.last_price),
        "market_cap": None,
        "offer_price": rupees(offer.price),
        "offer_quantity": offer.quantity,
        "oi_day_change": 0.0,
        "oi_day_change_percentage": 0.0,
        "open_interest": None if name.segment == "CASH" else float(market.oi),
        "previous_open_interest": None if name.segment == "CASH" else float(market.oi),
        "total_buy_quantity": float(market.buy_quantity),
        "total_sell_quantity": float(market.sell_quantity),
        "volume": market.volume,
        "week_52_high": rupees(market.high),
        "week_52_low": rupees(market.low),
    }


def best(levels: Sequence[Level]) -> Level:
    """Return the best level of one side; a level of nothing if the side is empty."""
    return levels[0] if levels else _NO_LEVEL


def _levels(levels: tuple[Level, ...]) -> list[Row]:
    return [{"price": rupees(level.price), "quantity": level.quantity} for level in levels[:5]]
