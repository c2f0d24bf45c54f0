"""The closes of a flatten or of a close within limits: the orders that close the positions, and their results (rules 2.4.7-4; order-engine 5.7).

Each close is a place intent like any other, pinned to the broker that holds the position. A row above the freeze quantity becomes several closes,
each with its own entry in the answer.
"""

import uuid
from collections.abc import Collection, Iterable, Mapping
from decimal import Decimal
from typing import Any

import attrs
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.books.day_trades import orders_in
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.messages import EngineAnswer, Place, PlaceBody
from onebroker.actors.engine.context.position_days import Judged
from onebroker.actors.engine.desk.desk_context import DeskContext
from onebroker.actors.engine.desk.scope import EVERYTHING, Scope
from onebroker.actors.engine.orders.accepted_changes import instrument_of
from onebroker.actors.engine.orders.closing_product import closing_product
from onebroker.actors.engine.orders.freeze_quantity import most_per_order
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.codec.refusals import says_price_limits, says_shortage
from onebroker.brokers.records import PositionRow
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import shared
from onebroker.config.money import exact
from onebroker.config.vocabulary import (
    POSITION_PRODUCTS,
    OrderStatus,
    OrderType,
    Outcome,
    Product,
    Side,
    Validity,
    is_finished,
)

CLOSE_SECONDS = 25.0
"""How long the desk waits for the engine's answers to the closes."""


@attrs.frozen(kw_only=True)
class Close:
    """One order that closes a position, or a slice of it."""

    broker: str
    row: PositionRow
    instrument: Instrument | None
    """None when the broker's token does not name exactly one."""
    side: Side
    quantity: int | None
    """Units; None when the units of the position are not known."""
    left: int = 0
    """Signed units that the position shows after the close: not 0 where only the units of a tag are closed."""
    tag: str | None = None
    """The tag whose units are closed: the order gets it."""
    price: Decimal | None = None
    """The limit; None: MARKET, or what stands in for it at its broker."""

    @property
    def product(self) -> Product:
        return closing_product(self.row.product)

    @property
    def _order_type(self) -> OrderType:
        return OrderType.MARKET if self.price is None else OrderType.LIMIT

    def shown(self) -> dict[str, Any]:
        """Return an entry of `would_close`."""
        return {
            "broker": self.broker,
            "position_key": self.row.position_key,
            "instrument_token": self.row.instrument_token,
            "tradingsymbol": self.row.tradingsymbol,
            "exchange": self.row.exchange,
            "segment": None if self.instrument is None else self.instrument.identity.segment,
            "product": POSITION_PRODUCTS.get(self.row.product, self.row.product),
            "quantity": self.row.quantity,
            "transaction_type": self.side.value,
            "close_quantity": self.quantity,
            **({"covered_by_holdings": True} if self.row.covered_by_holdings else {}),
        }

    def body(self, quantity: int, instrument: Instrument) -> PlaceBody:
        sent = {
            "instrument_id": instrument.instrument_id,
            "transaction_type": self.side.value,
            "product": self.product.value,
            "order_type": self._order_type.value,
            "quantity": quantity,
            "broker": self.broker,
            **({} if self.price is None else {"price": float(self.price)}),
            **({} if self.tag is None else {"tag": self.tag}),
            "synthetic": {"type": "simple", "closes_position": True},
        }
        return PlaceBody(
            instrument=instrument,
            transaction_type=self.side.value,
            product=self.product.value,
            order_type=self._order_type.value,
            validity=Validity.DAY.value,
            quantity=quantity,
            disclosed_quantity=0,
            price=self.price,
            trigger_price=None,
            after_market=False,
            tag=self.tag,
            broker=self.broker,
            closes_position=True,
            position_close=True,
            sent=sent,
        )


@attrs.frozen(kw_only=True)
class Closed:
    """The result of one close."""

    close: Close
    sent: bool
    """Whether the order went out towards the broker, as far as is known."""
    outcome: str | None
    order_id: str | None
    status_message: str | None
    http_status: int
    intent_id: str | None = None

    @property
    def accepted(self) -> bool:
        return self.sent and self.outcome == Outcome.ACCEPTED

    def shown(self) -> dict[str, Any]:
        """Return an entry of `closed`."""
        said = {name: getattr(self, name) for name in ("sent", "outcome", "order_id", "status_message", "http_status")}
        return {**self.close.shown(), **said, "intent_id": self.intent_id}


# --- the closing orders -----------------------------------------------------------------------------------------------------


def closes_of(
    context: EngineContext,
    shown: Mapping[str, Judged],
    scope: Scope = EVERYTHING,
    known: Collection[tuple[str, str]] | None = None,
) -> list[Close]:
    """Return the orders that close the brokers' open positions within the scope, on the NET basis, sorted by broker and key. `known`: the orders, as
    (broker, order id), that were there when all was cancelled; units that a later order has bought stay as far as an order that came with it is to sell
    them."""
    return [
        close
        for code in sorted(shown)
        for row in sorted(shown[code].rows, key=lambda row: row.position_key)
        if row.view != "day" and row.quantity != 0
        if (units := _units(context, code, row, scope, known)) != 0
        for close in _closes_of_row(context, code, row, units, scope.tag)
    ]


def _units(
    context: EngineContext, code: str, row: PositionRow, scope: Scope, known: Collection[tuple[str, str]] | None
) -> int | None:
    """Return the signed units of a row that are closed; None when they are not known."""
    view = context.session(code).view.value
    units = scope.units_to_close(code, row, view, context.legs)
    if known is None or not units:
        return units
    kept = min(abs(units), _spoken_for(code, row, view, known, Side.BUY if units > 0 else Side.SELL))
    return units - kept if units > 0 else units + kept


def _spoken_for(
    code: str, row: PositionRow, view: SessionView, known: Collection[tuple[str, str]], opening: Side
) -> int:
    """Return the units of a position that orders which are not `known` have opened, and that others of these orders are to close."""
    later = [
        order
        for order in orders_in(view, row.instrument_token, row.product)
        if (code, order.order_id) not in known and order.transaction_type in tuple(Side)
    ]
    opened = sum(Side(order.transaction_type).sign * opening.sign * order.filled_quantity for order in later)
    exits = [
        order.quantity - order.filled_quantity
        for order in later
        if order.transaction_type == opening.opposite and not is_finished(order.status)
    ]
    return max(0, min(opened, sum(exits)))


def _closes_of_row(
    context: EngineContext, code: str, row: PositionRow, units: int | None, tag: str | None
) -> list[Close]:
    instrument = instrument_of(context.catalogue.value.latest, code, row.instrument_token)
    signed = units if units is not None else row.contracts or 0
    whole = Close(
        broker=code,
        row=row,
        instrument=instrument,
        side=Side.SELL if signed > 0 else Side.BUY,
        quantity=None if units is None else abs(units),
        tag=tag,
        left=0 if units is None or row.quantity is None else row.quantity - units,
    )
    if instrument is None or whole.quantity is None:
        return [whole]
    most = most_per_order(instrument, code, context.settings.freeze_quantities)
    return [attrs.evolve(whole, quantity=slice_) for slice_ in sliced(whole.quantity, most)]


def sliced(units: int, most: int | None) -> list[int]:
    """Return orders of at most `most` units that add up to `units`; one order when there is no limit."""
    if not most or units <= most:
        return [units]
    whole, rest = divmod(units, most)
    return [most] * whole + [rest] * bool(rest)


def refused_for_price(context: EngineContext, closed: Iterable[Closed]) -> frozenset[tuple[str, str]]:
    """Return (broker, position key) of the positions with a close whose price may be outside of the exchange's limits: refused with such words in the
    answer, or in the broker's book a moment later for another reason than shares or money. Not every broker gives the reason there.

    A position is left out while any order of its closes may still fill (a slice that rests, an order of unknown outcome): a further close would sell
    the same units twice."""
    refused, alive = set[tuple[str, str]](), set[tuple[str, str]]()
    for one in closed:
        name = (one.close.broker, one.close.row.position_key)
        if _may_fill(context, one):
            alive.add(name)
        elif _is_refused_for_price(context, one):
            refused.add(name)
    return frozenset(refused - alive)


def _may_fill(context: EngineContext, closed: Closed) -> bool:
    if not closed.accepted:
        return closed.outcome == Outcome.UNKNOWN
    row = context.session(closed.close.broker).view.value.orders.get(closed.order_id or "")
    return row is None or not is_finished(row.status)


def _is_refused_for_price(context: EngineContext, closed: Closed) -> bool:
    if not closed.accepted:
        return closed.outcome == Outcome.REJECTED and says_price_limits(closed.status_message or "")
    row = context.session(closed.close.broker).view.value.orders[closed.order_id or ""]
    return row.status == OrderStatus.REJECTED and not says_shortage(row.status_message or "")


def at_touch(context: EngineContext, close: Close) -> Close | None:
    """Return a close at the touch, which is inside of the exchange's limits because an order rests there; at the last price where nobody is on the
    other side. None where neither is known."""
    tick = None if close.instrument is None else context.quotes.usable_tick(close.instrument.instrument_id)
    if tick is None:
        return None
    against = tick.buy if close.side is Side.SELL else tick.sell
    return attrs.evolve(close, price=exact(against[0].price if against else tick.last_price))


# --- placing them -----------------------------------------------------------------------------------------------------------


async def close_all(desk: DeskContext, closes: list[Close], engine_until: float) -> list[Closed]:
    """Place all closes at once through the engine, wait for the answers, and return them in the order of `closes`. An engine that starts or
    restarts is waited for until `engine_until` (monotonic seconds)."""
    done: dict[int, Closed] = {}

    async def place(number: int, close: Close) -> None:
        done[number] = await _close(desk, close, engine_until)

    async with trio.open_nursery() as nursery:
        for number, close in enumerate(closes):
            nursery.start_soon(place, number, close)
    return [done[number] for number in sorted(done)]


async def _close(desk: DeskContext, close: Close, engine_until: float) -> Closed:
    """Place one close as the place route would. An order that the engine certainly did not take up goes to the next engine."""

    def refused(status: int, sentence: str, *, intent_id: str | None = None, outcome: str | None = None) -> Closed:
        return Closed(
            close=close, sent=False, outcome=outcome, order_id=None, status_message=sentence, http_status=status,
            intent_id=intent_id,
        )  # fmt: skip

    instrument, quantity = close.instrument, close.quantity
    if instrument is None:
        return refused(404, texts.NOT_ONE_INSTRUMENT)
    if quantity is None:
        return refused(409, texts.UNITS_UNKNOWN)
    segment = bare_segment(instrument.identity.segment)
    if segment not in ORDERABLE_SEGMENTS:
        return refused(400, order_texts.instruments_not_sent(segment))
    state = desk.context.catalogue.value
    if not state.published_today:
        return refused(503, order_texts.catalogue_not_published(state.reason))
    intent_id, order = str(uuid.uuid4()), close.body(quantity, instrument)
    try:
        answer = await _placed(desk, order, intent_id, engine_until)
    except ActorNotRunning as error:
        if not error.taken:
            return refused(503, order_texts.ENGINE_NOT_RUNNING)
        sentence = order_texts.FAILED_AFTER_WRITE
        return refused(504, sentence, intent_id=intent_id, outcome=Outcome.UNKNOWN.value)
    except AskTimedOut as error:
        if not error.queued:
            return refused(503, shared.busy(error.name), intent_id=intent_id)
        sentence = texts.close_not_answered(CLOSE_SECONDS)
        return refused(504, sentence, intent_id=intent_id, outcome=Outcome.UNKNOWN.value)
    body = answer.body
    return Closed(
        close=close,
        sent="outcome" in body and "error" not in body,
        outcome=body.get("outcome"),
        order_id=body.get("order_id"),
        status_message=body.get("error") or body.get("status_message"),
        http_status=answer.status,
        intent_id=intent_id,
    )


async def _placed(desk: DeskContext, order: PlaceBody, intent_id: str, engine_until: float) -> EngineAnswer:
    """Ask the engine; while no engine has taken the order up, ask the one that follows. Raises ActorNotRunning, AskTimedOut."""
    asked = -1
    while await desk.engine_comes(engine_until, after=asked):
        asked = desk.status.version
        try:
            return await _place(desk, order, intent_id)
        except ActorNotRunning as error:
            if error.taken:
                raise
    raise ActorNotRunning(desk.engine.name, taken=False)


async def _place(desk: DeskContext, order: PlaceBody, intent_id: str) -> EngineAnswer:
    now = desk.context.clock.monotonic()
    return await desk.engine.ask(
        lambda reply: Place(
            intent_id=intent_id, order=order, dry_run=False, routed=now, deadline=now + CLOSE_SECONDS, reply=reply
        ),
        CLOSE_SECONDS,
    )
