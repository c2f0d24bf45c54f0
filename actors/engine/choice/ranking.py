"""Ranks the brokers that can take an order: holders, the broker of its earlier pieces, then the cheapest, then the broker with most room
(order-engine 4.1, 4.2). Pure."""

import math
from collections.abc import Iterable

from onebroker.actors.engine.choice.broker_checks import Candidate
from onebroker.actors.engine.choice.leg_order import LegOrder
from onebroker.brokers.records import OrderRow
from onebroker.brokers.transport.budget import BudgetRoom
from onebroker.config.vocabulary import Product, Side, is_finished

EQUAL_PAISE = 100
"""Costs that differ by at most a rupee count as equal: such brokers share the load by their room."""


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates, best first. First come brokers whose holding the whole order would reduce. Next come holders whose units other open
    orders already claim, then holders of a part, the largest part first: there the order opens the smallest new position. Then comes the broker of
    the order's earlier pieces. Then the cost decides; an unknown cost comes last. Among brokers within a rupee of the cheapest, most room comes
    first, then fewest messages today, then the code.

    Holders come before the earlier broker. Otherwise the last pieces of a sale from two brokers' holdings would open a short at the first."""
    tiers: dict[tuple[int, ...], list[Candidate]] = {}
    for candidate in candidates:
        tiers.setdefault(_tier(candidate), []).append(candidate)
    return [candidate for tier in sorted(tiers) for candidate in _by_cost(tiers[tier])]


def _tier(candidate: Candidate) -> tuple[int, ...]:
    elsewhere = candidate.order.prefer != candidate.broker.code
    part = 0 if is_holder(candidate) else held_part(candidate)
    return (not reduces(candidate), not is_holder(candidate), -part, elsewhere, candidate.cost is None)


def _by_cost(tier: list[Candidate]) -> list[Candidate]:
    cheapest = min((candidate.cost.compared for candidate in tier if candidate.cost is not None), default=0)

    def rank(candidate: Candidate) -> tuple[int, float, int, str]:
        room = candidate.view.room
        compared = 0 if candidate.cost is None else candidate.cost.compared
        dearer = compared if compared > cheapest + EQUAL_PAISE else 0
        today = room.order_messages_today if room is not None else 0
        return (dearer, -_free_share(room), today, candidate.broker.code)

    return sorted(tier, key=rank)


def _free_share(room: BudgetRoom | None) -> float:
    return math.inf if room is None else room.free_share


def is_holder(candidate: Candidate) -> bool:
    """Whether the whole order would reduce what this broker holds, if the account had no other order."""
    return _takes_away(candidate, 0)


def held_part(candidate: Candidate) -> int:
    """Return how many units of the order would reduce what this broker holds. None of a delivery order: a delivery sale goes where the whole of it
    can be delivered, and a delivery row below zero is a sale out of the holdings, which a purchase does not close."""
    order = candidate.order
    return 0 if order.product == Product.CNC else min(order.quantity, towards(order, candidate.held))


def towards(order: LegOrder, held: int) -> int:
    """Return the units that an order could take away from `held` signed units, without regard to its own quantity."""
    return max(0, -Side(order.transaction_type).sign * held)


def reduces(candidate: Candidate) -> bool:
    """Whether the whole order would still reduce what this broker holds after every other order on the same side, open or under way, has filled.
    Two sales of one whole position do not both reduce it, unless one cancels the other."""
    order, listing = candidate.order, candidate.listing
    if listing is None or not is_holder(candidate):
        return False
    view = candidate.view
    shown = (*view.orders.values(), *view.unseen.values())
    orders = (row for row in shown if not is_alternative(row, candidate.alternatives))
    standing = standing_units(orders, listing.broker_token, order.product, order.transaction_type)
    return _takes_away(candidate, standing + candidate.in_flight)


def is_alternative(row: OrderRow, alternatives: frozenset[str]) -> bool:
    """Whether a row is one of these orders. Its leg may not know the order id yet: then its tag, which is the leg's token, names it."""
    return row.order_id in alternatives or (row.tag is not None and row.tag in alternatives)


def surely_reduces(candidate: Candidate) -> bool:
    """Whether an order `reduces`, and the position agrees with the fills: a broker still shows a position for a while that was just closed (4.11)."""
    return reduces(candidate) and candidate.is_settled()


def passes_lock(candidate: Candidate, leg_id: str | None = None) -> bool:
    """Whether the order may leave while entries may not (order-engine 4.7, 4.10): it closes what is open, and no more. `leg_id`: its leg, when it
    has one."""
    order = candidate.order
    if order.exit and (order.own_units is None or order.own_units(candidate.broker.code, leg_id) >= order.quantity):
        return True
    return surely_reduces(candidate)


def _takes_away(candidate: Candidate, others: int) -> bool:
    return towards(candidate.order, candidate.held) >= candidate.order.quantity + others


def standing_units(orders: Iterable[OrderRow], token: str, product: str, side: str) -> int:
    """Return the units that a broker's open orders may still trade on one side of an instrument and product."""
    return sum(
        row.quantity - row.filled_quantity
        for row in orders
        if row.instrument_token == token
        and row.transaction_type == side
        and row.product == product
        and not is_finished(row.status)
    )


def sold_out_today(candidate: Candidate) -> bool:
    """Whether shares of this instrument were already sold out of the account today; the depository charges that once."""
    listing = candidate.listing
    return listing is not None and any(
        row.filled_quantity > 0
        and row.transaction_type == Side.SELL
        and row.product == Product.CNC
        and row.instrument_token == listing.broker_token
        for row in candidate.view.orders.values()
    )
