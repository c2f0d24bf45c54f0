"""The positions document: net and day views, one row per instrument and product (architecture 7). Pure.

What a row says is worked out in `position_view.py`; here the brokers' slices are grouped, and only the groups that changed are
rendered again.
"""

from collections.abc import Mapping
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembling import ROWS_PER_STEP, Content, Steps, json_array, latest_snapshot
from onebroker.actors.portfolio.messages import Slice
from onebroker.actors.portfolio.position_view import (
    Member,
    Own,
    PositionView,
    merge_position,
    own_part,
    places_of,
    position_product,
)
from onebroker.actors.portfolio.prices import price_or_none
from onebroker.actors.portfolio.status import BrokerRead
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import PositionRow
from onebroker.config.instruments import Identity
from onebroker.config.money import paise, rupees

VIEWS = ("net", "day")
GROUPS_PER_STEP = 8
"""A group may hold a row of every broker."""


class PositionsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Profit and loss of the net view, of the rows that know it."""

    net_count: int
    day_count: int
    realized: float
    unrealized: float
    total: float


GroupKey: TypeAlias = tuple[str, str, str, str]
"""(view, product, "", instrument_id) or, unmapped, (view, product, broker, instrument_token)."""


@attrs.frozen(kw_only=True)
class _Part:
    """One broker's rows by group, and what they were made from."""

    source: object
    snapshot: Snapshot | None
    rows: dict[tuple[str, str], PositionRow]
    groups: dict[GroupKey, tuple[PositionRow, ...]]
    owns: dict[tuple[str, str], tuple[PositionRow, int, Own]]
    """(view, position_key) -> the row, its decimals, and what it adds: kept from build to build."""


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
        owns = before.owns if before is not None else {}
        part = _Part(
            owns={name: owns[name] for name in rows if name in owns},
            source=held.rows,
            snapshot=snapshot,
            rows=rows,
            groups={key: tuple(sorted(group, key=lambda row: row.position_key)) for key, group in groups.items()},
        )
        self._parts[broker] = part
        return {key for key in old.keys() | part.groups.keys() if old.get(key) != part.groups.get(key)}

    def _members(self, key: GroupKey) -> tuple[Member, ...]:
        return tuple((broker, row) for broker in sorted(self._parts) for row in self._parts[broker].groups.get(key, ()))

    def _own(self, broker: str, row: PositionRow, places: int) -> Own:
        """Return what a row adds, worked out anew only for a row that changed: most of a group did not."""
        owns, name = self._parts[broker].owns, (row.view, row.position_key)
        known = owns.get(name)
        if known is not None and known[0] is row and known[1] == places:
            return known[2]
        made = own_part(broker, row, places)
        owns[name] = (row, places, made)
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
        places = places_of(identity)
        owns = tuple([self._own(broker, row, places) for broker, row in members])
        view = merge_position(members, owns, identity, price)
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
