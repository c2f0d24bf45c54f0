"""The receivers over Apprise. This is the only module that imports it; it is imported only where `alerts.to` is set.

A URL of Apprise holds passwords and tokens. It stays inside `_Channel`: no repr, log line, error or health shows a part of it but the scheme.
Apprise's own log is closed, because its finer levels write addresses; what it says of a failed try is returned, without the URL's parts.
"""

import hashlib
import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from urllib.parse import unquote, urlsplit

import trio

from onebroker.actors.alerts.receiver import Receiver
from onebroker.config.converters import Secret
from onebroker.config.settings import SettingsError

INSTALL = "pip install 'onebroker[alerts]'"
_LOGS = ("apprise", "urllib3", "requests", "paho", "gntp", "slixmpp")
"""The loggers of Apprise, and of the libraries with which it sends."""
_LEAST_HIDDEN = 3
"""Parts of a URL that are shorter are not taken out of a sentence: they are ordinary words, and no secrets."""
MOST_WORDS = 300


def open_receivers(urls: Sequence[Secret]) -> tuple[Receiver, ...]:
    """Return the receivers of these URLs. Raises SettingsError where Apprise is missing, or cannot read a URL; it names the URL's place and scheme."""
    if not urls:
        return ()
    try:
        import apprise  # an extra: most services do without it
    except ImportError:
        raise SettingsError(f"alerts.to needs the package Apprise, which is not installed: {INSTALL}") from None
    for name in _LOGS:
        _close(logging.getLogger(name))
    wrong: list[str] = []
    receivers: list[Receiver] = []
    for number, url in enumerate(urls, 1):
        channel = apprise.Apprise()
        if not _added(channel, url.reveal()):
            wrong.append(
                f"alerts.to[{number - 1}] ({_scheme(url)}) is no URL that Apprise can read: see docs/alerts.md"
            )
            continue
        send = partial(_send, _Channel(channel, url), trio.CapacityLimiter(1))
        receivers.append(Receiver(number=number, scheme=_scheme(url), name=_fingerprint(url), send=send))
    if wrong:
        raise SettingsError(*wrong)
    return tuple(receivers)


class _Channel:
    """One receiver's Apprise, used by one thread at a time."""

    def __init__(self, channel: "object", url: Secret) -> None:
        self._channel = channel
        self._hidden = tuple(_parts(url.reveal()))

    def __repr__(self) -> str:
        return "_Channel(***)"

    def notify(self, title: str, body: str) -> str | None:
        """Send; return None, or why it was not taken. Called in a thread."""
        try:
            result = self._channel.notify(body=body, title=title, body_format="text")  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001  # a plugin of Apprise may raise anything, also with the URL in its text
            return self._shown(f"{type(error).__name__}: {error}")
        if result:
            return None
        said = [entry.message for entry in result.logs()]
        return self._shown("; ".join(dict.fromkeys(said))) or "the receiver did not take it"

    def _shown(self, words: str) -> str:
        for part in self._hidden:
            words = words.replace(part, "***")
        return " ".join(words.split())[:MOST_WORDS]


async def _send(channel: _Channel, limiter: trio.CapacityLimiter, title: str, body: str) -> str | None:
    """Send in a thread. A thread that hangs is left alone when the time is over; until it ends, this receiver gets no other thread."""
    return await trio.to_thread.run_sync(channel.notify, title, body, abandon_on_cancel=True, limiter=limiter)


def _added(channel: "object", url: str) -> bool:
    try:
        with (
            warnings.catch_warnings()
        ):  # the first URL loads all plugins, some of which still import what Python will drop
            warnings.simplefilter("ignore", DeprecationWarning)
            return bool(channel.add(url))  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001  # its text may hold the URL
        return False


def _close(log: logging.Logger) -> None:
    log.propagate = False
    log.handlers = [logging.NullHandler()]


def _scheme(url: Secret) -> str:
    return url.reveal().partition("://")[0].lower()


def _fingerprint(url: Secret) -> str:
    return hashlib.sha256(url.reveal().encode()).hexdigest()[:16]


def _parts(url: str) -> Iterator[str]:
    """Yield every part of a URL but its scheme, the longest first: as written, and decoded."""
    found = {part for part in _written(url) for part in (part, unquote(part)) if len(part) >= _LEAST_HIDDEN}
    yield from sorted(found, key=len, reverse=True)


def _written(url: str) -> Iterable[str]:
    rest = url.partition("://")[2]
    yield rest
    yield from re.split(r"[/?&=@:;,]+", rest)
    try:
        yield urlsplit(url).netloc
    except ValueError:  # not every URL of Apprise is one of the standard's
        return
