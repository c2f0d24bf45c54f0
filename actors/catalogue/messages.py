"""What the catalogue actor may be asked, and what it tells itself."""

from datetime import date
from typing import TypeAlias

import attrs

from onebroker.actors.catalogue.builder import BuildFailed
from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.catalogue.report import BuildReport
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.kernel.mailbox import Reply

# From routes and commands.


@attrs.frozen
class BuildNow:
    """Build today's mapping now; joins a build that runs. Refused with BuildFailed."""

    reply: Reply[BuildReport]


@attrs.frozen
class GetSnapshot:
    """Ask for the latest mapping on or before `day`; None when nothing had been mapped by then."""

    day: date
    reply: Reply[Snapshot | None]


# From itself.


@attrs.frozen
class Look:
    """Time has passed: build when that is due, and publish what now holds."""


@attrs.frozen(kw_only=True)
class BuildDone:
    """A build ended: with a report, and the mapped file when it wrote one."""

    day: date
    report: BuildReport | BuildFailed
    snapshot: TableSnapshot | None


CatalogueMessage: TypeAlias = BuildNow | GetSnapshot | Look | BuildDone
