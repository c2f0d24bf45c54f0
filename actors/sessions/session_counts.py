"""What the session of one broker has counted since the start of the process, for `/metrics`. A restart of the session goes on counting."""

from collections import Counter

import attrs


@attrs.define(eq=False)
class SessionCounts:
    """Written by one session, without awaiting; read by everybody."""

    ticks: int = 0
    """Ticks that the broker's market feed brought."""
    good_reads: Counter[str] = attrs.field(factory=Counter)
    """Kind of read, as `read.failing` names it -> reads that the broker answered well."""
    failed_reads: Counter[str] = attrs.field(factory=Counter)
    """Kind of read -> reads that failed."""
