"""What each broker holds now, by instrument and product: the one place that answers it (order-engine 4.11).

A position is believed when it agrees with the fills. `judged` compares a broker's newest read with the fills of its own order book
(`actors/engine/context/position_days.py` has the rules and says why). `read_settled` reads until rows and fills agree, or until the wait ends. What
does not agree by then is in `Judged.doubts`, with both figures and since when; `Judged.rows` are the rows by which a caller acts.

Two reads belong to an answer. The positions must be read after the call. The order book must be too, where an order of the instruments asked about
may still fill: a fill that nobody has told us of cannot be compared with anything.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Protocol, TypeAlias

import attrs
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.fresh_reads import read_soon
from onebroker.actors.engine.books.shown_positions import shown_lately, unnamed
from onebroker.actors.engine.books.traded_results import traded_today
from onebroker.actors.engine.context.engine_context import EngineContext, SessionHandle
from onebroker.actors.engine.context.position_days import Book, Doubt, Judged, PositionDay, Read, RowKey
from onebroker.actors.portfolio.positions import DoubtedRow
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.broker import logged_in_user
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock, from_epoch, latest_boundary, local_text
from onebroker.config.messages import order_changes as texts
from onebroker.config.vocabulary import POSITION_PRODUCTS, Product, Side, is_finished

About: TypeAlias = Callable[[str, RowKey], bool]
"""(broker, position) -> whether the caller asks about it. A doubt about another position is not waited for."""

AFTER_CLOSE = timedelta(minutes=30)
"""For this long after a close fills may still be told."""


def everything(_: str, __: RowKey) -> bool:
    return True


@attrs.frozen(kw_only=True)
class Named:
    """A doubted position with its broker and instrument."""

    broker: str
    instrument_id: str | None
    """None when the broker's token names no single instrument."""
    doubt: Doubt

    def since_text(self, clock: Clock) -> str:
        """Say since when the figures differ, as documents write times."""
        return local_text(from_epoch(clock.epoch() - (clock.monotonic() - self.doubt.since)))

    def sentence(self, clock: Clock) -> str:
        """Say both figures, and since when they differ."""
        doubt = self.doubt
        since = self.since_text(clock).partition("T")[2]
        return texts.position_doubted(
            self.broker, doubt.tradingsymbol, doubt.key.product, shown=doubt.shown, by_fills=doubt.by_fills, since=since
        )


# --- what was last read ---------------------------------------------------------------------------------------------------


class Books(Protocol):
    """What judging needs of the engine's context."""

    @property
    def sessions(self) -> Mapping[str, SessionHandle]: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def calendar(self) -> Calendar | None: ...

    @property
    def position_days(self) -> dict[str, PositionDay]: ...


def judged(context: Books, code: str) -> Judged | None:
    """Compare the newest read of a broker's positions with the fills known now. None when none was read yet."""
    handle = context.sessions.get(code)
    read = None if handle is None else _newest(handle.view.value)
    if handle is None or read is None:
        return None
    view, day = handle.view.value, _take_holdings(context, code)
    known = day.known(read, view.orders)
    if known is not None:
        return known
    now = context.clock.now()
    return day.judge(
        read,
        view.orders,
        now=now,
        book=Book(now=context.clock.monotonic(), began=view.orders_read_started, filled_at=view.fills_moved_at),
        trading=_is_trading(context.calendar, now),
    )


def settled(context: EngineContext, code: str, instrument: Instrument, product: str) -> int | None:
    """Return the signed net units that a broker holds of an instrument in a product (an order's word or a position's), by what was last read; shares
    in the holdings are no position and do not count. None when it is not settled: the broker does not list it, the read failed or is more than a minute
    old, row and fills do not agree, or the units are not told."""
    listing = instrument.listings.get(code)
    return None if listing is None else settled_units(context, code, listing.broker_token, product)


def _judged_lately(context: EngineContext, code: str) -> Judged | None:
    """Return what `judged` returns, worked out again only when rows or orders have changed, or while something is doubted: each look of each plan
    asks."""
    view = context.sessions[code].view.value
    seen = (view.positions, view.orders, view.readable_positions, view.positions_read_started)
    known = context.judged_lately.get(code)
    if known is not None and not known[1].doubts and all(a is b for a, b in zip(known[0], seen, strict=True)):
        return known[1]
    found = judged(context, code)
    if found is not None:
        context.judged_lately[code] = (seen, found)
    return found


def settled_units(context: EngineContext, code: str, token: str, product: str) -> int | None:
    """Return what `settled` returns, of the instrument that the broker names by this token."""
    handle = context.sessions.get(code)
    if handle is None or shown_lately(handle.view.value, context.clock.monotonic()) is None:
        return None
    found, key = _judged_lately(context, code), RowKey(token, POSITION_PRODUCTS.get(product, product))
    if found is None or key in found.doubts or key in found.unjudged or key in found.moving:
        return None
    if not (found.read.whole or key in found.units):
        return None
    return found.units.get(key, 0)


def units_to_take(context: EngineContext, code: str, token: str, product: str, side: Side) -> int | None:
    """Return the units that an order on `side` may take from what a broker holds of an instrument (its token) in a product: from the position, and
    for a delivery sale from the positions and holdings of the share at every exchange. Never below zero. None where a position is not settled, or
    the holdings are not known.

    Every exit asks here whether there is still something to exit (order-engine 1.13). So a fill that the broker's own book shows takes its units away,
    although the row does not show it yet: a person has closed the position in the app a moment ago."""
    if product != Product.CNC or side is not Side.SELL:
        net = _net_to_take(context, code, token, product, side)
        return None if net is None else max(0, -side.sign * net)
    latest = context.catalogue.value.latest
    instrument_id = None if latest is None else latest.by_token(code, token)
    instrument = None if latest is None or instrument_id is None else latest.instrument(instrument_id)
    tokens = frozenset({token}) if instrument is None else share_tokens(context, code, instrument)
    nets = [_net_to_take(context, code, one, product, side) for one in tokens]
    held = units_in_holdings(context, code, tokens, None if instrument is None else instrument.isin)
    if held is None or None in nets:
        return None
    return max(0, held + sum(net for net in nets if net is not None))


def _net_to_take(context: EngineContext, code: str, token: str, product: str, side: Side) -> int | None:
    """Return the settled net units; of a doubted position those by the fills where the row is late and these leave less to take, and those of the row
    where units went to another product. None where neither is so."""
    net = settled_units(context, code, token, product)
    handle = context.sessions.get(code)
    if net == 0 and _may_have_another_token(context, code, token, product):
        return None
    if net is not None or handle is None or shown_lately(handle.view.value, context.clock.monotonic()) is None:
        return net
    found, key = _judged_lately(context, code), RowKey(token, POSITION_PRODUCTS.get(product, product))
    doubt = None if found is None else found.doubts.get(key)
    if doubt is None:
        return None
    if doubt.moved:
        return doubt.shown
    unsure = found is None or key in found.moving
    return doubt.by_fills if doubt.late and not unsure and side.sign * doubt.gap < 0 else None


def _may_have_another_token(context: EngineContext, code: str, token: str, product: str) -> bool:
    """Whether a position that a broker does not show by its token may be in a row whose token names no instrument of the list.

    Where an exchange has changed a contract (its expiry, its strike, its name), a token that holds these terms is another one from that morning on,
    and the list knows it with the next build only. An absent row then does not say that the position has gone."""
    found, latest = _judged_lately(context, code), context.catalogue.value.latest
    position = POSITION_PRODUCTS.get(product, product)
    if found is None or latest is None or latest.mapping_date >= context.clock.today():
        return False
    if RowKey(token, position) in found.units:
        return False
    return bool(unnamed(latest, code, found.read.rows, position))


def share_tokens(context: EngineContext, code: str, instrument: Instrument) -> frozenset[str]:
    """Return a broker's tokens of a share at every exchange: a delivery sale at one exchange takes the units of all. The broker lists the share."""
    own, snapshot = instrument.listings[code].broker_token, context.catalogue.value.latest
    if snapshot is None or instrument.isin is None:
        return frozenset({own})
    same = (snapshot.instrument(instrument_id) for instrument_id in snapshot.by_isin(instrument.isin))
    return frozenset({own, *(one.listings[code].broker_token for one in same if one and code in one.listings)})


def units_in_holdings(context: EngineContext, code: str, tokens: Collection[str], isin: str | None) -> int | None:
    """Return the settled and T1 units of a share in a broker's holdings: the most that a read of today has shown (`holdings_day.py`). None when they
    were not read today, or the last read failed."""
    handle = context.sessions.get(code)
    if handle is None or "holdings" in handle.view.value.read_errors:
        return None
    day = _take_holdings(context, code)
    return day.holdings.units(tokens, isin) if day.holdings.is_read else None


def sold_from_holdings(context: EngineContext, broker: str | None, instrument_id: str) -> int:
    """Return the units of a share that were sold in delivery today, by the order book or by the positions, whichever says more; at a broker or, with None,
    at all brokers together."""
    latest, units = context.catalogue.value.latest, 0
    instrument = None if latest is None else latest.instrument(instrument_id)
    for code, handle in context.sessions.items():
        if instrument is None or code not in instrument.listings or broker not in (None, code):
            continue
        tokens, view = share_tokens(context, code, instrument), handle.view.value
        today = traded_today(view.orders.values(), context.clock.now()) or {}
        by_book = sum(sides.sold for (token, delivered), sides in today.items() if delivered and token in tokens)
        nets = (_net_to_take(context, code, token, Product.CNC, Side.SELL) or 0 for token in tokens)
        units += max(by_book, sum(max(0, -net) for net in nets))
    return units


def held_for(context: EngineContext, broker: str | None, instrument_id: str, product: str, side: Side) -> int | None:
    """Return the same for an instrument by its id, at a broker or, with None, at all brokers that list it together. None also where one of them is not
    settled, or where a broker that does not list it may hold some: its list can have lost the instrument; or one that the settings leave out."""
    latest = context.catalogue.value.latest
    instrument = None if latest is None else latest.instrument(instrument_id)
    if instrument is None:
        return None
    codes = [code for code in instrument.listings if code in context.sessions] if broker is None else [broker]
    total = 0
    for code in codes:
        listing = instrument.listings.get(code)
        if listing is None or code not in context.sessions:
            return None
        units = units_to_take(context, code, listing.broker_token, product, side)
        if units is None:
            return None
        total += units
    others = () if broker is not None else (code for code in context.sessions if code not in instrument.listings)
    if any(_may_hold_unlisted(context, code, instrument, product, side) for code in others):
        return None
    if broker is None and context.left_out:
        return None
    return total if codes else None


def held_at_most(context: EngineContext, broker: str | None, instrument_id: str, product: str, side: Side) -> int:
    """Return the units that an order on `side` may take, by the row or by the fills, whichever says more: for who asks whether there is anything."""
    latest = context.catalogue.value.latest
    instrument = None if latest is None else latest.instrument(instrument_id)
    listings = {} if instrument is None else instrument.listings
    codes = [code for code in listings if code in context.sessions and broker in (None, code)]
    key = {code: RowKey(listings[code].broker_token, POSITION_PRODUCTS.get(product, product)) for code in codes}
    units = 0
    for code in codes:
        doubt = None if (found := judged(context, code)) is None else found.doubts.get(key[code])
        figures = () if doubt is None else (doubt.shown, doubt.by_fills)
        held = held_for(context, code, instrument_id, product, side)
        units += max([held or 0, *(-side.sign * figure for figure in figures)])
    return units


def shown_for(context: EngineContext, code: str, token: str, product: str, side: Side) -> int:
    """Return the units that an order on `side` could take by what a broker showed last, however old that is; 0 where it has shown none."""
    found = judged(context, code)
    key = RowKey(token, POSITION_PRODUCTS.get(product, product))
    units = -side.sign * ((0 if found is None else found.units.get(key)) or 0)
    if product == Product.CNC and side is Side.SELL:
        rows = context.sessions[code].view.value.holdings
        units += sum(row.settled_quantity + row.t1_quantity for row in rows if row.instrument_token == token)
    return max(0, units)


def _may_hold_unlisted(context: EngineContext, code: str, instrument: Instrument, product: str, side: Side) -> bool:
    """Whether a broker that does not list an instrument shows a position that may be in it and that `side` would close, or has the share in its
    holdings."""
    found, latest = _judged_lately(context, code), context.catalogue.value.latest
    if found is None or latest is None:
        return False
    rows = unnamed(latest, code, found.read.rows, POSITION_PRODUCTS.get(product, product))
    if any(row.quantity is None or side.sign * row.quantity < 0 for row in rows):
        return True
    is_delivery_sale = product == Product.CNC and side is Side.SELL
    return is_delivery_sale and bool(units_in_holdings(context, code, frozenset(), instrument.isin))


def doubts(context: EngineContext) -> tuple[Named, ...]:
    """Return the positions that are doubted now, by broker and position. For the health and the documents."""
    return tuple(
        named
        for code in sorted(context.sessions)
        if (found := judged(context, code)) is not None
        for named in named_doubts(context, code, found)
    )


def named_doubts(context: EngineContext, code: str, found: Judged) -> Iterable[Named]:
    """Yield a broker's doubted positions, with their instruments."""
    latest = context.catalogue.value.latest
    for key, doubt in sorted(found.doubts.items()):
        instrument_id = None if latest is None else latest.by_token(code, key.token)
        yield Named(broker=code, instrument_id=instrument_id, doubt=doubt)


def doubted_rows(context: EngineContext, code: str) -> list[DoubtedRow]:
    """Return a broker's doubted positions as the positions document shows them."""
    found, clock = judged(context, code), context.clock
    return [
        DoubtedRow(
            instrument_id=named.instrument_id,
            tradingsymbol=named.doubt.tradingsymbol,
            product=named.doubt.key.product,
            shown=named.doubt.shown,
            by_fills=named.doubt.by_fills,
            since=named.since_text(clock),
        )
        for named in (() if found is None else named_doubts(context, code, found))
    ]


# --- reading ----------------------------------------------------------------------------------------------------------------


async def read_settled(
    context: EngineContext, codes: Iterable[str], seconds: float, about: About = everything
) -> Mapping[str, Judged]:
    """Have these brokers read their positions, all at once, until rows and fills agree, at most for `seconds`.

    Returns, by broker, the newest read that began after this call, compared with the fills. Positions that do not agree are in its `doubts`. A broker
    that has no login or gave no read in time is missing.
    """
    moment = math.nextafter(
        context.clock.monotonic(), math.inf
    )  # a read that begins in this very instant may be an older one
    found: dict[str, Judged] = {}

    async def read(code: str) -> None:
        with trio.move_on_after(seconds):
            await _until_settled(context, code, moment, about)
        newest = judged(context, code)
        if newest is not None and newest.read.began >= moment:
            found[code] = newest

    async with trio.open_nursery() as nursery:
        for code in codes:
            if context.session(code).view.value.live:
                nursery.start_soon(read, code)
    return found


async def until_agreed(context: EngineContext, codes: Iterable[str], seconds: float, about: About) -> None:
    """Wait until what these brokers last showed agrees with the fills, at most for `seconds`. Nothing is read where it does already."""
    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for code in codes:
                if context.session(code).view.value.live:
                    nursery.start_soon(_until_settled, context, code, -math.inf, about)


async def _until_settled(context: EngineContext, code: str, moment: float, about: About) -> None:
    handle = context.session(code)
    while True:
        version = handle.view.version
        found = judged(context, code)
        is_read = found is not None and found.read.began >= moment
        agrees = found is not None and not any(about(code, key) for key in found.doubts)
        knows_orders = (handle.view.value.orders_read_started or -math.inf) >= moment or not _may_fill(
            context, handle, code, about
        )
        if is_read and agrees and knows_orders:
            return
        if not (is_read and agrees):
            read_soon(handle, "positions")
        if not (knows_orders and agrees):
            read_soon(handle, "orders")
        await handle.view.wait_newer(version)


def _may_fill(context: EngineContext, handle: SessionHandle, code: str, about: About) -> bool:
    """Whether an order may have filled of which the broker's book does not know yet."""
    view = handle.view.value
    rows = [*(row for row in view.orders.values() if not is_finished(row.status)), *view.unseen.values()]
    legs = [leg for leg in context.legs.unfinished if leg.broker == code and not leg.given_up]
    named: list[tuple[str, str]] = [(row.instrument_token, row.product) for row in rows]
    named += [(leg.instrument_token, leg.product) for leg in legs]
    return any(about(code, RowKey(token, POSITION_PRODUCTS.get(product, product))) for token, product in named)


def of_instruments(context: EngineContext, instrument_ids: Collection[str]) -> About:
    """Return what asks about these instruments only, in every product."""
    latest = context.catalogue.value.latest
    instruments = [] if latest is None else [latest.instrument(instrument_id) for instrument_id in instrument_ids]
    tokens = {
        (code, listing.broker_token)
        for instrument in instruments
        if instrument is not None
        for code, listing in instrument.listings.items()
    }
    return lambda code, key: (code, key.token) in tokens


# --- one broker's day ---------------------------------------------------------------------------------------------------------


def _day(context: Books, code: str, view: SessionView, now: datetime) -> PositionDay:
    """Return the broker's day. Another broking day, or a login of another account, begins a new day."""
    today, account = latest_boundary(now).date(), None if view.access is None else logged_in_user(view.access)
    known = context.position_days.get(code)
    if known is not None and known.day == today and account in (None, known.account):
        return known
    if known is not None and known.day == today and known.account is None:
        known.account = account
        return known
    fresh = PositionDay(day=today, account=account)
    context.position_days[code] = fresh
    return fresh


def _take_holdings(context: Books, code: str) -> PositionDay:
    """Take up the newest read of the holdings, if it began today; return the broker's day."""
    view, now = context.sessions[code].view.value, context.clock.now()
    day, began = _day(context, code, view, now), view.holdings_read_started
    since = context.clock.monotonic() - (now - latest_boundary(now)).total_seconds()
    if began is not None and began >= since:
        day.holdings.take(view.holdings)
    return day


def _newest(view: SessionView) -> Read | None:
    part = view.readable_positions
    if part is not None:
        return Read(rows=part.rows, whole=False, began=part.read_started)
    began = view.positions_read_started
    return None if began is None else Read(rows=view.positions, whole=True, began=began)


def _is_trading(calendar: Calendar | None, now: datetime) -> bool:
    """Whether a market is open, or was until lately."""
    if calendar is None:
        return True
    return any(
        calendar.is_open(exchange, name, moment)
        for exchange, name in calendar.markets()
        for moment in (now, now - AFTER_CLOSE)
    )
