"""An audit in a test: its blocking work is done in place, so that it can run on a mocked clock."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import trio

from onebroker.actors.audit.reading import BEGIN, lines_from

T = TypeVar("T")


async def at_once(work: Callable[[], T]) -> T:
    """Do the work of a worker thread here and now."""
    await trio.lowlevel.checkpoint()
    return work()


def audited(folder: Path) -> list[Mapping[str, Any]]:
    """Return every whole line of the audit in `folder`, oldest first."""
    return [msgspec.json.decode(raw) for _, raw, line in lines_from(folder, BEGIN) if line is not None]
