"""The purpose of a message to a broker, and how much of the room kept for exits it may use (order-engine 4.5)."""

from enum import IntEnum


class Priority(IntEnum):
    """The purpose of a message, in the order in which waiting messages are served (order-engine 4.5)."""

    CANCEL = 0
    EXIT = 1
    """Exits, their reductions and the steps of exits that are being filled, position closes, flatten."""
    AWAITED = 2
    """Reads of a book whose result somebody needs before the next step: whether a cancel has ended, what there is to close."""
    TIGHTEN = 3
    """A modify that moves a stop. Trails send one after the other, and an exit must not wait behind them."""
    ENTRY = 4
    BOOK = 5
    """Reads of the books and of what is held, and the calls that open a feed: the next messages depend on them."""
    MOVE = 6
    """Any other modify."""
    READ = 7
    """Everything that is not an order message, a book, or `BULK`."""
    BULK = 8
    """Historical candles: nobody waits for them."""


_OF_RESERVE = {Priority.CANCEL: 1.0, Priority.EXIT: 1.0, Priority.TIGHTEN: 0.5}


def of_reserve(priority: Priority) -> float:
    """Return the share of the room kept for exits that a message of this priority may use."""
    return _OF_RESERVE.get(priority, 0.0)
