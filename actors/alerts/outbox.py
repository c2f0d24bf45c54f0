"""The outbox: messages until every receiver has taken them, in memory and in the durable store.

A message is stored before it is sent, and removed after the last receiver has taken it. While the store is away, messages are kept in memory and
sent all the same. A message that a receiver took just before a kill is sent to it again: at least once, with the same id.
"""

import logging
from collections.abc import Callable, Iterable, Iterator

import attrs
import msgspec
import trio

from onebroker.actors.alerts.message import Message, decode, encode
from onebroker.actors.store.durable import Durable, DurableError

MOST_MESSAGES = 1_000
"""Messages that may wait; of more the oldest are given up."""
STORE_PATIENCE_SECONDS = 1.0
"""A message that could not be stored within this time is sent unstored: a slow disk must not hold an alarm."""
STORE_RETRY_SECONDS = 5.0

_log = logging.getLogger("onebroker.alerts")


@attrs.define
class Entry:
    """A message in the outbox."""

    message: Message
    since: float
    """Monotonic seconds when it came."""
    leaves: bool = False
    """Whether its time has come."""
    stored: Message | None = None
    """What the store holds of it."""
    tries: dict[str, int] = attrs.field(factory=dict)
    """Receiver -> failed tries since the start."""
    next_try: dict[str, float] = attrs.field(factory=dict)
    """Receiver -> monotonic seconds before which it is not tried again."""


class Outbox:
    """The messages. `changed` is called when something may have become sendable or has to be written."""

    def __init__(self, durable: Durable, changed: Callable[[], None]) -> None:
        self._durable = durable
        self._changed = changed
        self._entries: dict[str, Entry] = {}
        self._gone: set[str] = set()
        """Ids that the store may hold and should not."""
        self.trouble: str | None = None
        """Why the store could not be written or read; None = it could."""

    @property
    def entries(self) -> Iterable[Entry]:
        return self._entries.values()

    async def load(self) -> list[Message]:
        """Return the stored messages, once the store can be read. A stored message of another form is removed, and said."""
        while True:
            try:
                bodies = await self._durable.alert_messages()
            except DurableError as error:
                self._say(error)
                await trio.sleep(STORE_RETRY_SECONDS)
                continue
            self.trouble = None
            return list(self._take(bodies))

    def _take(self, bodies: Iterable[bytes]) -> Iterator[Message]:
        for body in bodies:
            try:
                message = decode(body)
            except msgspec.MsgspecError as error:
                _log.warning("a stored message of the alerts cannot be read: %s", error)
                continue
            if message.message_id not in self._entries:
                self._entries[message.message_id] = Entry(message=message, since=trio.current_time(), stored=message)
                yield message

    def put(self, message: Message) -> Entry:
        """Add a message, or replace it by its newer form."""
        entry = self._entries.get(message.message_id)
        if entry is None:
            entry = self._entries[message.message_id] = Entry(message=message, since=trio.current_time())
        entry.message = message
        self._changed()
        return entry

    def leave(self, message: Message) -> None:
        """The message's time has come."""
        self._entries[message.message_id].leaves = True
        self._changed()

    def took(self, entry: Entry, receiver: str) -> None:
        """A receiver has taken the message, or is not waited for any more."""
        waiting = entry.message.waiting - {receiver}
        entry.message = msgspec.structs.replace(entry.message, waiting=waiting)
        if not waiting:
            self.drop(entry)
        self._changed()

    def drop(self, entry: Entry) -> None:
        self._entries.pop(entry.message.message_id, None)
        self._gone.add(entry.message.message_id)
        self._changed()

    def surplus(self) -> list[Entry]:
        """Return the oldest messages of those that are too many."""
        return list(self._entries.values())[: max(0, len(self._entries) - MOST_MESSAGES)]

    def next_for(self, receiver: str, now: float) -> tuple[Entry | None, float]:
        """Return the message to send to a receiver now, the longest untried first, and the seconds until another may be tried."""
        best: Entry | None = None
        wait = float("inf")
        for entry in self._entries.values():  # oldest first
            if not entry.leaves or receiver not in entry.message.waiting:
                continue
            seconds = self._sendable_at(entry, receiver) - now
            if seconds > 0:
                wait = min(wait, seconds)
            elif receiver not in entry.tries:
                return entry, 0.0
            elif best is None or entry.tries[receiver] < best.tries[receiver]:
                best = entry
        return best, 0.0 if best is not None else wait

    @staticmethod
    def _sendable_at(entry: Entry, receiver: str) -> float:
        stored = entry.since if entry.stored is not None else entry.since + STORE_PATIENCE_SECONDS
        return max(stored, entry.next_try.get(receiver, entry.since))

    def is_waited_for(self, receiver: str) -> int:
        """Return how many messages the receiver has not taken though their time has come."""
        return sum(1 for entry in self._entries.values() if entry.leaves and receiver in entry.message.waiting)

    @property
    def needs_writing(self) -> bool:
        return bool(self._gone) or any(entry.stored is not entry.message for entry in self._entries.values())

    async def write(self) -> None:
        """Write what has changed, in one transaction. A store that cannot be written is said once and tried again at the next call."""
        changed = {name: entry.message for name, entry in self._entries.items() if entry.stored is not entry.message}
        gone = frozenset(self._gone)
        try:
            await self._durable.write_alert_messages({name: encode(message) for name, message in changed.items()}, gone)
        except DurableError as error:
            self._say(error)
            return
        self._gone -= gone
        for name, message in changed.items():
            if (entry := self._entries.get(name)) is not None:
                entry.stored = message
        if self.trouble is not None:
            self.trouble = None
            _log.info("the messages of the alerts are stored again")
        self._changed()

    def _say(self, error: DurableError) -> None:
        if self.trouble is None:
            _log.warning("the messages of the alerts cannot be stored, so they are kept in memory: %s", error)
        self.trouble = str(error)
