"""Sentences of the types that wait for something or follow a price before they enter (order-engine 3.1, 3.4, 3.12 to
3.54). A sentence marked ours has no text there."""

CROSSES_AT_MARKET = "post_only_crosses: a MARKET order trades at once, so it cannot be post_only"
NEEDS_LIMIT = "post_only_needs_limit: a stop cannot be post_only, so give order_type LIMIT"
PAIR_TOGETHER = "give second_trigger_price and second_limit_price together"
SAME_SIDE = "second_trigger_price must be on the other side of the market from trigger_price"
ONLY_OPTIONS = "volatility orders are only for options"
NO_PRE_OPEN = "this instrument has no pre-open session"

# Names for units that filled without the order that belongs with them.
UNHEDGED = "unhedged"
WITHOUT_SECOND_LEG = "without their second leg"
WITHOUT_SECOND_ORDER = "without the order that shall follow them"


def traded_itself(field: str) -> str:
    """3.4, 3.25."""
    return f"{field} must not be the instrument being traded"


def field_missing(field: str) -> str:
    """Ours, 503."""
    return f"the live quote of the instrument that is watched has no {field}"


def times_ratio_in_lots(lot: int) -> str:
    """3.25."""
    return f"quantity x second_ratio must be a whole number of lots of {lot}"


def time_between(field: str, first: str, last: str) -> str:
    """Ours, worded like N5; times as HH:MM."""
    return f"{field} must be a time of day from {first} to {last}"
