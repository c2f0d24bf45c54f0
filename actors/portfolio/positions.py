"""The positions document: net and day views, one row per instrument and product (architecture 7). Pure.

`position_view.py` computes the figures of a row, `position_groups.py` puts the brokers' rows into groups. This file renders the groups that
changed, and joins all groups.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Content, Steps, array_pieces, latest_snapshot
from onebroker.actors.portfolio.position_groups import Group, GroupKey, PositionGroups, RenderedGroup
from onebroker.actors.portfolio.position_view import Own, PositionView, merge_position
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.quotes.interface import QuoteReader
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.config.money import rupees

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


class DoubtedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A position of a broker whose row does not agree with the fills of the broker's orders. Units are signed."""

    instrument_id: str | None
    """Null when the broker's token names no single instrument."""
    tradingsymbol: str
    product: str
    """Product word of a position, such as `intraday`."""
    shown: int
    """Units that the broker shows."""
    by_fills: int
    """Units by the broker's own orders: carried in, bought and sold."""
    since: str
    """Since when they do not agree, in Indian time."""


def no_doubts(_: str) -> Sequence[DoubtedRow]:
    return ()


class PositionsAssembler:
    """Merges the brokers' slices. Renders a group again only when one of its rows or its last price changed."""

    resource: Resource = "positions"

    def __init__(
        self,
        catalogue: Published[CatalogueState],
        quotes: QuoteReader | None = None,
        doubted: Callable[[str], Sequence[DoubtedRow]] = no_doubts,
    ) -> None:
        """`doubted`: broker code -> its positions that are doubted now. They are shown in the broker's element of `brokers`, because the row of such a
        position may be missing among the rows."""
        self._catalogue = catalogue
        self._quotes = quotes
        self._doubted = doubted
        self._encoder = msgspec.json.Encoder()
        self._snapshot: Snapshot | None = None
        self._begin(None)

    def _begin(self, snapshot: Snapshot | None) -> None:
        """Begin from nothing: another catalogue may give every row another group."""
        self._snapshot = snapshot
        self._groups = PositionGroups(snapshot, self._quotes)
        self._contested: set[Group] = set()
        """The groups whose last price depends on which broker was read most recently."""
        self._recency: tuple[str, ...] = ()
        self._order: list[Group] = []
        self._content: Content | None = None

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        doubted = self._doubted(read.broker)
        return {**read.entry(), "doubted": doubted} if doubted else read.entry()

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        return True

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        snapshot = latest_snapshot(self._catalogue)
        if snapshot is not self._snapshot:
            self._begin(snapshot)
        changed: set[Group] = set()
        for broker in self._groups.brokers:
            if broker not in slices:
                changed |= self._groups.without(broker)
        for broker in sorted(slices):
            changed |= yield from self._groups.take(broker, slices[broker].rows)
        recency = tuple(sorted(slices, key=lambda broker: (-slices[broker].received_at, broker)))
        if recency != self._recency:
            self._recency = recency
            changed |= yield from self._repriced()
        if changed or self._content is None:
            yield from self._render_all(changed, sorted(slices))
            yield
            self._content = self._join()
        return self._content

    def _repriced(self) -> Steps[set[Group]]:
        """Return the groups whose last price changed because another broker is now the most recently read."""
        found: set[Group] = set()
        for number, group in enumerate(self._contested):
            if group.rendered is None or self._last_price(group) != group.rendered.last_price:
                found.add(group)
            if number % (8 * ROWS_PER_STEP) == 0:
                yield
        return found

    def _render_all(self, changed: set[Group], brokers: list[str]) -> Steps[None]:
        moved = False
        for number, group in enumerate(changed):
            before = group.rendered
            if group.members:
                self._render(group, brokers)
            else:
                self._groups.drop(group)
                self._contested.discard(group)
                group.rendered = None
            moved = moved or _sort_key_of(before) != _sort_key_of(group.rendered)
            if number % GROUPS_PER_STEP == 0:
                yield
        if moved:
            self._order = sorted(self._groups.all, key=lambda group: _sort_key_of(group.rendered))

    def _render(self, group: Group, brokers: list[str]) -> None:
        owns: list[Own] = []
        for broker in brokers:
            owns += group.members.get(broker, ())
        price = self._last_price(group)
        view, total = merge_position(owns, group.naming, price)
        realized, unrealized = total.realized_paise, total.unrealized_paise
        together = None if realized is None or unrealized is None else realized + unrealized
        # A row without a name in the catalogue is sorted by its broker's name, which may change.
        named = group.rendered if view.symbol or view.underlying_symbol else None
        group.rendered = RenderedGroup(
            view,
            self._encoder.encode(view),
            price,
            named.sort_key if named is not None else _sort_key(group.key, view, owns[0].shown.tradingsymbol),
            realized or 0,
            unrealized or 0,
            together or 0,
            together is not None,
        )
        if len(owns) > 1 and _differ_in_price(owns):
            self._contested.add(group)
        else:
            self._contested.discard(group)

    def _last_price(self, group: Group) -> float | None:
        for broker in self._recency:
            for own in group.members.get(broker, ()):
                if own.price is not None:
                    return own.price
        owns = (own for broker in self._recency for own in group.members.get(broker, ()))
        return next((own.live_price for own in owns if own.live_price is not None), None)

    def _join(self) -> Content:
        rows = [(group.key[0], group.rendered) for group in self._order if group.rendered is not None]
        net = [row for view, row in rows if view == "net"]
        day = [row for view, row in rows if view == "day"]
        summary = self._encoder.encode(
            PositionsSummary(
                net_count=len(net),
                day_count=len(day),
                realized=rupees(sum([row.realized_paise for row in net])),
                unrealized=rupees(sum([row.unrealized_paise for row in net])),
                total=rupees(sum([row.total_paise for row in net])),
                unknown_rows=sum([not row.is_known for row in net]),
            )
        )
        pieces = (
            b"".join(array_pieces("net", [row.encoded for row in net])),
            b",",
            b"".join(array_pieces("day", [row.encoded for row in day])),
            b',"summary":',
            summary,
        )
        return Content(pieces=pieces, rows=tuple([row.view for row in net]), summary=summary)


def _differ_in_price(owns: list[Own]) -> bool:
    """Tell whether the group's last price depends on which broker was read most recently."""
    prices = {own.price for own in owns}
    prices.discard(None)
    if not prices:
        prices = {own.live_price for own in owns}
        prices.discard(None)
    return len(prices) > 1


def _sort_key_of(rendered: RenderedGroup | None) -> tuple[object, ...]:
    return rendered.sort_key if rendered is not None else ()


def _sort_key(key: GroupKey, view: PositionView, broker_name: str) -> tuple[object, ...]:
    """Sort by name, expiry, strike, option type, product. Unmapped rows are sorted by the broker's name of the instrument."""
    name = view.symbol or view.underlying_symbol or broker_name
    return name, view.expiry_date or "", view.strike_price or 0.0, view.option_type or "", key[1], key
