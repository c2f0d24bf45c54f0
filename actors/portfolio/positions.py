"""The positions document: net and day views, one row per instrument and product (architecture 7). Pure.

Accounting: every figure is the brokers' own, added up; nothing is matched again across brokers. What a broker does not say
is null in the merged row, never a stand-in; its own figures stand beside it in `by_broker`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembling import ROWS_PER_STEP, Content, Steps, json_array, latest_snapshot
from onebroker.actors.portfolio.messages import Slice
from onebroker.actors.portfolio.prices import price_or_none
from onebroker.actors.portfolio.status import BrokerRead
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import PositionRow
from onebroker.config.instruments import Identity, price_places
from onebroker.config.money import paise, quotient, round_half_up, rupees, scaled, value_paise
from onebroker.config.vocabulary import POSITION_PRODUCTS, pass_through

VIEWS = ("net", "day")
_UNMAPPED_PLACES = 4
GROUPS_PER_STEP = 8
"""A group may hold a row of every broker."""


class PositionPnl(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Rupees; null where a broker of the row does not say."""

    realized: float | None
    unrealized: float | None
    total: float | None


class BrokerPosition(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An element of `by_broker`: the broker's own row."""

    broker: str
    position_key: str
    instrument_token: str
    tradingsymbol: str
    quantity: int | None
    average_price: float | None
    pnl: PositionPnl
    contracts: int | msgspec.UnsetType = msgspec.UNSET
    """Only where `quantity` is null: what the broker reports, signed, in contracts of which the units are not known."""


class PositionView(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A row of `net` or `day`."""

    instrument_id: str | None
    """This and the other identity fields are null when the catalogue does not know the broker's token."""
    exchange: str | None
    segment: str | None
    shape: str | None
    symbol: str | None
    underlying_symbol: str | None
    expiry_date: str | None
    strike_price: float | None
    option_type: str | None
    product: str
    """delivery, intraday, carry, cover, bracket, margin_trading, or the broker's term upper-cased."""
    quantity: int | None
    """Units, signed; null where a broker of the row counts contracts of a size not known, as are the other quantities."""
    buy_quantity: int | None
    sell_quantity: int | None
    buy_value: float | None
    sell_value: float | None
    buy_average: float | None
    sell_average: float | None
    average_price: float | None
    """Null when nothing is held, when a broker gives none, or when brokers are on opposite sides."""
    last_price: float | None
    """As the broker most recently read reports it."""
    multiplier: float | None
    """The brokers' own figure; null when they differ."""
    overnight_quantity: int | None
    pnl: PositionPnl
    by_broker: tuple[BrokerPosition, ...]


class PositionsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Profit and loss of the net view, of the rows that know it."""

    net_count: int
    day_count: int
    realized: float
    unrealized: float
    total: float


GroupKey: TypeAlias = tuple[str, str, str, str]
"""(view, product, "", instrument_id) or, unmapped, (view, product, broker, instrument_token)."""

Member: TypeAlias = tuple[str, PositionRow]
"""(broker, its row)."""


def position_product(product: str) -> str:
    """Return the word of a product on a position; terms without one pass through upper-cased (spec 2 §2.1)."""
    return POSITION_PRODUCTS.get(product, pass_through(product))


def merge_position(
    members: tuple[Member, ...],
    by_broker: tuple[BrokerPosition, ...],
    identity: Identity | None,
    last_price: float | None,
) -> PositionView:
    """Merge the rows of one instrument and product. `members` in the order of the broker codes, each with its element of
    `by_broker`; `last_price` as reported."""
    places = _places(identity)
    rows = [row for _, row in members]
    buy_quantity, sell_quantity = _units(row.buy_quantity for row in rows), _units(row.sell_quantity for row in rows)
    buy_paise = _added((row.buy_quantity, row.buy_value) for row in rows)
    sell_paise = _added((row.sell_quantity, row.sell_value) for row in rows)
    multipliers = {row.multiplier for row in rows}
    fields = dict.fromkeys(_IDENTITY_FIELDS) if identity is None else identity.fields()
    return PositionView(
        **fields,
        product=position_product(rows[0].product),
        quantity=_units(row.quantity for row in rows),
        buy_quantity=buy_quantity,
        sell_quantity=sell_quantity,
        buy_value=None if buy_paise is None else rupees(buy_paise),
        sell_value=None if sell_paise is None else rupees(sell_paise),
        buy_average=_average(buy_paise, buy_quantity, places),
        sell_average=_average(sell_paise, sell_quantity, places),
        average_price=_held_average(rows, places),
        last_price=_rounded(last_price, places),
        multiplier=multipliers.pop() if len(multipliers) == 1 else None,
        overnight_quantity=_units(row.overnight_quantity for row in rows),
        pnl=_merged_pnl([one.pnl for one in by_broker]),
        by_broker=by_broker,
    )


_IDENTITY_FIELDS = (
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type",
)  # fmt: skip


def _places(identity: Identity | None) -> int:
    return _UNMAPPED_PLACES if identity is None else price_places(identity.segment)


def _broker_position(broker: str, row: PositionRow, places: int) -> BrokerPosition:
    average = _own_average(row)
    return BrokerPosition(
        broker=broker,
        position_key=row.position_key,
        instrument_token=row.instrument_token,
        tradingsymbol=row.tradingsymbol,
        quantity=row.quantity,
        average_price=_rounded(average, places),
        pnl=_broker_pnl(row),
        contracts=msgspec.UNSET if row.contracts is None else row.contracts,
    )


def _own_average(row: PositionRow) -> float | None:
    """A closed row has no average; zero on an open one is a stand-in (lesson 11). Never the last price."""
    return price_or_none(row.average_price) if row.quantity != 0 else None


def _held_average(rows: list[PositionRow], places: int) -> float | None:
    if any(row.quantity is None for row in rows):
        return None if len(rows) > 1 else _rounded(_own_average(rows[0]), places)
    held = [(row.quantity, _own_average(row)) for row in rows if row.quantity]
    if not held or len({quantity > 0 for quantity, _ in held}) != 1:
        return None
    if any(average is None for _, average in held):
        return None
    # Eight decimals keep every average a broker writes exact, so that the order of brokers cannot matter.
    cost = sum(quantity * scaled(average, 8) for quantity, average in held if average is not None)
    return quotient(cost, sum(quantity for quantity, _ in held) * 10**8, places)


def _broker_pnl(row: PositionRow) -> PositionPnl:
    realized = None if row.realized is None else paise(row.realized)
    unrealized = _unrealized_paise(row)
    return _pnl(realized, unrealized)


def _unrealized_paise(row: PositionRow) -> int | None:
    """The broker's figure; where it gives none, what its own average and last price say."""
    if row.unrealized is not None:
        return paise(row.unrealized)
    if row.quantity == 0:
        return 0
    average, last = _own_average(row), price_or_none(row.last_price)
    if average is None or last is None or row.quantity is None:
        return None
    return value_paise(row.quantity, last) - value_paise(row.quantity, average)


def _merged_pnl(parts: list[PositionPnl]) -> PositionPnl:
    return _pnl(_known_sum([part.realized for part in parts]), _known_sum([part.unrealized for part in parts]))


def _pnl(realized: int | None, unrealized: int | None) -> PositionPnl:
    total = None if realized is None or unrealized is None else realized + unrealized
    return PositionPnl(realized=_rupees(realized), unrealized=_rupees(unrealized), total=_rupees(total))


def _known_sum(figures: list[float | None]) -> int | None:
    """Return the sum in paise, or None when one of the figures is not known."""
    known = [paise(figure) for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def _rounded(price: float | None, places: int) -> float | None:
    return None if price is None else round_half_up(price, places)


def _units(quantities: Iterable[int | None]) -> int | None:
    """Add quantities up; one that is not known in units makes the sum unknown."""
    known = list(quantities)
    return None if None in known else sum(quantity for quantity in known if quantity is not None)


def _rupees(amount_paise: int | None) -> float | None:
    return None if amount_paise is None else rupees(amount_paise)


def _added(sides: Iterable[tuple[int | None, float | None]]) -> int | None:
    """Add up values in paise; a side without units is worth zero, one with units and no value makes the sum unknown."""
    total = 0
    for quantity, value in sides:
        if value is not None:
            total += paise(value)
        elif quantity != 0:
            return None
    return total


def _average(value_in_paise: int | None, quantity: int | None, places: int) -> float | None:
    return None if value_in_paise is None or not quantity else quotient(value_in_paise, quantity * 100, places)


@attrs.frozen(kw_only=True)
class _Part:
    """One broker's rows by group, and what they were made from."""

    source: object
    snapshot: Snapshot | None
    rows: dict[tuple[str, str], PositionRow]
    groups: dict[GroupKey, tuple[PositionRow, ...]]
    shown: dict[tuple[str, str], tuple[PositionRow, int, BrokerPosition]]
    """(view, position_key) -> the row, its decimals, and its element of `by_broker`: kept from build to build."""


@attrs.frozen(kw_only=True)
class _Rendered:
    view: PositionView
    encoded: bytes
    last_price: float | None
    sort_key: tuple[object, ...]
    realized_paise: int
    """For the summary; zero where not known."""
    unrealized_paise: int


class PositionsAssembler:
    """Merges the brokers' slices, rendering again only groups of which a row or the reported price changed."""

    resource: Resource = "positions"

    def __init__(self, catalogue: Published[CatalogueState]) -> None:
        self._catalogue = catalogue
        self._snapshot: Snapshot | None = None
        self._parts: dict[str, _Part] = {}
        self._rendered: dict[GroupKey, _Rendered] = {}
        self._recency: tuple[str, ...] = ()
        self._order: tuple[GroupKey, ...] = ()
        self._content: Content | None = None

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        return read.entry()

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        return True

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        snapshot = latest_snapshot(self._catalogue)
        dirty: set[GroupKey] = set(self._rendered) if snapshot is not self._snapshot else set()
        self._snapshot = snapshot
        for broker in sorted(self._parts.keys() | slices.keys()):
            dirty |= self._refresh(broker, slices.get(broker), snapshot)
            yield
        recency = tuple(sorted(slices, key=lambda broker: (-slices[broker].received_at, broker)))
        changed = dirty | (yield from self._repriced(recency)) if recency != self._recency else dirty
        self._recency = recency
        names = {key: self._rendered[key].sort_key for key in changed if key in self._rendered}
        for number, key in enumerate(changed):
            self._render(key, recency)
            if number % GROUPS_PER_STEP == 0:
                yield
        if names != {key: self._rendered[key].sort_key for key in changed if key in self._rendered}:
            self._order = tuple(sorted(self._rendered, key=lambda key: self._rendered[key].sort_key))
            yield
        if changed or self._content is None:
            self._content = self._join()
        return self._content

    def _refresh(self, broker: str, held: Slice | None, snapshot: Snapshot | None) -> set[GroupKey]:
        """Take a broker's slice in (None = it contributes nothing now); return the groups that it changed."""
        before = self._parts.get(broker)
        old = before.groups if before is not None else {}
        if held is None:
            self._parts.pop(broker, None)
            return set(old)
        if before is not None and before.source is held.rows and before.snapshot is snapshot:
            return set()
        known = before.rows if before is not None else {}
        rows: dict[tuple[str, str], PositionRow] = {}
        groups: dict[GroupKey, list[PositionRow]] = {}
        for new in held.rows if isinstance(held.rows, tuple) else ():
            if not isinstance(new, PositionRow):
                continue
            name = (new.view, new.position_key)
            # The object known before stands for an equal one, so that comparing groups is comparing identities.
            row = known[name] if known.get(name) == new else new
            rows[name] = row
            groups.setdefault(_group_key(broker, row, snapshot), []).append(row)
        shown = before.shown if before is not None else {}
        part = _Part(
            shown={name: shown[name] for name in rows if name in shown},
            source=held.rows,
            snapshot=snapshot,
            rows=rows,
            groups={key: tuple(sorted(group, key=lambda row: row.position_key)) for key, group in groups.items()},
        )
        self._parts[broker] = part
        return {key for key in old.keys() | part.groups.keys() if old.get(key) != part.groups.get(key)}

    def _members(self, key: GroupKey) -> tuple[Member, ...]:
        return tuple((broker, row) for broker in sorted(self._parts) for row in self._parts[broker].groups.get(key, ()))

    def _broker_position(self, broker: str, row: PositionRow, places: int) -> BrokerPosition:
        """Return the broker's element of `by_broker`, made anew only for a row that changed: most of a group did not."""
        shown, name = self._parts[broker].shown, (row.view, row.position_key)
        known = shown.get(name)
        if known is not None and known[0] is row and known[1] == places:
            return known[2]
        made = _broker_position(broker, row, places)
        shown[name] = (row, places, made)
        return made

    def _repriced(self, recency: tuple[str, ...]) -> Steps[set[GroupKey]]:
        """Return the groups whose most recently read broker now is another one, with another price."""
        found: set[GroupKey] = set()
        shared = [key for key, rendered in self._rendered.items() if len(rendered.view.by_broker) > 1]
        for number, key in enumerate(shared):
            if self._last_price(key, recency) != self._rendered[key].last_price:
                found.add(key)
            if number % (8 * ROWS_PER_STEP) == 0:
                yield
        return found

    def _last_price(self, key: GroupKey, recency: tuple[str, ...]) -> float | None:
        for broker in recency:
            part = self._parts.get(broker)
            for row in part.groups.get(key, ()) if part is not None else ():
                price = price_or_none(row.last_price)
                if price is not None:
                    return price
        return None

    def _render(self, key: GroupKey, recency: tuple[str, ...]) -> None:
        members = self._members(key)
        if not members:
            self._rendered.pop(key, None)
            return
        price = self._last_price(key, recency)
        identity = _identity(key, self._snapshot)
        places = _places(identity)
        by_broker = tuple(self._broker_position(broker, row, places) for broker, row in members)
        view = merge_position(members, by_broker, identity, price)
        self._rendered[key] = _Rendered(
            view=view,
            encoded=msgspec.json.encode(view),
            last_price=price,
            sort_key=_sort_key(key, view),
            realized_paise=paise(view.pnl.realized or 0.0),
            unrealized_paise=paise(view.pnl.unrealized or 0.0),
        )

    def _join(self) -> Content:
        rendered = {view: [self._rendered[key] for key in self._order if key[0] == view] for view in VIEWS}
        net, day = rendered["net"], rendered["day"]
        realized = sum(one.realized_paise for one in net)
        unrealized = sum(one.unrealized_paise for one in net)
        summary = msgspec.json.encode(
            PositionsSummary(
                net_count=len(net),
                day_count=len(day),
                realized=rupees(realized),
                unrealized=rupees(unrealized),
                total=rupees(realized + unrealized),
            )
        )
        fields = b"".join((
            b'"net":', json_array([one.encoded for one in net]),
            b',"day":', json_array([one.encoded for one in day]),
            b',"summary":', summary,
        ))  # fmt: skip
        return Content(fields=fields, rows=tuple(one.view for one in net), summary=summary)


def _group_key(broker: str, row: PositionRow, snapshot: Snapshot | None) -> GroupKey:
    instrument_id = None if snapshot is None else snapshot.by_token(broker, row.instrument_token)
    product = position_product(row.product)
    return (
        (row.view, product, "", instrument_id) if instrument_id else (row.view, product, broker, row.instrument_token)
    )


def _identity(key: GroupKey, snapshot: Snapshot | None) -> Identity | None:
    instrument = None if snapshot is None or key[2] else snapshot.instrument(key[3])
    return None if instrument is None else instrument.identity


def _sort_key(key: GroupKey, view: PositionView) -> tuple[object, ...]:
    """By name, expiry, strike, option type, product; unmapped rows stand under the broker's name of the instrument."""
    name = view.symbol or view.underlying_symbol or view.by_broker[0].tradingsymbol
    return name, view.expiry_date or "", view.strike_price or 0.0, view.option_type or "", key[1], key
