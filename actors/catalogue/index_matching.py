"""Gives one symbol to an index that files call `NIFTY 50`, `Nifty50` and `NIFTY`. Pure.

All brokers share no number of an index, so its names decide: the file's name for it, and its contracts' name for it. Two rows are one
index when they have a name in common, ignoring blanks and signs. There are some hundreds of rows.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs
import polars as pl

from onebroker.actors.catalogue.security_matching import Aligned, changed, spelling


@attrs.frozen
class _Row:
    row: int
    rank: int
    exchange: str
    bare: str
    symbol: str
    name: str
    """Spelling of the symbol."""
    short: str | None
    """Spelling of the short name."""


def is_index() -> pl.Expr:
    return pl.col("bare").str.ends_with("_indices") & pl.col("symbol").is_not_null()


def align_indices(rows: pl.DataFrame) -> Aligned:
    """Give the rows of one index one symbol and one segment. `rows` must satisfy `is_index`.

    Names that would make two indices of one broker the same join nothing; they are counted as contradictions.
    """
    spelled = rows.with_columns(name=spelling("symbol"), short=spelling("short_name")).with_columns(
        pl.col("short").replace("", None)
    )
    listed = [
        _Row(**values) for values in spelled.select([field.name for field in attrs.fields(_Row)]).iter_rows(named=True)
    ]
    symbols: dict[int, tuple[str, str]] = {}
    contradicted: list[_Row] = []
    for group in _joined(listed, by_short_name=True):
        groups = [group]
        if _at_odds(group):
            contradicted += group
            groups = list(_joined(group, by_short_name=False))
        for part in groups:
            symbols.update(dict.fromkeys((row.row for row in part), (_symbol(part), _segment(part))))
    decided = pl.DataFrame(
        {
            "row": pl.Series(list(symbols), dtype=rows.schema["row"]),
            "voted_symbol": pl.Series([symbol for symbol, _ in symbols.values()], dtype=pl.String),
            "voted_bare": pl.Series([bare for _, bare in symbols.values()], dtype=pl.String),
        }
    )
    after = rows.join(decided, on="row", how="left").with_columns(symbol="voted_symbol", bare="voted_bare")
    odd = pl.DataFrame(
        [(row.row, row.rank) for row in contradicted], schema=rows.select("row", "rank").schema, orient="row"
    )
    return Aligned(changed(after, rows), odd, odd.clear())


def _joined(rows: Iterable[_Row], by_short_name: bool) -> Iterator[Sequence[_Row]]:
    """Yield groups of rows that have names in common, directly or through other rows."""
    leader: dict[tuple[str, str], tuple[str, str]] = {}

    def lead(name: tuple[str, str]) -> tuple[str, str]:
        while leader.setdefault(name, name) != name:
            name = leader[name]
        return name

    rows = list(rows)
    for row in rows:
        if by_short_name and row.short is not None:
            leader[lead((row.exchange, row.short))] = lead((row.exchange, row.name))
    groups: Mapping[tuple[str, str], list[_Row]] = defaultdict(list)
    for row in rows:
        groups[lead((row.exchange, row.name))].append(row)
    yield from groups.values()


def _at_odds(group: Sequence[_Row]) -> bool:
    return max(Counter(row.rank for row in group).values()) > 1 and len({row.name for row in group}) > 1


def _symbol(group: Sequence[_Row]) -> str:
    """Return the name most brokers give. A name that is only another row's short name does not count beside that row's own name."""
    short = {row.short for row in group if row.short != row.name}
    named = [row for row in group if row.name not in short] or group
    return _most(named, lambda row: row.symbol)


def _segment(group: Sequence[_Row]) -> str:
    return _most(group, lambda row: row.bare)


def _most(group: Sequence[_Row], what: Callable[[_Row], str]) -> str:
    """Return the value most rows have; of values with equally many rows, the first broker's."""
    votes = Counter(map(what, group))
    return min(votes, key=lambda word: (-votes[word], min(row.rank for row in group if what(row) == word), word))
