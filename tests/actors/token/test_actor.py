"""The token actor over its two stores: the table of rules 1.3.1, restarts, and stores that fail."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

import attrs
import msgspec
import pytest
import trio
from trio.testing import MockClock

from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, open_supervisor
from onebroker.actors.store.durable import AccessToken, Durable, DurableError
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.interface import Set, StoreError
from onebroker.actors.store.keys import SESSION_TOKEN
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.sealing import Seal
from onebroker.actors.token.actor import FAST_COPY_SECONDS, TokenActor, random_token
from onebroker.actors.token.messages import Connect, Disconnect, TokenMessage
from onebroker.actors.token.state import HeldToken, refuse_reason
from onebroker.config.clock import IST, Clock
from onebroker.config.refusal import Refusal

NINE = datetime(2026, 11, 20, 9, 0, tzinfo=IST)
HOUR = 3_600


@attrs.define
class Desk:
    """A running token actor and the two stores under it."""

    clock: Clock
    store: MemoryStore
    durable: Durable
    published: Published[HeldToken | None]
    mailbox: Mailbox[TokenMessage]

    async def connect(self) -> AccessToken:
        row: AccessToken = await self.mailbox.address.ask(lambda reply: Connect(reply=reply), 60)
        return row

    async def disconnect(self, token: str | None) -> None:
        await self.mailbox.address.ask(lambda reply: Disconnect(token=str(token).encode(), reply=reply), 60)

    def refused(self, token: str | None) -> str | None:
        held = self.published.value
        assert held is not None
        return refuse_reason(held, str(token).encode(), self.clock.now())

    async def copy(self) -> Any:
        stored = await self.store.get(SESSION_TOKEN)
        return None if stored is None else msgspec.json.decode(stored)


def as_json(row: AccessToken | None) -> dict[str, str | None] | None:
    return None if row is None else attrs.asdict(row)


@asynccontextmanager
async def running(
    clock: Clock,
    store: MemoryStore,
    durable: Durable,
    *,
    token_seconds: int = 86_400,
    mint: Callable[[], str] = random_token,
) -> AsyncIterator[Desk]:
    mailbox: Mailbox[TokenMessage] = open_mailbox("the token actor", capacity=8)
    published: Published[HeldToken | None] = Published(None)

    def build() -> TokenActor:
        return TokenActor(
            mailbox,
            store=store,
            durable=durable,
            seal=Seal(),
            clock=clock,
            token_seconds=token_seconds,
            published=published,
            mint=mint,
        )

    with trio.fail_after(30 * 24 * HOUR):
        async with open_supervisor(CrashLog(clock), seed=1) as supervisor:
            await supervisor.start(Child(name="token", build=build, policy=FOREVER, mailbox=mailbox))
            yield Desk(clock, store, durable, published, mailbox)


# Every test names autojump_clock itself: pytest-trio runs under a clock only when the test takes it.


@pytest.fixture
async def clock() -> Clock:
    return Clock.following_trio(NINE)


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock)


@pytest.fixture
def durable() -> MemoryDurable:
    return MemoryDurable()


# The table of rules 1.3.1, row by row


async def test_no_token_becomes_live_by_a_connect(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        assert desk.refused("anything") == "Invalid access token"
        row = await desk.connect()
        assert row.expires_at == "2026-11-21 09:00:00.000000"
        assert desk.refused(row.token) is None
        assert await durable.access_token() == row
        assert await desk.copy() == as_json(row)


async def test_the_default_token_is_a_random_uuid(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        first = await desk.connect()
        await desk.disconnect(first.token)
        second = await desk.connect()
        assert uuid.UUID(str(first.token)).version == uuid.UUID(str(second.token)).version == 4
        assert first.token != second.token


async def test_live_stays_the_same_token_until_the_next_seven_oclock(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable, token_seconds=7 * 86_400) as desk:
        row = await desk.connect()
        await trio.sleep(22 * HOUR - 1)  # 06:59:59
        assert await desk.connect() == row
        await trio.sleep(1)
        replaced = await desk.connect()
        assert replaced.token != row.token
        assert desk.refused(row.token) == "Invalid access token"
        assert desk.refused(replaced.token) is None


async def test_a_token_outlives_seven_oclock_when_nobody_connects(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
        await trio.sleep(23 * HOUR)  # 08:00 of the next day
        assert desk.refused(row.token) is None


async def test_live_expires_with_time_and_expired_becomes_live_by_a_connect(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable, token_seconds=120) as desk:
        row = await desk.connect()
        await trio.sleep(119.9)
        assert desk.refused(row.token) is None
        await trio.sleep(0.1)
        assert desk.refused(row.token) == "Access token has expired"
        renewed = await desk.connect()
        assert renewed.token != row.token
        assert desk.refused(row.token) == "Invalid access token"


async def test_a_disconnect_revokes_and_a_connect_after_it_mints(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
        await desk.disconnect(row.token)
        ended = AccessToken(token=None, last_login=row.last_login, expires_at=None)
        assert await durable.access_token() == ended
        assert await desk.copy() == as_json(ended)
        await trio.sleep(48 * HOUR)
        assert desk.refused(row.token) == "Invalid access token"  # never: expired
        assert (await desk.connect()).token != row.token


async def test_a_disconnect_with_a_token_that_was_replaced_meanwhile_ends_nothing(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
        with pytest.raises(Refusal, match="Invalid access token"):
            await desk.disconnect("older")
        assert desk.refused(row.token) is None


async def test_connects_at_once_all_get_one_token(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    rows: list[AccessToken] = []
    async with running(clock, store, durable) as desk:

        async def one() -> None:
            rows.append(await desk.connect())

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one)
    assert len(rows) == 20
    assert len({row.token for row in rows}) == 1


# Restarts


async def test_the_same_token_is_good_after_a_restart(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
    async with running(clock, store, durable) as desk:
        assert desk.refused(row.token) is None
        assert await desk.connect() == row


@pytest.mark.parametrize("copy", [None, b"", b"[]", b"\xff", b'{"token": 5}', b'{"token": "forged"'])
async def test_a_missing_or_unreadable_fast_copy_falls_back_to_the_durable_store_and_is_written_again(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable, copy: bytes | None
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
    other = MemoryStore(clock)
    if copy is not None:
        await other.write(Set(SESSION_TOKEN, copy))
    async with running(clock, other, durable) as desk:
        assert desk.refused(row.token) is None
        assert await desk.copy() == as_json(row)


async def test_an_unreachable_fast_copy_falls_back_to_the_durable_store(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
    store.fail_with(StoreError("connection refused"))
    async with running(clock, store, durable) as desk:
        assert desk.refused(row.token) is None


async def test_a_fast_copy_that_hangs_does_not_hold_up_the_start_and_is_told_with_its_reason(
    autojump_clock: MockClock, clock: Clock, durable: MemoryDurable, caplog: pytest.LogCaptureFixture
):
    class Hanging(MemoryStore):
        async def get(self, key: str) -> bytes | None:
            await trio.sleep_forever()

        async def write(self, *ops: object) -> None:
            await trio.sleep_forever()

    with trio.fail_after(10):
        async with running(clock, Hanging(clock), durable) as desk:
            row = await desk.connect()
            assert desk.refused(row.token) is None
    told = [record.getMessage() for record in caplog.records]
    assert told
    assert [line for line in told if not line.endswith(f"no answer within {FAST_COPY_SECONDS:g} s")] == []


async def test_an_unreadable_durable_store_leaves_the_fast_copy(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
    durable.fail_with(DurableError("disk I/O error"))
    async with running(clock, store, durable) as desk:
        assert desk.refused(row.token) is None


async def test_with_neither_store_the_actor_starts_when_one_is_back(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable, nursery: trio.Nursery
):
    store.fail_with(StoreError("connection refused"))
    durable.fail_with(DurableError("disk I/O error"))

    async def heal() -> None:
        await trio.sleep(5)
        durable.come_back()

    nursery.start_soon(heal)
    async with running(clock, store, durable) as desk:
        assert trio.current_time() >= 5
        assert desk.refused("anything") == "Invalid access token"


async def test_a_revoked_token_does_not_come_back_with_a_fast_copy_that_could_not_even_be_dropped(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
        left = await store.get(SESSION_TOKEN)
        store.fail_with(StoreError("connection refused"))
        await desk.disconnect(row.token)
    # The process ends while Redis is away: the drop in waiting is lost, and Redis comes back as it was.
    later = MemoryStore(clock)
    assert left is not None
    await later.write(Set(SESSION_TOKEN, left))
    async with running(clock, later, durable) as desk:
        assert desk.refused(row.token) == "Invalid access token"
        assert (await desk.copy())["token"] is None


# Stores that fail


async def test_a_token_that_is_not_stored_durably_is_not_handed_out(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable, mint=lambda: "t-1") as desk:
        durable.fail_with(DurableError("disk is full"))
        with pytest.raises(Refusal) as refused:
            await desk.connect()
        assert refused.value.status == 503
        assert refused.value.sentence == (
            "the access token could not be written to the durable store: disk is full;"
            " no session was opened, so connect again"
        )
        assert desk.refused("t-1") == "Invalid access token"
        assert (await desk.copy()) is None or (await desk.copy())["token"] is None
        durable.come_back()
        assert desk.refused((await desk.connect()).token) is None


async def test_a_failed_connect_leaves_the_old_token_good(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
        await trio.sleep(22.5 * HOUR)  # past seven
        durable.fail_with(DurableError("disk is full"))
        with pytest.raises(Refusal):
            await desk.connect()
        assert desk.refused(row.token) is None


async def test_a_connect_that_keeps_the_token_needs_no_store(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
        durable.fail_with(DurableError("disk is full"))
        store.fail_with(StoreError("connection refused"))
        assert await desk.connect() == row


async def test_a_failed_disconnect_says_so_and_ends_nothing(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        row = await desk.connect()
        durable.fail_with(DurableError("disk is full"))
        with pytest.raises(Refusal) as refused:
            await desk.disconnect(row.token)
        assert refused.value.status == 503
        assert refused.value.sentence == (
            "the access token could not be removed from the durable store: disk is full; the session is still open"
        )
        assert desk.refused(row.token) is None


async def test_a_fast_copy_that_cannot_be_written_is_dropped(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        old = await desk.connect()
        await trio.sleep(22.5 * HOUR)
        store.fail_with(StoreError("connection refused"))
        new = await desk.connect()
        assert desk.refused(new.token) is None
        assert desk.refused(old.token) == "Invalid access token"
        store.come_back()
        assert await desk.copy() is None
    async with running(clock, store, durable) as desk:
        assert desk.refused(new.token) is None


async def test_a_fast_copy_whose_answer_was_lost_is_dropped(
    autojump_clock: MockClock, clock: Clock, store: MemoryStore, durable: MemoryDurable
):
    async with running(clock, store, durable) as desk:
        store.lose_next_answer()
        row = await desk.connect()
        assert await desk.copy() is None
        assert desk.refused(row.token) is None


async def test_the_durable_store_is_written_before_the_fast_copy(autojump_clock: MockClock, clock: Clock):
    order: list[str] = []

    class Store(MemoryStore):
        async def write(self, *ops: Any) -> None:
            order.append("fast")
            await super().write(*ops)

    class Slow(MemoryDurable):
        async def put_access_token(self, token: AccessToken) -> None:
            order.append("durable")
            await super().put_access_token(token)

    async with running(clock, Store(clock), Slow()) as desk:
        order.clear()
        row = await desk.connect()
        await desk.disconnect(row.token)
    assert order == ["durable", "fast", "durable", "fast"]


async def test_a_connect_in_hand_at_a_crash_is_refused_and_the_token_comes_from_the_store_after_it(
    autojump_clock: MockClock, clock: Clock
):
    class Crashing(MemoryDurable):
        crash = True

        async def put_access_token(self, token: AccessToken) -> None:
            await super().put_access_token(token)
            if self.crash:
                self.crash = False
                raise RuntimeError("boom")

    durable = Crashing()
    async with running(clock, MemoryStore(clock), durable) as desk:
        with pytest.raises(ActorNotRunning) as stopped:
            await desk.connect()
        assert stopped.value.taken
        await trio.sleep(5)
        row = await desk.connect()
        assert row == await durable.access_token()
        assert desk.refused(row.token) is None


async def test_a_durable_store_that_hangs_is_a_late_answer(autojump_clock: MockClock, clock: Clock, store: MemoryStore):
    class Hanging(MemoryDurable):
        async def put_access_token(self, token: AccessToken) -> None:
            await trio.sleep_forever()

    async with running(clock, store, Hanging()) as desk:
        with pytest.raises(AskTimedOut) as late:
            await desk.connect()
        assert late.value.queued


async def test_no_log_line_holds_the_token(
    autojump_clock: MockClock,
    clock: Clock,
    store: MemoryStore,
    durable: MemoryDurable,
    caplog: pytest.LogCaptureFixture,
):
    caplog.set_level("DEBUG")
    await store.write(Set(SESSION_TOKEN, b'{"token": "very-secret", "last_login": 1}'))
    async with running(clock, store, durable, mint=lambda: "very-secret") as desk:
        store.fail_with(StoreError("connection refused"))
        await desk.connect()
        durable.fail_with(DurableError("disk is full"))
        with pytest.raises(Refusal):
            await desk.disconnect("very-secret")
    assert len(caplog.records) >= 3
    assert "very-secret" not in caplog.text
