"""A halt and the day's loss limit for changes: a larger order counts as a new order (order-engine 4.7, 4.10); an order that only reduces does
not."""

import math
from collections.abc import Iterator

from onebroker.actors.engine.books.settled_positions import settled_units
from onebroker.actors.engine.choice.ranking import standing_units
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.accepted_changes import Target
from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.actors.engine.placing.settled_positions import settle_position
from onebroker.brokers.records import OrderRow
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side, is_finished


async def check_growth(context: EngineContext, target: Target, changes: LegChange) -> None:
    """Raise Refusal 403 or 503 when a halt, or the day's loss, keeps an order from growing, unless the whole order would only reduce a position.
    While entries are locked out, wait a moment for positions that agree with the fills."""
    await settle_position(target.broker, target.row.instrument_token, target.row.product, context)
    refused = context.gate.refusal(passage_of(context, target, changes))
    if refused is None and _grows(context, target, changes):
        refused = context.loss.value.refusal(context.clock.monotonic())
    if refused is not None:
        raise Refusal(refused.status, str(refused.body["error"]))


def passage_of(context: EngineContext, target: Target, changes: LegChange) -> Passage:
    """Return what a change does to the risk. An order that grows is an entry, and so is another price or type of an order that is not against a
    position of its size: it may fill at once, and open one."""
    if changes.quantity is not None and changes.quantity < target.row.quantity and not _moves(changes):
        return Passage.SMALLER
    opens = _moves(changes) and not _is_against(target, _net(context, target), target.row.quantity)
    return Passage.ENTRY if opens or _grows(context, target, changes) else Passage.EXIT


def still_exit(context: EngineContext, target: Target, changes: LegChange) -> bool:
    """Whether a change that passed as an exit still is one when it leaves; then it is noted. Other orders that were moved since the position was
    read may fill first, so they take their units of it."""
    if passage_of(context, target, changes) is Passage.ENTRY:
        return False
    if not _moves(changes):
        return True
    others = sum(row.quantity - row.filled_quantity for row in _moved_lately(context, target))
    if not _is_against(target, _net(context, target), target.row.quantity + others):
        return False
    context.moved[target.broker, target.row.order_id] = context.clock.monotonic()
    return True


def _moves(changes: LegChange) -> bool:
    return any(value is not None for value in (changes.price, changes.trigger_price, changes.order_type))


def _moved_lately(context: EngineContext, target: Target) -> Iterator[OrderRow]:
    """Yield the other open orders of the same side whose last move left after the positions began to be read."""
    own, view = target.row, context.session(target.broker).view.value
    began = -math.inf if view.positions_read_started is None else view.positions_read_started
    for row in view.orders.values():
        same = (row.instrument_token, row.product, row.transaction_type) == (
            own.instrument_token,
            own.product,
            own.transaction_type,
        )
        moved_at = context.moved.get((target.broker, row.order_id), -math.inf)
        if same and row.order_id != own.order_id and moved_at >= began and not is_finished(row.status):
            yield row


def _grows(context: EngineContext, target: Target, changes: LegChange) -> bool:
    """Whether a change makes the order larger, and the larger order would do more than reduce a position."""
    quantity = changes.quantity
    return quantity is not None and quantity > target.row.quantity and not _only_reduces(context, target, quantity)


def _net(context: EngineContext, target: Target) -> int:
    """Return the net position, in units, that the order's broker holds; 0 while it does not agree with the fills."""
    row = target.row
    return settled_units(context, target.broker, row.instrument_token, row.product) or 0


def _is_against(target: Target, net: int, quantity: int) -> bool:
    """Whether an order of `quantity` units is against a net position that is at least as large as its unfilled units."""
    row = target.row
    if row.transaction_type not in tuple(Side):
        return False
    return net * Side(row.transaction_type).sign < 0 and abs(net) >= quantity - row.filled_quantity


def _only_reduces(context: EngineContext, target: Target, quantity: int) -> bool:
    """Whether the order with its new quantity is against the net position at its broker, and not larger than the part of the position
    that the other open orders of the same side leave."""
    row, view = target.row, context.session(target.broker).view.value
    others = standing_units(
        (other for other in view.orders.values() if other.order_id != row.order_id),
        row.instrument_token,
        row.product,
        row.transaction_type,
    )
    return _is_against(target, _net(context, target), quantity + others)
