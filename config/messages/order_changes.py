"""Sentences of modify, of parents and parts, of lists of orders, and of flatten (rules 2.4.4-2.4.7; order-engine 2.6,
5.6, 5.7).

The sentences that modify and cancel share with place are in `orders`."""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.config.money import plain

# --- modify ------------------------------------------------------------------------------------------------------------

GIVE_ONE = "give at least one of price, trigger_price, quantity, order_type, validity, disclosed_quantity"
SAME_VALUES = "the order already has these values"
ONLY_THREE = "only price, trigger_price and quantity can be changed on an engine order"
CANCEL_ACCEPTED = "a cancel of this order was already accepted"
STILL_ANSWERED = "an order message for this leg is still being answered; try again in a moment"
RATE_BUDGET_FULL = "the order rate budget is full, so this change was not sent; try again in a moment"
SEVERAL_HELD = "more than one part of this order is held, so give part"
NONE_HELD = "no part of this order is held"
PART_HAS_SENT = "this part has already sent orders, so change them by order_id"
ENGINE_STOPPED = "the order engine stopped while it changed this order"
"""504."""


def below_filled(filled: int) -> str:
    return f"quantity cannot be less than the {filled} already filled"


def cannot_change(broker: str, field: str) -> str:
    """501."""
    return f"{broker} cannot change {field} on an open order"


def not_built(error: str) -> str:
    return f"the change could not be built: {error}"


def changed_elsewhere(broker: str, numbers: Mapping[str, tuple[object, object]]) -> str:
    """Ours. `numbers`: name -> (old, new)."""
    said = ", ".join(f"{name} {_said(old)} to {_said(new)}" for name, (old, new) in numbers.items())
    return f"somebody else changed an order of this at {broker}: {said}"


def larger_again(broker: str, quantity: int) -> str:
    """Ours."""
    return (
        f"somebody else made an exit at {broker} smaller, and the units are still held, "
        f"so it was made larger again, to {quantity}"
    )


def _said(value: object) -> str:
    return plain(value) if isinstance(value, Decimal) else str(value)


# --- parents and parts ---------------------------------------------------------------------------------------------------

PART_NAME = "part must name a part of the plan, such as root.first"
PART_NEEDS_PARENT = "part names a part of an engine order, so give parent_id with it"
"""Ours."""
SIMPLE_HAS_NO_PARTS = "a simple order has no parts"
PARENTS_LIST = "parents must be a non-empty list"
PARENTS_ENTRY = "each entry of parents must name a parent_id"
DRY_RUN_OF_PARENTS = "dry_run applies to the whole list, so give it beside parents rather than inside an entry"
"""Ours, modelled on the sentence of place lists."""
NOT_IN_BOOK = "the order has not appeared in the broker's order book, so its cancel was not sent"
CANCELLED_BEFORE_SENT = "a cancel ended this order before anything was sent"
"""409 for a place; ours."""
HALTED_BEFORE_SENT = "a flatten halted this order before anything was sent"
"""409 for a place."""
ENGINE_NOT_RUNNING = (
    "the order engine is not running, so nothing was changed; start unified-orders@order_engine.service"
)
"""503 for a request that only the engine can serve."""
NOT_WORKED = "the order engine does not work on this order now, so nothing was done; try again in a moment"
"""503: the engine is starting, or starting again."""


def inside_each_parent(name: str) -> str:
    """Ours, modelled on the sentence of place lists."""
    return f"a list takes only parents and dry_run, so give {name} inside each entry"


def parent_already(state: str) -> str:
    return f"the parent is already {state}"


def no_order_at(path: str) -> str:
    return f"the plan has no order at {path}"


# --- flatten ---------------------------------------------------------------------------------------------------------------

CONFIRM_CLOSE = "closing cancels orders and closes positions, so it needs confirm set to CLOSE"
"""Ours, as is the sentence below."""
CLOSE_WHAT = (
    "name what to close by broker, instrument_id, product or tag; POST /api/orders/flatten closes everything everywhere"
)
CONFIRM = "flattening cancels every order and closes every position, so it needs confirm set to FLATTEN"
NOT_ONE_INSTRUMENT = "the broker's token does not name exactly one mapped instrument, so this position was not closed"
UNITS_UNKNOWN = "the units of this position are not known, so it was not closed"


def position_doubted(broker: str, tradingsymbol: str, product: str, *, shown: int, by_fills: int, since: str) -> str:
    """Row and fills of a position differ; `since` is a time of day in India."""
    return f"{broker} shows {shown} units of {tradingsymbol} ({product}), but by its orders it holds {by_fills}, since {since}"


NOT_SHOWN = (
    "the broker does not show this order yet, so it was not cancelled; it is cancelled when it appears, "
    "and what it fills until then stays open"
)


def cancel_not_sent(error: str) -> str:
    return f"the cancel could not be sent: {error}"


def close_not_answered(seconds: float) -> str:
    return (
        f"the order engine did not answer within {seconds:g} seconds, so this may still happen; "
        "read its answer later by its intent_id"
    )
