"""What a build is asked for and what it reports. Crosses the process boundary as JSON."""

import msgspec


class BrokerReport(msgspec.Struct, kw_only=True):
    """What one broker's files gave."""

    rows: int = 0
    """Listings in the catalogue."""
    segments: dict[str, int] = {}
    """Stored segment -> listings, in name order: a segment that goes missing overnight shows here (lesson 15)."""
    refused: int = 0
    """Rows without a complete identity or token."""
    ambiguous: int = 0
    """Rows left out because their token names several instruments, or their instrument several tokens."""
    examples: list[str] = []
    """A few natural keys of the ambiguous rows."""
    error: str | None = None
    """Why the broker gave nothing; None when it gave something."""


class BuildReport(msgspec.Struct, kw_only=True):
    """The outcome of one build."""

    rows: int
    """Instruments; 0 = no file was written."""
    content_hash: str
    """SHA-256 of the file; empty without one."""
    brokers: dict[str, BrokerReport]
    built_at: float = 0.0
    """Epoch seconds; set by the actor when it takes the build in."""

    @property
    def lost(self) -> dict[str, str]:
        """Broker code -> why it gave nothing."""
        return {code: broker.error for code, broker in self.brokers.items() if broker.error is not None}


class BuildJob(msgspec.Struct, kw_only=True):
    """What the worker is told on its standard input."""

    output: str
    """Path of the Arrow file to write."""
    files: dict[str, list[str]]
    """Broker code -> paths of its downloaded files, in the order of its requests."""
    lost: dict[str, str] = {}
    """Broker code -> why there are no files of it."""
    day: str
    """YYYY-MM-DD; contracts that expired before it are left out."""
