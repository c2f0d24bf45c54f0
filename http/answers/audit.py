"""Lines of the audit (docs/audit.md)."""

import msgspec


class AuditLine(msgspec.Struct, kw_only=True):
    """One event with its place in the chain. The further fields are those of the event (docs/events.md)."""

    n: int
    """Number of the line; it goes on from file to file."""
    at: str
    """ISO 8601 with offset, to the millisecond."""
    previous: str
    """Hash of the line before."""
    event: str
    """Kind of the event."""
    hash: str


class AuditPage(msgspec.Struct, kw_only=True):
    """Lines of the audit, oldest first."""

    lines: list[AuditLine]
    cursor: str
    """For the next request, also at the present end."""
    more: bool
    """Whether lines after the cursor may be there now."""


OPEN = (AuditLine,)
"""Objects with further fields, by their event."""

_LINE = {
    "n": 41,
    "at": "2026-11-25T09:15:00.123+05:30",
    "previous": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "event": "request.asked",
    "request": "4f1c09a2b7d3",
    "who": "token",
    "address": "127.0.0.1",
    "method": "DELETE",
    "path": "/api/orders/cancel?order_id=251125000012345",
    "hash": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
}
EXAMPLE = {"lines": [_LINE], "cursor": "2026-11-25.18112", "more": False}
