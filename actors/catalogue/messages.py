"""The messages of the catalogue actor, including those it sends to itself."""

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
    """Build today's mapping now, or join the running build. Refused with BuildFailed."""

    reply: Reply[BuildReport]


@attrs.frozen
class GetSnapshot:
    """Ask for the latest mapping on or before `day`; None when nothing had been mapped by then."""

    day: date
    reply: Reply[Snapshot | None]


# From itself.


@attrs.frozen
class Look:
    """Time has passed: build if a build is due, and publish the present state."""


@attrs.frozen(kw_only=True)
class BuildDone:
    """A build has ended: its report, and the mapped file if it wrote one."""

    day: date
    report: BuildReport | BuildFailed
    snapshot: TableSnapshot | None


CatalogueMessage: TypeAlias = BuildNow | GetSnapshot | Look | BuildDone
