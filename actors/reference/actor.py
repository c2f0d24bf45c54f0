"""The reference actor: keeps the users', brokers' and exchanges' documents ready to be served (rules 1.4.3).

Once a minute, and after an import by the command line, it reads the durable store, copies it to the fast store
(`reference:<collection>`) and publishes the documents. When the durable store cannot be read, the known documents stay; at the start
these are the fast copy. No request ever waits for a read.
The sessions keep the brokers' own profiles in the fast store and nowhere else. The actor gathers them every few seconds; all profiles are
unavailable while that store is (rules 1.2.6).
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import msgspec
import trio

from onebroker.actors.kernel.mailbox import Mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.reference.messages import ReferenceMessage, Reload
from onebroker.actors.reference.state import (
    COLLECTIONS,
    Documents,
    ReferenceState,
    join_documents,
    join_profiles,
    read_array,
)
from onebroker.actors.store import keys
from onebroker.actors.store.durable import Collection, Durable, DurableError
from onebroker.actors.store.interface import Set, Store, StoreError, why_away
from onebroker.config.calendars import DocumentCalendar
from onebroker.config.clock import Clock
from onebroker.config.converters import StructureError
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.refusal import Refusal

COPY_SECONDS = 60.0
"""Seconds between two copies of the durable documents (rules 1.4.3)."""
PROFILE_SECONDS = 5.0
"""Seconds between two reads of the stored profiles; the sessions ask the brokers at their own pace."""
AWAITED_SECONDS = 1.0
"""Seconds between two reads while a broker in service has no profile yet, so that a first login shows soon."""
FAST_SECONDS = 2.0
"""How long the fast store may take before it counts as away."""

_log = logging.getLogger("onebroker.reference")


class ReferenceActor:
    """Owns the published documents. `codes` are the keys of `broker_profiles`; `in_service` are the codes that may have a profile."""

    def __init__(
        self,
        mailbox: Mailbox[ReferenceMessage],
        *,
        store: Store,
        durable: Durable,
        clock: Clock,
        codes: Sequence[str],
        in_service: Sequence[str],
        published: Published[ReferenceState],
        calendar: DocumentCalendar | None = None,
    ) -> None:
        """`calendar` follows the exchange documents from now on; None when they are not its source."""
        self._mailbox = mailbox
        self._store = store
        self._durable = durable
        self._clock = clock
        self._codes = tuple(codes)
        self._in_service = frozenset(in_service)
        self._published = published
        self._calendar = calendar
        self._documents: dict[Collection, Documents] = {}
        self._profiles: bytes | None = None
        self._awaited = True
        """Whether a broker in service has no profile yet."""
        self._troubles: dict[str, str] = {}
        """Source that cannot be read or used now -> why."""
        self._copied = 0.0

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self._refresh()
        task_status.started()
        while True:
            message: ReferenceMessage | None = None
            with trio.move_on_after(AWAITED_SECONDS if self._awaited else PROFILE_SECONDS):
                message = await self._mailbox.receive()
            match message:
                case Reload():
                    await self._reload(message)
                case None:
                    await self._refresh()
                case _:
                    assert_never(message)

    async def _reload(self, message: Reload) -> None:
        await self._read_documents()
        self._publish()
        if trouble := self._troubles.get("durable"):
            message.reply.refuse(Refusal(503, trouble))
        else:
            message.reply.answer(None)

    async def _refresh(self) -> None:
        if not self._documents or self._clock.monotonic() - self._copied >= COPY_SECONDS:
            await self._read_documents()
        await self._read_profiles()
        self._publish()

    def _publish(self) -> None:
        trouble = "; ".join(self._troubles.values()) or None
        state = ReferenceState(documents=dict(self._documents), profiles=self._profiles, trouble=trouble)
        if state != self._published.value:
            self._published.set(state)

    # Documents

    async def _read_documents(self) -> None:
        self._copied = self._clock.monotonic()
        troubles = [await self._read_collection(collection) for collection in COLLECTIONS]
        self._settle("durable", next((trouble for trouble in troubles if trouble is not None), None))

    async def _read_collection(self, collection: Collection) -> str | None:
        """Take over the stored documents; return why the durable store could not be read, None when it was."""
        found, trouble = await self._from_durable(collection)
        if found is not None:
            await self._copy(collection, found)
        elif collection not in self._documents:
            found = await self._from_copy(collection)
        if found is not None and found != self._documents.get(collection):
            self._documents[collection] = found
            if collection == "exchanges":
                self._follow(found)
        return trouble

    async def _from_durable(self, collection: Collection) -> tuple[Documents | None, str | None]:
        try:
            found = join_documents(await self._durable.documents(collection))
        except DurableError as error:
            return None, f"the durable store could not be read: {error}"
        return found, None if found is not None else f"the durable store's {collection} are unreadable"

    async def _from_copy(self, collection: Collection) -> Documents | None:
        """Return the fast copy; None when it is missing, unreachable or unreadable."""
        try:
            with trio.fail_after(FAST_SECONDS):
                body = await self._store.get(keys.reference(collection))
        except (StoreError, trio.TooSlowError):
            return None
        return None if body is None else read_array(body)

    async def _copy(self, collection: Collection, found: Documents) -> None:
        """Update the fast copy; a copy that is already equal is not written again."""
        key = keys.reference(collection)
        try:
            with trio.fail_after(FAST_SECONDS):
                if await self._store.get(key) != found.body:
                    await self._store.write(Set(key, found.body))
        except (StoreError, trio.TooSlowError) as error:
            # The next minute's copy writes it; until then the caller that misses it reads the durable store.
            _log.warning("the fast copy of the %s could not be written: %s", collection, why_away(error, FAST_SECONDS))

    def _follow(self, exchanges: Documents) -> None:
        """Make the calendar follow the imported documents; when there are none, the documents that come with onebroker."""
        if self._calendar is None:
            return
        documents: list[Mapping[str, Any]] = msgspec.json.decode(exchanges.body)
        try:
            self._calendar.follow(documents or exchange_documents())
        except StructureError as error:
            self._settle("calendar", f"the calendar stays as it was, because an exchange document is wrong: {error}")
        else:
            self._settle("calendar", None)

    # Profiles

    async def _read_profiles(self) -> None:
        stored: dict[str, bytes | None] = dict.fromkeys(self._codes)
        try:
            with trio.fail_after(FAST_SECONDS):
                for code in self._codes:
                    if code in self._in_service:
                        stored[code] = await self._store.get(keys.broker_profile(code))
        except (StoreError, trio.TooSlowError) as error:
            self._profiles = None
            self._settle("profiles", f"broker profiles could not be read: {why_away(error, FAST_SECONDS)}")
            return
        self._settle("profiles", None)
        self._profiles = join_profiles(stored)
        self._awaited = any(stored[code] is None for code in self._in_service)

    def _settle(self, what: str, trouble: str | None) -> None:
        """Note a trouble, or that there is none; log it when it begins or changes."""
        if trouble is None:
            self._troubles.pop(what, None)
            return
        if self._troubles.get(what) != trouble:
            _log.warning("%s", trouble)
        self._troubles[what] = trouble
