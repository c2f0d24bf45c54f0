"""Requests from the routes to the desk. Each is answered with a status and its body, and never refused."""

from typing import TypeAlias

import attrs

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.intake.desk_fields import Limits
from onebroker.actors.engine.orders.parent_records import LegChange
from onebroker.actors.kernel.mailbox import Reply
from onebroker.actors.store.durable import HaltMode


@attrs.frozen(kw_only=True)
class CancelOrder:
    """Cancel one order by the broker's own id (rules 2.4.5)."""

    order_id: str
    broker: str | None
    dry_run: bool
    routed: float
    """Monotonic seconds at which the request was read."""
    reply: Reply[EngineAnswer]


@attrs.frozen(kw_only=True)
class StopParent:
    """Cancel a whole parent, or one part of its plan (rules 2.4.5, 2.4.6)."""

    parent_id: str
    part: str | None
    dry_run: bool
    routed: float
    reply: Reply[EngineAnswer]


@attrs.frozen(kw_only=True)
class ModifyOrder:
    """Change one order by the broker's own id (rules 2.4.4)."""

    order_id: str
    broker: str | None
    change: LegChange
    dry_run: bool
    routed: float
    reply: Reply[EngineAnswer]

    @property
    def turn(self) -> str:
        """Changes with the same turn are worked one after the other."""
        return self.order_id


@attrs.frozen(kw_only=True)
class ModifyHeld:
    """Change a held order, or a part that has sent nothing (rules 2.4.4)."""

    parent_id: str
    part: str | None
    change: LegChange
    dry_run: bool
    routed: float
    reply: Reply[EngineAnswer]

    @property
    def turn(self) -> str:
        return self.parent_id


@attrs.frozen(kw_only=True)
class Flatten:
    """Cancel every order and close every position (rules 2.4.7), or those within limits (rules 2.10.6)."""

    limits: Limits | None = None
    """None = everything, everywhere."""
    skip_covered: bool = False
    """Whether delivery rows below zero that the holdings cover stay as they are."""
    dry_run: bool
    routed: float
    reply: Reply[EngineAnswer]


@attrs.frozen(kw_only=True)
class HaltTrading:
    """Stop trading by hand."""

    mode: HaltMode
    reason: str
    reply: Reply[EngineAnswer]


@attrs.frozen(kw_only=True)
class ResumeTrading:
    """Let trading go on after a halt."""

    reply: Reply[EngineAnswer]


DeskMessage: TypeAlias = CancelOrder | StopParent | ModifyOrder | ModifyHeld | Flatten | HaltTrading | ResumeTrading
