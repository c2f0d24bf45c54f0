"""Whether one parent's share of a position is closed, while the position goes on for others (order-engine 1.11, 5.7).

A position has no owner. Two plans with two tags may share it, and a close within the tag of the one leaves the units of the other; or a close takes all
of it, and the next order opens it again a moment later. Nothing of the first plan is open then, though the position is not empty.

The broker's trades are followed by their times, and sorted into two sums (`_only_others`): those of the share (the orders of its tag; without a tag those of the parent
itself), and those of all others. Whenever the position is empty both begin anew. The share is closed when its own sum opens nothing any more, and the
others' sum explains every unit that is held.

Shares in the holdings are not of today, so they are nobody's share. But a sale of today may have taken them: then the position is short by them, and the
next buyer's units make it zero though they are held. So a delivery position counts as empty at the lowest figure that it had today and that the holdings
cover, not at zero (`_floor`).

In doubt it is not closed: while row and fills do not agree, while the trades are not all there, while an order's owner is not known, for units of an
earlier day, and where units are in the position that no fill of today explains (carried in): nobody can tell whose these are.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import attrs

from onebroker.actors.engine.books.day_trades import Fill, filled_orders, trades_of
from onebroker.actors.engine.books.fresh_reads import is_ok
from onebroker.actors.engine.books.settled_positions import held_for, settled_units
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import Product, Side

_SIMPLE = "simple"
"""The type of an order without a plan, such as the closes of the desk."""
_OTHERS, _PLAIN = "others", "plain"
"""In the sums: the orders of others, and those of the share that belong to no plan. All other names are parents' ids."""


@attrs.frozen(kw_only=True)
class Share:
    """The units that the entries of one parent have opened on one day."""

    parent_id: str
    tag: str | None
    """The caller's tag: closes within it close the share too."""
    day: str
    """The broking day, YYYY-MM-DD."""
    least: int = 0
    """Units that the share must have opened to count: of a lone exit, whose units other orders of its tag have opened, all that it guards."""


@attrs.frozen(kw_only=True)
class Position:
    """A position that is shared. `side` is the side that closes it."""

    broker: str
    token: str
    instrument_id: str
    product: str
    side: Side


def is_share_closed(context: EngineContext, share: Share, position: Position, since: float) -> bool:
    """Whether nothing of a share is open in a position, by a book that began to be read at `since` or later (monotonic seconds)."""
    view = context.sessions[position.broker].view.value
    held = held_for(context, position.broker, position.instrument_id, position.product, position.side)
    net = settled_units(context, position.broker, position.token, position.product)
    if held is None or net is None or not _is_whole(view, context.clock.monotonic(), since):
        return False
    filled = filled_orders(view, position.token, position.product)
    if not all(context.legs.knows(row, position.broker) for row in filled):
        return False
    fills = trades_of(view, filled)
    if fills is None:
        return False
    units = position.side.opposite.sign * net
    delivers = position.product == Product.CNC and position.side is Side.SELL
    seconds = _in_seconds(context, share, position, fills)
    return _only_others(seconds, units, least=share.least, covered=max(0, held - units) if delivers else 0)


def _is_whole(view: SessionView, now: float, since: float) -> bool:
    began = view.orders_read_started
    return began is not None and began >= since and view.orders_partly is None and is_ok(view, "orders", now)


def _in_seconds(
    context: EngineContext, share: Share, position: Position, fills: Sequence[Fill]
) -> list[list[tuple[int, str]]]:
    """Return (units, owner) of each trade, in a list for each second; units that open are above zero. Of trades of one second those come first that open:
    a position counts as empty only when it surely was."""
    opens, found = position.side.opposite.sign, []
    for _, second in groupby(fills, key=attrgetter("at")):
        owned = [(opens * fill.units, _owner_in(context, share, position.broker, fill.order)) for fill in second]
        found.append(sorted(owned, key=lambda one: one[0] < 0))
    return found


def _only_others(seconds: Sequence[Sequence[tuple[int, str]]], held: int, *, least: int, covered: int) -> bool:
    """Whether the share has no units open since the position was last empty, though it had `least` at some time, and the others' explain all that is held
    now (`held`). `covered`: units of the holdings that a sale may have taken."""
    now, most = held, 0
    held -= sum(units for second in seconds for units, _ in second)  # as it was carried in
    floor = _floor(0, held, covered)
    found: Counter[str] = Counter()
    for second in seconds:
        lowest = held + sum(units for units, _ in second if units < 0)  # had the sales come first
        for units, owner in second:
            held += units
            found[owner] += units
            most = max(most, _of_share(found))
            if held <= floor:
                found.clear()
        floor = _floor(floor, lowest, covered)
    return most >= least and _of_share(found) <= 0 and now - floor <= found[_OTHERS]


def _of_share(found: Counter[str]) -> int:
    return found[_PLAIN] + sum(max(0, units) for owner, units in found.items() if owner not in (_PLAIN, _OTHERS))


def _floor(floor: int, held: int, covered: int) -> int:
    """Return the figure at which a position counts as empty: the lowest so far, at most `covered` below zero."""
    return max(min(floor, held), -covered)


def _owner_in(context: EngineContext, share: Share, code: str, row: OrderRow) -> str:
    """Return which part of the sums an order belongs to: others, plain orders of the share, or one of its plans.

    A plan of the tag closes no more than it has opened itself: what it sells beyond may be a position of its own, which it buys back.
    """
    owner = context.legs.owner(code, row.order_id, row.tag)
    if owner is None:
        return _PLAIN if share.tag is not None and row.tag == share.tag else _OTHERS
    if owner.parent_id != share.parent_id and (share.tag is None or not owner.has_tag(share.tag)):
        return _OTHERS
    return _PLAIN if owner.synthetic_type == _SIMPLE else owner.parent_id
