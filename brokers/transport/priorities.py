"""What a message to a broker is for, and who may use the share kept for exits (order-engine 4.5)."""

from enum import IntEnum


class Priority(IntEnum):
    """What a message is for, in the order in which waiting ones are served (order-engine 4.5)."""

    CANCEL = 0
    EXIT = 1
    """Exits, their moves and reductions, position closes, flatten."""
    TIGHTEN = 2
    """A modify that tightens a stop."""
    BOOK = 3
    """Reads of orders, positions and funds: what is sent next hangs on them. Their own share bounds what they take from entries."""
    ENTRY = 4
    MOVE = 5
    """Any other modify."""
    READ = 6
    """Everything that is not an order message, nor a book, nor the following."""
    BULK = 7
    """Candles of the past: nobody waits for them."""


FROM_RESERVE = frozenset({Priority.CANCEL, Priority.EXIT, Priority.TIGHTEN})
"""Who may use the share kept for exits."""
