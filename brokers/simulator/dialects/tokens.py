"""The tokens that a dialect's login hands out: several kinds, each with its end, kept over a restart."""

import hashlib
from datetime import time
from enum import StrEnum

import msgspec

from onebroker.brokers.simulator.dialects.dialect import TokenStore
from onebroker.config.clock import Clock, next_time_of_day

ONE_TIME_SECONDS = 600.0
"""How long the code of a redirect is valid."""

_STORED = "tokens"
_COUNT = "count"


class Kind(StrEnum):
    """What a token is for. The value is also its name in the store."""

    ACCESS = "access"
    ONE_TIME = "one_time"
    REFRESH = "refresh"


class Tokens:
    """Durable: a restarted simulator still knows the tokens that it handed out."""

    def __init__(self, store: TokenStore, clock: Clock, seed: str, *, expiry: time, length: int) -> None:
        """`seed` makes this account's tokens its own. `expiry` is the Indian time of day at which they end. `length` is in characters."""
        self._store, self._clock, self._seed = store, clock, seed
        self._expiry, self._length = expiry, length
        stored = store.get(_STORED)
        self._count = 0
        """Number of tokens minted so far; it makes every token different."""
        self._ends: dict[str, dict[str, float]] = {kind: {} for kind in Kind}
        """Kind -> token -> epoch seconds of its end, in the order of minting."""
        if stored:
            held = msgspec.json.decode(stored, type=dict[str, int | dict[str, float]])
            for name, value in held.items():
                if isinstance(value, dict):
                    self._ends[name] = value
                else:
                    self._count = value

    def mint(self, kind: Kind, seconds: float | None = None) -> str:
        """Return a new token that is valid for `seconds`; None = until the daily expiry."""
        now = self._clock.epoch()
        daily = next_time_of_day(self._clock.now(), self._expiry).timestamp()
        self._count += 1
        token = hashlib.sha256(f"{self._seed}|{self._count}".encode()).hexdigest()[: self._length]
        live = {each: ends for each, ends in self._ends[kind].items() if ends > now}
        self._ends[kind] = {**live, token: daily if seconds is None else now + seconds}
        self._save()
        return token

    def newest(self, kind: Kind) -> str:
        """Return the live token minted last, or a new one if there is none."""
        now = self._clock.epoch()
        live = (token for token, ends in reversed(self._ends[kind].items()) if ends > now)
        return next(live, None) or self.mint(kind)

    def is_live(self, token: str) -> bool:
        """Tell whether an access token is live."""
        return self._ends[Kind.ACCESS].get(token, 0.0) > self._clock.epoch()

    def spend(self, kind: Kind, token: str) -> bool:
        """End a token. Tell whether it was live."""
        ends = self._ends[kind].pop(token, 0.0)
        self._save()
        return ends > self._clock.epoch()

    def forget(self, token: str) -> None:
        """End one access or refresh token."""
        self._ends[Kind.ACCESS].pop(token, None)
        self._ends[Kind.REFRESH].pop(token, None)
        self._save()

    def expire_all(self) -> None:
        """End every access token."""
        self._ends[Kind.ACCESS].clear()
        self._save()

    def _save(self) -> None:
        self._store.set(_STORED, msgspec.json.encode({_COUNT: self._count, **self._ends}).decode())
