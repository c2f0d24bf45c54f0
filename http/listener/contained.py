"""The last resort of one connection, as the supervisor is an actor's: its failure is logged, and ends neither listener nor neighbours."""

import logging
from collections.abc import Awaitable, Callable

_log = logging.getLogger(__name__)


async def contained(run: Callable[[], Awaitable[None]], what: str) -> None:
    """Run it; log `what` failed, with its traceback, and return."""
    try:
        await run()
    except Exception:  # noqa: BLE001  # what it is for
        _log.exception("%s failed", what)
    except BaseExceptionGroup as group:
        crash, rest = group.split(Exception)
        if crash is not None:
            _log.error("%s failed", what, exc_info=crash)
        if rest is not None:
            raise rest from None
