"""What is said of orders of unknown outcome: never found, found late, not to be told apart, lost by the store
(order-engine 2.2 rows 13 to 13c, 2.5)."""

NEVER_SHOWN = "the broker never showed this order"
MORE_THAN_ONE = "the broker shows more than one order that could be this one"


def turned_up(broker: str) -> str:
    return f"an order taken as not sent appeared at {broker} after all"


def appeared_after_halt(broker: str, filled: int) -> str:
    """For an order that its broker showed only after the flatten that had halted its parent was over."""
    return f"an order appeared at {broker} after the flatten and is cancelled; {filled} units of it were filled"


def took_back(broker: str, units: int) -> str:
    """Ours. The exchange annulled a trade, or lowered its units."""
    return f"{broker} took back {units} units"


def filled_after_end(broker: str, units: int) -> str:
    """Ours, for an order whose parent had ended."""
    return f"{broker} filled {units} more units of an order after this had ended"


def not_known_after(time: str) -> str:
    """`time` in the form of `clock.local_text`."""
    return f"what filled after {time} is not known"


def nothing_held(broker: str) -> str:
    """Ours, for a part that sends an order each day, when it is not known what one of these orders filled."""
    return f"it is not known what its last order filled, and {broker} holds nothing more of it, so no further order is sent"


def entries_not_sent(count: int) -> str:
    """K14: the caller had no answer yet when the service was restarted."""
    return f"the service was restarted before this order was answered, so {count} of its entries were not sent"


def found_by_token(broker: str) -> str:
    """K19, for a parent with an order that its broker has accepted and no order book shows yet."""
    return f"the store had lost an order of this that {broker} has, so nothing more of it is sent until the book of {broker} shows it"


WAITS_FOR_BOOKS = "Redis came back without its last writes, so nothing of this is sent until it is known what was lost"
"""K19, for a parent one of whose orders the store may have lost."""


def lost_by_the_store(broker: str) -> str:
    """K19, for a part whose further orders cannot be told from the lost order."""
    return f"the store had lost an order of this part that {broker} shows, so nothing more of it is sent"
