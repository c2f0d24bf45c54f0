"""The groups of the positions document: the rows of one instrument and product in one view, of all brokers. Pure.

A broker's row is placed in its group once, and its part of the group is computed once, while the row stays the same. A new slice usually holds
the same row objects at the same places, except for a few; only the groups of those few change.
"""

from collections.abc import Collection, Sequence
from itertools import zip_longest
from operator import is_
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Steps
from onebroker.actors.portfolio.position_view import (
    Naming,
    Own,
    PositionView,
    is_unpriced,
    naming,
    own_part,
    position_product,
)
from onebroker.actors.quotes.interface import QuoteReader
from onebroker.brokers.records import PositionRow

GroupKey: TypeAlias = tuple[str, str, str, str]
"""(view, product, "", instrument_id), or for an unmapped row (view, product, broker, instrument_token)."""


class RenderedGroup(msgspec.Struct, frozen=True, gc=False):
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


@attrs.define(eq=False)
class Group:
    """A row of the document, as it is now."""

    key: GroupKey
    naming: Naming
    instrument_id: str | None
    members: dict[str, tuple[Own, ...]] = attrs.field(factory=dict)
    """Broker -> its parts, by position key. A broker without a part is not named."""
    rendered: RenderedGroup | None = None
    """None until the group is rendered for the first time."""


class PlacedRow(msgspec.Struct, frozen=True, gc=False):
    """A broker's row, its group, and its part of it."""

    row: PositionRow
    group: Group
    own: Own
    unpriced: bool
    """Whether the row needs a live price."""


@attrs.frozen(kw_only=True)
class PlacedSlice:
    """One broker's rows in their groups."""

    source: object
    """The slice's `rows` object."""
    placed: tuple[PlacedRow, ...]
    """In the order of the slice."""
    live: dict[Group, float | None]
    """The live prices that were used for the unpriced rows."""


class PositionGroups:
    """All groups under one catalogue, and the brokers' rows in them."""

    def __init__(self, snapshot: Snapshot | None, quotes: QuoteReader | None) -> None:
        self._snapshot = snapshot
        self._quotes = quotes
        self._groups: dict[GroupKey, Group] = {}
        self._namings: dict[tuple[str, str, str], Naming] = {}
        """The namings by the keys without the view: both views share them."""
        self._slices: dict[str, PlacedSlice] = {}

    @property
    def all(self) -> Collection[Group]:
        return self._groups.values()

    @property
    def brokers(self) -> Sequence[str]:
        """The brokers with a slice, in no order."""
        return tuple(self._slices)

    def drop(self, group: Group) -> None:
        """Forget a group without members."""
        del self._groups[group.key]

    def without(self, broker: str) -> set[Group]:
        """Take a broker's rows out. Return the groups that changed."""
        before = self._slices.pop(broker)
        changed = {made.group for made in before.placed}
        for group in changed:
            del group.members[broker]
        return changed

    def take(self, broker: str, source: object) -> Steps[set[Group]]:
        """Take a broker's rows in, in place of its earlier rows. `source` is the slice's rows. Return the groups that changed."""
        before = self._slices.get(broker)
        if before is not None and before.source is source and self._as_priced(before):
            return set()
        usual = before.placed if before is not None else ()
        rows: tuple[PositionRow, ...] = source if isinstance(source, tuple) else ()
        placed: list[PlacedRow] = []
        touched: set[Group] = {made.group for made in usual[len(rows) :]}
        live: dict[Group, float | None] = {}
        elsewhere: dict[tuple[str, str], PlacedRow] | None = None
        for number, (row, usually) in enumerate(zip_longest(rows, usual[: len(rows)])):
            made = usually
            if made is None or made.row is not row:
                if usual and (made is None or not _same_name(made.row, row)):
                    elsewhere = elsewhere if elsewhere is not None else _by_name(usual)
                    made = elsewhere.get((row.view, row.position_key))
                made = self._placed(broker, row, made, live)
            if made.unpriced:
                made = self._priced(broker, made, live)
            if made is not usually:
                touched.add(made.group)
                if usually is not None:
                    touched.add(usually.group)
            placed.append(made)
            if number % ROWS_PER_STEP == 0:
                yield
        self._slices[broker] = PlacedSlice(source=source, placed=tuple(placed), live=live)
        return _regroup(broker, placed, touched)

    def _as_priced(self, held: PlacedSlice) -> bool:
        """Tell whether the live prices of the unpriced rows are still those that were used for them."""
        return all(self._live_price(group) == price for group, price in held.live.items())

    def _live_price(self, group: Group) -> float | None:
        """Return the usable live price of a group's instrument (rules 1.4.7), by which holdings are priced too."""
        if self._quotes is None or group.instrument_id is None:
            return None
        return self._quotes.usable_price(group.instrument_id)

    def _price_now(self, group: Group, live: dict[Group, float | None]) -> float | None:
        """Return the live price of a group, the same for all rows of one `take`."""
        if group not in live:
            live[group] = self._live_price(group)
        return live[group]

    def _placed(
        self, broker: str, row: PositionRow, known: PlacedRow | None, live: dict[Group, float | None]
    ) -> PlacedRow:
        """Place a row. `known` is what was made before of the row of the same name."""
        if known is None:
            group = self._group(broker, row)
        elif known.row == row:
            return known
        elif known.row.instrument_token == row.instrument_token and known.row.product == row.product:
            group = known.group
        else:
            group = self._group(broker, row)
        unpriced = is_unpriced(row)
        live_price = self._price_now(group, live) if unpriced else None
        return PlacedRow(row, group, own_part(broker, row, group.naming.places, live_price), unpriced)

    def _priced(self, broker: str, made: PlacedRow, live: dict[Group, float | None]) -> PlacedRow:
        """Return an unpriced row with the present live price."""
        price, group = self._price_now(made.group, live), made.group
        if made.own.live_price == price:
            return made
        return PlacedRow(made.row, group, own_part(broker, made.row, group.naming.places, price), True)

    def _group(self, broker: str, row: PositionRow) -> Group:
        snapshot, product = self._snapshot, position_product(row.product)
        instrument_id = None if snapshot is None else snapshot.by_token(broker, row.instrument_token)
        if instrument_id:
            key = row.view, product, "", instrument_id
        else:
            instrument_id, key = None, (row.view, product, broker, row.instrument_token)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key, self._naming(key, instrument_id), instrument_id)
        return group

    def _naming(self, key: GroupKey, instrument_id: str | None) -> Naming:
        named = self._namings.get(key[1:])
        if named is None:
            known = (
                None if self._snapshot is None or instrument_id is None else self._snapshot.instrument(instrument_id)
            )
            named = self._namings[key[1:]] = naming(instrument_id, None if known is None else known.identity, key[1])
        return named


def _same_name(one: PositionRow, other: PositionRow) -> bool:
    return one.position_key == other.position_key and one.view == other.view


def _by_name(placed: Sequence[PlacedRow]) -> dict[tuple[str, str], PlacedRow]:
    return {(made.row.view, made.row.position_key): made for made in placed}


def _regroup(broker: str, placed: Sequence[PlacedRow], touched: set[Group]) -> set[Group]:
    """Set a broker's members of the touched groups. Return the groups whose members changed."""
    members: dict[Group, list[Own]] = {group: [] for group in touched}
    for made in placed:
        owns = members.get(made.group)
        if owns is not None:
            owns.append(made.own)
    changed: set[Group] = set()
    for group, owns in members.items():
        own_parts = tuple(sorted(owns, key=_position_key) if len(owns) > 1 else owns)
        known = group.members.get(broker, ())
        if known and _same(known, own_parts):
            continue
        changed.add(group)
        if own_parts:
            group.members[broker] = own_parts
        else:
            del group.members[broker]
    return changed


def _position_key(own: Own) -> str:
    return own.shown.position_key


def _same(one: tuple[Own, ...], other: tuple[Own, ...]) -> bool:
    """Tell whether two groups hold the same part objects. Comparing their figures would take longer than rendering."""
    return len(one) == len(other) and all(map(is_, one, other))
