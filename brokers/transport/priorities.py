"""What a message to a broker is for, and how much it may take of what is kept for exits (order-engine 4.5)."""

from enum import IntEnum


class Priority(IntEnum):
    """What a message is for, in the order in which waiting ones are served (order-engine 4.5)."""

    CANCEL = 0
    EXIT = 1
    """Exits, their reductions and the steps of those that are being filled, position closes, flatten."""
    AWAITED = 2
    """Reads of a book that somebody does nothing without: whether a cancel has ended, what there is to close."""
    TIGHTEN = 3
    """A modify that moves a stop: trails send one after the other, and an exit must not wait behind them."""
    ENTRY = 4
    BOOK = 5
    """Reads of the books and of what is held, and the way to a feed: what is sent next hangs on them."""
    MOVE = 6
    """Any other modify."""
    READ = 7
    """Everything that is not an order message, nor a book, nor the following."""
    BULK = 8
    """Candles of the past: nobody waits for them."""


_OF_RESERVE = {Priority.CANCEL: 1.0, Priority.EXIT: 1.0, Priority.TIGHTEN: 0.5}


def of_reserve(priority: Priority) -> float:
    """Return the share of what is kept for exits that a message of this priority may use."""
    return _OF_RESERVE.get(priority, 0.0)
