"""The world as a plan sees it at one moment: quotes, terms, sessions, the account, positions (`plan.market.Market`). It reads what
other actors publish, and awaits nothing."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

import attrs

from onebroker.actors.engine.books.guarded_places import guards_before_growth, taken_by_others, units_of_older
from onebroker.actors.engine.books.settled_positions import held_at_most, held_for, judged, sold_from_holdings
from onebroker.actors.engine.books.shown_positions import shown_began, shown_since
from onebroker.actors.engine.books.unlisted_positions import shown_unlisted
from onebroker.actors.engine.context.day_loss import figure_of
from onebroker.actors.engine.context.engine_context import Counts, EngineContext, SessionHandle
from onebroker.actors.engine.context.guarded_units import Place
from onebroker.actors.engine.context.instrument_facts import Facts
from onebroker.actors.engine.context.quote_bounds import PlanQuotes
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.orders.part_state import is_of_row
from onebroker.actors.engine.plan.market import (
    NO_ACTION,
    AccountFigures,
    FiguresSince,
    JointFigure,
    JointUntold,
    Seen,
    Session,
    ShareAction,
    Standing,
    Terms,
)
from onebroker.actors.engine.plan.pricing.black76 import Option
from onebroker.actors.engine.plan_parent.leg_conversion import fill_price
from onebroker.actors.engine.plan_parent.position_rows import tokens_of
from onebroker.actors.engine.plan_parent.witnessed_figures import Believed, WitnessedFigures
from onebroker.actors.portfolio.position_view import known_sum, position_product, total_paise
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import FundsRow, OrderRow, PositionRow
from onebroker.config.clock import from_epoch, latest_boundary
from onebroker.config.money import exact, paise
from onebroker.config.vocabulary import OrderType, Side, is_finished

FIGURES_SECONDS = 30.0
"""The plan does not act on a document older than this (order-engine 3.1, 3.45)."""
TRADES_SECONDS = 2.0
"""How long to wait for the trades of a fill (order-engine 2.3)."""

_Results: TypeAlias = Mapping[str, int | None]
"""Broker code -> paise; None = not known."""


class PlanMarket:
    """The market for one look; a quote that was read once stays the same. `quotes` keeps the quotes that no look has seen yet."""

    def __init__(
        self,
        context: EngineContext,
        legs: Iterable[LegRecord],
        quotes: PlanQuotes | None = None,
        parent_id: str | None = None,
    ) -> None:
        """`parent_id`: the plan that looks; None for an order that is no open plan."""
        self._parent_id = parent_id
        self._context = context
        self._kept = quotes
        self._now = context.clock.epoch()
        self._figures = WitnessedFigures(context)
        self._legs = {leg.leg_id: leg for leg in legs}
        self._seen: dict[str, Seen | None] = {}
        self._quotes: dict[str, Quote | None] = {}
        """The quotes behind `_seen`."""
        self._list = context.catalogue.version
        self._locked: str | None = None
        """The lockout as it was when it was asked for last."""
        self._held: dict[tuple[str | None, str, str, Side], int | None] = {}
        """`held` as it was when it was asked for."""
        self._exit_locks: dict[str | None, str | None] = {}
        """Broker -> `exit_lock` as it was when it was asked for."""

    def stands(self) -> bool:
        """Whether all that was read of the market is still as it was read. Figures that change without a quote are not asked again: a look
        that reads them comes again in half a second (`plan.machine.conditions`)."""
        now = self._context.quotes.usable_quote
        same = self._locked == self._lockout() and self._list == self._context.catalogue.version
        same = same and all(self._context.exit_lock(broker) == why for broker, why in self._exit_locks.items())
        return same and all(now(instrument_id) is quote for instrument_id, quote in self._quotes.items())

    @property
    def now(self) -> float:
        return self._now

    def seen(self, instrument_id: str) -> Seen | None:
        if instrument_id not in self._seen:
            quote = self._quotes[instrument_id] = self._context.quotes.usable_quote(instrument_id)
            self._seen[instrument_id] = None if quote is None else self._with_passed(instrument_id, quote)
        return self._seen[instrument_id]

    def _with_passed(self, instrument_id: str, quote: Quote) -> Seen:
        unread = () if self._kept is None else self._kept.unread(instrument_id)
        usable = self._context.quotes.is_usable
        passed = tuple(
            self._context.seen_quotes.of(older, instrument_id)
            for older in unread
            if older is not quote and usable(instrument_id, older)
        )
        newest = self._context.seen_quotes.of(quote, instrument_id)  # after the older ones: figures are judged in order
        return attrs.evolve(newest, passed=passed) if passed else newest

    def is_stale(self, instrument_id: str) -> bool:
        return self._context.quotes.is_stale(instrument_id)

    def told_at(self, instrument_id: str) -> float:
        return self._context.quotes.told_at(instrument_id)

    def terms(self, instrument_id: str) -> Terms:
        facts = self._facts(instrument_id)
        return Terms(tick=None) if facts is None else facts.terms

    def standing(self, instrument_id: str) -> Standing:
        facts = self._facts(instrument_id)
        if facts is None:
            return Standing(name=instrument_id, is_listed=self._context.catalogue.value.latest is None)
        return facts.standing

    def action(self, instrument_id: str, since: FiguresSince) -> ShareAction:
        facts = self._facts(instrument_id)
        return NO_ACTION if facts is None or not facts.is_share else self._context.actions.of(instrument_id, since)

    def session(self, instrument_id: str, after: float) -> Session | None:
        facts = self._facts(instrument_id)
        found = None if facts is None else self._context.calendar.session_after(*facts.market, after)
        return None if found is None else Session(opens=found[0], closes=found[1])

    def opening(self, instrument_id: str, at: float, within: float) -> float | None:
        facts = self._facts(instrument_id)
        if facts is None:
            return None
        (exchange, calendar), day = facts.market, from_epoch(at).date()
        pre_open = self._context.calendar.pre_open(exchange, day) if calendar == "equity" else None
        sessions = (
            *self._context.calendar.sessions(exchange, calendar, day),
            *([] if pre_open is None else [pre_open]),
        )
        openings = (session.opens.timestamp() for session in sessions)
        return next((opening for opening in openings if opening <= at < opening + within), None)

    def account(self) -> AccountFigures | None:
        document = self._context.funds.value
        if document is None or not document.usable_brokers or self._now - document.as_of_epoch > FIGURES_SECONDS:
            return None
        available, utilized = (
            self._balance(document.reads, "available_balance"),
            self._balance(document.reads, "margin_utilized"),
        )
        day, realized, unrealized = self._results(document.reads)
        return AccountFigures(
            day_pnl=_rupees(day.values()),
            realized_pnl=_rupees(realized.values()),
            unrealized_pnl=_rupees(unrealized.values()),
            without_result=tuple(code for code, figure in day.items() if figure is None),
            without_parts=tuple(code for code in day if realized[code] is None or unrealized[code] is None),
            unread=self._unread(document.reads),
            available_balance=available,
            total_balance=None if available is None else available + (utilized or 0),
            margin_utilized=utilized,
        )

    def _unread(self, reads: Iterable[BrokerRead]) -> tuple[str, ...]:
        """Return the brokers that have told their figures today, and cannot be asked now: their figures stand still."""
        begins = latest_boundary(from_epoch(self._now)).timestamp()
        told = [read.broker for read in reads if read.slice is not None and read.slice.received_at >= begins]
        return tuple(code for code in told if code not in self._context.sessions or self._is_silent(code))

    def _is_silent(self, code: str) -> bool:
        view = self._context.sessions[code].view.value
        is_open = any(row.quantity != 0 for row in view.positions if row.view != "day")
        is_open = is_open or any(not is_finished(row.status) for row in view.orders.values())
        fails = not view.live or bool({"positions", "funds"} & view.read_errors.keys())
        return fails and (is_open or view.positions_read_started is None)

    def _results(self, reads: Iterable[BrokerRead]) -> tuple[_Results, _Results, _Results]:
        """Return the day's result, its realized and its unrealized part at each broker that answers. The figures are those of the limit on the
        day's loss. Where the funds give a realized part, that one counts. Figures received before 07:00 are yesterday's."""
        begins = latest_boundary(from_epoch(self._now)).timestamp()
        day: dict[str, int | None] = {}
        realized: dict[str, int | None] = {}
        unrealized: dict[str, int | None] = {}
        for read in reads:
            if not read.usable or read.slice is None or not isinstance(read.slice.rows, FundsRow):
                continue
            code, told = read.broker, figure_of(read, self._context.day_results.of)
            figure = None if told is None or told.received_at < begins else told
            own = read.slice.rows.realized if read.slice.received_at >= begins else None
            at = read.slice.received_at if figure is None else figure.received_at
            part = paise(own) if own is not None else None if figure is None else figure.realized_paise
            day[code] = self._believed(code, "day", None if figure is None else figure.paise, at)
            realized[code] = self._believed(code, "realized", part, read.slice.received_at if own is not None else at)
            open_part = None if figure is None else figure.unrealized_paise
            unrealized[code] = self._believed(code, "unrealized", open_part, at)
        return day, realized, unrealized

    def _balance(self, reads: Iterable[BrokerRead], name: str) -> Decimal | None:
        """Return the sum of a balance over the brokers that tell it, in rupees; None where nobody does, or where one is not believed."""
        found: list[int | None] = []
        for read in reads:
            if read.usable and read.slice is not None and isinstance(read.slice.rows, FundsRow):
                told: float | None = getattr(read.slice.rows, name)
                if told is not None:
                    found.append(self._believed(read.broker, name, paise(told), read.slice.received_at))
        return _rupees(found)

    def _believed(self, code: str, name: str, told: int | None, at: float) -> int | None:
        return None if told is None else self._figures.balance(code, name, told, at)

    def joint_pnl(
        self,
        instrument_ids: Sequence[str],
        *,
        every_instrument: bool,
        product: str | None,
        today: bool,
        holders: Collection[str] | None,
    ) -> JointFigure | JointUntold:
        own = None if every_instrument else instrument_ids
        figures: dict[str, Believed | None] = {
            code: None for code in holders or () if code not in self._context.sessions
        }
        """None: the broker's part is not known."""
        unlisted = shown_unlisted(self._context, own or (), product, holders or ())
        for code, handle in self._context.sessions.items():
            counts = self._counting(code, own, product)
            shown = self._figure_rows(code, handle, own, product)
            if shown is None or code in unlisted:
                if code in (holders or ()) or _has_traded(handle.view.value, counts):
                    figures[code] = None
                continue
            net = [row for row in shown if row.view == "net" and counts(row)]
            told: int | None = None
            if today:
                results = self._result_of_today(code, handle, shown, counts)
                if not results:
                    continue
                told = results[code]
            else:
                hidden = self._hidden_result(code, handle.view.value, net, counts)
                if not net and not hidden:
                    continue
                told = known_sum([*(total_paise(row, self._missing_price(code, row)) for row in net), hidden])
            scope = (None if own is None else tuple(own), product, today)
            read_began = shown_began(handle.view.value)
            figures[code] = None if told is None else self._figures.result(code, scope, told, read_began, net)
        return _joined(figures, self._filled_at, self._began_at)

    def _hidden_result(self, code: str, view: SessionView, net: Sequence[PositionRow], counts: Counts) -> int | None:
        """Return what the positions have earned that were closed today and whose rows the broker shows no more; None where that is not known."""
        found = judged(self._context, code)
        return self._context.hidden_results.of(
            code,
            net,
            filter(counts, view.orders.values()),
            {} if found is None else found.carried,
            now=self._context.clock.now(),
            result_of=lambda row: total_paise(row, self._missing_price(code, row)),
        )

    def _filled_at(self, code: str) -> float | None:
        """Return the moment of a broker's latest fill, in epoch seconds."""
        handle, clock = self._context.sessions.get(code), self._context.clock
        moved = None if handle is None else handle.view.value.fills_moved_at
        return None if moved is None else clock.epoch() - (clock.monotonic() - moved)

    def _began_at(self, code: str) -> float | None:
        """Return the moment of a broker's login, in epoch seconds."""
        handle = self._context.sessions.get(code)
        return handle.view.value.login_since if handle is not None and handle.view.value.live else None

    def _counting(self, code: str, instrument_ids: Sequence[str] | None, product: str | None) -> Counts:
        """Return a function: whether a broker's row is of these instruments (None = any) and of this product (None = any)."""

        def counts(row: OrderRow | PositionRow) -> bool:
            own = instrument_ids is None or self._instrument_of(code, row) in instrument_ids
            return own and product in (None, position_product(row.product))

        return counts

    def _result_of_today(
        self, code: str, handle: SessionHandle, shown: Sequence[PositionRow], counts: Counts
    ) -> Mapping[str, int | None]:
        """Return the broker with its day's result of the rows that count; empty when it neither holds nor traded any of them."""
        traded = [row for row in handle.view.value.orders.values() if row.filled_quantity]
        if not any(map(counts, shown)) and not any(map(counts, traded)):
            return {}
        return {code: self._context.day_results.among(code, shown, counts)}

    def _missing_price(self, code: str, row: PositionRow) -> float | None:
        """Return the live price of a row for which its broker gives no last price."""
        if row.last_price or not row.quantity:
            return None
        instrument_id = self._instrument_of(code, row)
        quote = None if instrument_id is None else self.seen(instrument_id)
        return None if quote is None or quote.last_price is None else float(quote.last_price)

    def _figure_rows(
        self, code: str, handle: SessionHandle, instrument_ids: Sequence[str] | None, product: str | None
    ) -> tuple[PositionRow, ...] | None:
        """Return a broker's rows when it has a login, they are new enough, no unreadable row can be of these instruments (None = all), and their units agree with the
        fills (4.11): a row that is left out would take its result out of the sum. Else None."""
        view, latest = handle.view.value, self._context.catalogue.value.latest
        shown = shown_since(view, self._context.clock.monotonic() - FIGURES_SECONDS)
        if shown is None or not view.live or (shown.whole and "positions" in view.read_errors):
            return None
        tokens = [] if instrument_ids is None else tokens_of(latest, instrument_ids, code)
        tells = shown.whole if instrument_ids is None or latest is None else shown.tells(tokens, product)
        found = judged(self._context, code)
        doubted = [] if found is None else found.doubts
        differs = any(
            product in (None, key.product) and (instrument_ids is None or key.token in tokens) for key in doubted
        )
        return shown.rows if tells and not differs else None

    def lockout(self) -> str | None:
        self._locked = self._lockout()
        return self._locked

    def held(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int | None:
        key = (broker, instrument_id, product, side)
        if key not in self._held:
            known = None if self._is_behind(instrument_id) else held_for(self._context, *key)
            self._held[key] = known
        return self._held[key]

    def held_at_most(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int:
        return held_at_most(self._context, broker, instrument_id, product, side)

    def guarded_by_older(self, broker: str, instrument_id: str, product: str, side: Side) -> int:
        return units_of_older(self._context, self._parent_id, Place(broker, instrument_id, product, side))

    def taken_by_others(
        self, broker: str | None, instrument_id: str, product: str, side: Side, *, stops: bool, anywhere: bool
    ) -> int:
        where = (broker, instrument_id, product, side)
        return taken_by_others(self._context, self._parent_id, *where, stops=stops, anywhere=anywhere)

    def guards_before_growth(
        self, broker: str | None, instrument_id: str, product: str, side: Side, *, stops: bool, is_lone: bool
    ) -> int:
        where = (broker, instrument_id, product, side)
        return guards_before_growth(self._context, self._parent_id, *where, stops=stops, is_lone=is_lone)

    def sold_from_holdings(self, broker: str | None, instrument_id: str) -> int:
        return sold_from_holdings(self._context, broker, instrument_id)

    def stopped_by_others(self, broker: str | None, instrument_id: str, product: str, side: Side) -> int:
        legs = self._of_others(instrument_id, product, side)
        return sum(
            leg.quantity - leg.filled_quantity
            for leg in legs
            if broker in (None, leg.broker) and OrderType(leg.order_type).takes_trigger and not leg.state.unsettled
        )

    def being_closed(self, broker: str, instrument_id: str, product: str, side: Side) -> int:
        legs = self._of_others(instrument_id, product, side)
        return sum(
            leg.quantity - leg.filled_quantity for leg in legs if leg.broker == broker and is_of_row(leg.instance)
        )

    def _of_others(self, instrument_id: str, product: str, side: Side) -> Iterator[LegRecord]:
        """Yield the orders of other plans there that may still fill."""
        for leg in self._context.legs.unfinished:
            same = (leg.instrument_id, leg.product, leg.transaction_type) == (instrument_id, product, side)
            if same and leg.leg_id not in self._legs and not leg.given_up:
                yield leg

    def _is_behind(self, instrument_id: str) -> bool:
        """Whether a book shows a fill of an order of this plan of which the plan has not heard yet. The position has the fill already: compared with the
        plan's own units, it would seem to have lost them."""
        for leg in self._legs.values():
            if leg.state.final or leg.order_id is None or leg.instrument_id != instrument_id:
                continue
            handle = self._context.sessions.get(leg.broker)
            row = None if handle is None else handle.view.value.orders.get(leg.order_id)
            if row is not None and row.filled_quantity > leg.filled_quantity:
                return True
        return False

    def exit_lock(self, broker: str | None) -> str | None:
        if broker not in self._exit_locks:
            self._exit_locks[broker] = self._context.exit_lock(broker)
        return self._exit_locks[broker]

    def _lockout(self) -> str | None:
        refusal = self._context.entry_lock()
        return None if refusal is None else str(refusal.body["error"])

    def fill_price(self, leg_id: str, before: int, after: int) -> Decimal | None:
        leg = self._legs[leg_id]
        waited = self._now - leg.updated_at >= TRADES_SECONDS
        if leg.average_price is not None:
            return exact(leg.average_price) if waited or before == 0 else None
        handle = self._context.sessions.get(leg.broker)
        return fill_price(leg, handle.view.value.trades) if waited and handle is not None else None

    def option(self, instrument_id: str) -> Option | None:
        facts = self._facts(instrument_id)
        return None if facts is None else facts.option

    def is_future(self, instrument_id: str) -> bool:
        facts = self._facts(instrument_id)
        return facts is not None and facts.is_future

    def _facts(self, instrument_id: str) -> Facts | None:
        state = self._context.catalogue.value
        return self._context.facts.of(state.latest, instrument_id, state.unlisted)

    def _instrument_of(self, broker: str, row: OrderRow | PositionRow) -> str | None:
        latest = self._context.catalogue.value.latest
        return None if latest is None else latest.by_token(broker, row.instrument_token)


def _has_traded(view: SessionView, counts: Counts) -> bool:
    """Whether a broker last showed a position that counts, or a fill of today in it: the position may not be shown yet."""
    shown = any(row.view == "net" and counts(row) for row in view.positions)
    return shown or any(row.filled_quantity and counts(row) for row in view.orders.values())


def _joined(
    figures: Mapping[str, Believed | None],
    filled_at: Callable[[str], float | None],
    began_at: Callable[[str], float | None],
) -> JointFigure | JointUntold:
    """Return the sum of the brokers' figures, in rupees; None among them: not known."""
    known = {code: one for code, one in figures.items() if one is not None}
    if len(known) < len(figures):
        missing = frozenset(figures) - frozenset(known)
        fills, logins = ([at for at in map(told, missing) if at is not None] for told in (filled_at, began_at))
        return JointUntold(missing, max(fills, default=None), max(logins, default=None))
    total = sum(one.paise for one in known.values())
    first = sum(one.first for one in known.values())
    return JointFigure(Decimal(total).scaleb(-2), frozenset(known), first=Decimal(first).scaleb(-2))


def _rupees(figures: Collection[int | None]) -> Decimal | None:
    """Return the sum of paise in rupees; None where one figure is not known, and where there are no figures."""
    total = known_sum(list(figures)) if figures else None
    return None if total is None else Decimal(total).scaleb(-2)
