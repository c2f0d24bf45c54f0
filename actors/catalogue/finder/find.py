"""Finds instruments by the words of a query, and ranks them. Nothing here waits: the caller runs it in steps.

The order: the score first; of equal scores cash before derivatives, contracts that have not expired, the nearest expiry, segments that can be
traded, futures before options, names by rank (`index.py`), strikes from the middle of the listed ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Iterator
from datetime import date
from heapq import nsmallest
from itertools import islice

import attrs

from onebroker.actors.catalogue.contract_list import ContractList, Contracts, Expiry
from onebroker.actors.catalogue.finder.index import Index, build_index
from onebroker.actors.catalogue.finder.names import FittingName, Names
from onebroker.actors.catalogue.finder.query import Query, Word, read_query
from onebroker.config.instruments import ORDERABLE_SEGMENTS, Shape, bare_segment
from onebroker.config.late_modules import pl

STRIKE_BEGINNING = 0.9
"""Factor of a strike that only begins with the given digits."""
WITHOUT_NAME = 0.5
"""Score of contracts that fit, where the query names no instrument."""
FEW, FURTHER = 3, 0.5
"""When the query asks for no contract, only so many contracts of a name have its score; the further ones have this part of it, so that other
names come before them."""
MOST_RANKED = 80
"""Names whose rows are ranked."""
SCORE_PLACES = 3


@attrs.frozen(kw_only=True)
class FoundRow:
    row: int
    """In the catalogue's file."""
    score: float
    """Above 0, at most 1: the symbol itself, and every other word fits."""


@attrs.frozen
class _Ranked:
    """A row with what puts it in order."""

    order: tuple[object, ...]
    row: int
    score: float


class Finder:
    """Finds in one mapping. Building takes seconds of a large catalogue, in polars: call it in a thread."""

    def __init__(self, frame: pl.DataFrame, contracts: ContractList) -> None:
        self._index: Index = build_index(frame)
        self._names = Names(self._index)
        self._contracts = contracts
        self._by_isin = _Isins(frame)

    @property
    def size(self) -> int:
        """Bytes of the index."""
        return self._index.size

    def search(self, text: str, limit: int, today: date) -> FoundSearch:
        """Return a search; iterate over it to run it, then read `rows`."""
        return FoundSearch(self, read_query(text), limit, today)

    def steps(self, query: Query, limit: int, today: date) -> Generator[None, None, list[FoundRow]]:
        """Return the best rows, after steps of about a millisecond."""
        if query.isin is not None:
            rows = self._by_isin.rows(query.isin, limit)
            if rows:
                return rows
        fitting = yield from self._names.fitting(query)
        yield
        ranking = _Ranking(self._index, self._contracts, query, limit, today)
        best = nsmallest(MOST_RANKED, fitting, key=lambda one: (-round(one.likeness, SCORE_PLACES), one.name))
        for number, name in enumerate(best, 1):
            ranking.add(name)
            if number % 10 == 0:
                yield
        if not ranking.rows and query.words and not any(word.is_name for word in query.words):
            yield
            for place, contracts in enumerate(self._contracts.largest):
                ranking.add_unnamed(contracts, place)
                if len(ranking.rows) >= limit:
                    break
                yield
        return ranking.best()


class FoundSearch:
    """One search; a single iteration over it runs it step by step."""

    def __init__(self, finder: Finder, query: Query, limit: int, today: date) -> None:
        self._steps = finder.steps(query, limit, today)
        self.rows: list[FoundRow] = []
        """The result, best first."""

    def __iter__(self) -> Generator[None, None, None]:
        self.rows = yield from self._steps


class _Ranking:
    def __init__(self, index: Index, contracts: ContractList, query: Query, limit: int, today: date) -> None:
        self._index = index
        self._contracts = contracts
        self._query = query
        self._limit = limit
        self._today = today.isoformat()
        self._is_unnamed = not any(word.is_name for word in query.words)
        self.rows: list[_Ranked] = []

    def best(self) -> list[FoundRow]:
        best = nsmallest(self._limit, self.rows, key=lambda one: one.order)
        return [FoundRow(row=one.row, score=one.score) for one in best]

    def add(self, fitting: FittingName) -> None:
        """Add the rows of a name that fit the rest of the query."""
        index = self._index
        exchange, segment = index.segments[index.segment[fitting.name]]
        rest = [word for word in fitting.rest if not _fits_segment(word, exchange, segment)]
        row = index.row[fitting.name]
        contracts = self._contracts.starting(row)
        if contracts is None:
            if not rest:
                score = round(fitting.likeness, SCORE_PLACES)
                traded = bare_segment(segment) in ORDERABLE_SEGMENTS
                self.rows.append(_Ranked((-score, 0, False, "", not traded, 0, fitting.name, 0.0, ""), row, score))
            return
        few = self._limit if fitting.rest else FEW
        self.rows += islice(self._rows(contracts, rest, fitting.likeness, fitting.name), few)
        if few < self._limit:
            further = self._rows(contracts, rest, fitting.likeness * FURTHER, fitting.name)
            self.rows += islice(further, few, self._limit)

    def add_unnamed(self, contracts: Contracts, rank: int) -> None:
        """Add contracts of an underlying that the query does not name."""
        rest = [word for word in self._query.words if not _fits_segment(word, contracts.exchange, contracts.segment)]
        self.rows += islice(self._rows(contracts, rest, WITHOUT_NAME, rank), FEW)

    def _rows(self, contracts: Contracts, rest: list[Word], likeness: float, rank: int) -> Iterator[_Ranked]:
        """Yield the fitting contracts of a name, the nearest expiry first."""
        if any(not _may_fit_contract(word, contracts.shape) for word in rest):
            return
        for expiry, left in self._expiries(contracts, rest):
            if contracts.shape is Shape.FUTURE:
                yield self._ranked(contracts, expiry, expiry.start, likeness, rank)
            else:
                yield from self._options(contracts, expiry, left, likeness, rank)

    def _expiries(self, contracts: Contracts, rest: list[Word]) -> Iterator[tuple[Expiry, list[Word]]]:
        """Yield the expiries that fit, each with the words that its options must still fit."""
        monthly = self._contracts.monthly(contracts.exchange, contracts.underlying_symbol)
        places = [word.expiry.place for word in rest if word.expiry is not None and word.expiry.place is not None]
        fitting = []
        for expiry in contracts.expiries:
            left = [
                word
                for word in rest
                if word.expiry is None or not word.expiry.allows(expiry.date, is_monthly=expiry.day in monthly)
            ]
            if all(_may_fit_option(word, contracts.shape) for word in left):
                fitting.append((expiry, left))
        fitting.sort(key=lambda one: (one[0].day < self._today, one[0].day))
        for place in places:
            fitting = fitting[place : place + 1]
        yield from fitting

    def _options(
        self, contracts: Contracts, expiry: Expiry, left: list[Word], likeness: float, rank: int
    ) -> Iterator[_Ranked]:
        types = {word.option_type for word in left if word.option_type is not None}
        wanted = [word for word in left if word.option_type is None]
        rows, factor = self._strike_rows(expiry, wanted)
        for row in rows:
            if not types or self._contracts.option_type(row) in types:
                yield self._ranked(contracts, expiry, row, likeness * factor, rank)

    def _strike_rows(self, expiry: Expiry, wanted: list[Word]) -> tuple[Iterator[int], float]:
        """Return the rows with the wanted strike, or with a strike that begins with its digits; all of them, from the middle, if none is wanted."""
        if not wanted:
            return _from_middle(expiry), 1.0
        strikes = {word.strike for word in wanted}
        if len(strikes) > 1:
            return iter(()), 1.0
        rows = self._contracts.rows_of_strike(expiry, wanted[0].strike or 0.0)
        if rows:
            return iter(rows), 1.0
        if self._is_unnamed:
            return iter(()), 1.0
        return self._beginning_with(expiry, wanted[0].strike_text), STRIKE_BEGINNING

    def _beginning_with(self, expiry: Expiry, digits: str) -> Iterator[int]:
        """Yield the rows whose strike begins with these digits, from the middle of them."""
        if not digits or "." in digits:
            return
        for zeros in range(6):
            least, most = float(digits) * 10**zeros, (float(digits) + 1) * 10**zeros
            if least > self._contracts.strike(expiry.start + expiry.count - 1):
                return
            first = self._first_at(expiry, least)
            last = self._first_at(expiry, most)
            yield from _from_middle(attrs.evolve(expiry, start=first, count=last - first))

    def _first_at(self, expiry: Expiry, strike: float) -> int:
        rows = range(expiry.start, expiry.start + expiry.count)
        return expiry.start + bisect_left(rows, strike, key=self._contracts.strike)

    def _ranked(self, contracts: Contracts, expiry: Expiry, row: int, likeness: float, rank: int) -> _Ranked:
        score = round(likeness, SCORE_PLACES)
        is_option = contracts.shape is Shape.OPTION
        away = abs((row - _middle(expiry)) // 2) if is_option else 0
        traded = bare_segment(contracts.segment) in ORDERABLE_SEGMENTS
        order = (-score, 1, expiry.day < self._today, expiry.day, not traded, is_option, rank, away, row)
        return _Ranked(order, row, score)


class _Isins:
    """Rows by ISIN."""

    def __init__(self, frame: pl.DataFrame) -> None:
        known = frame.select("isin", "exchange").with_row_index("row").drop_nulls("isin")
        ordered = known.sort("isin", pl.col("exchange") != "nse", "row")
        self._texts, self._rows = ordered["isin"], ordered["row"]

    def rows(self, beginning: str, limit: int) -> list[FoundRow]:
        """Return the rows whose ISIN begins so, NSE's first; the whole ISIN scores 1."""
        first = int(self._texts.search_sorted(beginning, "left"))
        found = []
        for place in range(first, min(first + limit, self._texts.len())):
            isin = str(self._texts[place])
            if not isin.startswith(beginning):
                break
            found.append(FoundRow(row=int(self._rows[place]), score=1.0 if isin == beginning else 0.9))
        return found


def _from_middle(expiry: Expiry) -> Iterator[int]:
    """Yield the rows of an expiry from its middle outwards: the strikes near the money come first."""
    middle, last = _middle(expiry), expiry.start + expiry.count
    for away in range(0, expiry.count + 2, 2):
        for pair in (middle + away, middle - away)[: 2 if away else 1]:
            yield from range(max(expiry.start, pair), min(last, pair + 2))


def _middle(expiry: Expiry) -> int:
    """Return the row of the middle strike's call, where each strike has a call and a put."""
    return expiry.start + expiry.count // 4 * 2


def _fits_segment(word: Word, exchange: str, segment: str) -> bool:
    if word.exchanges is None and word.segments is None:
        return False
    fits_exchange = word.exchanges is None or exchange in word.exchanges
    return fits_exchange and (word.segments is None or bare_segment(segment) in word.segments)


def _may_fit_contract(word: Word, shape: Shape) -> bool:
    return word.expiry is not None or _may_fit_option(word, shape)


def _may_fit_option(word: Word, shape: Shape) -> bool:
    return shape is Shape.OPTION and (word.option_type is not None or word.strike is not None)
