"""The leg index: it tells to which engine parent an order in a broker's book belongs (order-engine 2.3, 2.4)."""

from typing import Protocol

import msgspec

from onebroker.actors.store.interface import Store
from onebroker.brokers.records import OrderRow, TradeRow


class LegOwner(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The engine columns of an order or trade row (rules 2.2.2), and the caller's own tag."""

    parent_id: str
    leg_id: str
    synthetic_type: str
    intent_id: str
    leg_role: str
    tag: str | None
    """The caller's tag, shown in place of the engine's token."""
    entry_tag: str | None = None
    """The tag of the entry whose units the order closes, where it is another."""

    def has_tag(self, tag: str) -> bool:
        """Whether a close by this tag concerns the order."""
        return tag in (self.tag, self.entry_tag)


class LegIndex(Protocol):
    def version_of(self, broker: str) -> int:
        """Return a number that grows with every change of a broker's legs, so that readers know when to look again."""

    def owner(self, broker: str, order_id: str, tag: str | None) -> LegOwner | None:
        """Find the owner by token first, then by today's order id. A token is compared without case and must be ours alone."""

    def knows(self, row: OrderRow | TradeRow, broker: str) -> bool:
        """Tell whether nothing more can be learnt about a row's owner."""

    async def learn(self, store: Store, row: OrderRow | TradeRow, broker: str) -> bool:
        """Ask the store for the owner of the token that a row shows, or of its order id. False: the store could not be asked."""
