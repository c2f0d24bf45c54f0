"""A morning on which an exchange has moved the expiry of contracts, and some brokers have not taken it up: their files, and their names of what is
held, are yesterday's. The mapping is built as the service builds it, beside the mapping of the day before."""

from collections.abc import Callable, Collection
from datetime import date
from pathlib import Path
from typing import Any

import attrs

from onebroker.actors.catalogue.contract_renames import renames_of
from onebroker.actors.catalogue.interface import NONE_UNLISTED, CatalogueState
from onebroker.actors.catalogue.mapping_table import open_table, write_table
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.previous_mapping import Before
from onebroker.actors.catalogue.report import UnlistedJob
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.catalogue.unlisted import grow_unlisted, map_unlisted
from onebroker.actors.store.durable_history import Rename
from onebroker.brokers.simulator.host.inprocess import InProcessTransport
from onebroker.config.instruments import Identity
from tests.support.day import Day, drive


class Mappings:
    """The mappings of a day's brokers, built one after the other and kept in a folder."""

    def __init__(self, day: Day, folder: Path) -> None:
        self._day = day
        self._folder = folder
        self._written: list[tuple[date, Path]] = []
        """Date and path, newest first."""
        self._renames: tuple[Rename, ...] = ()

    async def build(self) -> CatalogueState:
        """Read all files and build the mapping of today. Return the state that the catalogue actor would publish."""
        today = self._day.clock.today()
        before = [(at, path) for at, path in self._written if at < today]
        witness = Before(before[0][1], today, [path for _, path in before[1:]]) if before else None
        path = self._folder / f"{today}-{len(self._written)}"
        frames = {code: await self._frame(code) for code in self._day.codes}
        write_table(merge(frames, witness)[0], path)
        self._written.insert(0, (today, path))
        if witness is not None:
            self._renames = (*self._renames, *renames_of(witness.adjustments(open_table(path)), today))
        latest = TableSnapshot(open_table(path), today)
        return CatalogueState(
            latest=latest, published_today=True, reason="", renames=self._renames, unlisted=self._unlisted(path, before)
        )

    def _unlisted(self, path: Path, before: list[tuple[date, Path]]) -> Any:
        output = path.with_name(f"{path.name}-unlisted")
        earlier = [(at.isoformat(), str(one)) for at, one in before]
        job = UnlistedJob(output=str(output), earlier=earlier, look_through=True)
        report = grow_unlisted(job, path, self._day.clock.today())
        assert report.trouble is None
        return map_unlisted(output) if report.rows else NONE_UNLISTED

    async def _frame(self, code: str) -> Any:
        handle = self._day.services[code]
        access = attrs.evolve(handle.access, login=None)
        async with InProcessTransport(self._day.simulator) as transport:
            answers = await drive(handle.broker.instruments.file_requests(access, self._day.clock.now()), transport)
        return handle.broker.instruments.read_files([answer.body for answer in answers])

    async def publish(self) -> None:
        """Build, and publish what was built."""
        state = await self.build()
        assert isinstance(state.latest, TableSnapshot)
        self._day.snapshot = state.latest
        self._day.catalogue.set(state)


def move(day: Day, identity: Identity, new: date, late: Collection[str] = ()) -> None:
    """Move the expiry of a contract and of all others of its underlying with that expiry. The brokers in `late` go on with the old terms."""
    assert identity.underlying_symbol is not None
    assert identity.expiry_date is not None
    old = date.fromisoformat(identity.expiry_date)
    names = day.exchange.move_expiry(identity.exchange, identity.underlying_symbol, old, new)
    new_ids = frozenset(names.values())
    for code in late:
        listed: Any = day.simulator.gateways[code].dialect
        _say_old_terms(listed._names, new_ids, identity.expiry_date)


def take_up(day: Day, code: str) -> None:
    """Let a late broker take up the new terms."""
    listed: Any = day.simulator.gateways[code].dialect
    listed._names._name_of = listed._names.name_of_now
    listed._names._contracts = ()


def _say_old_terms(names: Any, new_ids: Collection[str], expiry: str) -> None:
    own: Callable[[Any], Any] = names._name_of

    def late(contract: Any) -> Any:
        if contract.instrument_id not in new_ids:
            return own(contract)
        return own(attrs.evolve(contract, identity=attrs.evolve(contract.identity, expiry_date=expiry)))

    names._name_of, names.name_of_now = late, own
    names._contracts = ()
