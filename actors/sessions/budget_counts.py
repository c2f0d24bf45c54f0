"""A budget's counts in their stored form (`rate:<code>`)."""

import msgspec

from onebroker.brokers.transport.budget import BudgetCounts


def encode_counts(counts: BudgetCounts) -> bytes:
    return msgspec.json.encode(counts)


def decode_counts(body: bytes | None) -> BudgetCounts | None:
    """Return the stored counts, or None when there are none or they cannot be read."""
    if body is None:
        return None
    try:
        return msgspec.json.decode(body, type=BudgetCounts)
    except msgspec.MsgspecError:
        return None
