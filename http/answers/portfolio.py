"""The five documents: funds, holdings, positions, order book, trade book. The rows are the structs that the documents are encoded from
(`actors/portfolio/`)."""

import msgspec

from onebroker.actors.portfolio.book_filters import Page
from onebroker.actors.portfolio.funds import FundsView
from onebroker.actors.portfolio.holding_view import HoldingView
from onebroker.actors.portfolio.holdings import HoldingsSummary
from onebroker.actors.portfolio.order_book import OrderSummary, OrderView
from onebroker.actors.portfolio.position_view import PositionView
from onebroker.actors.portfolio.positions import DoubtedRow, PositionsSummary
from onebroker.actors.portfolio.trade_book import TradeSummary, TradeView
from onebroker.http.answers.shared import AS_OF, INTENT_ID, PARENT_ID, SHARE, UNSET, BrokerRead, Unset


class FundsRead(BrokerRead, kw_only=True):
    """One broker's part in the funds."""

    available_balance: float | Unset = UNSET
    """Rupees; left out when the broker's part is not included."""
    pools: dict[str, float]
    """Segment -> free cash in rupees; empty for a broker with one pool."""
    error: str | Unset = UNSET
    """Why the part is unreadable."""


class FundsDocument(FundsView, frozen=True, kw_only=True):
    """Funds of all brokers, in rupees, rounded to paise. A figure that a broker does not report counts as zero."""

    brokers: list[FundsRead]
    as_of: str
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""


class HoldingsDocument(msgspec.Struct, kw_only=True):
    """Holdings of all brokers, one row for each company, sorted by symbol."""

    holdings: list[HoldingView]
    summary: HoldingsSummary
    brokers: list[BrokerRead]
    as_of: str
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""


class PositionsRead(BrokerRead, kw_only=True):
    """One broker's part in the positions."""

    doubted: list[DoubtedRow] | Unset = UNSET
    """Positions whose rows do not agree with the fills of the broker's orders; left out when there are none. Such a row may be missing in `net`."""


class PositionsDocument(msgspec.Struct, kw_only=True):
    """Positions of all brokers, one row for each instrument and product."""

    net: list[PositionView]
    """What is held now, carried from earlier days or not."""
    day: list[PositionView]
    """What was traded today, where brokers show it."""
    summary: PositionsSummary
    brokers: list[PositionsRead]
    as_of: str
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""


class OrderBook(msgspec.Struct, kw_only=True):
    """Today's orders at every broker, sorted by broker, order time and order id."""

    orders: list[OrderView]
    summary: OrderSummary
    brokers: list[BrokerRead]
    as_of: str
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""
    page: Page | Unset = UNSET
    """Only with a parameter."""


class TradeBook(msgspec.Struct, kw_only=True):
    """Today's trades at every broker, sorted by broker, trade time and trade id."""

    trades: list[TradeView]
    summary: TradeSummary
    brokers: list[BrokerRead]
    as_of: str
    """When the document was made, YYYY-MM-DDTHH:MM:SS in Indian time."""
    page: Page | Unset = UNSET
    """Only with a parameter."""


# --- examples ---------------------------------------------------------------------------------------------------------------

_READ = {"broker": "zerodha", "status": "ok", "as_of": "2026-11-25T09:16:01"}
_LOST = {"broker": "upstox", "status": "missing", "as_of": None}
BROKERS_EXAMPLE = [_LOST, _READ]
FUNDS_EXAMPLE = {
    "summary": {
        "total_balance": 150000.0,
        "available_balance": 120000.0,
        "cash_balance": 110000.0,
        "collateral_value": 10000.0,
        "adhoc_credit": 0.0,
        "margin_utilized": 30000.0,
        "withdrawable_balance": 100000.0,
    },
    "pnl": {"realized": 1250.5, "unrealized": -310.0},
    "margin_breakdown": {"span_margin": 22000.0, "exposure_margin": 8000.0, "other_margin": 0.0},
    "cash_movement": {
        "pay_in_today": 5000.0,
        "pay_out_today": 0.0,
        "uncleared_funds": 0.0,
        "pending_withdrawal": 0.0,
    },
    "segments": {
        "equity": {
            "available_balance": 120000.0,
            "margin_utilized": 30000.0,
            "span_margin": 22000.0,
            "exposure_margin": 8000.0,
        }
    },
    "brokers": [{**_LOST, "pools": {}}, {**_READ, "available_balance": 120000.0, "pools": {}}],
    "as_of": AS_OF,
}
HOLDINGS_EXAMPLE = {
    "holdings": [
        {
            "instrument_id": SHARE["instrument_id"],
            "isin": "INE009A01021",
            "symbol": "INFY",
            "exchange": "nse",
            "segment": "nse_equities",
            "quantity": 10,
            "average_price": 1400.0,
            "invested_value": 14000.0,
            "last_price": 1502.35,
            "current_value": 15023.5,
            "pnl": {"unrealized": 1023.5, "day_change": 171.5, "day_change_percentage": 1.1547},
            "collateral_quantity": 0,
        }
    ],
    "summary": {
        "holdings_count": 1,
        "total_investment": 14000.0,
        "total_current_value": 15023.5,
        "total_unrealized_pnl": 1023.5,
    },
    "brokers": BROKERS_EXAMPLE,
    "as_of": AS_OF,
}
_PNL = {"realized": 0.0, "unrealized": 23.5, "total": 23.5}
POSITIONS_EXAMPLE = {
    "net": [
        {
            **SHARE,
            "product": "intraday",
            "quantity": 10,
            "buy_quantity": 10,
            "sell_quantity": 0,
            "buy_value": 15000.0,
            "sell_value": 0.0,
            "buy_average": 1500.0,
            "sell_average": None,
            "average_price": 1500.0,
            "last_price": 1502.35,
            "multiplier": 1.0,
            "overnight_quantity": 0,
            "pnl": _PNL,
            "by_broker": [
                {
                    "broker": "zerodha",
                    "position_key": "408065:MIS",
                    "instrument_token": "408065",
                    "tradingsymbol": "INFY",
                    "quantity": 10,
                    "average_price": 1500.0,
                    "pnl": _PNL,
                }
            ],
        }
    ],
    "day": [],
    "summary": {
        "net_count": 1, "day_count": 0, "realized": 0.0, "unrealized": 23.5, "total": 23.5, "unknown_rows": 0,
    },
    "brokers": BROKERS_EXAMPLE,
    "as_of": AS_OF,
}  # fmt: skip
_OURS = {"engine_parent_id": PARENT_ID, "synthetic_type": "simple", "intent_id": INTENT_ID, "leg_role": "entry"}
ORDER_EXAMPLE = {
    "broker": "zerodha",
    "order_id": "251125000012345",
    "exchange_order_id": "1100000012345678",
    "parent_order_id": None,
    "status": "OPEN",
    "status_message": None,
    "id": "408065",
    "instrument_token": "408065",
    "tradingsymbol": "INFY",
    "exchange": "NSE",
    "transaction_type": "BUY",
    "product": "CNC",
    "order_type": "LIMIT",
    "validity": "DAY",
    "quantity": 10,
    "filled_quantity": 0,
    "pending_quantity": 10,
    "cancelled_quantity": 0,
    "disclosed_quantity": 0,
    "price": 1480.0,
    "trigger_price": 0.0,
    "average_price": 0.0,
    "order_timestamp": "2026-11-25T09:15:04+05:30",
    "exchange_timestamp": "2026-11-25T09:15:04+05:30",
    "tag": "morning1",
    "instrument_id": SHARE["instrument_id"],
    **_OURS,
}
ORDERS_EXAMPLE = {
    "orders": [ORDER_EXAMPLE],
    "summary": {"count": 1, "by_status": {"OPEN": 1}, "filled_value": 0.0},
    "brokers": BROKERS_EXAMPLE,
    "as_of": AS_OF,
    "page": {"matched": 1, "returned": 1, "cursor": 0, "next_cursor": None},
}
TRADES_EXAMPLE = {
    "trades": [
        {
            "broker": "zerodha",
            "trade_id": "75894751",
            "order_id": "251125000012345",
            "exchange_order_id": "1100000012345678",
            "exchange_trade_id": "75894751",
            "instrument_id": SHARE["instrument_id"],
            "instrument_token": "408065",
            "tradingsymbol": "INFY",
            "exchange": "NSE",
            "transaction_type": "BUY",
            "product": "CNC",
            "quantity": 10,
            "price": 1480.0,
            "value": 14800.0,
            "trade_timestamp": "2026-11-25 09:20:11",
            "exchange_timestamp": "2026-11-25 09:20:11",
            **_OURS,
        }
    ],
    "summary": {"count": 1, "buy_value": 14800.0, "sell_value": 0.0, "total_value": 14800.0},
    "brokers": BROKERS_EXAMPLE,
    "as_of": AS_OF,
}
