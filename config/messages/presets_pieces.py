"""Sentences of the types that send in pieces, in lists, around the market or after another order (order-engine 3.2 to
3.55). A sentence marked ours has no text there."""

FROM_BEFORE_UNTIL = "from_time must be before until_time"
"""3.10."""
NOTHING_TO_CHOOSE = "a candidate that trades at once leaves nothing to choose, so give it a price"
"""3.30."""


def lowest_price(settings: str, price: str) -> str:
    """3.18, 3.39; `settings` is for instance `step_points and levels bring`."""
    return f"{settings} the lowest price to {price}, which is not a price an order can carry"


def candidate(number: int) -> str:
    """The beginning of a sentence about a candidate."""
    return f"candidates.{number}"
