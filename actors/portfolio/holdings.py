"""The holdings document: the holdings at all brokers, one row per company (rules 1.2.5, architecture 7). Pure.

`holding_groups.py` joins the brokers' rows, `holding_view.py` computes the figures of a joined row. This file prices the joined rows, and
renders those whose figures or prices changed. A holding of no units has no row.
"""

from collections.abc import Iterable, Mapping

import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Content, Steps, array_pieces, latest_snapshot
from onebroker.actors.portfolio.broker_prices import price_or_none
from onebroker.actors.portfolio.day_closes import DayCloses
from onebroker.actors.portfolio.holding_groups import Group, HoldingGroups, RenderedHolding, identify, resolve
from onebroker.actors.portfolio.holding_view import Prices, merge_holding
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.quotes.interface import QuoteReader
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import HoldingRow
from onebroker.config.money import rupees


class HoldingsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the rows for which the figure is known."""

    holdings_count: int
    """Rows of `holdings`."""
    total_investment: float
    """Rupees, like the other sums."""
    total_current_value: float
    total_unrealized_pnl: float


class HoldingsAssembler:
    """Merges the brokers' slices. Renders a joined row again only when its rows or its prices changed."""

    resource: Resource = "holdings"

    def __init__(
        self, catalogue: Published[CatalogueState], quotes: QuoteReader, closes: DayCloses | None = None
    ) -> None:
        self._catalogue = catalogue
        self._quotes = quotes
        self._closes = closes
        self._encoder = msgspec.json.Encoder()
        self._begin(None)

    def _begin(self, snapshot: Snapshot | None) -> None:
        """Begin from nothing: another catalogue may join the rows otherwise."""
        self._snapshot = snapshot
        self._groups = HoldingGroups(snapshot)
        self._ranks: dict[str, int] = {}
        """Broker -> its place among the brokers, the most recently read first."""
        self._shown: list[Group] = []
        """The groups that have a row, in the order of the document."""
        self._content: Content | None = None

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        return read.entry()

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        """Learn the last closes of holdings for which neither a quote nor the broker gives a price."""
        if self._closes is not None:
            await self._closes.learn(self._unpriced(slices))
        return True

    def _unpriced(self, slices: Mapping[str, Slice]) -> list[str]:
        snapshot = latest_snapshot(self._catalogue)
        unpriced = [
            resolve(broker, row, snapshot)
            for broker, held in sorted(slices.items())
            for row in (held.rows if isinstance(held.rows, tuple) else ())
            if isinstance(row, HoldingRow) and price_or_none(row.last_price) is None
        ]
        ids = {
            found
            for holding in unpriced
            for found in (holding.instrument_id, identify((holding,), snapshot).instrument_id)
        }
        return sorted(
            instrument_id
            for instrument_id in ids
            if instrument_id is not None and self._quotes.usable_price(instrument_id) is None
        )

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        snapshot = latest_snapshot(self._catalogue)
        if snapshot is not self._snapshot:
            self._begin(snapshot)
        changed, regrouped = yield from self._regroup(slices)
        self._note_reported(slices, changed)
        self._sort(changed, regrouped=regrouped)
        rendered = self._content is None
        for number, group in enumerate(self._shown):
            prices = self._prices(group)
            if group.rendered is None or group.rendered.prices != prices:
                self._render(group, prices)
                rendered = True
            if number % ROWS_PER_STEP == 0:
                yield
        if rendered or self._content is None:
            yield
            self._content = self._join()
        return self._content

    def _regroup(self, slices: Mapping[str, Slice]) -> Steps[tuple[set[Group], bool]]:
        """Take the slices in. Return the groups that changed, and whether any came or went."""
        for broker in self._groups.brokers:
            if broker not in slices:
                self._groups.without(broker)
        for broker in sorted(slices):
            yield from self._groups.take(broker, slices[broker].rows)
        return (yield from self._groups.settle())

    def _note_reported(self, slices: Mapping[str, Slice], changed: set[Group]) -> None:
        """Note the brokers' own prices of the groups that changed; of all groups when the brokers were read in another order."""
        recency = sorted(slices, key=lambda broker: (-slices[broker].received_at, broker))
        ranks = {broker: rank for rank, broker in enumerate(recency)}
        same_order = ranks == self._ranks
        self._ranks = ranks
        for group in changed if same_order else self._groups.all:
            members = group.members
            if len(members) > 1:
                members = tuple(sorted(members, key=lambda held: ranks[held.broker]))
            group.reported = Prices(
                _first(held.figures.last_price for held in members),
                _first(held.figures.close_price for held in members),
            )

    def _sort(self, changed: set[Group], *, regrouped: bool) -> None:
        """Bring the groups that have a row into the order of the document, if that may have changed."""
        moved = regrouped
        for group in changed:
            shown_as = group.sort_key if group.units else None
            if shown_as != group.shown_as:
                group.shown_as, moved = shown_as, True
        if moved:
            self._shown = sorted([group for group in self._groups.all if group.shown_as], key=_shown_as)
            self._content = None

    def _prices(self, group: Group) -> Prices:
        """Find the last price (architecture 7): the usable quote, then the broker most recently read, then the last day candle."""
        last = None
        for instrument_id in group.instrument_ids:
            last = self._quotes.usable_price(instrument_id)
            if last is not None:
                break
        if last is None:
            last = group.reported.last
        if last is None and self._closes is not None:
            last = _first(self._closes.close(instrument_id) for instrument_id in group.instrument_ids)
        return Prices(last, group.reported.previous_close)

    def _render(self, group: Group, prices: Prices) -> None:
        view, amounts = merge_holding([held.figures for held in group.members], group.company, prices)
        group.rendered = RenderedHolding(prices, view, amounts, self._encoder.encode(view))

    def _join(self) -> Content:
        rows = [group.rendered for group in self._shown if group.rendered is not None]
        summary = self._encoder.encode(
            HoldingsSummary(
                holdings_count=len(rows),
                total_investment=rupees(sum([row.amounts.invested or 0 for row in rows])),
                total_current_value=rupees(sum([row.amounts.current or 0 for row in rows])),
                total_unrealized_pnl=rupees(sum([row.amounts.unrealized or 0 for row in rows])),
            )
        )
        array = b"".join(array_pieces("holdings", [row.encoded for row in rows]))
        return Content(pieces=(array, b',"summary":', summary), rows=tuple([row.view for row in rows]), summary=summary)


def _first(candidates: Iterable[float | None]) -> float | None:
    return next((value for value in candidates if value is not None), None)


def _shown_as(group: Group) -> tuple[object, ...]:
    return group.shown_as or ()
