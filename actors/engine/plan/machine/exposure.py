"""Keeping a net exposure within its band: an order part whose quantity is an exposure (order-engine 3.15). Pure.

Every few seconds the shell reads the net rows again. Where the exposure is outside its band, one hedge is worked out, noted in the
part's record as a row of its own, and sent. Until the hedge has ended, the exposure is not looked at. Brokers show fills late, so the
rows that are read next may lack the hedge's own. The shell compares them with the fills of the broker's orders, and returns units that
contain all fills (order-engine 4.11). So the same gap is not hedged twice.
"""

from collections.abc import Collection, Mapping
from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import PartRecord, PartState, RowToClose
from onebroker.actors.engine.plan.execution_kinds import TopUp
from onebroker.actors.engine.plan.machine.leg_actions import ReadRows
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.overdue import block
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.machine.position_closes import ROWS_SECONDS, work_row
from onebroker.actors.engine.plan.machine.verdicts import Verdict
from onebroker.actors.engine.plan.parts import FromExposure, Measure, OrderPart, Weighted
from onebroker.config.messages import plan_life as texts


def work_exposure(look: Look, part: OrderPart, context: Context, *, over: bool) -> Verdict | None:
    """Look at the exposure when a look is due, and hedge it. Return how the part has ended; None while it goes on."""
    form = part.quantity
    assert isinstance(form, FromExposure)
    ended = over or look.record(part).marketable
    for weighted in counted(form, part):
        look.seen(weighted.instrument_id)
    _drop_old(look, part)
    for row in look.record(part).rows or ():
        end = work_row(look, part, context, row, over=ended)
        if end is not None and end.state is not PartState.COMPLETED:
            return end
    if not look.quiet(part):
        return None
    if ended:
        return Verdict(PartState.EXPIRED)
    untold = look.record(part).rows_message
    if untold is not None:
        block(look, part, untold)
    if _is_due(look, part):
        _look(look, part, form)
    else:
        _still_waits(look, part)
    return None


def counted(form: FromExposure, part: OrderPart) -> tuple[Weighted, ...]:
    """Return the instruments that make up the exposure. If the list does not name the hedge's instrument, it counts with `hedge_weight`.
    Otherwise its fills would not change the exposure, and hedges would be sent for ever."""
    named = any(weighted.instrument_id == part.instrument_id for weighted in form.instruments)
    return form.instruments if named else (*form.instruments, Weighted(part.instrument_id, form.hedge_weight))


def _drop_old(look: Look, part: OrderPart) -> None:
    """Send no more of a hedge that was worked out too long ago, or before a restart. It is worked out again at once: what is outside of its band does
    not wait for the next beat because a price was missing."""
    record = look.record(part)
    old = record.rows_at is None or look.now - record.rows_at > ROWS_SECONDS
    if not record.rows or not old or look.on_the_way(part):
        return
    out = sum(leg.committed for leg in look.legs(part) if leg.instance == record.rows[0].key)
    if out < record.rows[0].units:
        rows = (attrs.evolve(record.rows[0], units=out),) if out else None
        look.note(part, rows=rows, memory=attrs.evolve(record.memory, since=None))


def _still_waits(look: Look, part: OrderPart) -> None:
    """Go on saying why a hedge could not leave while the units are read for the next one: nothing has shown yet that it can, or that none is wanted."""
    record = look.record(part)
    if record.waits_since is not None and record.held_up is not None:
        block(look, part, record.held_up)


def _is_due(look: Look, part: OrderPart) -> bool:
    """Whether the last hedge was sent, and the time of the next look at the exposure has come."""
    record, execution = look.record(part), part.execution
    assert isinstance(execution, TopUp)
    sent = {leg.instance for leg in look.legs(part)}
    if record.rows and record.rows[0].key not in sent:
        return False  # it waits for a price
    if record.memory.since is None:
        return True
    due = record.memory.since + float(execution.every_seconds)
    look.wake(due)
    return look.now >= due


def _look(look: Look, part: OrderPart, form: FromExposure) -> None:
    record = look.record(part)
    if record.nets is None or record.rows_at is None or look.now - record.rows_at > ROWS_SECONDS:
        look.do(ReadRows(part=part.path))
        _still_waits(look, part)
        return
    hedge = _hedge(look, part, form, record.nets)
    if hedge is None:
        block(look, part, texts.EXPOSURE_UNPRICED, blind=_unpriced(look, part, form))
        look.wake(record.rows_at + ROWS_SECONDS + 1)
        return
    number = len({leg.instance for leg in look.legs(part)})
    row = RowToClose(
        key=f"hedge {number}",
        broker=part.broker,
        instrument_id=part.instrument_id,
        product=part.product,
        quantity=-hedge,
        units=abs(hedge),
    )
    memory = attrs.evolve(record.memory, since=look.now)
    look.note(part, rows=(row,) if hedge else None, nets=None, memory=memory, held_up=None)


def _hedge(look: Look, part: OrderPart, form: FromExposure, nets: Mapping[str, int]) -> int | None:
    """Return the signed units that bring the exposure back to its target, in whole lots; 0 inside the band; None while a needed
    quote is missing."""
    exposure = Decimal(0)
    for weighted in counted(form, part):
        price = _price(look, weighted.instrument_id, form.measure)
        net = nets.get(weighted.instrument_id, 0)
        if net and price is None:
            return None
        exposure += net * weighted.weight * (price or 0)
    gap = exposure - form.target
    if abs(gap) <= form.band:
        return 0
    price = _price(look, part.instrument_id, form.measure)
    return None if not price else _in_lots(look, part, form, -gap / (price * form.hedge_weight))


def _unpriced(look: Look, part: OrderPart, form: FromExposure) -> str:
    """Return the first instrument of the exposure, or the hedge's own, that has no price now."""
    counts = [weighted.instrument_id for weighted in counted(form, part)]
    return next((one for one in counts if _price(look, one, form.measure) is None), part.instrument_id)


def _price(look: Look, instrument_id: str, measure: Measure) -> Decimal | None:
    if measure is Measure.UNITS:
        return Decimal(1)
    quote = look.seen(instrument_id)
    return None if quote is None else quote.last_price


def _in_lots(look: Look, part: OrderPart, form: FromExposure, wanted: Decimal) -> int:
    execution = part.execution
    assert isinstance(execution, TopUp)
    limits = [form.most, None if execution.catch_up else execution.piece_quantity]
    units = min([int(abs(wanted)), *(limit for limit in limits if limit is not None)])
    return look.terms(part).whole_lots(units) * (1 if wanted > 0 else -1)


def with_nets(
    record: PartRecord,
    nets: Mapping[str, int] | None,
    holders: Collection[str],
    now: float,
    *,
    unread: Collection[str] = (),
) -> PartRecord:
    """Return the part's record with the net rows read for its next decision.

    `nets` None = they are not known; reading is tried again when the next look is due. `unread`: in that case, the brokers that could not be
    read. Without any, the units have changed, and no two reads have agreed yet.
    """
    memory = attrs.evolve(record.memory, since=now) if nets is None else record.memory
    message = texts.exposure_untold(unread) if unread else None
    was_unread = record.rows_message is not None and message is None
    return attrs.evolve(
        record,
        nets=nets,
        rows_at=now,
        holders=tuple(sorted(holders)),
        memory=memory,
        rows_message=message,
        held_up=None if was_unread else record.held_up,
    )
