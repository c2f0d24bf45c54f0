"""The day's loss limit for changes: a larger order counts as a new order (order-engine 4.7); an order that only reduces does not."""

from onebroker.actors.engine.books.shown_positions import shown_last
from onebroker.actors.engine.choice.ranking import standing_units
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.trading_gate import Passage
from onebroker.actors.engine.orders.accepted_changes import Target
from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Side


def check_growth(context: EngineContext, target: Target, changes: LegChange) -> None:
    """Raise Refusal 403 or 503 when a halt, or the day's loss, keeps an order from growing, unless the whole order would only reduce a position."""
    passage = passage_of(context, target, changes)
    refused = context.entry_lock() if passage is Passage.ENTRY else context.gate.refusal(passage)
    if refused is not None:
        raise Refusal(refused.status, str(refused.body["error"]))


def passage_of(context: EngineContext, target: Target, changes: LegChange) -> Passage:
    """Return what a change does to the risk: a larger order is an entry, unless the whole order would only reduce a position."""
    quantity = changes.quantity
    if quantity is None or quantity <= target.row.quantity or _only_reduces(context, target, quantity):
        return Passage.EXIT
    return Passage.ENTRY


def _only_reduces(context: EngineContext, target: Target, quantity: int) -> bool:
    """Whether the order with its new quantity is against the net position at its broker, and not larger than the part of the position
    that the other open orders of the same side leave."""
    row, view = target.row, context.session(target.broker).view.value
    if row.transaction_type not in tuple(Side):
        return False
    net = sum(
        position.quantity or 0
        for position in shown_last(view)
        if position.view != "day"
        and position.instrument_token == row.instrument_token
        and position.product == row.product
    )
    others = standing_units(
        (other for other in view.orders.values() if other.order_id != row.order_id),
        row.instrument_token,
        row.product,
        row.transaction_type,
    )
    return net * Side(row.transaction_type).sign < 0 and abs(net) >= quantity - row.filled_quantity + others
