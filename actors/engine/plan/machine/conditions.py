"""When a `when` is true: levels, bars, times, account figures, joint profit and loss (order-engine 1.6)."""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import Bars, Joint, PartRecord
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.overdue import OVERDUE_SECONDS, PATIENT_SECONDS, block, block_due
from onebroker.actors.engine.plan.market import AccountFigures, Calm, JointUntold, Seen
from onebroker.actors.engine.plan.parts import (
    ONLY_RISING,
    AccountAt,
    AccountField,
    AllOf,
    AnyOf,
    BarClosed,
    Condition,
    Direction,
    JointPnl,
    Part,
    PriceAt,
    Since,
    TimeOfDay,
    orders_of,
)
from onebroker.actors.engine.plan.pricing.bars import BarRule, fold_bars
from onebroker.config.clock import IST, from_epoch
from onebroker.config.messages import plan_life as texts


def fired(look: Look, part: Part, condition: Condition, place: str = "") -> bool:
    """Return whether a condition of `part` is true; note directions and bars in the part's record. `place` is its place in `when`.

    A condition also counts as true if it was true for a moment, with quotes that were replaced before this look.
    """
    return _holds(look, part, condition, place) or any(
        _held(look, part, condition, place, moment) for moment in _moments(look, part, condition)
    )


def _holds(look: Look, part: Part, condition: Condition, place: str) -> bool:
    """Whether the condition is true now."""
    match condition:
        case PriceAt():
            return _price(look, part, condition, place)
        case BarClosed():
            return _bar(look, part, condition, place)
        case TimeOfDay():
            return _time(look, part, condition)
        case AccountAt():
            return _account(look, part, condition, place)
        case JointPnl():
            return _joint(look, part, condition, place)
        case AllOf():
            looked = [_holds(look, part, inner, f"{place}all.{n}.") for n, inner in enumerate(condition.conditions)]
            return all(looked)
        case AnyOf():
            looked = [_holds(look, part, inner, f"{place}any.{n}.") for n, inner in enumerate(condition.conditions)]
            return any(looked)


@attrs.frozen
class _Moment:
    """The quotes at one moment between two looks."""

    at: float
    """Epoch seconds."""
    quotes: Mapping[str, Seen]
    """Instrument -> its quote at that moment. An instrument is missing if an earlier look saw its quote of that moment."""


def _moments(look: Look, part: Part, condition: Condition) -> Iterator[_Moment]:
    """Yield the quotes as they were after each quote received since the part became due, if any was replaced before this look."""
    quotes = {instrument_id: look.market.seen(instrument_id) for instrument_id in _instruments(condition)}
    if not any(quote is not None and quote.passed for quote in quotes.values()):
        return
    due_at = look.record(part).due_at
    arrivals = [
        (quote, instrument_id)
        for instrument_id, newest in quotes.items()
        if newest is not None
        for quote in (*newest.passed, newest)
    ]
    stood: dict[str, Seen] = {}
    for quote, instrument_id in sorted(arrivals, key=lambda arrival: arrival[0].received_at):
        stood[instrument_id] = quote
        if due_at is not None and quote.received_at > due_at:
            yield _Moment(quote.received_at, stood)


def _instruments(condition: Condition) -> frozenset[str]:
    """Return the instruments whose prices the condition uses."""
    match condition:
        case PriceAt():
            return frozenset({condition.instrument_id})
        case AllOf() | AnyOf():
            return frozenset(instrument_id for inner in condition.conditions for instrument_id in _instruments(inner))
    return frozenset()


def judged_by(condition: Condition) -> frozenset[str]:
    """Return the instruments without whose quotes a condition cannot be judged. (Of a joint result over every position they are not known here.)"""
    match condition:
        case BarClosed():
            return frozenset({condition.instrument_id})
        case JointPnl():
            return frozenset(condition.instrument_ids)
        case AllOf() | AnyOf():
            return frozenset().union(*map(judged_by, condition.conditions))
    return _instruments(condition)


def _held(look: Look, part: Part, condition: Condition, place: str, moment: _Moment) -> bool:
    """Whether the condition was true at that moment. A condition without quotes counts as it is now."""
    match condition:
        case PriceAt():
            quote = moment.quotes.get(condition.instrument_id)
            value = None if quote is None else quote.value(condition.field)
            direction = direction_of(look.record(part), condition, place)
            return value is not None and direction is not None and past(value, condition.level, direction)
        case TimeOfDay():
            due_at = look.record(part).due_at
            return moment.at >= instant_of(condition, moment.at if due_at is None else due_at)
        case AllOf():
            return all(
                _held(look, part, inner, f"{place}all.{n}.", moment) for n, inner in enumerate(condition.conditions)
            )
        case AnyOf():
            return any(
                _held(look, part, inner, f"{place}any.{n}.", moment) for n, inner in enumerate(condition.conditions)
            )
    return _holds(look, part, condition, place)


def direction_of(record: PartRecord, condition: PriceAt | BarClosed | AccountAt, place: str = "") -> Direction | None:
    """Return the direction given, or the one taken when the condition was armed."""
    taken = record.directions.get(place)
    return condition.direction or (None if taken is None else Direction(taken))


def _directed(
    look: Look, part: Part, condition: PriceAt | BarClosed | AccountAt, place: str, value: Decimal
) -> Direction:
    direction = direction_of(look.record(part), condition, place)
    if direction is None:
        # A field that only rises may pass its level even while the order is on its way. As `below` it would then never come true.
        rises = isinstance(condition, PriceAt) and condition.field in ONLY_RISING
        direction = Direction.ABOVE if rises or condition.level > value else Direction.BELOW
        taken: Mapping[str, str] = {**look.record(part).directions, place: direction.value}
        look.note(part, directions=taken)
    return direction


def past(value: Decimal, level: Decimal, direction: Direction) -> bool:
    """Whether a value is at or past a level."""
    return value >= level if direction is Direction.ABOVE else value <= level


def _price(look: Look, part: Part, condition: PriceAt, place: str) -> bool:
    quote = look.glimpsed(condition.instrument_id)
    value = None if quote is None else quote.value(condition.field)
    if quote is None or value is None:
        look.seen(condition.instrument_id)
        look.cannot(part, 503, texts.NO_QUOTE_FOR_CONDITION)
        if quote is None:
            block(look, part, texts.NO_QUOTE_FOR_CONDITION, blind=condition.instrument_id)
        return False
    earliest = (seen.value(condition.field) for seen in quote.since(look.record(part).due_at))
    first = next(figure for figure in earliest if figure is not None)
    direction = _directed(look, part, condition, place, first)
    is_past = past(value, condition.level, direction)
    look.stays(condition.instrument_id, _staying(condition, direction, is_past=is_past))
    return is_past


def _staying(condition: PriceAt, direction: Direction, *, is_past: bool) -> Calm:
    """Return the bounds within which the level stays reached, or stays not reached."""
    level, field = condition.level, condition.field
    if (direction is Direction.ABOVE) is is_past:
        return Calm(field=field, least=level) if is_past else Calm(field=field, above=level)
    return Calm(field=field, most=level) if is_past else Calm(field=field, below=level)


def _bar(look: Look, part: Part, condition: BarClosed, place: str) -> bool:
    record = look.record(part)
    quote = look.seen(condition.instrument_id)
    if quote is not None and direction_of(record, condition, place) is None:
        lasts = (seen.last_price for seen in quote.since(record.due_at) if seen.last_price is not None)
        first = next(lasts, None)
        if first is not None:
            _directed(look, part, condition, place, first)
    session = look.market.session(condition.instrument_id, look.now)
    direction = direction_of(look.record(part), condition, place)
    if quote is None:
        block(look, part, texts.NO_QUOTE_FOR_CONDITION, blind=condition.instrument_id)
    if session is None or direction is None or look.now < session.opens:
        return False
    seconds = float(condition.bar_minutes * 60)
    before = record.condition_bars.get(place, Bars())
    armed = record.due_at if record.due_at is not None else look.now
    rule = BarRule(seconds=seconds, opened=session.opens, armed_at=armed)
    bars, has_passed = before, False
    for seen in () if quote is None else quote.passed:
        bars = fold_bars(bars, seen, seen.received_at, rule)
        has_passed = has_passed or _closed_past(bars, condition.level, direction)
    bars = fold_bars(bars, quote, look.now, rule)
    if bars != before:
        look.note(part, condition_bars={**look.record(part).condition_bars, place: bars})
    if bars.open_bar is not None:
        look.wake(bars.open_bar.began + max(seconds, LOOK_SECONDS))
    return has_passed or _closed_past(bars, condition.level, direction)


def _closed_past(bars: Bars, level: Decimal, direction: Direction) -> bool:
    if bars.last_close is None:
        return False
    return bars.last_close > level if direction is Direction.ABOVE else bars.last_close < level


def _time(look: Look, part: Part, condition: TimeOfDay) -> bool:
    due_at = look.record(part).due_at
    at = after_opening(look, part, instant_of(condition, look.now if due_at is None else due_at))
    look.wake(at)
    return look.now >= at


OPENING_SECONDS = 2.0
"""How far a broker's clock may be behind ours. An order that arrives before the broker's own opening is refused, and that is final."""


def after_opening(look: Look, part: Part, at: float) -> float:
    """Return when an order timed for `at` leaves: a little after the opening if `at` is the opening of a session or pre-open."""
    instruments = {order.instrument_id for order in orders_of(part)}
    openings = [look.market.opening(instrument_id, at, OPENING_SECONDS) for instrument_id in instruments]
    return max([at, *(opening + OPENING_SECONDS for opening in openings if opening is not None)])


def too_late(look: Look, part: Part) -> bool:
    """Whether a time in the part's `when` passed without a look, by more than an entry may be late (2.5).

    A time that was seen in time is noted. The other conditions of the `when` may then come true at any time.
    """
    record = look.record(part)
    due_at = record.due_at
    if part.when is None or due_at is None or record.fired or record.fired_at is not None:
        return False
    for place, condition in _times(part.when):
        at = max(due_at, after_opening(look, part, instant_of(condition, due_at)))
        seen = look.record(part).times_seen
        if place in seen or look.now < at:
            continue
        if look.now - at > look.rules.late_entry_seconds:
            return True
        look.note(part, times_seen=(*seen, place))
    return False


def _times(condition: Condition, place: str = "") -> Iterator[tuple[str, TimeOfDay]]:
    """Yield the times in a condition, each with its place in it."""
    match condition:
        case TimeOfDay():
            yield place, condition
        case AllOf() | AnyOf():
            word = "all" if isinstance(condition, AllOf) else "any"
            for n, inner in enumerate(condition.conditions):
                yield from _times(inner, f"{place}{word}.{n}.")


def instant_of(condition: TimeOfDay, due_at: float) -> float:
    """Return when the time of a part that became due at `due_at` comes; both in epoch seconds."""
    if condition.day is None:
        return instant(due_at, condition.at)
    return datetime.combine(date.fromisoformat(condition.day), condition.at, IST).timestamp()


def undirected(record: PartRecord, condition: Condition, place: str = "") -> bool:
    """Whether a missing direction could not be taken at arming, because the field had no value then (1.6)."""
    match condition:
        case PriceAt() | BarClosed() | AccountAt():
            return direction_of(record, condition, place) is None
        case AllOf() | AnyOf():
            word = "all" if isinstance(condition, AllOf) else "any"
            numbered = enumerate(condition.conditions)
            return any(undirected(record, inner, f"{place}{word}.{n}.") for n, inner in numbered)
    return False


def instant(day_of: float, at: time) -> float:
    """Return the instant of a time of day in India on the day of `day_of`; both in epoch seconds."""
    return datetime.combine(from_epoch(day_of).date(), at, IST).timestamp()


def account_value(figures: AccountFigures, field: AccountField) -> Decimal | None:
    """Return a figure of the account by its name in the grammar."""
    match field:
        case AccountField.MARGIN_CUSHION_PERCENT:
            if figures.available_balance is None or not figures.total_balance:
                return None
            return figures.available_balance / figures.total_balance * 100
    value: Decimal | None = getattr(figures, field.value)
    return value


def _account(look: Look, part: Part, condition: AccountAt, place: str) -> bool:
    figures = look.market.account()
    look.wake(look.now + LOOK_SECONDS)
    value = None if figures is None else account_value(figures, condition.field)
    if value is None:
        look.cannot(part, 503, texts.NO_ACCOUNT_FIGURES)
        untold = () if figures is None else tuple(_untold(figures, condition.field))
        look.untold.update(untold)
        (block if untold else block_due)(look, part, texts.NO_FIGURES)  # an entry says it once
        return False
    if figures is not None and figures.unread:
        block_due(look, part, texts.figures_unread(figures.unread))  # judged all the same, by what was told last
    return past(value, condition.level, _directed(look, part, condition, place, value))


def _untold(figures: AccountFigures, field: AccountField) -> Iterator[str]:
    """Yield sentences that name the brokers because of which a figure of the day's profit and loss has no value."""
    if field is AccountField.DAY_PNL and figures.without_result:
        yield texts.result_untold(figures.without_result)
    if field in (AccountField.REALIZED_PNL, AccountField.UNREALIZED_PNL) and figures.without_parts:
        yield texts.parts_untold(figures.without_parts)


LOOK_SECONDS = 0.5
"""The seconds between two looks at a figure that changes without an event."""


def _joint(look: Look, part: Part, condition: JointPnl, place: str) -> bool:
    """Whether the joint figure has passed a limit since the base was taken. Brokers with such a position then must be readable (3.45)."""
    before = look.record(part).joint.get(place)
    figure = look.market.joint_pnl(
        condition.instrument_ids,
        every_instrument=condition.every_instrument,
        product=condition.product,
        today=condition.since is Since.DAY,
        holders=None if before is None else before.holders,
    )
    look.wake(look.now + LOOK_SECONDS)
    if isinstance(figure, JointUntold):
        block(look, part, texts.joint_untold(figure.brokers))
        has_filled = figure.filled_at is not None and look.now < figure.filled_at + OVERDUE_SECONDS
        if has_filled or (figure.began_at is not None and look.now < figure.began_at + PATIENT_SECONDS):
            look.patient.add(part.path)
        return False
    if before is None:
        first = figure.rupees if figure.first is None else figure.first
        base = Decimal(0) if condition.since is Since.DAY else first
        before = Joint(base=base, best=max(first, figure.rupees) - base, holders=tuple(sorted(figure.brokers)))
    gained = figure.rupees - before.base
    best = max(before.best, gained)
    after = attrs.evolve(before, best=best, holders=tuple(sorted({*before.holders, *figure.brokers})))
    if look.record(part).joint.get(place) != after:
        look.note(part, joint={**look.record(part).joint, place: after})
    return (
        (condition.loss is not None and -gained >= condition.loss)
        or (condition.profit is not None and gained >= condition.profit)
        or (condition.give_back is not None and best > 0 and best - gained >= condition.give_back)
    )
