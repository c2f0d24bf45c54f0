"""Finds the order of a leg of unknown outcome by the order's terms, at a broker that does not give our token back
(order-engine 2.4, fingerprint). Pure.

Used only for brokers whose books have never shown a token of ours. Legs with equal terms are interchangeable, whichever parent owns
them. So they share the candidate orders in order of time.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from onebroker.actors.engine.orders.parent_records import LegRecord, LegState
from onebroker.brokers.records import OrderRow
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderType

EARLIER_SECONDS = 2.0
"""How much earlier than our sending time an order's time may read: two clocks differ."""
UNDER_WAY_SECONDS = 30.0
"""A leg that is `sending` for longer no longer has a message under way."""


class Doubt(StrEnum):
    LATER = "later"
    """Another leg with equal terms still waits for its answer. The order in the book may belong to that leg."""
    TOO_MANY = "too many"
    """There are more candidate orders than such legs, or a candidate has no order time."""


Match: TypeAlias = OrderRow | Doubt | None


def match(
    leg: LegRecord, unsettled: Collection[LegRecord], free: Sequence[OrderRow], now: float, time_seconds: int
) -> Match:
    """Return the leg's order; None when no order can be the leg's.

    `unsettled`: every leg of unknown outcome, of any broker. `free`: the orders of the leg's broker that no leg owns and that carry no
    tag. `time_seconds`: the resolution of the broker's order times. `now` in epoch seconds.
    """
    alike = sorted((twin for twin in unsettled if _alike(twin, leg)), key=lambda twin: (twin.sent_at, twin.leg_id))
    first = min((twin.sent_at for twin in alike), default=leg.sent_at)
    candidates = [row for row in free if _is_such(leg, row) and not _too_early(row, first, time_seconds)]
    if not candidates:
        return None
    if any(_under_way(twin, now) for twin in alike if twin.leg_id != leg.leg_id):
        return Doubt.LATER
    if len(candidates) > len(alike) or any(row.order_timestamp is None for row in candidates):
        return Doubt.TOO_MANY
    return _own(leg, alike, candidates, time_seconds)


def _own(leg: LegRecord, alike: Sequence[LegRecord], candidates: Sequence[OrderRow], time_seconds: int) -> Match:
    """Give each leg, in order of time, the first order that is not too early for it. Return the order of `leg`."""
    left = sorted(candidates, key=lambda row: (row.order_timestamp or "", row.order_id))
    for twin in alike:
        mine = next((row for row in left if not _too_early(row, twin.sent_at, time_seconds)), None)
        if twin.leg_id == leg.leg_id:
            return mine
        if mine is not None:
            left.remove(mine)
    return None


def _under_way(leg: LegRecord, now: float) -> bool:
    return leg.state is LegState.SENDING and now < leg.sent_at + UNDER_WAY_SECONDS


def _alike(leg: LegRecord, other: LegRecord) -> bool:
    return leg.broker == other.broker and _terms(leg) == _terms(other)


def _terms(leg: LegRecord) -> tuple[object, ...]:
    """The terms that identify an order. Not the prices of a MARKET order: brokers turn it into a limit order with prices of their own."""
    common = (leg.instrument_token, leg.transaction_type, leg.product, leg.quantity)
    if leg.order_type == OrderType.MARKET:
        return common
    return (*common, leg.order_type, leg.price or Decimal(0), leg.trigger_price or Decimal(0))


def _is_such(leg: LegRecord, row: OrderRow) -> bool:
    common = (row.instrument_token, row.transaction_type, row.product, row.quantity)
    if leg.order_type == OrderType.MARKET:
        return common == _terms(leg)
    return (*common, row.order_type, exact(row.price), exact(row.trigger_price)) == _terms(leg)


def _too_early(row: OrderRow, sent_at: float, time_seconds: int) -> bool:
    """Whether the order existed before the leg was sent; both times are cut to the resolution of the broker's times."""
    if row.order_timestamp is None:
        return False
    placed = datetime.fromisoformat(row.order_timestamp).timestamp()
    return placed // time_seconds < (sent_at - EARLIER_SECONDS) // time_seconds
