"""Keeping one broker's login alive: loading, proving, the one repair of a dead session, waiting for a person.

Rules (architecture 5): an unattended broker logs in by itself, and again each morning before the pre-open session. An assisted broker uses
the stored login, proved by the profile call. Without a live stored login, it waits for a person. If a refusal cannot be mended by a retry,
there is no new try before the next morning.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from enum import StrEnum

import attrs
import msgspec
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.counted_calls import LOGIN_PRIORITY, Caller
from onebroker.actors.sessions.login_events import LoginEvents
from onebroker.actors.sessions.session_counts import SessionCounts
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.sessions.stored_logins import StoredLogins, refuse_other_account
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.actors.store.sealing import Seal
from onebroker.brokers.broker import Access, Broker, Login, LoginKind
from onebroker.brokers.codec.contained import contained
from onebroker.brokers.codec.totp import PERIOD_SECONDS
from onebroker.brokers.requests import BrokerError, BrokerRefusal, RefusalKind
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import Clock, from_epoch, latest_boundary

CALL_SECONDS = 10.0
STORE_LOOK_SECONDS = 15.0
"""A broker that needs a login looks at this interval for a login that the command line wrote to the store."""
BETWEEN_LOGINS_SECONDS = 60.0
"""Least time between two logins or renewals without a person, except for retries after a failure."""
FIRST_RETRY_SECONDS = 1.0
MOST_RETRY_SECONDS = 60.0
MORNING_AFTER_BOUNDARY = timedelta(hours=1, minutes=10)
"""An unattended broker gets a new login at 08:10 IST, well before the first pre-open session of the day (09:00)."""
MORNING_SPREAD = timedelta(minutes=20)
"""Each morning's login comes up to this much later, so that ten accounts do not log in within the same second."""

WHY_REFUSED: Mapping[RefusalKind, str] = {
    RefusalKind.BAD_CREDENTIALS: "a key, secret, password or PIN of the settings is wrong",
    RefusalKind.BAD_TOTP: "the one-time code was refused twice: the TOTP secret is wrong or has expired",
    RefusalKind.BLOCKED: "the broker has blocked the account or the key",
    RefusalKind.ADDRESS_NOT_REGISTERED: "this machine's public address is not registered with the broker",
}
"""The meaning of a refused login for the operator. It is put before the broker's own words."""
_LATER = (RefusalKind.RATE_LIMITED, RefusalKind.UNAVAILABLE)

OnChange = Callable[[LoginState, Access | None, str | None], None]


class Proof(StrEnum):
    ALIVE = "alive"
    DEAD = "dead"
    UNCLEAR = "unclear"
    """The broker gave no clear answer, so nothing is known about the login."""


def _growing_delays() -> Iterator[float]:
    delay = FIRST_RETRY_SECONDS
    while True:
        yield delay
        delay = min(delay * 2, MOST_RETRY_SECONDS)


class LoginKeeper:
    """Owns the login of one broker; runs as one task of its session actor."""

    def __init__(
        self,
        *,
        broker: Broker,
        access: Access,
        caller: Caller,
        store: Store,
        seal: Seal,
        clock: Clock,
        on_change: OnChange,
        events: Events,
        counts: SessionCounts | None = None,
        spread: random.Random | None = None,
    ) -> None:
        self._broker = broker
        self._bare = access
        self._caller = caller
        self._store = store
        self._logins = StoredLogins(store, seal)
        self._clock = clock
        self._on_change = on_change
        self._told = LoginEvents(broker, clock, events, counts)
        self._live: Access | None = None
        self._changed = trio.Event()
        self._refused = False
        self.repairing_since: float | None = None
        """Monotonic seconds since which a refused or ended login is being repaired; None while no repair runs."""
        self._offered: Login | None = None
        self._logged_in_at: float | None = None
        self._spread = spread or random.Random()
        self._morning_tried: float | None = None
        """Epoch seconds of the last morning login that was tried, even if it failed."""
        self._morning_trouble: str | None = None
        """Why this morning brought no new login, while an older login still lives."""

    @property
    def live(self) -> Access | None:
        """The access with the live login, or None."""
        return self._live

    async def wait_live(self) -> Access:
        """Wait until there is a live login and return the access with it."""
        while self._live is None:
            await self._changed.wait()
        return self._live

    async def wait_other(self, access: Access) -> Access:
        """Wait until there is a live access other than `access`. The same login, proved again, counts too."""
        while self._live is access or self._live is None:
            await self._changed.wait()
        return self._live

    def dead(self, access: Access) -> None:
        """Report that the broker refused `access` as dead. If the login was replaced meanwhile, nothing happens."""
        if self._live is access:
            self._refused = True
            self._wake()

    def look(self) -> None:
        """Look into the store at once, because a login may have been written to it."""
        self._wake()

    async def exchange(self, redirect: str, *, other_account: bool = False) -> Login:
        """Finish an assisted login, or make an unattended login now on request (`redirect` is ignored then). The login is stored before it
        is used. An assisted login may belong to another account than the last login only with `other_account`. Raises BrokerError,
        ValueError."""
        flow = self._broker.login.log_in(self._bare, redirect, self._clock.now())
        login = await self._caller.drive(flow, CALL_SECONDS, priority=LOGIN_PRIORITY)
        if self._broker.login_kind is LoginKind.ASSISTED and not other_account:
            live = None if self._live is None else self._live.login
            refuse_other_account(self._broker.code, live or await self._last(), login)
        await self._keep(login, asked_for=True)
        self._offered = login
        self._wake()
        return login

    async def run(self) -> None:
        """Keep the login alive for ever."""
        login = await self._load()
        while True:
            login = await self._proved(login)
            access = attrs.evolve(self._bare, login=login)
            self._told.proved(login)
            self._show(LoginState.LIVE, access, self._morning_trouble)
            await self._until_not_live(login)
            if self._offered is not None:
                login, self._offered = self._offered, None
                continue
            if not self._refused and login.expires_at > self._clock.epoch():
                login = await self._morning_login(login)
                continue
            self._show(LoginState.REPAIRING, None, "the login is being repaired")
            login = await self._renewed(login)

    def _wake(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    def _show(self, state: LoginState, access: Access | None, trouble: str | None) -> None:
        self._live = access
        self._refused = False
        began = self.repairing_since if self.repairing_since is not None else self._clock.monotonic()
        self.repairing_since = began if state is LoginState.REPAIRING else None
        self._on_change(state, access, trouble)
        self._wake()

    async def _until_not_live(self, login: Login) -> None:
        """Wait until the login is refused or expires, another login is offered, or the time of the morning login has come."""
        ends_at = min(login.expires_at, self._morning_after(login))
        while not self._refused and self._offered is None:
            left = ends_at - self._clock.epoch()
            if left <= 0:
                return
            with trio.move_on_after(min(left, 3600.0)):
                await self._clock.wait_step_or(self._changed)

    def _morning_after(self, login: Login) -> float:
        """Return the epoch seconds of the next morning's login; infinity for a broker that needs a person."""
        if self._broker.login_kind is not LoginKind.UNATTENDED:
            return float("inf")
        made = max(login.logged_in_at, self._morning_tried or 0.0)
        morning = latest_boundary(from_epoch(made)) + timedelta(days=1) + MORNING_AFTER_BOUNDARY
        return morning.timestamp() + self._spread.uniform(0.0, MORNING_SPREAD.total_seconds())

    async def _morning_login(self, old: Login) -> Login:
        """Make a new login for the day while yesterday's login still lives. Return yesterday's login when the new one fails.

        The reason of the failure is shown with the living login.
        """
        self._morning_tried = self._clock.epoch()
        self._logged_in_at = self._clock.monotonic()
        try:
            login = await self._flow_login()
        except (BrokerError, ValueError) as error:
            self._told.not_made(error)
            self._morning_trouble = f"this morning's login failed: {why_refused(error)}"
            return old
        await self._keep(login)
        return login

    async def _flow_login(self) -> Login:
        flow = self._broker.login.log_in(self._bare, "", self._clock.now())
        login = await self._caller.drive(flow, CALL_SECONDS, priority=LOGIN_PRIORITY)
        self._told.made()
        return login

    async def _renewed(self, old: Login) -> Login | None:
        """Try the broker's own renewal once. Return the stored login if the broker has no renewal, if it failed, or if it is too soon."""
        flow = self._broker.login.renew(attrs.evolve(self._bare, login=old), self._clock.now())
        if flow is None or self._until_next_login() > 0:
            return await self._load()
        self._logged_in_at = self._clock.monotonic()
        try:
            login = await self._caller.drive(flow, CALL_SECONDS, priority=LOGIN_PRIORITY)
        except (BrokerError, ValueError):
            return await self._load()
        await self._keep(login)
        return login

    async def _proved(self, candidate: Login | None) -> Login:
        """Return a login that the broker has just acknowledged, however long it takes to get one.

        The first try comes at once. The delay before each further try grows.
        """
        delays, is_new = _growing_delays(), False
        while True:
            if candidate is not None and candidate.expires_at > self._clock.epoch():
                proof, trouble = await self._prove(candidate, LOGIN_PRIORITY)
                if proof is Proof.ALIVE:
                    return candidate
                if proof is Proof.UNCLEAR:
                    self._show(LoginState.STARTING, None, trouble)
                    candidate = await self._offered_within(next(delays)) or candidate
                    continue
                self._told.died(trouble, is_new=is_new)
            candidate, is_new = await self._another(candidate, delays), True

    async def _another(self, refused: Login | None, delays: Iterator[float]) -> Login:
        """Return a login other than the `refused` one. An unattended broker logs in by itself; otherwise a person must log in."""
        if self._broker.login_kind is LoginKind.UNATTENDED:
            return await self._log_in(refused, delays)
        return await self._from_outside(refused, "a person must log in (onebroker login)")

    async def _log_in(self, refused: Login | None, delays: Iterator[float]) -> Login:
        """Log in without a person. After a refusal that a retry cannot mend, wait for an offered or stored login, or for the morning."""
        offered = await self._offered_within(self._until_next_login())
        if offered is not None:
            return offered
        codes_refused = 0
        while True:
            self._logged_in_at = self._clock.monotonic()
            wait = None
            try:
                login = await self._flow_login()
            except BrokerRefusal as refusal:
                self._told.not_made(refusal)
                codes_refused += refusal.kind is RefusalKind.BAD_TOTP
                if refusal.kind is RefusalKind.BAD_TOTP and codes_refused == 1:
                    wait = PERIOD_SECONDS - self._clock.epoch() % PERIOD_SECONDS + 1.0  # the next code
                elif refusal.kind not in _LATER:
                    return await self._from_outside(refused, why_refused(refusal))
                self._show(LoginState.STARTING, None, refusal.message)
            except BrokerError as error:
                self._told.not_made(error)
                self._show(LoginState.STARTING, None, str(error))
            except ValueError as error:  # a malformed credential
                return await self._from_outside(refused, str(error))
            else:
                if refused is not None and login.tokens == refused.tokens:
                    return await self._from_outside(refused, "the broker refuses the access token of the settings")
                await self._keep(login)
                return login
            offered = await self._offered_within(next(delays) if wait is None else wait)
            if offered is not None:
                return offered

    def _until_next_login(self) -> float:
        """Return the seconds until the next login may be made. A broker may accept our login and then refuse its tokens; it must not get
        logins again and again."""
        if self._logged_in_at is None:
            return 0.0
        return max(0.0, self._logged_in_at + BETWEEN_LOGINS_SECONDS - self._clock.monotonic())

    async def _from_outside(self, refused: Login | None, why: str) -> Login:
        """Wait for a login other than the `refused` one: a login offered to us, or written to the store by the command line.

        For an unattended broker, a new login is also tried each morning.
        """
        self._told.needed(why)
        self._show(LoginState.NEEDED, None, why)
        morning = self._morning_after(Login(tokens={}, user_id="", logged_in_at=self._clock.epoch(), expires_at=0.0))
        while True:
            changed = self._changed  # taken before looking, so that a change while we look wakes us too
            if self._offered is not None:
                login, self._offered = self._offered, None
                return login
            stored = await self._load()
            if stored is not None and stored != refused and stored.expires_at > self._clock.epoch():
                return stored
            if self._clock.epoch() >= morning:
                return await self._log_in(refused, _growing_delays())
            with trio.move_on_after(STORE_LOOK_SECONDS):
                await changed.wait()

    async def _offered_within(self, seconds: float) -> Login | None:
        """Wait up to `seconds` for an offered login, and return it; None = no login was offered."""
        with trio.move_on_after(seconds):
            while self._offered is None:
                await self._changed.wait()
        login, self._offered = self._offered, None
        return login

    async def refresh_profile(self, access: Access) -> None:
        """Read the profile again (architecture 13). This also detects a dead login early."""
        if access.login is None:
            return
        proof, _ = await self._prove(access.login, Priority.READ)
        if proof is Proof.DEAD:
            self.dead(access)

    async def _prove(self, login: Login, priority: Priority) -> tuple[Proof, str | None]:
        """Ask for the profile, the call that truly proves a login (lesson 1), and keep its body."""
        access = attrs.evolve(self._bare, login=login)
        try:
            with contained():
                request = self._broker.login.profile_request(access)
                response = await self._caller.call(request, CALL_SECONDS, priority=priority)
                profile = self._broker.login.parse_profile(response, login)
        except BrokerRefusal as refusal:
            self._caller.heed(refusal)
            if refusal.kind is RefusalKind.SESSION_DEAD:
                return Proof.DEAD, refusal.message
            self._told.profile.failed(refusal.message)
            return Proof.UNCLEAR, refusal.message
        except BrokerError as error:
            self._told.profile.failed(str(error))
            return Proof.UNCLEAR, str(error)
        self._told.profile.good()
        self._store.post(Set(keys.broker_profile(self._broker.code), msgspec.json.encode(profile)))
        return Proof.ALIVE, None

    async def _load(self) -> Login | None:
        try:
            return await self._logins.read(self._broker.code)
        except StoreError:
            return None

    async def _last(self) -> Login | None:
        try:
            return await self._logins.last(self._broker.code)
        except StoreError:
            return None

    async def _keep(self, login: Login, *, asked_for: bool = False) -> None:
        """Store a login before it is used, so that a kill right after cannot lose it. If the store is away, the write is queued.

        A login that nobody asked for does not take the place of a stored login that cannot be opened: it lives as long as the process."""
        self._morning_trouble = None
        if self._logins.is_locked(self._broker.code) and not asked_for:
            return
        op = self._logins.written(self._broker.code, login)
        try:
            await self._store.write(op)
        except StoreError:
            self._store.post(op)


def why_refused(error: Exception) -> str:
    """Say why a login was refused: the meaning, if known, then the broker's words."""
    meaning = WHY_REFUSED.get(error.kind) if isinstance(error, BrokerRefusal) else None
    return f"{meaning} ({error})" if meaning is not None else str(error)
