"""What is due and cannot happen (order-engine 1.11). Pure.

A plan promises that something happens: an exit leaves, a close closes, a hedge follows its fill, a condition that guards is judged. The
world can withhold what the promise needs: a price, a side of the book, a figure, a login, an open gate. Then the machine waits. Waiting is
right, and waiting in silence is not: the owner of the orders believes that he is guarded.

So there is one rule for every part of every plan. Whoever finds out that a due thing cannot happen now says so with `Look.block`. What is
still blocked `OVERDUE_SECONDS` later is overdue: it counts as held up (`unprotected_units.py` counts its units as open without a stop), the
part's `status_message` has the reason, and the reason is a sentence of the parent, of `/api/health` and of the log. It is over when a look
finds the thing possible, or no longer due.

    Look.block      this look: the part is due and cannot act, for this reason
    waits_since     in the part's record: the first of the looks in a row that found it blocked. Stored: a restart does not begin anew. It
                    stands until the order that goes without a price has a leg, so that two looks at the same ask for the same; and until an
                    order that follows a refused one stands (`refused_exits.py`)
    overdue         blocked now, and for OVERDUE_SECONDS: known at the end of the look

An overdue close does not go on being clever. After the same time `last_resort` gives it the order that a flatten would send (order-engine
4.9): MARKET, which a broker that refuses MARKET gets as a limit past the last known price. On an empty side it rests at the last price; at a
circuit that is the circuit itself, where the exchange's queue decides. A caller's own bound (a worst price, a cost) is never given up.

`cannot_leave` is the other half. Something that rests may be ended for the sake of its replacement only when the replacement could leave
now. Otherwise it stays, since an old stop is better than none. Who would end it asks here first, and blocks its part with the answer.

Not known here: the room in a broker's messages of the second or the minute. It comes back by itself, and an exit waits for it in front.
A part outside of its instrument's session is not due; whether the feed is silent then says nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.machine.leg_actions import Leg, ReadRows
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.machine.refused_exits import is_on_trial
from onebroker.actors.engine.plan.market import Seen, Session
from onebroker.actors.engine.plan.parts import FromExposure, OrderPart, Part, orders_of, own_orders_of, walk
from onebroker.actors.engine.plan.price_kinds import Cap, Marketable, Price, is_stop, uncapped
from onebroker.config.clock import from_epoch
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import OrderType, Side

AGAIN_SECONDS = 1.0
"""How often an overdue part looks again: a gate that opens, or a login that comes back, is no news to a plan."""
OVERDUE_SECONDS = 2.0
"""How long a due thing may be impossible before it is said, and before a close goes without a price."""
PATIENT_SECONDS = 5.0
"""The same while fills keep coming, and each needs a read of the positions: every one of the reads is as fast as usual. And right after a login, also
that of a restart: the first tick, and two reads of the positions, take about three seconds."""
UNANSWERED_SECONDS = 5.0
"""How long a broker may leave it open whether it has an order that closes before it is said."""


def note_waiting(look: Look) -> Mapping[str, str]:
    """Note in the parts' records since when they are blocked. Return part path -> reason of the parts that are overdue.

    Called once, at the end of a look.
    """
    overdue: dict[str, str] = {}
    for part in walk(look.root):
        reason, record = look.blocked.get(part.path), look.record(part)
        since = record.waits_since
        if reason is None and since is not None and is_on_trial(look, part):
            reason = record.held_up
        elif reason is None:
            since = since if part.path in look.still_waits or _acts(look, part) else None
        elif since is None:
            since = look.now
        if since != record.waits_since:
            look.note(part, waits_since=since)
        if since is None or reason is None:
            continue
        is_patient = part.path in look.patient and record.held_up is None
        told_at = since + (PATIENT_SECONDS if is_patient else OVERDUE_SECONDS)
        if look.now >= told_at:
            overdue[part.path] = reason
            look.wake(look.now + AGAIN_SECONDS)
        else:
            look.wake(told_at)
    return overdue


def _acts(look: Look, part: Part) -> bool:
    """Whether the part has an order on its way, or asks for its positions now."""
    reads = any(isinstance(action, ReadRows) and action.part == part.path for action in look.actions)
    return reads or bool(look.on_the_way(part))


def cannot_leave_yet(look: Look, said: Collection[str], without_stop: Collection[str]) -> Iterator[str]:
    """Yield why an order that closes or hedges, and that is asked for, has not been able to leave for OVERDUE_SECONDS although its units are guarded.

    Not again what is `said` already; nor where units of its instrument count as open `without_stop`, which says more.
    """
    for path, since in look.held_since.items():
        part = look.by_path[path]
        ending = look.record(part).ending
        closes = guards(part) or (ending is not None and ending.close)
        asked = look.on_the_way(part)
        if not closes or not asked or any(order.instrument_id in without_stop for order in asked):
            continue
        if look.now < since + OVERDUE_SECONDS:
            look.wake(since + OVERDUE_SECONDS)
        elif not any(reason in look.held_up[path] for reason in said):
            yield look.held_up[path]


def has_not_left(look: Look, part: Part) -> bool:
    """Whether an order of the part is asked for and has not been able to leave for OVERDUE_SECONDS."""
    since = look.held_since.get(part.path)
    return since is not None and look.now >= since + OVERDUE_SECONDS and bool(look.on_the_way(part))


def unanswered(look: Look) -> Iterator[str]:
    """Yield a sentence for each order that closes or hedges of which nobody knows, UNANSWERED_SECONDS after it was sent, whether its broker has it, and
    for each whose change or cancel has not reached its broker."""
    for part in walk(look.root):
        ending = look.record(part).ending
        if not isinstance(part, OrderPart) or not (_guards(part) or (ending is not None and ending.close)):
            continue
        for leg in look.legs(part):
            yield from _unchanged(look, leg)
            if leg.given_up or leg.accepted or leg.state not in (LegState.SENDING, LegState.UNKNOWN):
                continue
            if look.now >= leg.sent_at + UNANSWERED_SECONDS:
                yield texts.not_answered(leg.broker, leg.side, leg.unfilled)
            else:
                look.wake(leg.sent_at + UNANSWERED_SECONDS)


def _unchanged(look: Look, leg: Leg) -> Iterator[str]:
    if not leg.wanted_since or not leg.live:
        return
    due = leg.wanted_since + (UNANSWERED_SECONDS if leg.not_left is None else OVERDUE_SECONDS)
    if look.now >= due:
        yield texts.not_changed(leg.broker, leg.unfilled, leg.not_left)
    else:
        look.wake(due)


def is_overdue(look: Look, part: Part) -> bool:
    """Whether the part has been blocked in every look of the last OVERDUE_SECONDS, so that its close goes without a price."""
    since = look.record(part).waits_since
    return since is not None and look.now >= since + OVERDUE_SECONDS


def guards(part: Part) -> bool:
    """Whether something is open as long as the part has not acted: its orders close, cover the fill of another order, or hedge."""
    orders = list(own_orders_of(part))
    return bool(orders) and all(map(_guards, orders))


def _guards(order: OrderPart) -> bool:
    return order.is_exit or order.uncovered is not None or isinstance(order.quantity, FromExposure)


def is_of_earlier_day(leg: Leg, session: Session) -> bool:
    """Whether an order was sent on a day before a session. Each order of a plan is good for its day, so it guards nothing in that session."""
    return from_epoch(leg.sent_at).date() < from_epoch(session.opens).date()


def in_session(look: Look, instrument_id: str) -> bool:
    """Whether the instrument's session is open now."""
    session = look.market.session(instrument_id, look.now)
    return session is not None and session.opens <= look.now


def block(look: Look, part: Part, reason: str, *, blind: str | None = None, gravest: bool = False) -> None:
    """Say that a due part which guards cannot act now. `blind`: the instrument whose quote is missing; it is then asked for over REST. `gravest`:
    whatever else was said of the part, this is said."""
    if guards(part):
        block_due(look, part, reason, blind=blind, gravest=gravest)


def block_due(look: Look, part: Part, reason: str, *, blind: str | None = None, gravest: bool = False) -> None:
    """Say the same of a part that is due whatever it is: an entry whose fills are to be closed."""
    watched = blind if blind is not None else next(iter(orders_of(part))).instrument_id
    standing = look.market.standing(watched)
    if not standing.is_listed:
        reason = texts.not_listed(standing.name)  # why there is no quote, and nobody can be asked for one
    if in_session(look, watched):
        look.block(part, reason, blind=blind, gravest=gravest)


def block_unpriced(look: Look, part: OrderPart) -> None:
    """Say that a due order has no price, for the reason that its price rule has noted: of an entry too, where it is to be filled at once."""
    noted = look.reasons.get(part.path)
    tell = block_due if isinstance(uncapped(part.price), Marketable) else block
    tell(look, part, texts.NO_PRICE if noted is None else noted.sentence, blind=part.instrument_id)


# --- the last resort -------------------------------------------------------------------------------------------------------


def last_resort(
    look: Look, part: OrderPart, price: Price, *, at_last: bool = False
) -> tuple[OrderType, Decimal | None] | None:
    """Return type and limit (None with MARKET) of the order that an overdue close sends; None while there is none. `at_last`: at the last price in
    any case, where it is known (`refused_exits.py`).

    Only for closes that go at the market in any case. A stop, a target, a peg have a price that a caller chose.
    """
    if not part.is_exit or is_stop(price) or not is_overdue(look, part):
        return None
    if isinstance(price, Cap):
        return (OrderType.LIMIT, price.worst_price) if isinstance(price.of, Marketable) else None
    if not isinstance(price, Marketable) or price.maximum_cost_bps is not None:
        return None
    return at_any_price(look, look.market.seen(part.instrument_id), side_of(part), part, at_last=at_last)


def at_any_price(
    look: Look, quote: Seen | None, side: Side, part: OrderPart, *, at_last: bool
) -> tuple[OrderType, Decimal | None]:
    """Return MARKET; where the book is known and has nobody on the other side, a limit at the last price, which waits in the queue."""
    empty = quote is not None and quote.tells_depth and not quote.against(side)
    if quote is None or not (empty or at_last) or quote.last_price is None:
        return OrderType.MARKET, None
    return OrderType.LIMIT, look.terms(part).towards(quote.last_price, side)


# --- what may be ended -----------------------------------------------------------------------------------------------------


def cannot_leave(look: Look, brokers: Iterable[str]) -> str | None:
    """Return why no exit can leave at one of these brokers now: trading is halted, no login, no order message left today; else None."""
    reasons = (look.market.exit_lock(broker) for broker in sorted(set(brokers)))
    return next((reason for reason in (look.market.exit_lock(None), *reasons) if reason is not None), None)


def has_no_price(look: Look, part: Part, instrument_id: str, side: Side) -> str | None:
    """Return why an order at the market could not be priced now; None when it could, or when it is overdue and goes without a price."""
    quote = look.seen(instrument_id)
    if is_overdue(look, part) or (quote is not None and quote.against(side)):
        return None
    if quote is not None and quote.tells_depth:
        return texts.nobody(side)
    return texts.stale_quote(side) if look.market.is_stale(instrument_id) else texts.no_quote(side)
