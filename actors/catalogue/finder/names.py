"""Finds the names (securities, and all contracts of an underlying in a segment) that the words of a query fit. Pure.

Words that can only be a part of a name must fit a name. A word with another meaning may fit the name or, in `rows.py`, the contract.
"""

from collections.abc import Generator, Iterable

import attrs

from onebroker.actors.catalogue.finder.index import Index
from onebroker.actors.catalogue.finder.query import Query, Word
from onebroker.actors.catalogue.finder.words import Likeness, Words

SYMBOL_PART, COMPANY = 0.95, 0.85
"""Factors of the likeness of a word that is a part of the symbol, or of the company's name, not the symbol itself."""
MISSED = 0.5
"""Factor where one of several words fits nothing."""
MOST_NAMES = 250
"""Most names that are judged; they come by rank."""
MOST_POSTINGS = 20_000
MOST_JOINED = 4


@attrs.define
class FittingName:
    """A name that fits some words of a query."""

    name: int
    likeness: float
    """0 to 1, over the words that the name fits."""
    rest: tuple[Word, ...]
    """The words that the contract or the segment must fit."""


@attrs.frozen(kw_only=True)
class _Asked:
    """A query with what its words are like."""

    words: tuple[Word, ...]
    likenesses: dict[int, Likeness]
    """Place of a word that must fit a name -> the words like it."""
    same: dict[int, int]
    """Place of any other word -> the same word of a name, where there is one."""
    all_words: bool
    """Whether every word in `likenesses` must fit."""


class Names:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._words = Words(index)

    def fitting(self, query: Query) -> Generator[None, None, list[FittingName]]:
        """Return the names, after steps of about a millisecond."""
        found: dict[int, FittingName] = {}
        self._joined(query, found)
        yield
        anchors = [place for place, word in enumerate(query.words) if word.is_name]
        asked = anchors or [place for place, word in enumerate(query.words) if word.text]
        likenesses: dict[int, Likeness] = {}
        for place in asked:
            likenesses[place] = self._words.like(query.words[place].text)
            yield
        asked_words = _Asked(
            words=query.words,
            likenesses=likenesses,
            same={
                place: same
                for place, word in enumerate(query.words)
                if place not in likenesses and (same := self._words.same(word.text)) is not None
            },
            all_words=bool(anchors),
        )
        for names in self._candidates(likenesses, bool(anchors)):
            for number, name in enumerate(names):
                self._judge(name, asked_words, found)
                if number % 100 == 99:
                    yield
        return list(found.values())

    # Words written apart that are one symbol

    def _joined(self, query: Query, found: dict[int, FittingName]) -> None:
        """Take the names whose symbol is the first words together: BANKNIFTY of `bank nifty`."""
        text = ""
        for count, word in enumerate(query.words[:MOST_JOINED], 1):
            text += word.text
            same = self._words.same(text)
            if same is not None:
                for name in self._names_of(same, MOST_NAMES):
                    if same in self._symbols(name):
                        rest = query.words[count:]
                        known = found.get(name)
                        if known is None or len(rest) < len(known.rest):
                            found[name] = FittingName(name, 1.0, rest)

    # Names that may fit

    def _candidates(self, likenesses: dict[int, Likeness], all_words: bool) -> Iterable[list[int]]:
        if not likenesses:
            return
        sets = [self._names_like(likeness) for likeness in likenesses.values()]
        sets.sort(key=len)
        if not all_words:
            yield sorted(set().union(*sets))[:MOST_NAMES]
            return
        common = set(sets[0]).intersection(*sets[1:])
        yield sorted(common or sets[0])[:MOST_NAMES]
        if not common and len(sets) > 1:
            yield sorted(set().union(*sets[1:]))[:MOST_NAMES]

    def _names_like(self, likeness: Likeness) -> set[int]:
        names: set[int] = set()
        starts, postings = self._index.first_posting, self._index.postings
        each = MOST_POSTINGS
        for word in likeness.of:
            names.update(postings[starts[word] : min(starts[word + 1], starts[word] + each)])
            if len(names) >= MOST_POSTINGS:
                break
        return names

    def _names_of(self, word: int, most: int) -> memoryview:
        starts = self._index.first_posting
        return self._index.postings[starts[word] : min(starts[word + 1], starts[word] + most)]

    def _symbols(self, name: int) -> memoryview:
        first = self._index.first_word[name]
        return self._index.name_words[first : first + self._index.symbols[name]]

    # How well a name fits

    def _judge(self, name: int, asked: _Asked, found: dict[int, FittingName]) -> None:
        total, fitting, missed = 0.0, 0, 0
        rest: list[Word] = []
        for place, word in enumerate(asked.words):
            likeness = asked.likenesses.get(place)
            value = self._same_word(name, asked.same.get(place)) if likeness is None else self._likeness(name, likeness)
            if not value and not word.is_name:
                rest.append(word)
            elif value:
                total, fitting = total + value, fitting + 1
            else:
                missed += 1
        if not fitting or missed > (len(asked.likenesses) > 1 and asked.all_words):
            return
        value = total / fitting * (MISSED if missed else 1.0)
        known = found.get(name)
        if known is None or (len(rest), -value) < (len(known.rest), -known.likeness):
            found[name] = FittingName(name, value, tuple(rest))

    def _likeness(self, name: int, likeness: Likeness) -> float:
        """Return how like the name's best word is to a given word."""
        index = self._index
        first, last = index.first_word[name], index.first_word[name + 1]
        symbols, best = index.symbols[name], 0.0
        for place, word in enumerate(index.name_words[first:last]):
            value = likeness.of.get(word)
            if value is None:
                if not likeness.first <= word < likeness.last:
                    continue
                value = self._words.beginning_likeness(word, likeness.length)
            if place >= symbols:
                value *= COMPANY
            best = max(best, value)
        return best

    def _same_word(self, name: int, same: int | None) -> float:
        """Return 1 when a word is a whole word of the name."""
        if same is None:
            return 0.0
        index = self._index
        return float(same in index.name_words[index.first_word[name] : index.first_word[name + 1]])
