"""The token over the real durable store, through restarts, in real time."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import trio

from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import NEVER, Child, CrashLog, open_supervisor
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.actors.store.interface import Set
from onebroker.actors.store.keys import SESSION_TOKEN
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.sealing import Seal, new_key
from onebroker.actors.token.actor import TokenActor
from onebroker.actors.token.messages import Connect, Disconnect, TokenMessage
from onebroker.actors.token.state import HeldToken
from onebroker.config.clock import IST, Clock
from tests.support.patience import PATIENCE_SECONDS


async def connect_once(
    path: Path, *, end: bool = False, keys: Sequence[str] = (), store: MemoryStore | None = None
) -> AccessToken:
    """Start an actor over nothing but the file, connect, disconnect when `end`, stop."""
    clock = Clock.starting_at(datetime(2026, 11, 20, 9, 0, tzinfo=IST))
    mailbox: Mailbox[TokenMessage] = open_mailbox("token", capacity=8)
    published: Published[HeldToken | None] = Published(None)

    def build() -> TokenActor:
        return TokenActor(
            mailbox,
            store=store or MemoryStore(clock),
            durable=SqliteDurable(path),
            seal=Seal(keys),
            clock=clock,
            token_seconds=7 * 86_400,
            published=published,
        )

    async with open_supervisor(CrashLog(clock)) as supervisor:
        await supervisor.start(Child(name="token", build=build, policy=NEVER, mailbox=mailbox))
        row: AccessToken = await mailbox.address.ask(lambda reply: Connect(reply=reply), PATIENCE_SECONDS)
        if end:
            token = str(row.token).encode()
            await mailbox.address.ask(lambda reply: Disconnect(token=token, reply=reply), PATIENCE_SECONDS)
    return row


async def test_over_the_real_durable_store_the_token_outlives_the_process_and_a_revoked_one_does_not(tmp_path: Path):
    with trio.fail_after(PATIENCE_SECONDS):
        first = await connect_once(tmp_path / "durable.sqlite")
        assert await connect_once(tmp_path / "durable.sqlite", end=True) == first
        assert (await connect_once(tmp_path / "durable.sqlite")).token != first.token


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


async def test_the_token_is_on_the_disk_sealed_and_outlives_a_change_of_keys(tmp_path: Path):
    path, old, new = tmp_path / "durable.sqlite", new_key(), new_key()
    store = MemoryStore(Clock.starting_at(datetime(2026, 11, 20, 9, 0, tzinfo=IST)))
    with trio.fail_after(PATIENCE_SECONDS):
        plain = await connect_once(path, store=store)
        token = str(plain.token).encode()
        assert token in bytes_of(tmp_path)
        assert token in (await store.get(SESSION_TOKEN) or b"")
        for keys in ((old,), (new, old), (new,)):
            assert await connect_once(path, keys=keys, store=store) == plain
            assert token not in bytes_of(tmp_path), "the replaced text leaves no trace"
            copy = await store.get(SESSION_TOKEN)
            assert copy is not None
            assert token in Seal([keys[0]]).open("", copy)


async def test_a_token_whose_key_is_away_stays_until_a_client_connects(tmp_path: Path):
    path, key = tmp_path / "durable.sqlite", new_key()
    with trio.fail_after(PATIENCE_SECONDS):
        first = await connect_once(path, keys=[key])
        clock = Clock.starting_at(datetime(2026, 11, 20, 9, 0, tzinfo=IST))
        published: Published[HeldToken | None] = Published(None)
        mailbox: Mailbox[TokenMessage] = open_mailbox("token", capacity=8)
        seal = Seal()
        store, durable = MemoryStore(clock), SqliteDurable(path)
        await store.write(Set(SESSION_TOKEN, Seal([key]).seal("", b"{}")))

        def build() -> TokenActor:
            return TokenActor(
                mailbox,
                store=store,
                durable=durable,
                seal=seal,
                clock=clock,
                token_seconds=86_400,
                published=published,
            )

        async with open_supervisor(CrashLog(clock)) as supervisor:
            await supervisor.start(Child(name="token", build=build, policy=NEVER, mailbox=mailbox))
            assert published.value is not None
            assert published.value.token is None
            assert sorted(seal.locked) == ["access_token", SESSION_TOKEN]
        assert await connect_once(path, keys=[key]) == first
        assert (await connect_once(path)).token != first.token
