"""What a build is asked for and what it reports. Crosses the process boundary as JSON."""

import msgspec


class BrokerReport(msgspec.Struct, kw_only=True):
    """What one broker's files gave."""

    rows: int = 0
    """Listings in the catalogue."""
    segments: dict[str, int] = {}
    """Stored segment -> listings, in name order: a segment that goes missing overnight shows here (lesson 15)."""
    unread: int = 0
    """Rows of its files that name nothing, are not whole, or repeat a token."""
    absent: list[str] = []
    """Columns we read that its files no longer have; what they said is unknown of every row."""
    refused: int = 0
    """Rows without a complete identity or token."""
    ambiguous: int = 0
    """Rows left out because their token names several instruments, or their instrument several tokens."""
    contradicted: int = 0
    """Rows of which other brokers' files say something else, with equal right (they stay as they are, or fit nothing), or with
    more right (they are left out)."""
    examples: list[str] = []
    """A few natural keys of ambiguous and contradicted rows."""
    matched: int = 0
    """Rows whose symbol or segment was decided by other brokers' files."""
    uncategorised: int = 0
    """Listings that fit nothing; they stand under `unknown`."""
    unknown_words: dict[str, int] = {}
    """What these say in the broker's words (exchange, segment, kind) -> rows; the most frequent."""
    missing: dict[str, str] = {}
    """Of its files those that gave nothing while others did -> why, by name."""
    shrunk: dict[str, int] = {}
    """Stored segment that holds far fewer listings than when the broker was last mapped -> how many it held then."""
    error: str | None = None
    """Why the broker gave nothing; None when it gave something."""


class Adjusted(msgspec.Struct, kw_only=True, frozen=True):
    """One contract with its strike adjusted: its id before and now."""

    old_id: str
    new_id: str
    same_lot: bool
    """Whether a lot is as many units as before (a dividend); not so after a split or bonus."""


class UnlistedReport(msgspec.Struct, kw_only=True):
    """What a build made of the instruments that are no longer listed."""

    rows: int = 0
    added: int = 0
    removed: int = 0
    """Those that are listed again."""
    content_hash: str = ""
    """SHA-256 of the file; empty when none was written."""
    trouble: str | None = None
    """What could not be read or written; None when everything could."""


class BuildReport(msgspec.Struct, kw_only=True):
    """The outcome of one build."""

    rows: int
    """Instruments; 0 = no file was written."""
    content_hash: str
    """SHA-256 of the file; empty without one."""
    brokers: dict[str, BrokerReport]
    segments: dict[str, int] = {}
    """Stored segment -> instruments, in name order."""
    adjusted: list[Adjusted] = []
    """Contracts whose strike was adjusted since the mapping before."""
    before_trouble: str = ""
    """Why the mapping before could not be asked which strikes were adjusted; empty when it could."""
    unlisted: UnlistedReport | None = None
    """None when the build was not asked about those no longer listed."""
    unlisted_file: str = ""
    """Name of their file as this build left it; set when the build is taken in, empty without one."""
    built_at: float = 0.0
    """Epoch seconds; set by the actor when it takes the build in."""

    @property
    def lost(self) -> dict[str, str]:
        """Broker code -> why it gave nothing."""
        return {code: broker.error for code, broker in self.brokers.items() if broker.error is not None}

    @property
    def missing(self) -> dict[str, dict[str, str]]:
        """Broker code -> those of its files that gave nothing while others did -> why."""
        return {code: broker.missing for code, broker in self.brokers.items() if broker.missing}

    @property
    def shrunk(self) -> dict[str, dict[str, int]]:
        """Broker code -> segment that holds far fewer listings than before -> how many it held."""
        return {code: broker.shrunk for code, broker in self.brokers.items() if broker.shrunk}


class UnlistedJob(msgspec.Struct, kw_only=True):
    """What the worker is to do about the instruments that are no longer listed."""

    output: str
    """Path of the file to write."""
    base: str = ""
    """Path of the file as the last build left it; empty without one."""
    earlier: list[tuple[str, str]] = []
    """Mapping date (YYYY-MM-DD) and path of the mappings before, newest first."""
    look_through: bool = False
    """Whether all of those are read, because the base may lack some."""


class BuildJob(msgspec.Struct, kw_only=True):
    """What the worker is told on its standard input."""

    output: str
    """Path of the Arrow file to write."""
    files: dict[str, list[str]]
    """Broker code -> paths of its downloaded files, in the order of its requests."""
    names: dict[str, list[str]] = {}
    """Broker code -> names of these files."""
    missing: dict[str, dict[str, str]] = {}
    """Broker code -> those of its files that did not come -> why, by name; their path is empty."""
    lost: dict[str, str] = {}
    """Broker code -> why there are no files of it."""
    day: str
    """YYYY-MM-DD; contracts that expired before it are left out."""
    unlisted: UnlistedJob | None = None
    """None when they are left alone."""
