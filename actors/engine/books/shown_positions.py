"""What a broker shows of its positions: all rows, or the readable rows of an answer that also has unreadable rows.

An unreadable row hides only itself: the other rows are closed and reduced as usual. Some uses need all rows: a new entry, an exposure, the
statement that nothing is open. For these uses such a broker counts as not read.

What is shown is not yet what is held: `settled_positions.py` compares it with the fills, and callers ask there.
"""

import math
from collections.abc import Collection, Iterable

import attrs

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.engine.books.fresh_reads import began, is_ok, is_recent
from onebroker.actors.engine.context.position_days import Read
from onebroker.actors.portfolio.position_view import position_product
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import PositionRow


@attrs.frozen(kw_only=True)
class ShownPositions:
    """The rows of one answer of a broker."""

    rows: tuple[PositionRow, ...]
    whole: bool
    """False when the answer had other rows, which could not be read."""

    @classmethod
    def of(cls, read: Read) -> "ShownPositions":
        return cls(rows=read.rows, whole=read.whole)

    def tells(self, tokens: Collection[str], product: str | None) -> bool:
        """Whether `rows` are all rows of these instruments (the broker's tokens) in the product (a position's word). They are when no row was
        unreadable, or when each instrument has its net row. Without a product it is not known which rows exist; then only a whole answer counts."""
        if self.whole or product is None:
            return self.whole
        nets = {
            row.instrument_token for row in self.rows if row.view != "day" and position_product(row.product) == product
        }
        return nets.issuperset(tokens)


def shown_since(view: SessionView, moment: float) -> ShownPositions | None:
    """Return what the newest read shows; None when it began before `moment` (monotonic seconds)."""
    part = view.readable_positions
    if part is not None:
        return ShownPositions(rows=part.rows, whole=False) if part.read_started >= moment else None
    started = began(view, "positions")
    return None if started is None or started < moment else ShownPositions(rows=view.positions, whole=True)


def shown_began(view: SessionView) -> float:
    """Return when the read began that `shown_since` shows (monotonic seconds); minus infinity when there is none."""
    part = view.readable_positions
    started = began(view, "positions") if part is None else part.read_started
    return -math.inf if started is None else started


def shown_lately(view: SessionView, now: float) -> ShownPositions | None:
    """Return what the last read shows; None when it failed or is more than a minute old."""
    part = view.readable_positions
    if part is not None:
        return ShownPositions(rows=part.rows, whole=False) if is_recent(part.read_started, now) else None
    return ShownPositions(rows=view.positions, whole=True) if is_ok(view, "positions", now) else None


def unnamed(latest: Snapshot, code: str, rows: Iterable[PositionRow], product: str | None) -> list[PositionRow]:
    """Return a broker's open net rows whose token names no instrument; `product` is a position's word, None = all."""
    return [
        row
        for row in rows
        if row.view != "day"
        and row.quantity != 0
        and product in (None, position_product(row.product))
        and latest.by_token(code, row.instrument_token) is None
    ]
