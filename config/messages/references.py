"""Sentences of price and quantity references (rules 2.6). A sentence marked ours is for a status for which the first
specification had no text."""

from collections.abc import Iterable
from decimal import Decimal

PRICE_OBJECT = "price_reference must be a JSON object"
QUANTITY_OBJECT = "quantity_reference must be a JSON object"
ABSOLUTE_PRICE = "an absolute price_reference needs a price above zero"
LEVEL_WHOLE = "level must be a whole number of at least 1"
OFFSET_TICKS_WHOLE = "offset_ticks must be a whole number"
NO_TICK = "a price reference needs a tick size the brokers agree on and there is none for this instrument"
NO_QUOTE = "a price reference needs a live quote and there is none for this instrument now"
"""Ours, 503; a stale value counts as missing."""
POSITIONS_UNREAD = "the positions could not be read, so the quantity reference was not worked out"
"""Ours, 503."""


def price_kind(kinds: Iterable[str]) -> str:
    return f"price_reference kind must be one of {', '.join(kinds)}"


def quantity_kind(kinds: Iterable[str]) -> str:
    return f"quantity_reference kind must be one of {', '.join(kinds)}"


def quantity_product(products: Iterable[str]) -> str:
    """Ours, 400: a word that is not a product would find no position."""
    return f"quantity_reference product must be one of {', '.join(products)}"


def level_too_deep(most: int) -> str:
    return f"level must be a whole number from 1 to {most}, which is as deep as the unified quote carries"


def must_be_number(field: str) -> str:
    return f"{field} must be a number"


def needs_quantity(kind: str) -> str:
    return f"a {kind} quantity_reference needs a quantity of at least 1"


def not_a_price(kind: str, price: Decimal) -> str:
    shown = f"{price:f}" if -15 < price.adjusted() < 15 else f"{price:.6e}"
    return f"the {kind} price reference worked out at {shown}, which is not a price an order can carry"


def no_position(kind: str) -> str:
    return f"a {kind} quantity_reference found no open position in this instrument, so there is nothing to close"


def position_not_listed(kind: str, brokers: Iterable[str]) -> str:
    """Ours: the list names no instrument for a position of these brokers, and they do not list this one."""
    return (
        f"a {kind} quantity_reference found no position in this instrument, but {', '.join(brokers)} does not list it today and shows a position "
        "that may be in it, so nothing was sent"
    )


def position_spoken_for(kind: str) -> str:
    """Ours: other orders of the same plan may still fill for the whole position."""
    return f"a {kind} quantity_reference found the whole position in orders that are already open"


def field_missing(kind: str, field: str) -> str:
    """Ours, 503."""
    return f"a {kind} price reference needs {field} and the live quote of this instrument has none"


def side_unreadable(kind: str, side: str) -> str:
    """Ours, 503."""
    return f"a {kind} price reference needs the {side} side of the book and the live quote of this instrument has no readable one"


def too_few_levels(kind: str, level: int, side: str, there: int) -> str:
    """Ours, 503."""
    return f"a {kind} price reference needs level {level} of the {side} side of the book and it has {there}"


def positions_of_broker_unread(broker: str) -> str:
    """Ours, 503."""
    return f"the positions of {broker} could not be read, so the quantity reference was not worked out"


def no_net_rows(broker: str) -> str:
    """Ours, 503: the broker shows the day's trading in the instrument but no net position."""
    return f"the positions of {broker} carry no net rows, so the quantity reference was not worked out"


def units_unknown(broker: str) -> str:
    """Ours, 503."""
    return f"{broker} gives its position in this instrument in contracts of an unknown size, so it cannot be closed by reference"
