"""Which order of a broker's book is a leg of unknown outcome, where the broker does not give our token back: by what it is
(order-engine 2.4, fingerprint). Pure.

Only for brokers none of whose books has ever shown a token of ours. Legs alike in all of it are interchangeable, whoever's they
are, so they share the candidates in order of time.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

from onebroker.actors.engine.orders.records import LegRecord, LegState
from onebroker.brokers.records import OrderRow
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderType

EARLIER_SECONDS = 2.0
"""How much earlier than it was sent an order's time may read: two clocks."""
UNDER_WAY_SECONDS = 30.0
"""A leg that is `sending` for longer has no message under way any more."""


class Doubt(StrEnum):
    LATER = "later"
    """Another leg alike is still being answered: its order may be the one that is seen."""
    TOO_MANY = "too many"
    """More orders could be it than there are such legs, or one does not say when it was placed."""


Match: TypeAlias = OrderRow | Doubt | None


def match(
    leg: LegRecord, unsettled: Collection[LegRecord], free: Sequence[OrderRow], now: float, time_seconds: int
) -> Match:
    """Return the order that is the leg's; None when none can be.

    `unsettled`: every such leg there is, of any broker; `free`: the orders of the leg's broker that no leg owns and that carry no
    tag; `time_seconds`: the fineness in which the broker writes an order's time; `now` in epoch seconds.
    """
    alike = sorted((one for one in unsettled if _alike(one, leg)), key=lambda one: (one.sent_at, one.leg_id))
    first = min((one.sent_at for one in alike), default=leg.sent_at)
    candidates = [row for row in free if _is_such(leg, row) and not _too_early(row, first, time_seconds)]
    if not candidates:
        return None
    if any(_under_way(one, now) for one in alike if one.leg_id != leg.leg_id):
        return Doubt.LATER
    if len(candidates) > len(alike) or any(row.order_timestamp is None for row in candidates):
        return Doubt.TOO_MANY
    return _own(leg, alike, candidates, time_seconds)


def _own(leg: LegRecord, alike: Sequence[LegRecord], candidates: Sequence[OrderRow], time_seconds: int) -> Match:
    """Give each leg, in order of time, the first order that is not too early for it; return the one of `leg`."""
    left = sorted(candidates, key=lambda row: (row.order_timestamp or "", row.order_id))
    for one in alike:
        mine = next((row for row in left if not _too_early(row, one.sent_at, time_seconds)), None)
        if one.leg_id == leg.leg_id:
            return mine
        if mine is not None:
            left.remove(mine)
    return None


def _under_way(leg: LegRecord, now: float) -> bool:
    return leg.state is LegState.SENDING and now < leg.sent_at + UNDER_WAY_SECONDS


def _alike(one: LegRecord, other: LegRecord) -> bool:
    return one.broker == other.broker and _terms(one) == _terms(other)


def _terms(leg: LegRecord) -> tuple[object, ...]:
    """What an order is told by; of a MARKET order not its prices, which brokers turn into a limit's."""
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
    """Whether the order was there before the leg was sent; both times cut to the fineness of the broker's."""
    if row.order_timestamp is None:
        return False
    placed = datetime.fromisoformat(row.order_timestamp).timestamp()
    return placed // time_seconds < (sent_at - EARLIER_SECONDS) // time_seconds
