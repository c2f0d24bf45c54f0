"""The last resort for one connection, as the supervisor is for an actor: its failure is logged, and ends neither the
listener nor other connections."""

import logging
from collections.abc import Awaitable, Callable

from onebroker.actors.kernel.panics import is_fault, panics_as_faults

_log = logging.getLogger(__name__)


async def contained(run: Callable[[], Awaitable[None]], what: str) -> None:
    """Run it; on a failure log that `what` failed, with the traceback, and return."""
    try:
        with panics_as_faults():
            await run()
    except Exception:  # noqa: BLE001  # what it is for
        _log.exception("%s failed", what)
    except BaseExceptionGroup as group:
        crash, rest = group.split(is_fault)
        if crash is not None:
            _log.error("%s failed", what, exc_info=crash)
        if rest is not None:
            raise rest from None
