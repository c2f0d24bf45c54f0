"""Which of the brokers that can take an order gets it: holders first, then the one with most room (order-engine 4.1, 4.2). Pure."""

from collections.abc import Iterable

from onebroker.actors.engine.choice.checks import Candidate
from onebroker.brokers.records import HoldingRow, PositionRow
from onebroker.config.vocabulary import Product, Side

_NO_LIMIT = 1 << 30


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, best first: those whose holding the whole order would reduce, then most free room in the order
    budget, then fewest messages today, then the code."""
    return sorted(candidates, key=_rank)


def _rank(candidate: Candidate) -> tuple[bool, int, int, str]:
    room = candidate.view.room
    free = room.entry_room if room is not None and room.entry_room is not None else _NO_LIMIT
    today = room.order_messages_today if room is not None else 0
    return (not reduces(candidate), -free, today, candidate.broker.code)


def reduces(candidate: Candidate) -> bool:
    """Whether the whole order would reduce what this broker holds: the net position in the instrument and product, for a
    CNC sell the holdings too."""
    order, listing = candidate.order, candidate.listing
    if listing is None:
        return False
    held = _net(candidate.view.positions, listing.broker_token, order.product)
    if order.product == Product.CNC and order.transaction_type == Side.SELL:
        held += _held(candidate.view.holdings, listing.broker_token, order.instrument.isin)
    wanted = order.quantity * Side(order.transaction_type).sign
    return held * wanted < 0 and abs(held) >= abs(wanted)


def _net(rows: Iterable[PositionRow], token: str, product: str) -> int:
    # A quantity that is not known in units reduces nothing (the instrument takes no orders there either).
    return sum(
        row.quantity or 0 for row in rows if row.view == "net" and row.instrument_token == token and row.product == product
    )


def _held(rows: Iterable[HoldingRow], token: str, isin: str | None) -> int:
    return sum(
        row.settled_quantity + row.t1_quantity
        for row in rows
        if row.instrument_token == token or (isin is not None and row.isin == isin)
    )
