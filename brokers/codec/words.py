"""One vocabulary of ours (`config/vocabulary.py`) at one broker, in both directions: how the broker's words are read, and
which word an order message carries.

A broker's `values.py` holds five of these tables, `SIDES`, `PRODUCTS`, `ORDER_TYPES`, `VALIDITIES` and `STATUSES`. A table
that forgets a word of ours, or reads a word in two ways, does not come into being: its module cannot be imported.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from onebroker.brokers.codec.fields import Row, required
from onebroker.brokers.requests import NotSendable
from onebroker.config.vocabulary import pass_through

Ours = TypeVar("Ours", bound=StrEnum)
Theirs = TypeVar("Theirs", bound=str | int)


class Words(Generic[Ours, Theirs]):
    """The words of one vocabulary at one broker.

    A broker's word may be a number (Fyers' `-1` for SELL): it is then read from the number and from its digits.
    """

    def __init__(
        self,
        broker: str,
        kind: type[Ours],
        *,
        both: Mapping[Ours, Theirs] | None = None,
        read_only: Mapping[str, Ours] | None = None,
        send_only: Mapping[Ours, Theirs] | None = None,
        unsupported: Iterable[Ours] = (),
    ) -> None:
        """`both`: our word -> the broker's, sent and read back as the same word. `read_only`: further words of the broker,
        in capitals -> ours. `send_only`: our word -> the broker's word that this table does not read back, because another
        field of the row decides its meaning (Upstox' `D`). `unsupported`: our words for which the broker has no word.

        Raise ValueError where a word of ours stands nowhere, or stands both as unsupported and as a word; where a word of
        the broker has two meanings; where a word of `read_only` is not in capitals.
        """
        self.broker: Final = broker
        self.kind: Final = kind
        both, send_only = both or {}, send_only or {}
        self._says: Final[dict[Ours, Theirs]] = {**send_only, **both}
        self._reads: Final[dict[str, Ours]] = {pass_through(word): ours for ours, word in both.items()}
        self.unsupported: Final = frozenset(unsupported)
        """Our words for which the broker has no word."""
        wrong = self._wrong(both, read_only or {}, send_only)
        if wrong:
            raise ValueError(f"{broker}'s words of {kind.__name__}: {wrong}")
        self._reads.update(read_only or {})
        self.says: Final[Mapping[Ours, Theirs]] = MappingProxyType(self._says)
        """Our word -> the word that an order message carries."""
        self.reads: Final[Mapping[str, Ours]] = MappingProxyType(self._reads)
        """The broker's word in capitals -> ours."""
        self.sent: Final = frozenset(str(ours) for ours in self._says)
        """Our words that can be sent."""

    def read(self, word: object) -> str:
        """Return our word for a broker's word, or the broker's word in upper case when there is no such word (rules 2.2.1).
        Case and padding of `word` do not matter."""
        if type(word) is str and (ours := self._reads.get(word)) is not None:
            return ours
        spelled = pass_through(word)
        return self._reads.get(spelled, spelled)

    def at(self, name: str) -> Callable[[Row], str]:
        """Return a function that reads our word from the field `name` of a row."""
        read = self.read
        return lambda row: read(row.get(name))

    def required_at(self, *names: str) -> Callable[[Row], str]:
        """Return a function that reads our word from the first of the fields `names` that is filled; it raises `BadAnswer`
        when none is filled."""
        read = self.read
        return lambda row: read(required(row, *names))

    def say(self, word: str) -> Theirs:
        """Return the broker's word for our word. Raise `NotSendable` when there is none: without it, another order would go
        out."""
        try:
            return self._says[self.kind(word)]
        except (ValueError, KeyError):
            raise NotSendable(f"{self.broker} has no word for {word}") from None

    def _wrong(
        self, both: Mapping[Ours, Theirs], read_only: Mapping[str, Ours], send_only: Mapping[Ours, Theirs]
    ) -> str | None:
        """Return what is wrong with the tables; None when nothing is."""
        worded = {*self._says, *self._reads.values(), *read_only.values()}
        if len(self._reads) < len(both) or self._reads.keys() & read_only.keys():
            return "a word of the broker has two meanings"
        if both.keys() & send_only.keys():
            return "a word of ours stands in both and in send_only"
        if any(word != pass_through(word) for word in read_only):
            return "a word of read_only is not in capitals"
        if worded & self.unsupported:
            return f"unsupported, but with a word: {', '.join(sorted(worded & self.unsupported))}"
        missing = set(self.kind) - worded - self.unsupported
        return f"nothing is said about {', '.join(sorted(missing))}" if missing else None
