"""Reads the positions that a plan's part closes, or that make up its exposure: fresh net rows of all brokers (order-engine 0, 1.3, 3.15).

Part of a plan parent's actor. Rows read before the part became due are not used. An order may have filled since then, and the position
would be closed a second time. Rows that do not agree with the broker's fills are read again. What does not agree by the end of the wait is closed by
its fills (`Doubt.units`), and said (order-engine 4.11).
"""

import functools
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence

import attrs

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.engine.books.settled_positions import (
    About,
    everything,
    judged,
    named_doubts,
    of_instruments,
    read_settled,
)
from onebroker.actors.engine.books.shown_positions import ShownPositions
from onebroker.actors.engine.books.unlisted_positions import lists, may_hold, shown_unlisted
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.position_days import Judged
from onebroker.actors.engine.orders.closing_product import closing_product
from onebroker.actors.engine.orders.part_state import Holding, PartRecord, RowToClose
from onebroker.actors.engine.plan.machine.cleared_exits import Closing
from onebroker.actors.engine.plan.machine.exposure import counted
from onebroker.actors.engine.plan.machine.position_closes import FoundRows
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, OrderPart
from onebroker.actors.engine.plan_parent.resting_order_cancel import Clearing
from onebroker.actors.portfolio.position_view import position_product
from onebroker.brokers.records import PositionRow
from onebroker.config.messages import order_changes as close_texts
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import POSITION_PRODUCTS, Product, Side

NoteGuards = Callable[[Collection[RowToClose]], Awaitable[None]]
"""Hears of positions whose guards are about to be ended."""
MOST_CLEARINGS = 3
"""How often a position is cleared in one read, where orders come to it again and again. Then it waits until it is read again."""
READ_SECONDS = 5.0
"""A broker that shows no fresh positions in this time counts as unread (order-engine 1.3)."""
_DELIVERY = POSITION_PRODUCTS[Product.CNC]


@attrs.frozen(kw_only=True)
class _Read:
    """The positions of all brokers together."""

    mark: int
    """The mark of `Closes` from before the read."""
    nets: Mapping[Holding, int]
    """Signed units, none of them zero."""
    products: Mapping[Holding, Product]
    """The order product that closes each position."""
    unread: tuple[str, ...]
    """Codes of brokers that could not be read."""
    read: frozenset[str]
    """Codes of the brokers that were read."""
    partly: Mapping[str, str] = attrs.field(factory=dict)
    """Broker code -> why a row of the form may be unreadable there."""
    troubles: tuple[str, ...] = ()
    """Why an existing row cannot be closed."""
    doubted: tuple[str, ...] = ()
    """Which positions of the form do not agree with their fills, with both figures."""
    waits: Mapping[str, str] = attrs.field(factory=dict)
    """Instrument -> why a position in it is left out: its close could not leave now."""
    unlisted: Mapping[str, str] = attrs.field(factory=dict)
    """Instrument -> why a position in it cannot be told: a broker does not list it now, and may hold some."""


class PlanRows:
    """Reads the rows of one plan."""

    def __init__(self, context: EngineContext, clearing: Clearing) -> None:
        self._context = context
        self._clearing = clearing

    async def to_close(
        self,
        part: OrderPart,
        form: FromPosition,
        begun: Collection[RowToClose],
        owner: str,
        again_for: Collection[str] = (),
        *,
        without_price: bool,
        waits: Callable[[], bool],
        only: Collection[str] | None,
        note: NoteGuards,
    ) -> FoundRows:
        """Read the rows that a part closes. Where the part says so, the orders that rest there are cancelled first. `begun`: rows for which an
        order was sent already; `owner`: the name by which `Closes` knows the part; `again_for`: those of them that send another order; `without_price`: rows without a price are closed too;
        `waits`: whether brokers that cannot be read are to be read again, asked when all are read; `only`: the only brokers that are read now, None = all; `note`: hears of guards before
        they are ended.

        A row whose close could not leave now is left out, and what rests there is left alone (order-engine 1.11)."""
        left_alone = {row.key for row in begun}
        while True:
            read, cleared = await self._read_cleared(part, form, left_alone, only, note, without_price=without_price)
            keys = ({holding.key for holding in read.nets} - left_alone).union(again_for)
            if not self._context.closes.are_others(keys, owner, read.mark):
                break
            await self._context.closes.changed()
        # From here until the record is changed there is no await: nobody else can take the rows that were just read.
        rows, notes = _rows(form, read, cleared, begun)
        goes_on = waits()
        uncleared = {
            holding.instrument_id: texts.not_cleared(count)
            for holding, count in cleared.items()
            if count and holding in read.nets
        }
        return FoundRows(
            rows=rows,
            nets={holding.key: net for holding, net in read.nets.items()},
            message=_joined(
                [
                    *_unread(read, whole=not goes_on),
                    *read.troubles,
                    *(() if goes_on else read.unlisted.values()),
                    *(() if goes_on else uncleared.values()),
                ]
            ),
            unread=read.unread if goes_on else (),
            read=read.read if goes_on else None,
            status_message=_joined([*read.doubted, *notes]),
            waits={**read.waits, **({**read.unlisted, **uncleared} if goes_on else {})},
            at=self._context.clock.epoch(),
        )

    async def _read_cleared(
        self,
        part: OrderPart,
        form: FromPosition,
        left_alone: Collection[str],
        only: Collection[str] | None,
        note: NoteGuards,
        *,
        without_price: bool,
    ) -> tuple[_Read, dict[Holding, int]]:
        """Read, cancel the resting orders where the form asks for it, and read again, until there is no new position to clear, and no order that has come to
        a cleared position meanwhile: both could fill."""
        cleared: dict[Holding, int] = {}
        times: Counter[Holding] = Counter()
        can_close = functools.partial(self._can_close, left_alone=left_alone, without_price=without_price)
        read = can_close(await self._read_positions(form, only=only))
        while form.cancel_resting_first:
            places = frozenset(holding for holding in read.nets if holding.key not in left_alone)
            came = self._clearing.resting(part.path, frozenset(one for one in places if cleared.get(one) == 0))
            new = (places - cleared.keys()) | {one for one in came if times[one] < MOST_CLEARINGS}
            if not new:
                cleared |= came
                break
            times.update(new)
            closing = Closing(holdings=new, elsewhere=self._elsewhere(read, new))
            nets = {holding: read.nets[holding] for holding in new}
            rows = {holding.key: _cleared(holding, read) for holding in new}
            noted = functools.partial(_note, note, rows)
            cleared |= await self._clearing.clear(part.path, closing, nets, noted)
            read = can_close(await self._read_positions(form, unread=read.unread, only=only), cleared=cleared)
        return read, cleared

    def _can_close(
        self, read: _Read, *, left_alone: Collection[str], without_price: bool, cleared: Collection[Holding] = ()
    ) -> _Read:
        """Return the read without the positions whose close could not leave now. A position that was cleared already stays."""
        waits = {
            holding: why
            for holding, net in read.nets.items()
            if holding not in cleared
            and holding.key not in left_alone
            and (why := self._why_not(holding, net, without_price=without_price)) is not None
        }
        nets = {holding: net for holding, net in read.nets.items() if holding not in waits}
        return attrs.evolve(read, nets=nets, waits={holding.instrument_id: why for holding, why in waits.items()})

    def _why_not(self, holding: Holding, net: int, *, without_price: bool) -> str | None:
        """Return why the close of a position could not leave now; None when it could."""
        locked, side = self._context.exit_lock(holding.broker), Side.SELL if net > 0 else Side.BUY
        if locked is not None or without_price:
            return locked
        tick = self._context.quotes.usable_tick(holding.instrument_id)
        if tick is None:
            stale = self._context.quotes.is_stale(holding.instrument_id)
            return texts.stale_quote(side) if stale else texts.no_quote(side)
        against = tick.buy if net > 0 else tick.sell
        if against is None:
            return texts.no_depth(side)
        return None if against else texts.nobody(side)

    async def _read_positions(
        self, form: FromPosition, *, unread: Collection[str] = (), only: Collection[str] | None
    ) -> _Read:
        """Read every broker that may hold such a position, except the brokers that could not be read before (`unread`). Nobody can read those that the
        settings leave out."""
        mark = self._context.closes.mark
        asked = [code for code in self._holders(form) if code not in unread and (only is None or code in only)]
        about = everything if form.every_instrument else of_instruments(self._context, form.instrument_ids)
        fresh = await read_fresh(self._context, asked, about)
        partly = {
            code: self._context.sessions[code].view.value.read_errors.get("positions", "")
            for code, shown in fresh.items()
            if not self._tells_form(code, shown, form)
        }
        nets: dict[Holding, int] = {}
        products: dict[Holding, Product] = {}
        troubles: list[str] = []
        unlisted: dict[str, str] = {}
        left_out = [code for code in self._context.left_out if only is None or code in only]
        not_read = {*unread, *asked, *left_out} - fresh.keys()
        for code in sorted(fresh):
            unlisted |= self._unlisted(code, fresh[code].rows, form)
            rows = self._of_form(code, fresh[code].rows, form)
            if rows is None:
                not_read.add(code)
                continue
            for row, instrument_id in rows:
                if instrument_id is None or row.quantity is None:
                    troubles.append(
                        close_texts.NOT_ONE_INSTRUMENT if instrument_id is None else close_texts.UNITS_UNKNOWN
                    )
                    continue
                holding = Holding(code, instrument_id, position_product(row.product))
                nets[holding] = nets.get(holding, 0) + row.quantity
                products[holding] = closing_product(row.product)
        open_nets = {holding: net for holding, net in nets.items() if net}
        unread_now = tuple(sorted(not_read))
        return _Read(
            mark=mark,
            nets=open_nets,
            products=products,
            unread=unread_now,
            read=frozenset(asked) - not_read,
            partly={code: why for code, why in partly.items() if code not in unread_now},
            troubles=tuple(troubles),
            unlisted=unlisted,
            doubted=tuple(
                named.sentence(self._context.clock)
                for code in sorted(fresh)
                for named in named_doubts(self._context, code, fresh[code])
                if about(code, named.doubt.key) and form.product in (None, named.doubt.key.product)
            ),
        )

    def _holders(self, form: FromPosition) -> list[str]:
        """Return the brokers that may hold such a position: all brokers that list one of the instruments, or show a row that may be of one. Of an
        instrument that nobody lists, all brokers."""
        latest, sessions = self._latest, self._context.sessions
        if form.every_instrument or latest is None:
            return sorted(sessions)
        found = [latest.instrument(instrument_id) for instrument_id in form.instrument_ids]
        if None in found:
            return sorted(sessions)
        listed = {code for instrument in found if instrument is not None for code in instrument.listings}
        return sorted(
            {*(listed & sessions.keys()), *shown_unlisted(self._context, form.instrument_ids, form.product, sessions)}
        )

    def _unlisted(self, code: str, rows: Iterable[PositionRow], form: FromPosition) -> dict[str, str]:
        """Return, by instrument, why it is not known whether a broker holds a position in it."""
        latest = self._latest
        if form.every_instrument or latest is None:
            return {}
        lost = may_hold(latest, code, rows, form.instrument_ids, form.product, self._context.clock.today())
        return {
            instrument_id: (texts.not_known_yet if lists(latest, code, instrument_id) else texts.not_listed_at)(
                code, self._name(instrument_id)
            )
            for instrument_id in lost
        }

    def _name(self, instrument_id: str) -> str:
        state = self._context.catalogue.value
        facts = self._context.facts.of(state.latest, instrument_id, state.unlisted)
        return instrument_id if facts is None else facts.standing.name

    def _tells_form(self, code: str, found: Judged, form: FromPosition) -> bool:
        """Whether the readable rows are all the rows that the form can name at a broker."""
        shown = ShownPositions.of(found.read)
        if form.every_instrument or self._latest is None:
            return shown.whole
        if any(self._latest.instrument(instrument_id) is None for instrument_id in form.instrument_ids):
            return shown.whole
        return shown.tells(tokens_of(self._latest, form.instrument_ids, code), form.product)

    def _of_form(
        self, code: str, shown: Iterable[PositionRow], form: FromPosition
    ) -> list[tuple[PositionRow, str | None]] | None:
        """Return a broker's open net rows that the form names; None when it shows such positions but no net rows of them."""
        rows = [
            (row, instrument_id)
            for row, instrument_id in named_rows(shown, self._latest, code)
            if form.product in (None, position_product(row.product))
            and (form.every_instrument or instrument_id in form.instrument_ids)
        ]
        nets = [(row, instrument_id) for row, instrument_id in rows if row.view != "day"]
        if not nets and any(row.quantity != 0 for row, _ in rows):
            return None
        return [(row, instrument_id) for row, instrument_id in nets if row.quantity != 0]

    def _elsewhere(self, read: _Read, closed: Collection[Holding]) -> frozenset[tuple[str, str]]:
        """Return each (instrument, product) that is also held in a position which is not closed now, such as one last shown by a broker that
        could not be read."""
        shown = {holding for code in self._context.sessions for holding in self._shown(code)}
        return frozenset((holding.instrument_id, holding.product) for holding in (shown | read.nets.keys()) - {*closed})

    def _shown(self, code: str) -> Iterator[Holding]:
        found = judged(self._context, code)
        before = self._context.sessions[code].view.value.positions
        for row, instrument_id in named_rows((*before, *(() if found is None else found.rows)), self._latest, code):
            if row.view != "day" and row.quantity != 0 and instrument_id is not None:
                yield Holding(code, instrument_id, position_product(row.product))

    @property
    def _latest(self) -> Snapshot | None:
        return self._context.catalogue.value.latest

    # --- exposures --------------------------------------------------------------------------------------------------

    async def of_exposure(
        self, part: OrderPart, form: FromExposure, record: PartRecord, traded: Collection[str]
    ) -> tuple[Mapping[str, int] | None, frozenset[str], frozenset[str]]:
        """Return net units by instrument over all brokers, the brokers that have had such a row, and the brokers because of which the units
        are not known. `traded`: brokers at which the part itself has filled. The units are None while one of these brokers cannot be read, or
        shows units that its fills do not explain."""
        ids = {instrument.instrument_id for instrument in counted(form, part)}
        about = of_instruments(self._context, ids)
        found = await read_fresh(self._context, sorted(self._context.sessions), about)
        fresh = {code for code, positions in found.items() if positions.read.whole}
        nets = dict.fromkeys(ids, 0)
        holders = {*record.holders, *traded}
        unread: set[str] = set()
        for code in sorted(self._context.sessions):
            for row, instrument_id in self._of_exposure(code, part, form, found.get(code)):
                if instrument_id not in ids:
                    continue
                holders.add(code)
                if code in fresh and row.view != "day":
                    unread.update([code] if row.quantity is None else [])
                    nets[instrument_id] += row.quantity or 0
        unexplained = {
            code
            for code, positions in found.items()
            for key, doubt in positions.doubts.items()
            if about(code, key) and doubt.unexplained
        }
        unread |= (holders - fresh) | unexplained | self._may_count(form, ids, holders, found)
        return (None if unread else nets), frozenset(holders), frozenset(unread)

    def _may_count(
        self, form: FromExposure, ids: Collection[str], holders: Collection[str], found: Mapping[str, Judged]
    ) -> set[str]:
        """Return the brokers with a row that may be of an instrument of the exposure, because the list has lost it there."""
        latest = self._latest
        if latest is None:
            return set()
        lost = [instrument_id for instrument_id in ids if latest.instrument(instrument_id) is None]
        today = self._context.clock.today()
        return {
            code
            for code, positions in found.items()
            if may_hold(latest, code, positions.rows, ids if code in holders else lost, form.product, today)
        }

    def _of_exposure(
        self, code: str, part: OrderPart, form: FromExposure, found: Judged | None
    ) -> Iterator[tuple[PositionRow, str]]:
        own = position_product(part.product)
        rows = self._context.sessions[code].view.value.positions if found is None else found.rows
        for row, instrument_id in named_rows(rows, self._latest, code):
            word = position_product(row.product)
            is_hedge = instrument_id == part.instrument_id and word == own
            if instrument_id is not None and (form.product in (None, word) or is_hedge):
                yield row, instrument_id


# --- rows ----------------------------------------------------------------------------------------------------------------


def named_rows(
    rows: Iterable[PositionRow], latest: Snapshot | None, code: str
) -> Iterator[tuple[PositionRow, str | None]]:
    """Yield a broker's rows, each with the one instrument that its token names, or None."""
    for row in rows:
        yield row, None if latest is None else latest.by_token(code, row.instrument_token)


def tokens_of(latest: Snapshot | None, instrument_ids: Iterable[str], code: str) -> list[str]:
    """Return a broker's tokens for these instruments, where it lists them."""
    found = [] if latest is None else [latest.instrument(instrument_id) for instrument_id in instrument_ids]
    listings = [instrument.listings.get(code) for instrument in found if instrument is not None]
    return [listing.broker_token for listing in listings if listing is not None]


async def read_fresh(context: EngineContext, codes: Sequence[str], about: About) -> Mapping[str, Judged]:
    """Let the positions of these brokers be read now, until what the caller asks `about` agrees with the fills. Return the positions of the brokers
    that answered in time."""
    return await read_settled(context, codes, READ_SECONDS, about)


def _unread(read: _Read, *, whole: bool) -> Iterator[str]:
    """Yield a sentence for each broker that could not be read (`whole`), or only in part."""
    if whole:
        yield from map(texts.positions_unread, read.unread)
    for code, why in read.partly.items():
        yield texts.positions_partly_unread(code, why)


async def _note(note: NoteGuards, rows: Mapping[str, RowToClose], keys: Collection[str]) -> None:
    await note([rows[key] for key in keys])


def _cleared(holding: Holding, read: _Read) -> RowToClose:
    """Return a whole position, as it is before it is closed."""
    net = read.nets[holding]
    return RowToClose(
        key=holding.key,
        broker=holding.broker,
        instrument_id=holding.instrument_id,
        product=read.products[holding].value,
        quantity=net,
        units=abs(net),
        cleared=True,
    )


def _rows(
    form: FromPosition, read: _Read, uncleared: Mapping[Holding, int], begun: Collection[RowToClose]
) -> tuple[tuple[RowToClose, ...], list[str]]:
    """Return the rows to close, and notes about them. The largest positions are used first, at most `most` units of one instrument."""
    left: dict[str, int | None] = dict.fromkeys({holding.instrument_id for holding in read.nets}, form.most)
    for row in begun:
        left[row.instrument_id] = _less(left.get(row.instrument_id, form.most), abs(row.quantity))
    keys = {row.key for row in begun}
    rows, notes = [], []
    for holding, net in sorted(read.nets.items(), key=lambda entry: (-abs(entry[1]), entry[0])):
        most = left[holding.instrument_id]
        used = abs(net) if most is None else min(abs(net), most)
        if uncleared.get(holding) or holding.key in keys or not used:
            continue
        left[holding.instrument_id] = _less(most, used)
        not_reversed = None if form.ratio == 1 else _not_reversed(holding, read)
        if not_reversed is not None:
            notes.append(texts.closed_not_reversed(not_reversed))
        rows.append(
            RowToClose(
                key=holding.key,
                broker=holding.broker,
                instrument_id=holding.instrument_id,
                product=read.products[holding].value,
                quantity=used if net > 0 else -used,
                units=used * (form.ratio if not_reversed is None else 1),
            )
        )
    return tuple(sorted(rows, key=lambda row: row.key)), notes


def _not_reversed(holding: Holding, read: _Read) -> str | None:
    """Return why a position is only closed and not opened on the other side; None when it may be opened there."""
    if holding.product == _DELIVERY:
        return texts.DELIVERY_NOT_REVERSED
    if holding.broker in read.partly:
        return texts.partly_unread(holding.broker)
    return None


def _less(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def _joined(sentences: Iterable[str]) -> str | None:
    return "; ".join(dict.fromkeys(sentences)) or None
