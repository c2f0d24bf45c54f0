"""Looks one word of a query up among the words of all names: the same word, words that begin with it, words with up to two typos, words that
contain it or share most of its trigrams. Each gets a likeness from 0 to 1."""

from bisect import bisect_left, bisect_right
from collections import Counter
from heapq import nsmallest
from itertools import combinations

import attrs
from rapidfuzz.distance import OSA

from onebroker.actors.catalogue.finder.index import (
    BEST,
    HEAD,
    LONGEST_BEGINNING,
    MANY,
    SHORTEST_TWO_TYPOS,
    SHORTEST_TYPO,
    Index,
    hashes,
)

BEGINNING, LONGER_BEGINNING = 0.7, 0.2
"""Likeness of a word that begins with the given word: the first figure, plus the second times the part that is given."""
TYPO = {1: 0.75, 2: 0.6}
INSIDE = 0.55
TRIGRAMS, LEAST_SHARED = 0.5, 0.5
"""Likeness of words with the same trigrams, times the share of equal ones; less than the second counts for nothing."""
MOST_CANDIDATES = 1_000
"""Most words that are compared with a word with typos, and most words of one trigram."""
MOST_TRIGRAMS = 4
"""Of a word's trigrams only the rarest ones are looked up."""


@attrs.frozen
class Likeness:
    """The words that are like a given word."""

    of: dict[int, float]
    """Word -> likeness; the best first."""
    first: int
    last: int
    """The range of the words that begin with the given word; `last` is not part of it."""
    length: int
    """Characters of the given word."""


class Words:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._texts = index.words

    def text(self, word: int) -> str:
        return self._texts.raw(word).decode()

    def same(self, text: str) -> int | None:
        """Return the number of a word."""
        raw = text.encode()
        word = self._place(raw)
        return word if word < self._index.word_count and self._texts.raw(word) == raw else None

    def like(self, text: str) -> Likeness:
        """Return the words that are like `text`. Typos are looked for only where no word begins with it."""
        raw = text.encode()
        first = self._place(raw)
        last = self._place(raw + b"\xff")
        found: dict[int, float] = {}
        if first < last and self._texts.raw(first) == raw:
            found[first] = 1.0
        for word in self._beginning(text, first, last):
            found.setdefault(word, self.beginning_likeness(word, len(text)))
        if not found:
            found = self._typos(text)
        if len(found) < BEST // 10 and len(text) >= SHORTEST_TYPO:
            for word, likeness in self._by_trigrams(text, none_found=not found).items():
                found.setdefault(word, likeness)
        return Likeness(found, first, last, len(text))

    def beginning_likeness(self, word: int, length: int) -> float:
        """Return the likeness of a word to its own first `length` characters."""
        whole = self._texts.offsets[word + 1] - self._texts.offsets[word]
        return BEGINNING + LONGER_BEGINNING * min(1.0, length / whole)

    def _place(self, raw: bytes) -> int:
        return bisect_left(range(self._index.word_count), raw, key=self._texts.raw)

    def _beginning(self, text: str, first: int, last: int) -> "list[int] | range":
        """Return the best words that begin with `text`."""
        if last - first <= BEST:
            return range(first, last)
        if len(text) <= LONGEST_BEGINNING and last - first > MANY:
            best = self._index.beginnings.get(text)
            if best is not None:
                return list(best)
        postings, starts = self._index.postings, self._index.first_posting
        return nsmallest(BEST, range(first, min(last, first + MANY)), key=lambda word: postings[starts[word]])

    def _typos(self, text: str) -> dict[int, float]:
        """Return the words with so few typos between (a character too much, missing, wrong, or two exchanged)."""
        most = 0 if len(text) < SHORTEST_TYPO else 1 if len(text) < SHORTEST_TWO_TYPOS else 2
        if not most:
            return {}
        keys, words = self._index.typos
        candidates: dict[int, None] = {}
        for key in hashes(list(dict.fromkeys(_left_out(text[:HEAD], most)))):
            start = bisect_left(keys, key)
            end = bisect_right(keys, key, start)
            candidates.update(dict.fromkeys(words[start:end]))
            if len(candidates) > MOST_CANDIDATES:
                break
        found: dict[int, float] = {}
        for word in list(candidates)[:MOST_CANDIDATES]:
            whole = self._texts.offsets[word + 1] - self._texts.offsets[word]
            if abs(whole - len(text)) <= most:
                other = self.text(word)
                distance = OSA.distance(text, other, score_cutoff=most)
                if distance <= most:
                    found[word] = TYPO[max(distance, 1)] - 0.05 * (other[0] != text[0])
        return found

    def _by_trigrams(self, text: str, *, none_found: bool) -> dict[int, float]:
        """Return the words that contain `text`, and where there is no better word those that share most trigrams with it."""
        keys, words = self._index.trigrams
        grams = list(dict.fromkeys(text[start : start + 3] for start in range(len(text) - 2)))
        spans = []
        for key in hashes(grams):
            start = bisect_left(keys, key)
            spans.append((start, bisect_right(keys, key, start)))
        spans = sorted((span for span in spans if span[0] < span[1]), key=lambda span: span[1] - span[0])
        if not spans:
            return {}
        shared = Counter[int]()
        for start, end in spans[:MOST_TRIGRAMS]:
            shared.update(words[start : min(end, start + MOST_CANDIDATES)])
        looked_up = min(len(spans), MOST_TRIGRAMS)
        found: dict[int, float] = {}
        for word, count in shared.most_common(BEST):
            if count == looked_up and len(spans) == len(grams) and text in self.text(word):
                found[word] = INSIDE
            elif none_found and count >= LEAST_SHARED * looked_up:
                share = self._shared(grams, word)
                if share >= LEAST_SHARED:
                    found[word] = TRIGRAMS * share
        return found

    def _shared(self, grams: list[str], word: int) -> float:
        other = self.text(word)
        theirs = {other[start : start + 3] for start in range(len(other) - 2)}
        return 2 * len(theirs & set(grams)) / (len(theirs) + len(grams))


def _left_out(text: str, most: int) -> list[str]:
    """Return the text with none, one and up to `most` characters left out."""
    kept = range(len(text))
    return [
        "".join(text[place] for place in places)
        for count in range(min(most, len(text) - 1) + 1)
        for places in combinations(kept, len(text) - count)
    ]
