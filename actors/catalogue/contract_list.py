"""One mapping's futures and options by underlying and expiry: which rows of the catalogue's file are which contracts. Pure.

The file is sorted by exchange, segment, underlying, expiry, strike and option type. So the contracts of an expiry are neighbours, and a
strike is found by a binary search.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from heapq import nlargest

import attrs

from onebroker.actors.catalogue.compact_columns import held_numbers
from onebroker.config.instruments import SEGMENT_SHAPES, Shape, bare_segment
from onebroker.config.late_modules import pl

LARGEST = 20
"""How many underlyings are looked at for a query that names none."""


@attrs.frozen
class Expiry:
    """The contracts of one segment, underlying and expiry."""

    day: str
    """YYYY-MM-DD."""
    date: date
    start: int
    """Row of the first contract."""
    count: int


@attrs.frozen(kw_only=True)
class Contracts:
    """The futures or the options of one underlying in one segment."""

    exchange: str
    segment: str
    """Stored form, such as `nse_equity_index_options`."""
    underlying_symbol: str
    expiries: tuple[Expiry, ...]
    """Nearest first."""

    @property
    def shape(self) -> Shape:
        return SEGMENT_SHAPES[bare_segment(self.segment)]

    @property
    def count(self) -> int:
        return sum(expiry.count for expiry in self.expiries)


class ContractList:
    """The contracts of a catalogue file's frame. The frame must be in the order of the file."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._strikes = held_numbers(frame["strike_price"].cast(pl.Float64))
        self._types = frame["option_type"]
        self._of: dict[tuple[str, str], list[Contracts]] = {}
        self._starting: dict[int, Contracts] = {}
        self._monthly: dict[tuple[str, str], frozenset[str]] = {}
        for contracts in _read(frame):
            self._of.setdefault((contracts.exchange, contracts.underlying_symbol), []).append(contracts)
            self._starting[contracts.expiries[0].start] = contracts
        options = (contracts for contracts in self._starting.values() if contracts.shape is Shape.OPTION)
        self.largest = tuple(nlargest(LARGEST, options, key=lambda contracts: contracts.count))
        """The options with the most contracts."""

    def of(self, exchange: str, underlying_symbol: str) -> Sequence[Contracts]:
        """Return the futures and options of an underlying, each segment separately; empty where there are none."""
        return self._of.get((exchange, underlying_symbol), ())

    def starting(self, row: int) -> Contracts | None:
        """Return the contracts whose first row this is."""
        return self._starting.get(row)

    def monthly(self, exchange: str, underlying_symbol: str) -> frozenset[str]:
        """Return the monthly expiries of an underlying: the last listed expiry of each calendar month."""
        key = (exchange, underlying_symbol)
        known = self._monthly.get(key)
        if known is None:
            known = self._monthly[key] = monthly_days(expiry.day for one in self.of(*key) for expiry in one.expiries)
        return known

    def strike(self, row: int) -> float:
        """Return the strike of an option's row, in rupees; undefined for other rows."""
        strike: float = self._strikes[row]
        return strike

    def option_type(self, row: int) -> str:
        """Return CE or PE of an option's row."""
        return str(self._types[row])

    def rows_of_strike(self, expiry: Expiry, strike: float) -> range:
        """Return the rows of an expiry's options with this strike; empty where it is not listed."""
        last = expiry.start + expiry.count
        first = bisect_left(self._strikes, strike, expiry.start, last)
        end = first
        while end < last and self._strikes[end] == strike:
            end += 1
        return range(first, end)

    def strikes(self, expiry: Expiry) -> list[float]:
        """Return the different strikes of an expiry, rising."""
        return sorted({self._strikes[row] for row in range(expiry.start, expiry.start + expiry.count)})


def monthly_days(days: Iterable[str]) -> frozenset[str]:
    """Return the last of these days (YYYY-MM-DD) in each calendar month."""
    last: dict[str, str] = {}
    for day in days:
        last[day[:7]] = max(day, last.get(day[:7], ""))
    return frozenset(last.values())


def _read(frame: pl.DataFrame) -> Iterable[Contracts]:
    columns = ["exchange", "segment", "underlying_symbol", "expiry_date"]
    listed = frame.select("shape", *columns)
    begins = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in columns)
    firsts = listed.with_row_index("start").filter(begins | (pl.col("start") == 0))
    ends = pl.col("start").shift(-1, fill_value=frame.height)
    runs = firsts.with_columns(count=ends - pl.col("start")).filter(
        pl.col("shape").is_in([Shape.FUTURE.value, Shape.OPTION.value])
    )
    found: dict[tuple[str, str, str], list[Expiry]] = {}
    for exchange, segment, name, day, start, count in runs.select(*columns, "start", "count").iter_rows():
        found.setdefault((exchange, segment, name), []).append(Expiry(day, date.fromisoformat(day), start, count))
    return _contracts(found)


def _contracts(found: Mapping[tuple[str, str, str], Sequence[Expiry]]) -> Iterable[Contracts]:
    for (exchange, segment, name), expiries in found.items():
        yield Contracts(exchange=exchange, segment=segment, underlying_symbol=name, expiries=tuple(expiries))
