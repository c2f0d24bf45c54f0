"""The holdings document: the holdings at all brokers, one row per company (rules 1.2.5, architecture 7). Pure.

Rows are joined when they share an ISIN or an instrument id, directly or through a third row. If a row has no ISIN, its instrument's ISIN
counts. A holding of no units has no row.
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs
import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Instrument, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Content, Steps, json_array, latest_snapshot
from onebroker.actors.portfolio.broker_prices import price_or_none
from onebroker.actors.portfolio.day_closes import DayCloses
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.quotes.interface import QuoteReader
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import HoldingRow
from onebroker.config.instruments import TRADING_EXCHANGES, Exchange, price_places
from onebroker.config.money import paise, quotient, round_half_up, rupees, value_paise

_SECURITY_PLACES = 2
_PERCENT_PLACES = 4
"""The same as for a quote's change_percent (rules 1.2.3)."""


class HoldingPnl(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Rupees of the whole holding; null when a figure needed for it is not known."""

    unrealized: float | None
    day_change: float | None
    """quantity x (last_price - the previous close the brokers report)."""
    day_change_percentage: float | None


class HoldingView(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An element of `holdings`, fields in the order of rules 1.2.5."""

    instrument_id: str | None
    isin: str | None
    symbol: str
    exchange: str
    segment: str | None
    quantity: int
    """Units of all buckets together: settled, T1, margin trading."""
    average_price: float | None
    """invested_value / quantity; null when a broker does not report the cost of a bucket."""
    invested_value: float | None
    last_price: float | None
    current_value: float | None
    pnl: HoldingPnl
    collateral_quantity: int


class HoldingsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over the rows for which the figure is known."""

    holdings_count: int
    total_investment: float
    total_current_value: float
    total_unrealized_pnl: float


@attrs.frozen(kw_only=True)
class Held:
    """One broker's row with its instrument and ISIN from the catalogue."""

    broker: str
    row: HoldingRow
    instrument_id: str | None
    isin: str | None

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The keys by which the row is joined to others. A row without ISIN and instrument id is joined only to rows of the same broker,
        exchange and token."""
        named = tuple((kind, value) for kind, value in (("isin", self.isin), ("id", self.instrument_id)) if value)
        return named or (("own", f"{self.broker}:{self.row.exchange}:{self.row.instrument_token}"),)


def resolve(broker: str, row: HoldingRow, snapshot: Snapshot | None) -> Held:
    """Find a row's instrument and ISIN."""
    instrument_id = None if snapshot is None else snapshot.by_token(broker, row.instrument_token)
    isin = (row.isin or "").strip().upper() or None
    if isin is None and instrument_id is not None and snapshot is not None:
        instrument = snapshot.instrument(instrument_id)
        isin = instrument.isin if instrument is not None else None
    return Held(broker=broker, row=row, instrument_id=instrument_id, isin=isin)


def join(held: Sequence[Held]) -> list[tuple[Held, ...]]:
    """Group rows that share an ISIN or an instrument id, directly or through others.

    Only the order of the groups depends on the order given.
    """
    parents = list(range(len(held)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    first_with: dict[tuple[str, str], int] = {}
    for index, holding in enumerate(held):
        for key in holding.keys:
            parents[root(index)] = root(first_with.setdefault(key, index))
    groups: dict[int, list[Held]] = {}
    for index, holding in enumerate(held):
        groups.setdefault(root(index), []).append(holding)
    return [tuple(sorted(group, key=_member_order)) for group in groups.values()]


def _member_order(one: Held) -> tuple[str, ...]:
    row = one.row
    return one.broker, row.exchange, row.instrument_token, row.tradingsymbol, one.isin or "", one.instrument_id or ""


@attrs.frozen(kw_only=True)
class Company:
    """The identity of a joined row."""

    instrument_id: str | None
    isin: str | None
    symbol: str
    exchange: str
    segment: str | None


def identify(group: Sequence[Held], snapshot: Snapshot | None) -> Company:
    """Choose the instrument of a joined row. Instruments that brokers named go first; among them, NSE listings of its ISINs go first."""
    isins = sorted({holding.isin for holding in group if holding.isin})
    instrument = _instrument(group, isins, snapshot)
    if instrument is not None:
        identity = instrument.identity
        symbol = identity.symbol or identity.underlying_symbol or group[0].row.tradingsymbol
        isin = instrument.isin if instrument.isin or not isins else isins[0]
        return Company(
            instrument_id=instrument.instrument_id,
            isin=isin,
            symbol=symbol,
            exchange=identity.exchange,
            segment=identity.segment,
        )
    return Company(
        instrument_id=None,
        isin=isins[0] if isins else None,
        symbol=group[0].row.tradingsymbol,
        exchange=_exchange_of(group[0].row.exchange),
        segment=None,
    )


def _instrument(group: Sequence[Held], isins: Sequence[str], snapshot: Snapshot | None) -> Instrument | None:
    if snapshot is None:
        return None
    named = {holding.instrument_id for holding in group if holding.instrument_id}
    listed = [instrument_id for isin in isins for instrument_id in snapshot.by_isin(isin)]
    ordered = [instrument_id for instrument_id in listed if instrument_id in named] + sorted(named) + listed
    found = (snapshot.instrument(instrument_id) for instrument_id in ordered)
    return next((instrument for instrument in found if instrument is not None), None)


def _exchange_of(code: str) -> str:
    """Read the exchange out of a broker's own code (NSE, NSE_EQ, nse_cm, ...)."""
    head = code.lower().replace("-", "_").partition("_")[0]
    return head if head in TRADING_EXCHANGES else Exchange.UNKNOWN.value


def bucket_costs(row: HoldingRow) -> int | None:
    """Return the cost of a broker's units in paise, each bucket at its own average. None when a bucket that holds units has no average."""
    plain = row.settled_quantity + row.t1_quantity
    margin_average = row.average_price if row.margin_average_price is None else row.margin_average_price
    total = 0
    for quantity, average in ((plain, row.average_price), (row.margin_quantity, margin_average)):
        if quantity and average is None:
            return None
        total += value_paise(quantity, average) if quantity and average is not None else 0
    return total


def units(row: HoldingRow) -> int:
    return row.settled_quantity + row.t1_quantity + row.margin_quantity


@attrs.frozen(kw_only=True)
class Prices:
    """Prices in rupees, unrounded; None = not known."""

    last: float | None
    previous_close: float | None


def merge_holding(group: Sequence[Held], company: Company, prices: Prices) -> HoldingView:
    """Merge joined rows (in the order of the broker codes) into one row."""
    places = _SECURITY_PLACES if company.segment is None else price_places(company.segment)
    quantity = sum(units(holding.row) for holding in group)
    costs = [bucket_costs(holding.row) for holding in group]
    invested = sum(cost for cost in costs if cost is not None) if None not in costs else None
    last = None if prices.last is None else round_half_up(prices.last, places)
    current = None if last is None else value_paise(quantity, last)
    return HoldingView(
        instrument_id=company.instrument_id,
        isin=company.isin,
        symbol=company.symbol,
        exchange=company.exchange,
        segment=company.segment,
        quantity=quantity,
        average_price=None if invested is None else quotient(invested, quantity * 100, places),
        invested_value=_rupees(invested),
        last_price=last,
        current_value=_rupees(current),
        pnl=_pnl(quantity, invested, current, last, prices.previous_close),
        collateral_quantity=sum(holding.row.collateral_quantity for holding in group),
    )


def _pnl(
    quantity: int, invested: int | None, current: int | None, last: float | None, close: float | None
) -> HoldingPnl:
    unrealized = None if current is None or invested is None else current - invested
    if last is None or close is None or current is None:
        return HoldingPnl(unrealized=_rupees(unrealized), day_change=None, day_change_percentage=None)
    return HoldingPnl(
        unrealized=_rupees(unrealized),
        day_change=rupees(current - value_paise(quantity, close)),
        day_change_percentage=round_half_up((last - close) / close * 100, _PERCENT_PLACES),
    )


def _rupees(amount_paise: int | None) -> float | None:
    return None if amount_paise is None else rupees(amount_paise)


def _paise(amount: float | None) -> int:
    return 0 if amount is None else paise(amount)


@attrs.frozen(kw_only=True)
class _Rendered:
    """A joined row, its inputs, and its JSON."""

    group: tuple[Held, ...]
    company: Company
    prices: Prices
    view: HoldingView
    encoded: bytes


class HoldingsAssembler:
    """Joins the rows again when a broker's rows or the catalogue changed. Renders again only the rows whose figures changed."""

    resource: Resource = "holdings"

    def __init__(
        self, catalogue: Published[CatalogueState], quotes: QuoteReader, closes: DayCloses | None = None
    ) -> None:
        self._catalogue = catalogue
        self._quotes = quotes
        self._closes = closes
        self._snapshot: Snapshot | None = None
        self._sources: dict[str, object] = {}
        self._resolved: dict[str, tuple[Held, ...]] = {}
        self._groups: list[tuple[tuple[Held, ...], Company]] = []
        self._rendered: dict[tuple[Held, ...], _Rendered] = {}
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
        yield from self._regroup(slices)
        recency = sorted(slices, key=lambda broker: (-slices[broker].received_at, broker))
        ranks = {broker: rank for rank, broker in enumerate(recency)}
        rendered: list[_Rendered] = []
        changed = self._content is None or len(self._rendered) != len(self._groups)
        for number, (group, company) in enumerate(self._groups):
            before = self._rendered.get(group)
            prices = self._prices(group, company, ranks)
            if before is not None and before.prices == prices and before.company == company:
                rendered.append(before)
            else:
                changed = True
                view = merge_holding(group, company, prices)
                encoded = msgspec.json.encode(view)
                rendered.append(_Rendered(group=group, company=company, prices=prices, view=view, encoded=encoded))
            if number % ROWS_PER_STEP == 0:
                yield
        if changed or self._content is None:
            self._rendered = {row.group: row for row in rendered}
            self._content = _content(sorted(rendered, key=_sort_key))
        return self._content

    def _regroup(self, slices: Mapping[str, Slice]) -> Steps[None]:
        snapshot = latest_snapshot(self._catalogue)
        sources: dict[str, object] = {broker: held.rows for broker, held in slices.items()}
        if snapshot is self._snapshot and _same_sources(sources, self._sources):
            return
        for broker in sorted(slices):
            if snapshot is not self._snapshot or self._sources.get(broker) is not sources[broker]:
                self._resolved[broker] = self._resolve(broker, slices[broker], snapshot)
                yield
        for broker in self._resolved.keys() - slices.keys():
            del self._resolved[broker]
        self._snapshot, self._sources = snapshot, sources
        groups = join([held for broker in sorted(self._resolved) for held in self._resolved[broker]])
        yield
        named = []
        for number, group in enumerate(groups):
            if sum(units(holding.row) for holding in group):
                named.append((group, identify(group, snapshot)))
            if number % ROWS_PER_STEP == 0:
                yield
        self._groups = named

    def _resolve(self, broker: str, held: Slice, snapshot: Snapshot | None) -> tuple[Held, ...]:
        rows = held.rows if isinstance(held.rows, tuple) else ()
        return tuple(resolve(broker, row, snapshot) for row in rows if isinstance(row, HoldingRow))

    def _prices(self, group: tuple[Held, ...], company: Company, ranks: Mapping[str, int]) -> Prices:
        """Find the last price (architecture 7): the usable quote, then the broker most recently read, then the last day candle."""
        by_recency = sorted(group, key=lambda holding: ranks[holding.broker]) if len(group) > 1 else group
        ids = [
            company.instrument_id,
            *sorted({holding.instrument_id for holding in group} - {company.instrument_id, None}, key=str),
        ]
        last = _first(self._quotes.usable_price(instrument_id) for instrument_id in ids if instrument_id is not None)
        if last is None:
            last = _first(price_or_none(holding.row.last_price) for holding in by_recency)
        if last is None and self._closes is not None:
            last = _first(self._closes.close(instrument_id) for instrument_id in ids if instrument_id is not None)
        return Prices(
            last=last, previous_close=_first(price_or_none(holding.row.close_price) for holding in by_recency)
        )


def _first(candidates: Iterable[float | None]) -> float | None:
    return next((value for value in candidates if value is not None), None)


def _same_sources(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return one.keys() == other.keys() and all(other[broker] is rows for broker, rows in one.items())


def _sort_key(one: _Rendered) -> tuple[str, ...]:
    """Sort by symbol. The other keys only make the order independent of the order of reads."""
    company = one.company
    return company.symbol, company.exchange, company.instrument_id or "", *_member_order(one.group[0])


def _content(rendered: Sequence[_Rendered]) -> Content:
    views = tuple(row.view for row in rendered)
    summary = msgspec.json.encode(
        HoldingsSummary(
            holdings_count=len(views),
            total_investment=rupees(sum(_paise(view.invested_value) for view in views)),
            total_current_value=rupees(sum(_paise(view.current_value) for view in views)),
            total_unrealized_pnl=rupees(sum(_paise(view.pnl.unrealized) for view in views)),
        )
    )
    rows = json_array([row.encoded for row in rendered])
    return Content(fields=b"".join((b'"holdings":', rows, b',"summary":', summary)), rows=views, summary=summary)
