"""Parts whose instrument is not in today's list of instruments, and parts in a contract that is over (order-engine 1.8). Pure.

A list loses an instrument for two reasons that look the same on that morning. The contract is over or the share delisted: then no order can
ever be sent. Or a broker's file was cut: then the instrument is back with the next list, and its position is as open as before. So a part
without its instrument does not end. It goes on with the last known tick, lot and sessions (`Market`), it says why nothing may happen, and
it ends as every part does, by its lifetime. Only the expiry day proves that a contract is over: the part then ends `expired`, whatever it
waits for. Nothing is closed, because the exchange has settled what was open.

Left alone: a part that closes the positions of several instruments (`square_off` of all). Its own instrument names only the plan.
"""

from onebroker.actors.engine.orders.part_state import Ending, PartState
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.parts import FromPosition, OrderPart
from onebroker.config.messages import plan_life as texts


def judge_standing(look: Look, part: OrderPart) -> None:
    """End a part in a contract that is over, and say that an open part's instrument is not listed."""
    record = look.record(part)
    if record.ending is not None or record.own is not None or _is_of_several(part):
        return
    standing = look.market.standing(part.instrument_id)
    if standing.ends_at is not None:
        look.wake(standing.ends_at)
        if look.now >= standing.ends_at:
            message = texts.contract_over(standing.name)
            look.note(part, ending=Ending(state=PartState.EXPIRED, message=message))
            return
    if standing.is_listed and record.status_message is None:
        return
    missing = texts.not_listed(standing.name)
    if not standing.is_listed:
        look.untold.add(missing)
        if record.status_message is None:
            look.note(part, status_message=missing)
    elif record.status_message == missing:
        look.note(part, status_message=None)


def _is_of_several(part: OrderPart) -> bool:
    form = part.quantity
    return isinstance(form, FromPosition) and form.instrument_ids != (part.instrument_id,)
