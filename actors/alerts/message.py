"""A message: what the receivers get, as the outbox keeps it and as the durable store holds it. Pure."""

import uuid
from collections.abc import Sequence

import msgspec

from onebroker.actors.alerts.news import News
from onebroker.config.clock import from_epoch

MOST_LISTED = 40
"""Titles that the message of the quiet hours lists; of further ones it tells the number."""
QUIET_KEY = "quiet"
"""The window of the message that gathers what waits for the end of the quiet hours."""
QUIET_KIND = "quiet"


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message. A frozen value: news that are added to it, and a receiver that has taken it, make a new one."""

    message_id: str
    key: str
    """The window that it belongs to (`News.key`), or `QUIET_KEY`."""
    kind: str
    title: str
    """Of the last news."""
    lines: tuple[str, ...]
    """Of the last news."""
    count: int
    """How many news it tells."""
    first_at: float
    """Epoch seconds of the first news."""
    last_at: float
    due_at: float
    """Epoch seconds before which it is not sent."""
    titles: tuple[str, ...] = ()
    """Of the quiet hours: the title of each news with its time, at most `MOST_LISTED`."""
    waiting: frozenset[str] = frozenset()
    """The receivers (`Receiver.name`) that have not taken it."""

    @property
    def is_quiet(self) -> bool:
        return self.key == QUIET_KEY

    def with_news(self, news: Sequence[News]) -> "Message":
        """Return the message with further news, oldest first. News that came later are told with their words, the others are counted."""
        last = news[-1]
        room = max(0, MOST_LISTED - len(self.titles)) if self.is_quiet else 0
        return msgspec.structs.replace(
            self,
            title=last.title,
            lines=last.lines,
            count=self.count + len(news),
            last_at=last.at,
            titles=self.titles + tuple(_listed(each) for each in news[:room]),
        )

    @property
    def shown_title(self) -> str:
        if self.is_quiet:
            return f"onebroker: {self.count} in the quiet hours"
        return (
            f"onebroker: {self.title}"
            if self.count == 1
            else f"onebroker: {self.count} times {self.kind}, last: {self.title}"
        )

    @property
    def shown_body(self) -> str:
        """Return the text: what happened, when (IST), and the message's id, by which a person sees a duplicate."""
        if self.is_quiet:
            more = self.count - len(self.titles)
            lines = (*self.titles, *([f"and {more} more"] if more else ()))
        elif self.count == 1:
            lines = (*self.lines, f"at {_time(self.last_at)} IST")
        else:
            lines = (
                f"{self.count} times from {_time(self.first_at)} to {_time(self.last_at)} IST. The last:",
                *self.lines,
            )
        return "\n".join((*lines, f"message {self.message_id}"))


def new_message(news: Sequence[News], *, due_at: float, waiting: frozenset[str], quiet: bool = False) -> Message:
    """Return a message of these news (at least one, oldest first)."""
    last = news[-1]
    return Message(
        message_id=uuid.uuid4().hex[:12],
        key=QUIET_KEY if quiet else last.key,
        kind=QUIET_KIND if quiet else last.kind.value,
        title=last.title,
        lines=last.lines,
        count=len(news),
        first_at=news[0].at,
        last_at=last.at,
        due_at=due_at,
        titles=tuple(_listed(each) for each in news[:MOST_LISTED]) if quiet else (),
        waiting=waiting,
    )


def encode(message: Message) -> bytes:
    return msgspec.json.encode(message)


def decode(body: bytes) -> Message:
    """Return the message that `encode` wrote. Raises msgspec.MsgspecError for a body of another form."""
    return msgspec.json.decode(body, type=Message)


def _listed(news: News) -> str:
    return f"{_time(news.at)} {news.title}" + (f" - {news.lines[0]}" if news.lines else "")


def _time(at: float) -> str:
    return from_epoch(at).strftime("%d %b %H:%M:%S")
