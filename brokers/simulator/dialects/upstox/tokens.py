"""What Upstox' login hands out: one-time codes, and access tokens that die at 03:30."""

import hashlib
from datetime import datetime, time, timedelta

import attrs
import msgspec

from onebroker.brokers.simulator.dialect import TokenStore
from onebroker.config.clock import IST, Clock

_STORED = "tokens"
_EXPIRY = time(3, 30)
_ONE_TIME_SECONDS = 600.0


@attrs.define
class _State:
    count: int = 0
    """Tokens minted ever; makes every one different."""
    access: dict[str, float] = attrs.Factory(dict)
    """Token -> epoch seconds of its end."""
    one_time: dict[str, float] = attrs.Factory(dict)


class Tokens:
    """Durable: a restarted simulator still knows what it handed out."""

    def __init__(self, store: TokenStore, clock: Clock, seed: int) -> None:
        self._store, self._clock, self._seed = store, clock, seed
        stored = store.get(_STORED)
        self._state = _State(**msgspec.json.decode(stored)) if stored else _State()

    def mint_access(self) -> str:
        return self._mint(self._state.access, self._night())

    def mint_one_time(self, *, long: bool = False) -> str:
        """Return a code: good for ten minutes, or until the night (those printed at the start)."""
        return self._mint(self._state.one_time, self._night() if long else self._clock.epoch() + _ONE_TIME_SECONDS)

    def newest_access(self) -> str:
        now = self._clock.epoch()
        live = (token for token, ends in reversed(self._state.access.items()) if ends > now)
        return next(live, None) or self.mint_access()

    def take_one_time(self, code: str) -> bool:
        """Tell whether a code is good, and spend it."""
        ends = self._state.one_time.pop(code, 0.0)
        self._save()
        return ends > self._clock.epoch()

    def is_live(self, token: str) -> bool:
        return self._state.access.get(token, 0.0) > self._clock.epoch()

    def forget(self, token: str) -> None:
        self._state.access.pop(token, None)
        self._save()

    def expire_all(self) -> None:
        self._state.access.clear()
        self._save()

    def _mint(self, kind: dict[str, float], ends: float) -> str:
        self._state.count += 1
        token = hashlib.sha256(f"upstox|{self._seed}|{self._state.count}".encode()).hexdigest()[:40]
        now = self._clock.epoch()
        for old in [each for each, end in kind.items() if end <= now]:
            del kind[old]
        kind[token] = ends
        self._save()
        return token

    def _night(self) -> float:
        now: datetime = self._clock.now()
        tonight = datetime.combine(now.date(), _EXPIRY, IST)
        return (tonight if now < tonight else tonight + timedelta(days=1)).timestamp()

    def _save(self) -> None:
        self._store.set(_STORED, msgspec.json.encode(attrs.asdict(self._state)).decode())
