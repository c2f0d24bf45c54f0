"""Problems with orders: unknown orders, orders of nobody, annulled trades of others, parents in trouble, halt, loss limit, an engine that does not run."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

from onebroker.actors.engine.books.settled_positions import Named
from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.engine.context.troubles import Trouble
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.portfolio.position_view import position_product
from onebroker.actors.sessions.session_view import SessionView
from onebroker.actors.store.durable import Halt, HaltMode
from onebroker.brokers.records import OrderRow
from onebroker.config.clock import Clock

UNKNOWN_SECONDS = 60.0
"""An order whose outcome is known sooner is no problem."""
START_SECONDS = 10.0
"""Time for the first figures and for the engine after a start."""


def unknown_orders(legs: Collection[LegRecord], now: float) -> Iterator[Problem]:
    """Yield the legs of which nobody knows whether their broker has them. `legs`: the legs that have not ended; `now` in epoch seconds."""
    for leg in legs:
        if leg.state.unsettled and now - _sent(leg) >= UNKNOWN_SECONDS:
            yield Problem(
                kind=ProblemKind.ORDER_UNKNOWN,
                broker=leg.broker,
                subject=leg.leg_id,
                what=f"it is not known whether {leg.broker} has the order {leg.transaction_type} {leg.quantity} {leg.tradingsymbol}"
                + (f": {leg.status_message}" if leg.status_message else ""),
                do="look for the order at the broker; it is never sent again (docs/unknown-orders.md)",
                since=_sent(leg),
            )


def _sent(leg: LegRecord) -> float:
    return leg.sent_at or leg.updated_at


def stranger_orders(strangers: Mapping[tuple[str, str], OrderRow]) -> Iterator[Problem]:
    """Yield today's orders with a token of this engine that neither the engine nor the store knows. Keys: (broker, token)."""
    for (broker, token), row in strangers.items():
        yield Problem(
            kind=ProblemKind.STRANGER,
            broker=broker,
            subject=row.order_id,
            what=f"{broker} has the order {row.order_id} ({row.status}) with the token {token}, which nobody here knows",
            do="look at the order at the broker: the service does nothing to it (docs/unknown-orders.md)",
        )


def fills_taken_back(sessions: Mapping[str, SessionHandle], legs: Legs) -> Iterator[Problem]:
    """Yield the orders of other hands of which their broker has taken filled units back, as long as units are held there. The parents of the engine's own
    orders say it themselves."""
    for code, handle in sessions.items():
        view = handle.view.value
        for order_id, left in view.corrected_fills.items():
            row = view.orders.get(order_id)
            if row is None or not legs.knows(row, code) or legs.entry(code, order_id, row.tag) is not None:
                continue
            held = _net_units(view, row)
            if held == 0:
                continue
            yield Problem(
                kind=ProblemKind.TAKEN_BACK,
                broker=code,
                subject=order_id,
                what=f"a trade of the {row.transaction_type} order {order_id} in {row.tradingsymbol} at {code} was annulled: {left} of its {row.quantity} units"
                f" stay filled, and {code} holds {'an unknown number of' if held is None else held} units",
                do="look whether these units have a stop: a plan that ended because this order had closed them does not come back",
            )


def _net_units(view: SessionView, row: OrderRow) -> int | None:
    """Return the signed units that a broker shows in an order's instrument and product; None while they are not known."""
    place = (row.instrument_token, position_product(row.product))
    units = [
        position.quantity
        for position in view.positions
        if position.view != "day" and (position.instrument_token, position_product(position.product)) == place
    ]
    return None if None in units else sum(one for one in units if one is not None)


DOUBTED_SECONDS = 10.0
"""A doubt that is over sooner is no problem: brokers show a fill some seconds late. It is counted over reads that show the same figures. A position that
is traded all the time, or is not read again yet, is no problem either."""


def positions_doubted(rows: Iterable[Named], clock: Clock) -> Iterator[Problem]:
    """Yield the positions that do not agree with their fills in all reads of `DOUBTED_SECONDS` (order-engine 4.11)."""
    for row in rows:
        if row.doubt.as_of - max(row.doubt.since, row.doubt.same_since) >= DOUBTED_SECONDS:
            yield Problem(
                kind=ProblemKind.POSITION,
                broker=row.broker,
                subject=f"{row.doubt.tradingsymbol} {row.doubt.key.product}",
                what=row.sentence(clock),
                do="look at the position at the broker: what closes positions goes by "
                + ("its orders" if row.doubt.units == row.doubt.by_fills else "what it shows")
                + " until they agree",
                since=clock.epoch() - (clock.monotonic() - row.doubt.since),
            )


def parents_in_trouble(rows: Iterable[Trouble]) -> Iterator[Problem]:
    """Yield one problem for each open parent with units that have no stop, and one for each with other troubles. Ended parents are left out."""
    grouped: dict[tuple[ProblemKind, str], list[Trouble]] = {}
    for row in rows:
        if not row.is_ended:
            kind = ProblemKind.TROUBLE if row.found.units is None else ProblemKind.UNPROTECTED
            grouped.setdefault((kind, row.parent_id), []).append(row)
    for (kind, parent_id), troubles in grouped.items():
        unprotected = kind is ProblemKind.UNPROTECTED
        said = "; ".join(
            f"{trouble.sentence} (instrument {trouble.instrument_id}){_because(trouble)}"
            if unprotected
            else trouble.sentence
            for trouble in troubles
        )
        yield Problem(
            kind=kind,
            subject=parent_id,
            what=f"parent {parent_id}: {said}",
            do="close the units or place a stop, unless the parent does it soon"
            if unprotected
            else "look at the order book of the broker, and at the parent (GET /api/orders/parents)",
            since=min(trouble.since for trouble in troubles),
        )


def _because(trouble: Trouble) -> str:
    return f": {trouble.found.why}" if trouble.found.why is not None else ""


def trading_halted(halt: Halt | None, *, known: bool) -> Iterator[Problem]:
    """Yield the problem that trading is halted by hand. `known` false: the stored halt has not been read since the start."""
    if halt is not None:
        stops = "no new entry leaves" if halt.mode is HaltMode.REDUCE_ONLY else "only cancels leave"
        yield Problem(
            kind=ProblemKind.HALT,
            what=f"trading is halted ({halt.mode}), {stops}: {halt.reason}",
            do="onebroker resume",
            since=datetime.fromisoformat(halt.since).timestamp(),
        )
    elif not known:
        yield Problem(
            kind=ProblemKind.HALT,
            what="it is not known yet whether trading is halted, so no new entry leaves",
            do="nothing, unless it stays: then look at the data directory and the log",
        )


def loss_limit(state: DayLoss, monotonic: float, uptime: float) -> Iterator[Problem]:
    """Yield the problem that new orders are refused because of the daily loss limit. `monotonic` and `uptime` in seconds."""
    refusal = state.refusal(monotonic)
    if refusal is None or (refusal.status == 503 and uptime < START_SECONDS):
        return
    locked = refusal.status == 403
    yield Problem(
        kind=ProblemKind.LOSS,
        what=f"new orders are refused: {refusal.body['error']}",
        do="nothing: exits are taken, and the limit ends at 07:00 (docs/charges.md)"
        if locked
        else "look at the funds of the brokers: a broker whose profit and loss of the day is not known keeps the sum unknown (docs/charges.md)",
    )


def engine_stopped(status: EngineStatus, *, reachable: bool, uptime: float) -> Iterator[Problem]:
    """Yield the problems that the engine takes no orders, or that open orders do not act. While the store is away (`reachable` false), that is
    the problem. `uptime` in seconds."""
    if not status.running and reachable and not (status.starting and uptime < START_SECONDS):
        yield Problem(
            kind=ProblemKind.ENGINE,
            what=f"the order engine takes no orders: {status.reason}",
            do="nothing while it waits for a broker's book or the store; if it stays, read the log",
        )
    if status.trouble is not None:
        yield Problem(
            kind=ProblemKind.ENGINE,
            subject="orders",
            what=status.trouble,
            do="give the brokers that are named a login, or wait for their order books (docs/unknown-orders.md)",
        )
