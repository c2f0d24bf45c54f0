"""Which of the brokers that can take an order gets it: the one of its earlier pieces, holders, then the cheapest, then the one with most room (order-engine
4.1, 4.2). Pure."""

from collections.abc import Iterable

from onebroker.actors.engine.choice.checks import Candidate
from onebroker.brokers.records import HoldingRow, PositionRow
from onebroker.brokers.transport.budget import BudgetRoom
from onebroker.config.vocabulary import Product, Side

_NO_LIMIT = 1 << 30


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, best first: the broker of the order's earlier pieces, those whose holding the whole order would
    reduce, then by cost (one that is not known last), then most free room a second, then fewest messages today, then the code."""
    return sorted(candidates, key=_rank)


def _rank(candidate: Candidate) -> tuple[bool, bool, bool, int, int, int, str]:
    room, cost = candidate.view.room, candidate.cost
    today = room.order_messages_today if room is not None else 0
    total = 0 if cost is None else cost.total
    elsewhere = candidate.order.prefer != candidate.broker.code
    return (elsewhere, not reduces(candidate), cost is None, total, -_free(room), today, candidate.broker.code)


def _free(room: BudgetRoom | None) -> int:
    """Return how many messages could leave within this second."""
    if room is None:
        return _NO_LIMIT
    windows = (room.order_windows or {}, room.call_windows or {})
    return 0 if room.closed_seconds else min((one["second"] for one in windows if "second" in one), default=_NO_LIMIT)


def reduces(candidate: Candidate) -> bool:
    """Whether the whole order would reduce what this broker holds: the net position in the instrument and product, for a
    CNC sell the holdings too. What could not be read last is not counted on."""
    order, listing, view = candidate.order, candidate.listing, candidate.view
    if listing is None:
        return False
    held = 0 if "positions" in view.read_errors else _net(view.positions, listing.broker_token, order.product)
    if order.product == Product.CNC and order.transaction_type == Side.SELL and "holdings" not in view.read_errors:
        held += _held(view.holdings, listing.broker_token, order.instrument.isin)
    wanted = order.quantity * Side(order.transaction_type).sign
    return held * wanted < 0 and abs(held) >= abs(wanted)


def sold_out_today(candidate: Candidate) -> bool:
    """Whether shares of this instrument were sold out of the account today already, which the depository charges once."""
    listing = candidate.listing
    return listing is not None and any(
        row.filled_quantity > 0
        and row.transaction_type == Side.SELL
        and row.product == Product.CNC
        and row.instrument_token == listing.broker_token
        for row in candidate.view.orders.values()
    )


def _net(rows: Iterable[PositionRow], token: str, product: str) -> int:
    # A quantity that is not known in units reduces nothing (the instrument takes no orders there either).
    return sum(
        row.quantity or 0
        for row in rows
        if row.view == "net" and row.instrument_token == token and row.product == product
    )


def _held(rows: Iterable[HoldingRow], token: str, isin: str | None) -> int:
    return sum(
        row.settled_quantity + row.t1_quantity
        for row in rows
        if row.instrument_token == token or (isin is not None and row.isin == isin)
    )
