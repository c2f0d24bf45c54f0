"""The leg index: which engine parent an order of a broker's book belongs to (order-engine 2.3, 2.4)."""

from typing import Protocol

import attrs


@attrs.frozen(kw_only=True)
class LegOwner:
    """The engine columns of an order or trade row (spec 2 §2.2), and the caller's own tag."""

    parent_id: str
    leg_id: str
    synthetic_type: str
    intent_id: str
    leg_role: str
    tag: str | None
    """The tag the caller gave; shown in place of the engine's token."""


class LegIndex(Protocol):
    @property
    def version(self) -> int:
        """Grows with every change, so that readers know when to look again."""

    def owner(self, broker: str, order_id: str, tag: str | None) -> LegOwner | None:
        """Find by token first, then by today's order id; a token is compared without case and must be ours alone."""
