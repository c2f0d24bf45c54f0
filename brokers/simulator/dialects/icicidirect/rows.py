"""ICICI Direct's JSON rows, made from the exchange's truth. Texts and numbers are mixed as the broker mixes them."""

from collections.abc import Sequence
from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import (
    FOUR_PLACES,
    Row,
    day_change,
    percent,
    position_facts,
    rupees,
)
from onebroker.brokers.simulator.dialects.icicidirect.envelope import day_text, figure, minute_text, second_text
from onebroker.brokers.simulator.dialects.icicidirect.naming import Name
from onebroker.brokers.simulator.world.model import (
    Market,
    NewOrder,
    SimFill,
    SimFunds,
    SimHolding,
    SimOrder,
    SimPosition,
    SimStatus,
)
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import strike_text
from onebroker.config.money import plain
from onebroker.config.vocabulary import Product

_WHOLE = {
    SimStatus.AFTER_MARKET: "Queued",
    SimStatus.TRIGGER_PENDING: "Ordered",
    SimStatus.OPEN: "Ordered",
    SimStatus.COMPLETE: "Executed",
    SimStatus.CANCELLED: "Cancelled",
    SimStatus.REJECTED: "Rejected",
    SimStatus.EXPIRED: "Expired",
}
_PARTLY = {
    SimStatus.OPEN: "Partially Executed",
    SimStatus.CANCELLED: "Partially Executed And Cancelled",
    SimStatus.EXPIRED: "Partially Executed And Expired",
}
"""Status words for a partly executed order."""
_PAISE = Decimal("0.01")


def status_word(order: SimOrder) -> str:
    partly = _PARTLY.get(order.status) if order.filled_quantity else None
    return partly or _WHOLE[order.status]


def derivative_fields(name: Name) -> Row:
    """Return expiry, right and strike as rows carry them. A share's are empty."""
    if name.expiry is None:
        return {"expiry_date": None, "right": None, "strike_price": 0.0}
    return {"expiry_date": day_text(name.expiry), "right": name.right, "strike_price": name.strike}


def order_row(order: SimOrder, name: Name) -> Row:
    """Return one order of the book. It has no filled quantity, and no figure counts expired units."""
    expired = order.status is SimStatus.EXPIRED
    return {
        "order_id": order.order_id,
        "exchange_order_id": order.exchange_order_id,
        "exchange_code": name.exchange,
        "stock_code": name.stock_code,
        "product_type": _product(name, order.new.product),
        "action": order.new.side.value.title(),
        "order_type": {"LIMIT": "Limit", "SL": "StopLoss"}.get(order.order_type.value, "Market"),
        "stoploss": figure(order.trigger_price),
        "quantity": str(order.quantity),
        "price": figure(order.price),
        "validity": {"DAY": "Day", "IOC": "IoC"}[order.validity.value],
        "disclosed_quantity": str(order.disclosed_quantity),
        **derivative_fields(name),
        "average_price": figure(order.average_price) if order.filled_quantity else "0",
        "cancelled_quantity": "0" if expired else str(order.cancelled_quantity),
        "pending_quantity": str(order.pending_quantity),
        "status": status_word(order),
        "user_remark": order.new.tag or "",
        "order_datetime": minute_text(order.placed_at),
        "parent_order_id": None,
        "modification_number": None,
        "exchange_acknowledgement_date": None,
        "SLTP_price": None,
        "exchange_acknowledge_number": None,
        "initial_limit": None,
        "intial_sltp": None,
        "LTP": None,
        "limit_offset": None,
        "mbc_flag": None,
        "cutoff_price": None,
        "validity_date": "",
    }


def trade_row(fills: Sequence[SimFill], name: Name, market: Market) -> Row:
    """Return the averaged row of one order's fills."""
    units = sum(fill.quantity for fill in fills)
    value = sum((fill.quantity * fill.price for fill in fills), Decimal(0))
    first = fills[0]
    return {
        "book_type": "Trade-Book",
        "trade_date": day_text(first.at.date()),
        "stock_code": name.stock_code,
        "action": first.side.value.title(),
        "quantity": str(units),
        "average_cost": figure((value / units).quantize(FOUR_PLACES)),
        "brokerage_amount": "0.00",
        "product_type": _product(name, first.product),
        "exchange_code": name.exchange,
        "order_id": first.order_id,
        "segment": "M",
        "settlement_code": f"{first.at:%Y}001",
        "dp_id": "IN1234566",
        "client_id": "12345678",
        "ltp": figure(market.last_price),
        "eatm_withheld_amount": "0.00",
        "cash_withheld_amount": "0.00",
        "total_taxes": "0.00",
        "order_type": "limit",
        **(derivative_fields(name) if name.expiry else dict.fromkeys(("expiry_date", "right", "strike_price"))),
    }


def fill_row(fill: SimFill, name: Name) -> Row:
    return {
        "settlement_id": f"{fill.at:%Y}001",
        "exchange_trade_id": fill.trade_id,
        "executed_quantity": str(fill.quantity),
        "action": fill.side.value[0],
        "total_transaction_cost": "0",
        "brokerage_amount": "0",
        "taxes": "0",
        "eatm_withheld_amount": "0",
        "cash_withheld_amount": "0",
        "execution_price": figure(fill.price),
        "stock_code": name.stock_code,
        "exchange_code": name.exchange,
        "trade_id": f"{fill.at:%Y/%m%d}/{fill.trade_id}",
        "exchange_trade_time": second_text(fill.at),
    }


def position_row(position: SimPosition, name: Name, market: Market) -> Row:
    """Return one position. The quantity has no sign; the action gives it. Shares bought for delivery are here on the day of purchase."""
    facts = position_facts(position, market)
    return {
        "segment": "equity" if name.expiry is None else "fno",
        "product_type": _product(name, position.product),
        "exchange_code": name.exchange,
        "stock_code": name.stock_code,
        "expiry_date": None if name.expiry is None else day_text(name.expiry),
        "strike_price": None if name.expiry is None else strike_text(name.strike),
        "right": name.right,
        "action": "Buy" if facts.quantity > 0 else "Sell" if facts.quantity < 0 else "NA",
        "quantity": str(abs(facts.quantity)),
        "average_price": figure(facts.held_price),
        "settlement_id": None,
        "margin_amount": None,
        "ltp": figure(market.last_price),
        "price": figure(market.previous_close),
        "stock_index_indicator": "Index" if "index" in name.contract.bare else "Stock",
        "cover_quantity": "0",
        "stoploss_trigger": "0",
        "stoploss": None,
        "take_profit": None,
        "available_margin": None,
        "squareoff_mode": None,
        "mtf_sell_quantity": None,
        "mtf_net_amount_payable": None,
        "mtf_expiry_date": None,
        "order_id": "",
        "cover_order_flow": None,
        "cover_order_executed_quantity": None,
        "pledge_status": None,
        "pnl": None,
        "underlying": name.stock_code,
        "order_segment_code": None,
    }


def demat_row(holding: SimHolding, name: Name) -> Row:
    """Return what the demat account holds. It includes pledged units, which are not available."""
    held = holding.settled_quantity + holding.collateral_quantity
    return {
        "stock_code": name.stock_code,
        "stock_ISIN": name.contract.isin,
        "quantity": str(held),
        "demat_total_bulk_quantity": str(held),
        "demat_avail_quantity": "0",
        "blocked_quantity": "0",
        "demat_allocated_quantity": str(holding.settled_quantity),
    }


def portfolio_row(holding: SimHolding, name: Name, market: Market) -> Row:
    """Return the bought units, delivered or not."""
    change = percent(day_change(market), market.previous_close, _PAISE)
    return {
        "stock_code": name.stock_code,
        "exchange_code": name.exchange,
        "quantity": str(holding.total_quantity),
        "average_price": figure(holding.average_price),
        "booked_profit_loss": None,
        "current_market_price": figure(market.last_price),
        "change_percentage": figure(change),
        "answer_flag": None,
        "product_type": None,
        "expiry_date": None,
        "strike_price": None,
        "right": None,
        "category_index_per_stock": None,
        "action": None,
        "realized_profit": None,
        "unrealized_profit": None,
        "open_position_value": None,
        "portfolio_charges": None,
    }


def funds(funds: SimFunds) -> Row:
    """Return the funds. Free money is allocated in equal halves to shares and to derivatives."""
    free = funds.available
    half = (free / 2).quantize(_PAISE)
    for_derivatives = funds.used - funds.delivery
    return {
        "bank_account": "123456789012",
        "total_bank_balance": rupees(free + funds.used),
        "allocated_equity": rupees(half + funds.delivery),
        "allocated_fno": rupees(free - half + for_derivatives),
        "allocated_commodity": 0.0,
        "allocated_currency": 0.0,
        "block_by_trade_equity": rupees(funds.delivery),
        "block_by_trade_fno": rupees(for_derivatives),
        "block_by_trade_commodity": 0.0,
        "block_by_trade_currency": 0.0,
        "block_by_trade_balance": rupees(funds.used),
        "unallocated_balance": "0",
    }


def margin(funds: SimFunds) -> Row:
    """Return the cash allocated to an exchange; here all exchanges share it."""
    return {
        "limit_list": [],
        "cash_limit": rupees(funds.opening_cash),
        "amount_allocated": rupees(funds.available + funds.used),
        "block_by_trade": rupees(funds.used),
        "isec_margin": 0.0,
    }


def quote_row(name: Name, market: Market) -> Row:
    """Return one quote. It has no depth, no average and no oi."""
    bid, offer = (levels[0] if levels else None for levels in (market.buy, market.sell))
    change = percent(day_change(market), market.previous_close, _PAISE)
    return {
        "exchange_code": name.exchange,
        "product_type": {"cash": "", "futures": "Future", "options": "Options"}[name.kind],
        "stock_code": name.stock_code,
        **(derivative_fields(name) if name.expiry else {"expiry_date": "", "right": "", "strike_price": 0.0}),
        **({"right": "*"} if name.kind == "futures" else {}),
        "ltp": rupees(market.last_price),
        "ltt": second_text(from_epoch(market.last_trade_time)),
        "best_bid_price": rupees(bid.price if bid else None),
        "best_bid_quantity": str(bid.quantity if bid else 0),
        "best_offer_price": rupees(offer.price if offer else None),
        "best_offer_quantity": str(offer.quantity if offer else 0),
        "open": rupees(market.open),
        "high": rupees(market.high),
        "low": rupees(market.low),
        "previous_close": rupees(market.previous_close),
        "ltp_percent_change": float(change),  # unlike rupees(), keeps the sign of a loss that rounds to zero
        "upper_circuit": rupees(market.upper_circuit),
        "lower_circuit": rupees(market.lower_circuit),
        "total_quantity_traded": str(market.volume),
        "spot_price": "",
    }


def calculated_row(name: Name, order: NewOrder) -> Row:
    """Return one position of a margin calculation, as the broker repeats it."""
    return {
        "strike_price": strike_text(name.strike),
        "quantity": str(order.quantity),
        "right": name.right,
        "product": name.kind.title(),
        "action": order.side.title(),
        "price": plain(order.price or Decimal(0)),
        "expiry_date": None if name.expiry is None else day_text(name.expiry),
        "stock_code": name.stock_code,
    }


def margin_calculation(rows: Sequence[Row], needed: Decimal) -> Row:
    """Return what the positions need together. The whole need is in the figure that holds it in documented answers."""
    return {
        "margin_calulation": rows,  # the broker's spelling
        "non_span_margin_required": "0",
        "order_value": f"{needed:.2f}",
        "order_margin": "0",
        "trade_margin": None,
        "block_trade_margin": "0",
        "span_margin_required": f"{needed:.2f}",
    }


def candle_row(name: Name, candle: tuple[float, float, float, float, float, int, int], *, texts: bool) -> Row:
    """Return one candle of v1 (`texts`) or v2. In v2 a share's row names no contract."""
    start, *prices, volume, interest = candle
    figures = [*prices, volume, interest if name.expiry else None]
    written = [None if value is None else f"{value:g}" for value in figures] if texts else figures
    row: Row = {
        "datetime": f"{from_epoch(start):%Y-%m-%d %H:%M:%S}",
        "stock_code": name.stock_code,
        "exchange_code": name.exchange,
    }
    contract: Row = dict.fromkeys(("product_type", "expiry_date", "right", "strike_price"))
    if name.expiry is not None:
        short = day_text(name.expiry).upper()
        contract = {
            "product_type": name.kind.title(), "expiry_date": f"{short[:-4]}{short[-2:]}", "right": name.right,
            "strike_price": strike_text(name.strike),
        }  # fmt: skip
    if texts or name.expiry is not None:
        row |= contract | {"open_interest": written[5]}
    row |= dict(zip(("open", "high", "low", "close", "volume"), written[:5], strict=True))
    return row | ({"count": 0} if texts else {})


def _product(name: Name, product: Product) -> str:
    return "Margin" if product is Product.MIS else name.kind.title()
