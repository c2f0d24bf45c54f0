"""What Kite's login hands out: one-time request tokens, access tokens that die at 06:00, refresh tokens."""

import hashlib
from datetime import datetime, timedelta

import attrs
import msgspec

from onebroker.brokers.simulator.dialect import TokenStore
from onebroker.config.clock import Clock

_STORED = "tokens"
_EXPIRY_HOUR = 6
_ONE_TIME_SECONDS = 600.0


@attrs.define
class _State:
    count: int = 0
    """Tokens minted ever; makes every one different."""
    access: dict[str, float] = attrs.Factory(dict)
    """Token -> epoch seconds of its end."""
    one_time: dict[str, float] = attrs.Factory(dict)
    refresh: dict[str, float] = attrs.Factory(dict)


class Tokens:
    """Durable: a restarted simulator still knows what it handed out."""

    def __init__(self, store: TokenStore, clock: Clock, seed: int) -> None:
        self._store, self._clock, self._seed = store, clock, seed
        stored = store.get(_STORED)
        self._state = _State(**msgspec.json.decode(stored)) if stored else _State()

    def mint_access(self) -> str:
        return self._mint(self._state.access, self._morning())

    def mint_refresh(self) -> str:
        return self._mint(self._state.refresh, self._morning())

    def mint_one_time(self, *, long: bool = False) -> str:
        """Return a request token: good for ten minutes, or until the morning (those printed at the start)."""
        return self._mint(self._state.one_time, self._morning() if long else self._clock.epoch() + _ONE_TIME_SECONDS)

    def newest_access(self) -> str:
        return self._newest(self._state.access) or self.mint_access()

    def newest_refresh(self) -> str:
        return self._newest(self._state.refresh) or self.mint_refresh()

    def take_one_time(self, token: str) -> bool:
        """Tell whether a request token is good, and spend it."""
        return self._spend(self._state.one_time, token)

    def take_refresh(self, token: str) -> bool:
        return self._spend(self._state.refresh, token)

    def is_live(self, token: str) -> bool:
        return self._state.access.get(token, 0.0) > self._clock.epoch()

    def forget(self, token: str) -> None:
        """End one access or refresh token."""
        self._state.access.pop(token, None)
        self._state.refresh.pop(token, None)
        self._save()

    def expire_all(self) -> None:
        self._state.access.clear()
        self._save()

    def _mint(self, kind: dict[str, float], ends: float) -> str:
        self._state.count += 1
        token = hashlib.sha256(f"zerodha|{self._seed}|{self._state.count}".encode()).hexdigest()[:32]
        now = self._clock.epoch()
        for old in [each for each, end in kind.items() if end <= now]:
            del kind[old]
        kind[token] = ends
        self._save()
        return token

    def _spend(self, kind: dict[str, float], token: str) -> bool:
        ends = kind.pop(token, 0.0)
        self._save()
        return ends > self._clock.epoch()

    def _newest(self, kind: dict[str, float]) -> str | None:
        return next((token for token in reversed(kind) if kind[token] > self._clock.epoch()), None)

    def _morning(self) -> float:
        now: datetime = self._clock.now()
        today = now.replace(hour=_EXPIRY_HOUR, minute=0, second=0, microsecond=0)
        return (today if now < today else today + timedelta(days=1)).timestamp()

    def _save(self) -> None:
        self._store.set(_STORED, msgspec.json.encode(attrs.asdict(self._state)).decode())
