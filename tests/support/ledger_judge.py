"""What the documents must say after any trading: the exchange's ledger, to the unit and the paisa. For whoever has traded at the
simulated exchange (`exchange`) and read the documents of all ten brokers.
"""

from collections import Counter, defaultdict
from collections.abc import Collection
from decimal import Decimal
from typing import Any

from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.world.model import SimPosition
from onebroker.config.money import paise, rupees
from onebroker.config.vocabulary import POSITION_PRODUCTS, Product, Side

TEN = tuple(build_registry())
STATUSES = {
    "open": "OPEN", "complete": "COMPLETE", "cancelled": "CANCELLED", "rejected": "REJECTED", "expired": "EXPIRED",
}  # fmt: skip
PER_ORDER = frozenset({"icicidirect"})
"""Brokers whose trade book has one averaged row for each order instead of its fills."""
NO_RESULT = frozenset({"groww", "icicidirect"})
"""Brokers whose positions do not say what is realized or unrealized, or no last price."""
FROM_CLOSE = frozenset({"kotakneo", "shoonya"})
"""Brokers whose results of carried contracts count from the previous close."""
FROM_AVERAGES = dict.fromkeys(("angelone", "dhan", "fyers"), Decimal("0.0001"))
"""Brokers that work results out from averages: rupees by which the rounding of these moves a result, for each unit."""
PAISA = Decimal("0.01")

OrderName = tuple[str, str]
"""(broker, its order id)."""
Document = dict[str, Any]
"""As a client reads it."""


def judge_orders(exchange: Exchange, book: Document, ours: Collection[OrderName]) -> None:
    """As many orders as the ledger has, each as the exchange has it; the engine's columns on the engine's orders."""
    exact = {(order.broker, order.order_id): order for order in exchange.all_orders()}
    shown = {(row["broker"], row["order_id"]): row for row in book["orders"]}
    assert shown.keys() == exact.keys()
    assert book["summary"]["count"] == len(exact)
    assert book["summary"]["by_status"] == Counter(STATUSES[order.status.value] for order in exact.values())
    filled = Decimal(0)
    for key, order in exact.items():
        row = shown[key]
        assert (row["status"], row["instrument_id"]) == (STATUSES[order.status.value], order.new.instrument_id)
        assert (row["quantity"], row["filled_quantity"]) == (order.quantity, order.filled_quantity)
        assert (row["transaction_type"], row["product"]) == (order.new.side.value, order.new.product.value)
        columns = [row[name] for name in ("engine_parent_id", "synthetic_type", "intent_id", "leg_role")]
        assert all(columns) if key in ours else columns == [None] * 4
        filled += Decimal(row["filled_quantity"]) * Decimal(str(row["average_price"]))
    assert paise(book["summary"]["filled_value"]) == paise(float(filled))


def judge_trades(exchange: Exchange, book: Document, ours: Collection[OrderName]) -> None:
    """Every unit and every rupee of the ledger's fills, order by order."""
    quantities: Counter[OrderName] = Counter()
    values: dict[OrderName, Decimal] = defaultdict(Decimal)
    counts: Counter[str] = Counter()
    for fill in exchange.ledger.fills():
        quantities[fill.broker, fill.order_id] += fill.quantity
        values[fill.broker, fill.order_id] += fill.quantity * fill.price
        counts[fill.broker] += 1
    told: Counter[OrderName] = Counter()
    told_values: dict[OrderName, Decimal] = defaultdict(Decimal)
    told_counts: Counter[str] = Counter()
    for row in book["trades"]:
        told[row["broker"], row["order_id"]] += row["quantity"]
        told_values[row["broker"], row["order_id"]] += Decimal(str(row["value"]))
        told_counts[row["broker"]] += 1
        assert (row["engine_parent_id"] is not None) == ((row["broker"], row["order_id"]) in ours)
    assert told == quantities
    for key, value in values.items():
        if key[0] not in PER_ORDER:
            assert told_values[key] == value
    for code in TEN:
        if code not in PER_ORDER:
            assert told_counts[code] == counts[code]
    assert paise(book["summary"]["total_value"]) == sum(paise(float(value)) for value in told_values.values())


def judge_positions(exchange: Exchange, document: Document) -> Counter[str]:
    """Positions are carried units and fills; realized and unrealized together are cash moved and what is held at its mark. Return how many
    results were judged, by broker."""
    shown: dict[tuple[str, str, str], Document] = {}
    for row in document["net"]:
        for own in row["by_broker"]:
            shown[own["broker"], row["instrument_id"], row["product"]] = own
        assert row["quantity"] == sum(own["quantity"] for own in row["by_broker"])
    units: dict[tuple[str, str, str], int] = defaultdict(int)
    for fill in exchange.ledger.fills():
        product = POSITION_PRODUCTS[fill.product]
        units[fill.broker, fill.instrument_id, product] += Side(fill.side).sign * fill.quantity
    judged: Counter[str] = Counter()
    for code in TEN:
        for position in exchange.account(code).positions():
            key = (code, position.instrument_id, POSITION_PRODUCTS[position.product])
            assert position.quantity == units[key] + position.overnight_quantity
            if position.quantity or key in shown:
                assert shown[key]["quantity"] == position.quantity, key
            if key in shown and code not in NO_RESULT and shown[key]["pnl"]["total"] is not None:
                units_traded = position.day_buy_quantity + position.day_sell_quantity
                spared = FROM_AVERAGES.get(code, Decimal(0)) * units_traded
                assert (
                    abs(Decimal(str(shown[key]["pnl"]["total"])) - worth(exchange, code, position)) <= PAISA + spared
                ), key
                judged[code] += 1
    whole = sum(paise(row["pnl"]["realized"] or 0) for row in document["net"])
    assert paise(document["summary"]["realized"]) == whole
    return judged


def worth(exchange: Exchange, code: str, position: SimPosition) -> Decimal:
    """Return what a position has brought in since it was carried in, at its mark now."""
    market = exchange.account(code).market(position.instrument_id)
    carried_at = market.previous_close if code in FROM_CLOSE else position.overnight_price
    cash = position.day_sell_value - position.day_buy_value
    return cash + position.quantity * market.last_price - position.overnight_quantity * carried_at


def judge_funds(exchange: Exchange, document: Document) -> None:
    """The document is the sum of the brokers' own figures, and its identity holds."""
    summary = document["summary"]
    own = sum(paise(one["available_balance"]) for one in document["brokers"])
    assert paise(summary["available_balance"]) == own
    assert summary["total_balance"] == rupees(paise(summary["available_balance"]) + paise(summary["margin_utilized"]))
    exact = sum((exchange.account(code).funds().available for code in TEN), Decimal(0))
    assert abs(Decimal(own) / 100 - exact) <= len(TEN) * PAISA


def judge_holdings(exchange: Exchange, document: Document) -> int:
    """Every unit that the accounts hold, in one row a company; what was sold today stands in positions too, so it is left out. Return how
    many companies were judged."""

    def isins(instrument_id: str) -> str | None:
        contract = exchange.contract(instrument_id)
        assert contract is not None
        return contract.isin

    sold = {
        isins(fill.instrument_id)
        for fill in exchange.ledger.fills()
        if (fill.product, fill.side) == (Product.CNC, Side.SELL)
    }
    held = [(isins(one.instrument_id), one) for code in TEN for one in exchange.account(code).holdings()]
    units: Counter[str | None] = Counter()
    pledged: Counter[str | None] = Counter()
    for isin, holding in held:
        units[isin] += holding.total_quantity
        pledged[isin] += holding.collateral_quantity
    shown = {row["isin"]: row for row in document["holdings"]}
    assert shown.keys() == units.keys()
    for isin in units.keys() - sold:
        assert shown[isin]["quantity"] == units[isin]
        assert (
            shown[isin]["collateral_quantity"] <= pledged[isin]
        )  # 5paisa and Kotak Neo do not tell pledged units apart
    assert paise(document["summary"]["total_investment"]) == sum(paise(row["invested_value"]) for row in shown.values())
    return len(units.keys() - sold)
