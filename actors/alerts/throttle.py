"""Decides which message carries a news, and when: one message of a kind and subject in five minutes, and none that can wait in quiet hours. Pure.

The first news of a window leaves at once. The news of the next five minutes gather in one message, which leaves at the window's end and opens
the next window. So every news is in exactly one message, and two messages of one window are at least five minutes apart. A window whose
message has left is not stored: after a restart the next news leaves at once.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, time

import attrs

from onebroker.actors.alerts.message import QUIET_KEY, Message, new_message
from onebroker.actors.alerts.news import News
from onebroker.config.clock import from_epoch, next_time_of_day

WINDOW_SECONDS = 300.0
DAY_SECONDS = 86_400.0


@attrs.frozen(kw_only=True)
class QuietHours:
    """The time of the day (IST) in which only urgent kinds leave. Both None: there is none."""

    begins: time | None = None
    ends: time | None = None

    def end(self, at: float) -> float | None:
        """Return when the quiet hours end that hold at `at` (both epoch seconds); None when none hold."""
        if self.begins is None or self.ends is None:
            return None
        now = from_epoch(at)
        return next_time_of_day(now, self.ends).timestamp() if self._holds(now) else None

    def _holds(self, now: datetime) -> bool:
        begins, ends, here = self.begins, self.ends, now.time()
        if begins is None or ends is None:
            return False
        return begins <= here < ends if begins < ends else here >= begins or here < ends


class Throttle:
    """The open windows, and the messages that gather news until their time comes."""

    def __init__(self, quiet: QuietHours, receivers: frozenset[str]) -> None:
        self._quiet = quiet
        self._receivers = receivers
        self._windows: dict[str, float] = {}
        """Key -> the end of its window, epoch seconds."""
        self._gathering: dict[str, Message] = {}
        """Key -> the message that gathers news until it is due."""

    def next_due_seconds(self, now: float) -> float:
        """Return the seconds until the next message that gathers may leave; infinity where none gathers."""
        return min((max(0.0, message.due_at - now) for message in self._gathering.values()), default=float("inf"))

    @property
    def gathered_ids(self) -> frozenset[str]:
        """The ids of the messages that wait for their time."""
        return frozenset(message.message_id for message in self._gathering.values())

    def take_over(self, message: Message, now: float) -> None:
        """Go on with a stored message after a restart: it gathers news until it is due, as before."""
        if not self._may_leave(message, now):
            self._gathering[message.key] = message
            self._windows[message.key] = message.due_at

    def step(self, news: Iterable[News], now: float) -> tuple[list[Message], list[Message]]:
        """Take in these news, oldest first. Return the messages that carry them, each in its last form, and the messages that leave now."""
        leaving = self._release(now)
        groups: dict[str, list[News]] = {}
        for one in news:
            groups.setdefault(self._place(one, now), []).append(one)
        carrying = [self._carry(key, group, now) for key, group in groups.items()]
        return carrying, [*leaving, *(message for message in carrying if message.key not in self._gathering)]

    def _release(self, now: float) -> list[Message]:
        """Return the messages that gather no more because they leave now, and open their next windows."""
        leaving = [message for message in self._gathering.values() if self._may_leave(message, now)]
        self._windows = {key: end for key, end in self._windows.items() if self._is_open(end, now)}
        for message in leaving:
            del self._gathering[message.key]
            if not message.is_quiet:
                self._windows[message.key] = now + WINDOW_SECONDS
        return leaving

    def _may_leave(self, message: Message, now: float) -> bool:
        """Tell whether a message's time has come. A clock that was set back holds it no longer than its window, or a day in quiet hours."""
        return not now < message.due_at <= now + (DAY_SECONDS if message.is_quiet else WINDOW_SECONDS)

    def _place(self, news: News, now: float) -> str:
        """Return the key of the message that a news goes into."""
        waits = (
            not news.is_urgent
            and news.key not in self._gathering
            and self._quiet.end(self._leaves(news.key, now)) is not None
        )
        return QUIET_KEY if waits else news.key

    def _leaves(self, key: str, now: float) -> float:
        """Return when a news of this window can leave, but for the quiet hours."""
        window = self._windows.get(key, now)
        return window if self._is_open(window, now) else now

    def _carry(self, key: str, news: Sequence[News], now: float) -> Message:
        """Return the message that carries these news, all of one key; remember it if it gathers more."""
        if key in self._gathering:
            message = self._gathering[key].with_news(news)
        elif key == QUIET_KEY:
            end = self._quiet.end(self._leaves(news[0].key, now))
            message = new_message(news, due_at=now if end is None else end, waiting=self._receivers, quiet=True)
        else:
            leaves = self._leaves(key, now)
            message = new_message(news, due_at=leaves, waiting=self._receivers)
            if leaves <= now:
                self._windows[key] = now + WINDOW_SECONDS
                return message
        self._gathering[key] = message
        return message

    @staticmethod
    def _is_open(end: float, now: float) -> bool:
        return now < end <= now + WINDOW_SECONDS
