"""Filters and paging of the order and trade book (rules 2.4.1). Pure, over the rows of a published document."""

from collections.abc import Sequence
from typing import cast

import attrs
import msgspec

from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.portfolio.order_book import OrderView
from onebroker.actors.portfolio.trade_book import TradeView
from onebroker.config.vocabulary import is_finished

OPEN = "OPEN"
"""The filter `open`, upper-cased like every status a caller sends: every order not finished, PENDING included."""


@attrs.frozen(kw_only=True)
class BookFilter:
    """The filters and the page that a caller asked for. A row must match all given filters. None = no such filter."""

    order_ids: frozenset[str] | None = None
    parent_id: str | None = None
    intent_id: str | None = None
    broker: str | None = None
    status: str | None = None
    """Upper-cased. Orders only."""
    limit: int | None = None
    """Most rows; None = all that match."""
    cursor: int = 0
    """Matching rows to skip."""

    def matching(self, rows: Sequence[OrderView | TradeView]) -> Sequence[OrderView | TradeView]:
        """Return the rows that all given filters match, in their order.

        Each given filter takes one pass: a whole day's book is filtered within a millisecond.
        """
        if self.order_ids is not None:
            rows = [row for row in rows if row.order_id in self.order_ids]
        if self.parent_id is not None:
            rows = [row for row in rows if row.engine_parent_id == self.parent_id]
        if self.intent_id is not None:
            rows = [row for row in rows if row.intent_id == self.intent_id]
        if self.broker is not None:
            rows = [row for row in rows if row.broker == self.broker]
        if self.status is not None:
            orders = [row for row in rows if isinstance(row, OrderView)]
            wanted = {status for status in {row.status for row in orders} if self._status_matches(status)}
            rows = [row for row in orders if row.status in wanted]
        return rows

    def _status_matches(self, status: str) -> bool:
        return not is_finished(status) if self.status == OPEN else status == self.status


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """The page of a filtered answer."""

    matched: int
    """Entries that match, on all pages."""
    returned: int
    cursor: int
    """Matching entries that were skipped."""
    next_cursor: int | None
    """Null on the last page."""


def select(rows: Sequence[msgspec.Struct], wanted: BookFilter) -> tuple[Sequence[OrderView | TradeView], Page]:
    """Return the rows of the requested page, in the document's order, and the page itself. `rows` are the orders or trades of a book."""
    matching = wanted.matching(cast("Sequence[OrderView | TradeView]", rows))
    end = len(matching) if wanted.limit is None else wanted.cursor + wanted.limit
    shown = matching[wanted.cursor : end]
    following = wanted.cursor + len(shown)
    return shown, Page(
        matched=len(matching),
        returned=len(shown),
        cursor=wanted.cursor,
        next_cursor=following if following < len(matching) and shown else None,
    )


def filtered_body(state: DocumentState, list_name: str, wanted: BookFilter) -> bytes:
    """Return the answer to a filtered read: the page's rows, the whole day's summary, brokers, as_of and `page`."""
    shown, page = select(state.content.rows, wanted)
    return msgspec.json.encode(
        {
            list_name: shown,
            "summary": msgspec.Raw(state.content.summary),
            "brokers": msgspec.Raw(state.brokers),
            "as_of": state.as_of,
            "page": page,
        }
    )
