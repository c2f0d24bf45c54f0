"""The groups of the holdings document: the brokers' rows of one company. Pure.

Rows are joined when they share an ISIN or an instrument id, directly or through a third row. If a row has no ISIN, its instrument's ISIN
counts. Rows that come, go or get another name are joined again with the groups that they touch, and with no others.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Steps
from onebroker.actors.portfolio.holding_view import Amounts, Company, Figures, HoldingView, Prices, figures_of
from onebroker.brokers.records import HoldingRow
from onebroker.config.instruments import TRADING_EXCHANGES, Exchange

JoinKey: TypeAlias = tuple[str, str]
Place: TypeAlias = tuple[str, str, str, str, str, str, int]
"""Broker, the broker's exchange, token and symbol, ISIN, instrument id, and the number among the broker's rows of this exchange and token."""
Slot: TypeAlias = tuple[str, str, int]
"""A broker's exchange and token, and the number among its rows of both."""


class Held(msgspec.Struct, frozen=True, gc=False):
    """One broker's row with its instrument and ISIN from the catalogue."""

    row: HoldingRow
    instrument_id: str | None
    isin: str | None
    keys: tuple[JoinKey, ...]
    """The keys by which the row is joined to others. A row without ISIN and instrument id is joined only to rows of the same broker,
    exchange and token."""
    place: Place
    """The order within a group."""
    figures: Figures

    @property
    def broker(self) -> str:
        return self.place[0]


def held_row(broker: str, row: HoldingRow, instrument_id: str | None, isin: str | None, number: int = 0) -> Held:
    """Return a row with its instrument and ISIN. `number` tells apart the broker's rows of one exchange and token."""
    by_isin = (("isin", isin),) if isin else ()
    by_id = (("id", instrument_id),) if instrument_id else ()
    keys = by_isin + by_id or (("own", f"{broker}:{row.exchange}:{row.instrument_token}"),)
    place = (broker, row.exchange, row.instrument_token, row.tradingsymbol, isin or "", instrument_id or "", number)
    return Held(row, instrument_id, isin, keys, place, figures_of(row))


def resolve(broker: str, row: HoldingRow, snapshot: Snapshot | None, number: int = 0) -> Held:
    """Find a row's instrument and ISIN."""
    instrument_id = None if snapshot is None else snapshot.by_token(broker, row.instrument_token)
    isin = (row.isin or "").strip().upper() or None
    if isin is None and instrument_id is not None and snapshot is not None:
        instrument = snapshot.instrument(instrument_id)
        isin = instrument.isin if instrument is not None else None
    return held_row(broker, row, instrument_id, isin, number)


def join(held: Sequence[Held]) -> Steps[list[tuple[Held, ...]]]:
    """Group rows that share an ISIN or an instrument id, directly or through others.

    Only the order of the groups depends on the order given.
    """
    parents = list(range(len(held)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    first_with: dict[JoinKey, int] = {}
    for index, holding in enumerate(held):
        for key in holding.keys:
            first = first_with.setdefault(key, index)
            if first != index:
                parents[root(index)] = root(first)
        if index % ROWS_PER_STEP == 0:
            yield
    groups: dict[int, list[Held]] = {}
    for index, holding in enumerate(held):
        groups.setdefault(root(index), []).append(holding)
    yield
    return [_in_order(group) for group in groups.values()]


def _in_order(group: list[Held]) -> tuple[Held, ...]:
    return tuple(sorted(group, key=_place) if len(group) > 1 else group)


def _place(held: Held) -> Place:
    return held.place


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


class RenderedHolding(msgspec.Struct, frozen=True, gc=False):
    prices: Prices
    view: HoldingView
    amounts: Amounts
    encoded: bytes


NO_PRICES = Prices(None, None)


@attrs.define(eq=False)
class Group:
    """A joined row, as it is now."""

    members: tuple[Held, ...]
    """In the order of their places."""
    company: Company
    instrument_ids: tuple[str, ...]
    """The instruments whose quotes price the row, the company's own first."""
    reported: Prices = NO_PRICES
    """The prices of the most recently read brokers that report them."""
    rendered: RenderedHolding | None = None
    """None until the row is rendered with its present members."""
    shown_as: tuple[object, ...] | None = None
    """The sort key by which the row was last sorted; None when it had no units."""

    @property
    def units(self) -> int:
        return sum([held.figures.units for held in self.members])

    @property
    def sort_key(self) -> tuple[object, ...]:
        """Sort by symbol. The other keys only make the order independent of the order of reads."""
        company = self.company
        return company.symbol, company.exchange, company.instrument_id or "", *self.members[0].place


def group_of(members: tuple[Held, ...], snapshot: Snapshot | None) -> Group:
    company = identify(members, snapshot)
    others = sorted({held.instrument_id for held in members if held.instrument_id} - {company.instrument_id})
    own = () if company.instrument_id is None else (company.instrument_id,)
    return Group(members, company, (*own, *others))


@attrs.frozen
class _SliceHeld:
    source: object
    """The slice's `rows` object."""
    by_slot: dict[Slot, Held]


class HoldingGroups:
    """All groups under one catalogue. `take` and `without` note rows that come and go, `settle` joins them."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot
        self._slices: dict[str, _SliceHeld] = {}
        self._by_key: dict[JoinKey, Group] = {}
        self._come: list[Held] = []
        self._gone: list[Held] = []
        self._refigured: set[Group] = set()
        """The groups that have other figures since the last `settle`."""

    @property
    def brokers(self) -> Collection[str]:
        """The brokers with a slice, in no order."""
        return tuple(self._slices)

    @property
    def all(self) -> set[Group]:
        return set(self._by_key.values())

    def without(self, broker: str) -> None:
        """Take a broker's rows out."""
        self._gone += self._slices.pop(broker).by_slot.values()

    def take(self, broker: str, source: object) -> Steps[None]:
        """Take a broker's rows in, in place of its earlier rows. `source` is the slice's rows."""
        before = self._slices.get(broker)
        if before is not None and before.source is source:
            return
        rows: tuple[HoldingRow, ...] = source if isinstance(source, tuple) else ()
        left = dict(before.by_slot) if before is not None else {}
        by_slot: dict[Slot, Held] = {}
        seen: dict[tuple[str, str], int] = {}
        for number, row in enumerate(rows):
            named = row.exchange, row.instrument_token
            twins = seen.get(named, 0)
            seen[named] = twins + 1
            slot = *named, twins
            known = left.pop(slot, None)
            held = by_slot[slot] = self._held(broker, row, known, twins)
            if known is None or known.keys != held.keys:
                self._come.append(held)
                self._gone += () if known is None else (known,)
            elif held is not known:
                self._replace(known, held)
            if number % ROWS_PER_STEP == 0:
                yield
        self._gone += left.values()
        self._slices[broker] = _SliceHeld(source, by_slot)

    def _held(self, broker: str, row: HoldingRow, known: Held | None, number: int) -> Held:
        if known is not None and (known.row is row or known.row == row):
            return known
        if known is not None and known.row.isin == row.isin:
            return held_row(broker, row, known.instrument_id, known.isin, number)
        return resolve(broker, row, self._snapshot, number)

    def _replace(self, known: Held, held: Held) -> None:
        """Put a row in the place of its earlier figures."""
        group = self._by_key[known.keys[0]]
        members = [held if member is known else member for member in group.members]
        if held.place == known.place:
            group.members = tuple(members)
        else:  # the broker names the row otherwise
            renamed = group_of(_in_order(members), self._snapshot)
            group.members, group.company = renamed.members, renamed.company
        group.rendered = None
        self._refigured.add(group)

    def settle(self) -> Steps[tuple[set[Group], bool]]:
        """Join the rows that came, with the groups that they and the rows that went touch. Return the groups that changed since the last
        `settle`, and whether any came or went."""
        changed, self._refigured = self._refigured, set()
        if not self._come and not self._gone:
            return changed, False
        gone = set(map(id, self._gone))
        touched = {self._by_key[held.keys[0]] for held in self._gone}
        touched |= {self._by_key[key] for held in self._come for key in held.keys if key in self._by_key}
        pool = [held for group in touched for held in group.members if id(held) not in gone] + self._come
        for key in _keys(held for group in touched for held in group.members):
            del self._by_key[key]
        yield
        changed -= touched
        for number, members in enumerate((yield from join(pool))):
            group = group_of(members, self._snapshot)
            changed.add(group)
            for held in members:
                self._by_key.update(dict.fromkeys(held.keys, group))
            if number % ROWS_PER_STEP == 0:
                yield
        self._come, self._gone = [], []
        return changed, True


def _keys(held: Iterable[Held]) -> set[JoinKey]:
    return {key for holding in held for key in holding.keys}
