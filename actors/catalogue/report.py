"""A build's job and its report. Both cross the process boundary as JSON."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class BrokerReport(msgspec.Struct, kw_only=True):
    """The content of one broker's files."""

    rows: int = 0
    """Listings in the catalogue."""
    segments: dict[str, int] = {}
    """Stored segment -> listings, in name order: a segment that disappears overnight shows here (lesson 15)."""
    unread: int = 0
    """Rows of its files that name nothing, are incomplete, or repeat a token."""
    absent: list[str] = []
    """Columns we read that its files no longer have; their values are unknown for every row."""
    refused: int = 0
    """Rows without a complete identity or token."""
    ambiguous: int = 0
    """Rows left out because their token names several instruments, or their instrument has several tokens."""
    contradicted: int = 0
    """Rows that other brokers' files contradict, with equal right (the rows stay as they are, or fit nothing) or with more right (they are
    left out).
    """
    examples: list[str] = []
    """A few natural keys of ambiguous and contradicted rows."""
    matched: int = 0
    """Rows whose symbol or segment was decided by other brokers' files."""
    uncategorised: int = 0
    """Listings that fit no segment; they are under `unknown`."""
    unknown_words: dict[str, int] = {}
    """The broker's words in these listings (exchange, segment, kind) -> rows; the most frequent ones."""
    missing: dict[str, str] = {}
    """Names of the broker's files that gave nothing while others did -> why."""
    shrunk: dict[str, int] = {}
    """Stored segment that holds far fewer listings than when the broker was last mapped -> the number of listings then."""
    error: str | None = None
    """Why the broker gave nothing; None when it gave something."""


class Change(StrEnum):
    """A term that an exchange changes while the contract keeps its number; the values are columns of a mapping."""

    STRIKE = "strike_price"
    EXPIRY = "expiry_date"
    NAME = "underlying_symbol"


class Adjusted(msgspec.Struct, kw_only=True, frozen=True):
    """One contract whose terms the exchange changed: its id before and now."""

    old_id: str
    new_id: str
    changes: Sequence[Change] = (Change.STRIKE,)
    """The changed terms; earlier reports say nothing and mean the strike."""
    same_lot: bool
    """Whether a lot has as many units as before (a dividend); false after a split or bonus."""


class UnlistedReport(msgspec.Struct, kw_only=True):
    """A build's result for the instruments that are no longer listed."""

    rows: int = 0
    added: int = 0
    removed: int = 0
    """Instruments that are listed again."""
    content_hash: str = ""
    """SHA-256 of the file; empty when no file was written."""
    trouble: str | None = None
    """What could not be read or written; None when everything could."""


class BuildReport(msgspec.Struct, kw_only=True):
    """The outcome of one build."""

    rows: int
    """Number of instruments; 0 = no file was written."""
    content_hash: str
    """SHA-256 of the file; empty without a file."""
    brokers: dict[str, BrokerReport]
    segments: dict[str, int] = {}
    """Stored segment -> instruments, in name order."""
    adjusted: list[Adjusted] = []
    """Contracts whose strike was adjusted since the mapping before."""
    before_trouble: str = ""
    """Why the mapping before could not tell which strikes were adjusted; empty when it could."""
    unlisted: UnlistedReport | None = None
    """None when the build's job did not include the unlisted instruments."""
    unlisted_file: str = ""
    """Name of the file of unlisted instruments after this build; set when the build is put in place, empty without a file."""
    built_at: float = 0.0
    """Epoch seconds; set by the actor when it takes over the build."""

    @property
    def lost(self) -> dict[str, str]:
        """Broker code -> why the broker gave nothing."""
        return {code: broker.error for code, broker in self.brokers.items() if broker.error is not None}

    @property
    def missing(self) -> dict[str, dict[str, str]]:
        """Broker code -> names of its files that gave nothing while others did -> why."""
        return {code: broker.missing for code, broker in self.brokers.items() if broker.missing}

    @property
    def shrunk(self) -> dict[str, dict[str, int]]:
        """Broker code -> segment that holds far fewer listings than before -> the number of listings before."""
        return {code: broker.shrunk for code, broker in self.brokers.items() if broker.shrunk}


class UnlistedJob(msgspec.Struct, kw_only=True):
    """The worker's task for the instruments that are no longer listed."""

    output: str
    """Path of the file to write."""
    base: str = ""
    """Path of the file that the last build left; empty without a file."""
    earlier: list[tuple[str, str]] = []
    """Date (YYYY-MM-DD) and path of the earlier mappings, newest first."""
    look_through: bool = False
    """Whether all earlier mappings are read, because the base may lack some instruments."""


class BuildJob(msgspec.Struct, kw_only=True):
    """The worker's input, read from its standard input."""

    output: str
    """Path of the Arrow file to write."""
    files: dict[str, list[str]]
    """Broker code -> paths of its downloaded files, in the order of its requests."""
    names: dict[str, list[str]] = {}
    """Broker code -> names of these files."""
    missing: dict[str, dict[str, str]] = {}
    """Broker code -> names of its files that did not come -> why; the path of such a file is empty."""
    lost: dict[str, str] = {}
    """Broker code -> why the broker has no files."""
    day: str
    """YYYY-MM-DD; contracts that expired before it are left out."""
    unlisted: UnlistedJob | None = None
    """None when the unlisted instruments are left unchanged."""
