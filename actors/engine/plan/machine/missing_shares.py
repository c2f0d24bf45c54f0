"""Shares that have left a broker's holdings over night without a sale (order-engine 1.13, 4.11). Pure.

Some brokers build their holdings anew in the morning, and leave a row out for minutes. The exit of these shares would find nothing to sell, and would end
for good; the shares come back and nothing guards them. So units that a plan guarded on an earlier day have not gone because the holdings of today lack
them: a sale of today explains that, or the end of the day, which no late row outlasts. Until then the exit stays as it is, and the missing units are told.

Doubt: shares that were transferred, or sold while the service did not run, are looked for until the market closes. An exit that is sent meanwhile is
refused by the broker, since there is no short in delivery.
"""

from onebroker.actors.engine.plan.machine.leg_actions import Leg
from onebroker.actors.engine.plan.machine.look import Look, side_of
from onebroker.actors.engine.plan.parts import OrderPart
from onebroker.config.clock import from_epoch
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Product, Side


def believed(
    look: Look, part: OrderPart, order: OrderPart | None, broker: str | None, *, units: int, gone: int, before: int
) -> int:
    """Return how many of the guarded `units` have gone, of which `gone` are not held any more; `before` had gone when that was last noted. `part`: whose record says
    since when units are missing; `order`: one of the orders that close them, if there is one."""
    record = look.record(part)
    known = gone
    if order is not None and gone > before and _is_from_earlier_day(look, part, order):
        known = max(before, min(gone, look.market.sold_from_holdings(broker, order.instrument_id)))
    if known == gone:
        if record.missing_since is not None:
            look.note(part, missing_since=None)
        return gone
    since = look.now if record.missing_since is None else record.missing_since
    session = look.session(part, since)
    if session is not None and look.now >= session.closes:
        return gone
    if record.missing_since is None:
        look.note(part, missing_since=since)
    if session is not None:
        look.wake(session.closes)
    if record.own is None or order is not part:
        look.untold.add(texts.holds_less(broker or "the account", units - gone, units))
    return known


def is_delivery_sale(order: OrderPart) -> bool:
    """Whether an order sells shares out of a delivery account, where nothing can be short."""
    return order.product == Product.CNC and side_of(order) is Side.SELL


def ended_unseen(look: Look, part: OrderPart) -> list[Leg]:
    """Return the part's orders of which nobody knows what they filled last, where that bounds the next one (K15). Not of an exit of delivery shares: the
    holdings, and the broker itself, bound it anyway, and a row that comes late must not end it. Nor of an exit that goes to whoever holds its units: it
    is for what each of them shows."""
    goes_to_holders = part.broker is None and not part.known_exit
    if part.is_exit and (goes_to_holders or is_delivery_sale(part)):
        return []
    return [leg for leg in look.legs(part) if leg.fills_unknown]


def _is_from_earlier_day(look: Look, part: OrderPart, order: OrderPart) -> bool:
    due_at = look.record(part).due_at
    return is_delivery_sale(order) and due_at is not None and from_epoch(due_at).date() < from_epoch(look.now).date()
