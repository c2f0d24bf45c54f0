"""The durable store in memory, for tests under a mocked clock."""

from collections.abc import Collection as Ids
from collections.abc import Mapping, Sequence
from datetime import date

import trio

from onebroker.actors.store import durable_history
from onebroker.actors.store.durable import AccessToken, CatalogueFile, Collection, DurableError, EngineCount, Halt
from onebroker.actors.store.durable_history import DailyLoad, Factor, Rename
from onebroker.actors.store.merge_result import Merged
from onebroker.config.instruments import Identity


class MemoryDurable:
    """Implements `Durable` in memory, for tests under a mocked clock; `fail_with` makes every call fail until `come_back`."""

    def __init__(self) -> None:
        self._token: AccessToken | None = None
        self._documents: dict[Collection, tuple[bytes, ...]] = {}
        self._files: dict[date, CatalogueFile] = {}
        self._factors: dict[tuple[str, date, str], Factor] = {}
        self._renames: dict[tuple[str, date], Rename] = {}
        self._instruments: dict[str, Identity] = {}
        self._daily: dict[str, DailyLoad] = {}
        self._count: EngineCount | None = None
        self._halt: Halt | None = None
        self._parts: dict[str, list[tuple[float, bytes]]] = {}
        self._alerts: dict[str, bytes] = {}
        self._away: DurableError | None = None

    def fail_with(self, error: DurableError) -> None:
        self._away = error

    def come_back(self) -> None:
        self._away = None

    async def access_token(self) -> AccessToken | None:
        await self._contact()
        return self._token

    async def put_access_token(self, token: AccessToken) -> None:
        await self._contact()
        self._token = token

    async def documents(self, collection: Collection) -> tuple[bytes, ...]:
        await self._contact()
        return self._documents.get(collection, ())

    async def replace_documents(self, collection: Collection, documents: Sequence[bytes]) -> None:
        await self._contact()
        self._documents[collection] = tuple(documents)

    async def catalogue_files(self) -> tuple[CatalogueFile, ...]:
        await self._contact()
        return tuple(sorted(self._files.values(), key=lambda file: file.mapping_date, reverse=True))

    async def put_catalogue_file(self, file: CatalogueFile) -> None:
        await self._contact()
        self._files[file.mapping_date] = file

    async def factors(self, instrument_id: str | None) -> tuple[Factor, ...]:
        await self._contact()
        return tuple(
            factor for _, factor in sorted(self._factors.items()) if instrument_id in (None, factor.instrument_id)
        )

    async def put_factors(self, factors: Sequence[Factor]) -> Merged:
        await self._contact()
        found: list[Factor | None] = []
        for factor in factors:
            found.append(self._factors.get(factor.key))
            self._factors[factor.key] = factor
        return durable_history.merged_counts(found, factors)

    async def renames(self) -> tuple[Rename, ...]:
        await self._contact()
        return tuple(sorted(self._renames.values(), key=lambda rename: (rename.from_day, rename.old_id)))

    async def put_renames(self, renames: Sequence[Rename]) -> None:
        await self._contact()
        self._renames.update({(rename.old_id, rename.from_day): rename for rename in renames})

    async def forget_rename(self, old_id: str, from_day: date) -> bool:
        await self._contact()
        return self._renames.pop((old_id, from_day), None) is not None

    async def history_instrument(self, instrument_id: str) -> Identity | None:
        await self._contact()
        return self._instruments.get(instrument_id)

    async def put_history_instruments(self, identities: Sequence[Identity]) -> None:
        await self._contact()
        self._instruments.update({identity.instrument_id: identity for identity in identities})

    async def daily_loads(self) -> tuple[DailyLoad, ...]:
        await self._contact()
        return tuple(load for _, load in sorted(self._daily.items()))

    async def put_daily_load(self, load: DailyLoad) -> None:
        await self._contact()
        self._daily[load.market] = load

    async def halt(self) -> Halt | None:
        await self._contact()
        return self._halt

    async def put_halt(self, halt: Halt | None) -> None:
        await self._contact()
        self._halt = halt

    async def engine_count(self) -> EngineCount | None:
        await self._contact()
        return self._count

    async def put_engine_count(self, count: EngineCount) -> None:
        await self._contact()
        self._count = count

    async def backfill_parts(self, backfill: str) -> tuple[bytes, ...]:
        await self._contact()
        return tuple(body for _, body in self._parts.get(backfill, ()))

    async def add_backfill_part(self, backfill: str, put_at: float, body: bytes) -> None:
        await self._contact()
        self._parts.setdefault(backfill, []).append((put_at, body))

    async def forget_backfill(self, backfill: str, before: float) -> None:
        await self._contact()
        self._parts = {
            name: kept
            for name, parts in self._parts.items()
            if name != backfill and (kept := [part for part in parts if part[0] >= before])
        }

    async def alert_messages(self) -> tuple[bytes, ...]:
        await self._contact()
        return tuple(body for _, body in sorted(self._alerts.items()))

    async def write_alert_messages(self, put: Mapping[str, bytes], forget: Ids[str]) -> None:
        await self._contact()
        kept = {name: body for name, body in self._alerts.items() if name not in forget}
        self._alerts = {**kept, **put}

    async def _contact(self) -> None:
        await trio.lowlevel.checkpoint()
        if self._away is not None:
            raise self._away
