"""The positions document: net and day views, one row per instrument and product (architecture 7). Pure.

`position_view.py` computes the figures of a row. This file groups the brokers' slices, and renders again only the groups that changed.
"""

import operator
from collections.abc import Mapping
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Content, Steps, json_array, latest_snapshot
from onebroker.actors.portfolio.position_view import (
    Naming,
    Own,
    PositionView,
    is_unpriced,
    merge_position,
    naming,
    own_part,
    position_product,
)
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.quotes.interface import QuoteReader
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import PositionRow
from onebroker.config.instruments import Identity
from onebroker.config.money import rupees

VIEWS = ("net", "day")
GROUPS_PER_STEP = 8
"""A group may hold a row of every broker."""


class PositionsSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Profit and loss of the net view. Each figure is the sum of the figures that its rows show."""

    net_count: int
    day_count: int
    realized: float
    unrealized: float
    total: float
    unknown_rows: int
    """Number of net rows whose total is not known, and so not included in `total`."""


GroupKey: TypeAlias = tuple[str, str, str, str]
"""(view, product, "", instrument_id), or for an unmapped row (view, product, broker, instrument_token)."""


RowName: TypeAlias = tuple[str, str]
"""(view, position_key)."""


@attrs.frozen(kw_only=True)
class _Part:
    """One broker's rows by group, and the inputs they were made from."""

    source: object
    snapshot: Snapshot | None
    owns: dict[RowName, tuple[PositionRow, Own]]
    """Each row and its part. A part is kept from build to build while the row, and an unpriced row's live price, stay the same."""
    live: Mapping[GroupKey, float | None]
    """The live prices that were used for the unpriced rows."""
    groups: dict[GroupKey, tuple[Own, ...]]


class _Rendered(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    view: PositionView
    encoded: bytes
    last_price: float | None
    sort_key: tuple[object, ...]
    realized_paise: int
    """For the summary, like the two below; zero when not known."""
    unrealized_paise: int
    total_paise: int
    is_known: bool
    """Whether the row's total is known."""


class PositionsAssembler:
    """Merges the brokers' slices. Renders a group again only when one of its rows or its last price changed."""

    resource: Resource = "positions"

    def __init__(self, catalogue: Published[CatalogueState], quotes: QuoteReader | None = None) -> None:
        self._catalogue = catalogue
        self._quotes = quotes
        self._snapshot: Snapshot | None = None
        self._parts: dict[str, _Part] = {}
        self._namings: dict[GroupKey, Naming] = {}
        """The namings of the present snapshot's groups."""
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
        dirty: set[GroupKey] = set()
        if snapshot is not self._snapshot:
            dirty, self._namings = set(self._rendered), {}
            self._snapshot = snapshot
        for broker in sorted(self._parts.keys() | slices.keys()):
            dirty |= yield from self._refresh(broker, slices.get(broker), snapshot)
            yield
        parts = [self._parts[broker] for broker in sorted(self._parts)]
        recency = tuple(sorted(slices, key=lambda broker: (-slices[broker].received_at, broker)))
        changed = dirty | (yield from self._repriced(recency)) if recency != self._recency else dirty
        self._recency = recency
        names = {key: self._rendered[key].sort_key for key in changed if key in self._rendered}
        for number, key in enumerate(changed):
            self._render(key, parts, recency)
            if number % GROUPS_PER_STEP == 0:
                yield
        if names != {key: self._rendered[key].sort_key for key in changed if key in self._rendered}:
            self._order = tuple(sorted(self._rendered, key=lambda key: self._rendered[key].sort_key))
            yield
        if changed or self._content is None:
            yield
            self._content = self._join()
        return self._content

    def _refresh(self, broker: str, held: Slice | None, snapshot: Snapshot | None) -> Steps[set[GroupKey]]:
        """Take in a broker's slice (None = the broker contributes nothing now). Return the groups that changed."""
        before = self._parts.get(broker)
        old = before.groups if before is not None else {}
        if held is None:
            self._parts.pop(broker, None)
            return set(old)
        if (
            before is not None
            and before.source is held.rows
            and before.snapshot is snapshot
            and self._as_priced(before)
        ):
            return set()
        known = before.owns if before is not None and before.snapshot is snapshot else {}
        owns: dict[RowName, tuple[PositionRow, Own]] = {}
        live: dict[GroupKey, float | None] = {}
        groups: dict[GroupKey, list[Own]] = {}
        for number, row in enumerate(held.rows if isinstance(held.rows, tuple) else ()):
            if not isinstance(row, PositionRow):
                continue
            name, key = (row.view, row.position_key), _group_key(broker, row, snapshot)
            made = known.get(name)
            own = made[1] if made is not None and made[0] == row else None
            unpriced = is_unpriced(row) if own is None else own.price is None and row.quantity != 0
            price = live.setdefault(key, self._live_price(key)) if unpriced else None
            # The part of an equal row is kept, so that groups can be compared by identity.
            if made is None or own is None or own.live_price != price:
                made = row, own_part(broker, row, self._naming(key).places, price)
            owns[name] = made
            groups.setdefault(key, []).append(made[1])
            if number % ROWS_PER_STEP == 0:
                yield
        part = _Part(
            source=held.rows,
            snapshot=snapshot,
            owns=owns,
            live=live,
            groups={key: tuple(sorted(group, key=_position_key)) for key, group in groups.items()},
        )
        self._parts[broker] = part
        return {key for key in old.keys() | part.groups.keys() if not _same(old.get(key), part.groups.get(key))}

    def _as_priced(self, part: _Part) -> bool:
        """Tell whether the live prices of the part's unpriced rows are still those that were used for it."""
        return all(self._live_price(key) == price for key, price in part.live.items())

    def _naming(self, key: GroupKey) -> Naming:
        known = self._namings.get(key)
        if known is None:
            known = self._namings[key] = naming(_identity(key, self._snapshot), key[1])
        return known

    def _repriced(self, recency: tuple[str, ...]) -> Steps[set[GroupKey]]:
        """Return the groups whose last price changed because another broker is now the most recently read."""
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
            for own in part.groups.get(key, ()) if part is not None else ():
                if own.price is not None:
                    return own.price
        owns = (own for broker in recency if (part := self._parts.get(broker)) for own in part.groups.get(key, ()))
        return next((own.live_price for own in owns if own.live_price is not None), None)

    def _live_price(self, key: GroupKey) -> float | None:
        """Return the usable live price of a group's instrument (rules 1.4.7), by which holdings are priced too."""
        return None if self._quotes is None or key[2] else self._quotes.usable_price(key[3])

    def _render(self, key: GroupKey, parts: list[_Part], recency: tuple[str, ...]) -> None:
        owns = [own for part in parts for own in part.groups.get(key, ())]
        if not owns:
            self._rendered.pop(key, None)
            return
        price = self._last_price(key, recency)
        view, total = merge_position(owns, self._naming(key), price)
        realized, unrealized = total.realized_paise, total.unrealized_paise
        together = None if realized is None or unrealized is None else realized + unrealized
        self._rendered[key] = _Rendered(
            view=view,
            encoded=msgspec.json.encode(view),
            last_price=price,
            sort_key=_sort_key(key, view, owns[0].shown.tradingsymbol),
            realized_paise=total.realized_paise or 0,
            unrealized_paise=total.unrealized_paise or 0,
            total_paise=0 if together is None else together,
            is_known=together is not None,
        )

    def _join(self) -> Content:
        rendered = {view: [self._rendered[key] for key in self._order if key[0] == view] for view in VIEWS}
        net, day = rendered["net"], rendered["day"]
        realized = sum(position.realized_paise for position in net)
        unrealized = sum(position.unrealized_paise for position in net)
        summary = msgspec.json.encode(
            PositionsSummary(
                net_count=len(net),
                day_count=len(day),
                realized=rupees(realized),
                unrealized=rupees(unrealized),
                total=rupees(sum(position.total_paise for position in net)),
                unknown_rows=sum(not position.is_known for position in net),
            )
        )
        fields = b"".join((
            b'"net":', json_array([position.encoded for position in net]),
            b',"day":', json_array([position.encoded for position in day]),
            b',"summary":', summary,
        ))  # fmt: skip
        return Content(fields=fields, rows=tuple(position.view for position in net), summary=summary)


def _group_key(broker: str, row: PositionRow, snapshot: Snapshot | None) -> GroupKey:
    instrument_id = None if snapshot is None else snapshot.by_token(broker, row.instrument_token)
    product = position_product(row.product)
    return (
        (row.view, product, "", instrument_id) if instrument_id else (row.view, product, broker, row.instrument_token)
    )


def _identity(key: GroupKey, snapshot: Snapshot | None) -> Identity | None:
    instrument = None if snapshot is None or key[2] else snapshot.instrument(key[3])
    return None if instrument is None else instrument.identity


def _position_key(own: Own) -> str:
    return own.shown.position_key


def _same(one: tuple[Own, ...] | None, other: tuple[Own, ...] | None) -> bool:
    """Tell whether two groups hold the same part objects. Comparing their figures would take longer than rendering."""
    return one is not None and other is not None and len(one) == len(other) and all(map(operator.is_, one, other))


def _sort_key(key: GroupKey, view: PositionView, broker_name: str) -> tuple[object, ...]:
    """Sort by name, expiry, strike, option type, product. Unmapped rows are sorted by the broker's name of the instrument."""
    name = view.symbol or view.underlying_symbol or broker_name
    return name, view.expiry_date or "", view.strike_price or 0.0, view.option_type or "", key[1], key
