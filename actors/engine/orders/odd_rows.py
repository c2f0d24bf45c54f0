"""Whether an unreadable row may be a certain leg's order. If it may, the row's book says nothing about that leg. Pure."""

from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.sessions.session_view import OddOrder


def may_be(leg: LegRecord, odd: OddOrder, legs: Legs, *, today: str, sent_after: float | None) -> bool:
    """Whether the row may be the leg's. It is not in three cases: at a broker that gives our tokens back it carries another tag or an empty
    one; its order id is another order's; or its broker showed that id before the leg was sent.

    `today` as `session_day`. `sent_after`: monotonic seconds before which the leg's message certainly had not left; None where not known.
    """
    if odd.tag is not None and leg.broker in legs.tagging:
        tag = odd.tag.lower()
        return tag != "" and (leg.token.startswith(tag) or leg.token in tag)
    if odd.order_id is None:
        return True
    if leg.order_id is not None and leg.session_day == today:
        return odd.order_id == leg.order_id
    owner = legs.entry(leg.broker, odd.order_id, None)
    if owner is not None:
        return owner.leg_id == leg.leg_id
    return sent_after is None or odd.since >= sent_after
