"""Asks the desk, and says what the desk's end or silence means for the caller (rules 2.4.4-2.4.7)."""

from collections.abc import Callable, Mapping
from typing import Any

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import DeskMessage
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome
from onebroker.http.services import OrderServices

BESIDE_BROKER_SECONDS = 11.0
"""Seconds that a cancel may take on top of the broker's own time: 5 s for room, and the hand-over from desk to parent to session."""
CHANGE_SECONDS = 14.0
"""The same for a change or a parent's cancel. This includes the time until a just-placed order appears, or until
another change is done. The wait for a starting engine is added to it (`change_seconds`)."""
FLATTEN_SECONDS = 180.0
"""A flatten takes up to 80 s, of which 40 are for an engine that is away. It may also wait for a flatten that is already running."""
HALT_SECONDS = 30.0
"""A halt waits for messages that are just leaving, and both halt and resume wait until SQLite has stored them."""


LATE = (shared.late("the desk did not answer in time"),)
"""An example of the sentence of a 504."""


def change_seconds(orders: OrderServices) -> float:
    """Return the seconds that a change or a parent's cancel may take on top of the broker's own time."""
    return CHANGE_SECONDS + orders.settings.engine_wait_seconds


async def ask_desk(
    orders: OrderServices,
    make: Callable[[Reply[EngineAnswer]], DeskMessage],
    named: Mapping[str, Any],
    *,
    dry_run: bool,
    beside_seconds: float,
) -> EngineAnswer:
    """Ask the desk, and wait `beside_seconds` longer than a broker may take. Once the message is in the desk's mailbox
    the outcome is unknown; the 504 then says so for the order or parent in `named`."""
    unknown = dict(named) if dry_run else {**named, "outcome": Outcome.UNKNOWN.value}
    try:
        return await orders.desk.ask(make, orders.settings.broker_timeout_seconds + beside_seconds)
    except ActorNotRunning as error:
        if not error.taken:
            raise
        raise Refusal(504, shared.stopped_before_answer(error.name), unknown) from error
    except AskTimedOut as error:
        if not error.queued:
            raise
        raise Refusal(504, shared.late(str(error)), unknown) from error
