"""Keeping one broker's login alive: loading, proving, the one repair of a dead session, waiting for a person.

Rules (architecture 5): an unattended broker logs in by itself; an assisted one uses the stored login, proved by the profile
call, and otherwise needs a person, whom it waits for. A refusal that trying again cannot mend is not tried again.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum

import attrs
import msgspec
import trio

from onebroker.actors.sessions.flows import Caller
from onebroker.actors.sessions.view import LoginState
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, Store, StoreError
from onebroker.brokers.broker import Access, Broker, Login, LoginKind
from onebroker.brokers.requests import BrokerError, BrokerRefusal, RefusalKind
from onebroker.config.clock import Clock

CALL_SECONDS = 10.0
STORE_LOOK_SECONDS = 15.0
"""How often a broker that needs a login looks into the store for one written by the command line."""
BETWEEN_LOGINS_SECONDS = 60.0
"""Least time between two logins or renewals without a person, the second tries after a failure apart."""
FIRST_RETRY_SECONDS = 1.0
MOST_RETRY_SECONDS = 60.0

OnChange = Callable[[LoginState, Access | None, str | None], None]


class Proof(StrEnum):
    ALIVE = "alive"
    DEAD = "dead"
    UNCLEAR = "unclear"
    """The broker could not be asked: says nothing about the login."""


def encode_login(login: Login) -> bytes:
    return msgspec.json.encode(attrs.asdict(login))


def decode_login(body: bytes) -> Login | None:
    """Return the stored login, or None when it cannot be read as one."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, object])
        return Login(
            tokens=msgspec.convert(fields["tokens"], dict[str, str]),
            user_id=msgspec.convert(fields["user_id"], str),
            logged_in_at=msgspec.convert(fields["logged_in_at"], float),
            expires_at=msgspec.convert(fields["expires_at"], float),
        )
    except (msgspec.MsgspecError, KeyError):
        return None


def _growing_delays() -> Iterator[float]:
    delay = FIRST_RETRY_SECONDS
    while True:
        yield delay
        delay = min(delay * 2, MOST_RETRY_SECONDS)


class LoginKeeper:
    """Owns the login of one broker; runs as one task of its session actor."""

    def __init__(
        self, *, broker: Broker, access: Access, caller: Caller, store: Store, clock: Clock, on_change: OnChange
    ) -> None:
        self._broker = broker
        self._bare = access
        self._caller = caller
        self._store = store
        self._clock = clock
        self._on_change = on_change
        self._live: Access | None = None
        self._changed = trio.Event()
        self._refused = False
        self._offered: Login | None = None
        self._logged_in_at: float | None = None

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
        """Wait until a live login other than that of `access` is there (the same one, proved again, counts too)."""
        while self._live is access or self._live is None:
            await self._changed.wait()
        return self._live

    def dead(self, access: Access) -> None:
        """Report that the broker refused `access` as dead; a login replaced meanwhile is not touched."""
        if self._live is access:
            self._refused = True
            self._wake()

    def look(self) -> None:
        """A login may have been written to the store: look at once."""
        self._wake()

    async def exchange(self, redirect: str) -> Login:
        """Finish an assisted login; the login is stored before it is used. Raises BrokerError, ValueError."""
        flow = self._broker.login.log_in(self._bare, redirect, self._clock.now())
        login = await self._caller.drive(flow, CALL_SECONDS)
        await self._keep(login)
        self._offered = login
        self._wake()
        return login

    async def run(self) -> None:
        """Keep the login alive for ever."""
        login = await self._load()
        while True:
            login = await self._proved(login)
            access = attrs.evolve(self._bare, login=login)
            self._show(LoginState.LIVE, access, None)
            await self._until_not_live(login)
            if self._offered is not None:
                login, self._offered = self._offered, None
                continue
            self._show(LoginState.REPAIRING, None, "the login is being repaired")
            login = await self._renewed(login)

    def _wake(self) -> None:
        changed, self._changed = self._changed, trio.Event()
        changed.set()

    def _show(self, state: LoginState, access: Access | None, trouble: str | None) -> None:
        self._live = access
        self._refused = False
        self._on_change(state, access, trouble)
        self._wake()

    async def _until_not_live(self, login: Login) -> None:
        """Wait until the login is refused, expires, or another is offered."""
        while not self._refused and self._offered is None:
            left = login.expires_at - self._clock.epoch()
            if left <= 0:
                return
            with trio.move_on_after(min(left, 3600.0)):
                await self._changed.wait()

    async def _renewed(self, old: Login) -> Login | None:
        """Try the broker's own renewal once; the stored login where it has none or it was refused."""
        flow = self._broker.login.renew(attrs.evolve(self._bare, login=old), self._clock.now())
        if flow is None or self._until_next_login() > 0:
            return await self._load()
        self._logged_in_at = self._clock.monotonic()
        try:
            login = await self._caller.drive(flow, CALL_SECONDS)
        except (BrokerError, ValueError):
            return await self._load()
        await self._keep(login)
        return login

    async def _proved(self, candidate: Login | None) -> Login:
        """Return a login that the broker has just acknowledged, however long it takes to get one.

        The first try comes at once, each further one later than the one before.
        """
        delays = _growing_delays()
        while True:
            if candidate is not None and candidate.expires_at > self._clock.epoch():
                proof, trouble = await self._prove(candidate)
                if proof is Proof.ALIVE:
                    return candidate
                if proof is Proof.UNCLEAR:
                    self._show(LoginState.STARTING, None, trouble)
                    candidate = await self._offered_within(next(delays)) or candidate
                    continue
            candidate = await self._another(candidate, delays)

    async def _another(self, refused: Login | None, delays: Iterator[float]) -> Login:
        """Return a login other than the `refused` one: by ourselves when unattended, from a person otherwise."""
        if self._broker.login_kind is LoginKind.UNATTENDED:
            return await self._log_in(refused, delays)
        return await self._from_outside(refused, "a person must log in (onebroker login)")

    async def _log_in(self, refused: Login | None, delays: Iterator[float]) -> Login:
        """Log in without a person; a refusal that trying again cannot mend waits for a new setting or a login."""
        offered = await self._offered_within(self._until_next_login())
        if offered is not None:
            return offered
        while True:
            self._logged_in_at = self._clock.monotonic()
            try:
                flow = self._broker.login.log_in(self._bare, "", self._clock.now())
                login = await self._caller.drive(flow, CALL_SECONDS)
            except BrokerRefusal as refusal:
                if refusal.kind not in (RefusalKind.RATE_LIMITED, RefusalKind.UNAVAILABLE):
                    return await self._from_outside(refused, refusal.message)
                self._show(LoginState.STARTING, None, refusal.message)
            except BrokerError as error:
                self._show(LoginState.STARTING, None, str(error))
            except ValueError as error:  # a credential that is none
                return await self._from_outside(refused, str(error))
            else:
                await self._keep(login)
                return login
            offered = await self._offered_within(next(delays))
            if offered is not None:
                return offered

    def _until_next_login(self) -> float:
        """A broker that takes our login and then refuses what it gave must not be logged in to again and again."""
        if self._logged_in_at is None:
            return 0.0
        return max(0.0, self._logged_in_at + BETWEEN_LOGINS_SECONDS - self._clock.monotonic())

    async def _from_outside(self, refused: Login | None, why: str) -> Login:
        """Wait for a login other than the `refused` one: offered to us, or written to the store by the command line."""
        self._show(LoginState.NEEDED, None, why)
        while True:
            changed = self._changed  # before looking: what changes while we look wakes us too
            if self._offered is not None:
                login, self._offered = self._offered, None
                return login
            stored = await self._load()
            if stored is not None and stored != refused and stored.expires_at > self._clock.epoch():
                return stored
            with trio.move_on_after(STORE_LOOK_SECONDS):
                await changed.wait()

    async def _offered_within(self, seconds: float) -> Login | None:
        """Wait `seconds`, or less when a login is offered; return it."""
        with trio.move_on_after(seconds):
            while self._offered is None:
                await self._changed.wait()
        login, self._offered = self._offered, None
        return login

    async def refresh_profile(self, access: Access) -> None:
        """Read the profile again (architecture 13), which also finds out a dead login early."""
        if access.login is None:
            return
        proof, _ = await self._prove(access.login)
        if proof is Proof.DEAD:
            self.dead(access)

    async def _prove(self, login: Login) -> tuple[Proof, str | None]:
        """Ask for the profile, the call that truly proves a login (lesson 1), and keep its body."""
        access = attrs.evolve(self._bare, login=login)
        try:
            response = await self._caller.call(self._broker.login.profile_request(access), CALL_SECONDS)
            profile = self._broker.login.parse_profile(response)
        except BrokerRefusal as refusal:
            self._caller.heed(refusal)
            if refusal.kind is RefusalKind.SESSION_DEAD:
                return Proof.DEAD, refusal.message
            return Proof.UNCLEAR, refusal.message
        except BrokerError as error:
            return Proof.UNCLEAR, str(error)
        self._store.post(Set(keys.broker_profile(self._broker.code), msgspec.json.encode(profile)))
        return Proof.ALIVE, None

    async def _load(self) -> Login | None:
        try:
            body = await self._store.get(keys.broker_login(self._broker.code))
        except StoreError:
            return None
        return decode_login(body) if body is not None else None

    async def _keep(self, login: Login) -> None:
        """Store a login before it is used, so that a kill right after cannot lose it; without a store it waits there."""
        op = Set(keys.broker_login(self._broker.code), encode_login(login))
        try:
            await self._store.write(op)
        except StoreError:
            self._store.post(op)
