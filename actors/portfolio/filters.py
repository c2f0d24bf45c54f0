"""Filters and paging of the order and trade book (spec 2 §4.1). Pure, over the rows of a published document."""

from collections.abc import Iterable, Sequence

import attrs
import msgspec

from onebroker.actors.portfolio.assembling import DocumentState
from onebroker.actors.portfolio.order_book import OrderView
from onebroker.actors.portfolio.trade_book import TradeView
from onebroker.config.vocabulary import is_finished

OPEN = "OPEN"
"""The filter `open`, upper-cased like every value a caller sends: everything not finished, PENDING included."""


@attrs.frozen(kw_only=True)
class BookFilter:
    """What a caller asked for; all given filters must match. None = not asked."""

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

    def matches(self, row: OrderView | TradeView) -> bool:
        return (
            (self.order_ids is None or row.order_id in self.order_ids)
            and (self.parent_id is None or row.engine_parent_id == self.parent_id)
            and (self.intent_id is None or row.intent_id == self.intent_id)
            and (self.broker is None or row.broker == self.broker)
            and (self.status is None or (isinstance(row, OrderView) and self._status_matches(row.status)))
        )

    def _status_matches(self, status: str) -> bool:
        return not is_finished(status) if self.status == OPEN else status == self.status


class Page(msgspec.Struct, frozen=True, kw_only=True):
    matched: int
    returned: int
    cursor: int
    next_cursor: int | None
    """Null on the last page."""


def select(rows: Iterable[msgspec.Struct], wanted: BookFilter) -> tuple[Sequence[OrderView | TradeView], Page]:
    """Return the rows of the page asked for, in the document's order, and the page."""
    matching = [row for row in rows if isinstance(row, OrderView | TradeView) and wanted.matches(row)]
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
