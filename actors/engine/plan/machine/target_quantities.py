"""The units that an order part shall send in all, by its quantity form (order-engine 1.3)."""

from typing import assert_never

from onebroker.actors.engine.plan.execution_kinds import Ladder, TopUp
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.part_context import Context
from onebroker.actors.engine.plan.parts import (
    FromExposure,
    FromFill,
    FromPosition,
    OrderPart,
    Share,
    Units,
    own_orders_of,
)
from onebroker.actors.engine.plan.pieces.cutting import rounded_lots, shared


def target(look: Look, part: OrderPart, context: Context) -> int | None:
    """Return the units wanted in all, filled units included; None while that is not known."""
    wanted = _form(look, part, context)
    if wanted is None:
        return None
    wanted = max(0, wanted - context.less) + given_back(look, part)
    filled = look.filled(part)
    if _is_standing(part):
        wanted += filled
    return wanted if context.guard is None else min(wanted, filled + max(0, context.guard))


def final_target(part: OrderPart, context: Context) -> bool:
    """Whether the target can no longer grow."""
    if (isinstance(part.execution, Ladder) and part.execution.restore) or _is_standing(part):
        return False
    if isinstance(part.quantity, Share):
        return context.entry_done
    return context.base_done or not isinstance(part.quantity, FromFill)


def _is_standing(part: OrderPart) -> bool:
    return isinstance(part.execution, TopUp) and part.execution.standing


def given_back(look: Look, part: OrderPart, rung: int | None = None) -> int:
    """Return the filled units of the orders that the fills of a restoring ladder (or of one rung) made. These units are sent again."""
    link = part.each_fill
    if not isinstance(part.execution, Ladder) or not part.execution.restore or not isinstance(link, OrderPart):
        return 0
    own = {leg.leg_id for leg in look.legs(part) if rung in (None, leg.piece)}
    keys = {made.key for made in look.record(link).made if made.leg_id in own}
    return sum(leg.filled for leg in look.legs(link) if leg.instance in keys)


def _form(look: Look, part: OrderPart, context: Context) -> int | None:
    record, form = look.record(part), part.quantity
    match form:
        case Units():
            return record.quantity if record.quantity is not None else form.quantity
        case Share():
            if record.quantity is not None or context.share is not None:
                return record.quantity if record.quantity is not None else context.share
            return _share_alone(look, part, form, context)
        case FromFill():
            return from_fill(look, part, form, context)
        case FromPosition():
            return None if record.rows is None else sum(row.units for row in record.rows)
        case FromExposure():
            return record.quantity
        case _:
            assert_never(form)


def _share_alone(look: Look, part: OrderPart, form: Share, context: Context) -> int:
    """Return the units of a share that has no siblings, as in a sequence."""
    units = form.of if form.of is not None else (0 if context.entry is None else look.filled(context.entry))
    return max(0, shared(units, [form.share], look.terms(part))[0] - look.record(part).taken_by_caller)


def from_fill(look: Look, part: OrderPart, form: FromFill, context: Context) -> int:
    """Return the cumulative target, worked out from the fills of the part it hangs on."""
    if context.base is None:
        return 0
    filled = look.kept(context.base)
    same = all(order.instrument_id == part.instrument_id for order in own_orders_of(context.base))
    if same and form.ratio == 1:
        wanted = filled  # an odd fill is closed as it is
    else:
        wanted = rounded_lots(filled * form.ratio, look.terms(part).lot, form.rounding)
    limits = [limit for limit in (form.most, look.record(part).quantity) if limit is not None]
    return max(0, min([wanted, *limits]) - look.record(part).taken_by_caller)
