"""Encryption of secrets in the stores: broker logins and the access token, by the keys of `[secrets]`.

A sealed value is `fernet:` and a Fernet token of the package cryptography (AES-128-CBC, HMAC-SHA256). The first key seals, every key opens, so
that keys can be changed one after the other. Without keys values are stored as they are. A plain value opens with keys too, because it was
stored before there were any. `cryptography` is imported only where there are keys.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

_log = logging.getLogger("onebroker.store")

_MARK = b"fernet:"
NO_KEY = "there is no key in the settings"
WRONG_KEY = "no key of the settings opens it"
ADVICE = "give the key file of before as secrets.key_file and start again"


class SealLocked(Exception):
    """A stored value is encrypted, and the settings hold no key that opens it. The text says which of both cases it is."""


class Seal:
    """Seals and opens stored values. It remembers which values it could not open, until they are opened or written anew."""

    def __init__(self, keys: Sequence[str] = ()) -> None:
        """`keys`: Fernet keys, the newest first; empty = nothing is encrypted. Raises ValueError for a text that is no key."""
        self._fernets = _fernets(keys)
        self._locked: dict[str, str] = {}
        self.found_plain = False
        """Whether a value was found that was stored before there were keys. The files of a store may hold its text for a while."""

    @property
    def locked(self) -> Mapping[str, str]:
        """Name of each stored value that could not be opened -> why."""
        return self._locked

    def seal(self, name: str, body: bytes) -> bytes:
        """Return what is to be stored under `name`, a key of the store or a column. The value that is there is given up."""
        self._locked.pop(name, None)
        return _MARK + self._fernets[0].encrypt(body) if self._fernets else body

    def open(self, name: str, stored: bytes) -> bytes:
        """Return the value that is stored under `name`. Raises SealLocked, and logs it at the first time."""
        if not stored.startswith(_MARK):
            self.found_plain = self.found_plain or bool(self._fernets)
            return stored
        for body in self._opened(stored):
            self._locked.pop(name, None)
            return body
        why = WRONG_KEY if self._fernets else NO_KEY
        if name not in self._locked:
            self._locked[name] = why
            _log.error("%s is stored encrypted, and %s: it counts as not there; %s", name, why, ADVICE)
        raise SealLocked(why)

    def is_newest(self, stored: bytes) -> bool:
        """Tell whether a value is stored as `seal` would store it now: with the newest key, or plain without keys."""
        if not self._fernets:
            return True
        return stored.startswith(_MARK) and next(self._opened(stored, keys=1), None) is not None

    def _opened(self, stored: bytes, keys: int | None = None) -> Iterator[bytes]:
        if not self._fernets:
            return
        from cryptography.fernet import InvalidToken

        for fernet in self._fernets[:keys]:
            try:
                yield fernet.decrypt(stored.removeprefix(_MARK))
            except InvalidToken:
                continue


def _fernets(keys: Sequence[str]) -> "tuple[Fernet, ...]":
    if not keys:
        return ()
    from cryptography.fernet import Fernet

    return tuple(Fernet(key) for key in keys)


def new_key() -> str:
    """Return a new random key."""
    from cryptography.fernet import Fernet

    return Fernet.generate_key().decode()
