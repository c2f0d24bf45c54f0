"""The token over the real durable store, through restarts, in real time."""

from datetime import datetime
from pathlib import Path

import trio

from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import NEVER, Child, CrashLog, open_supervisor
from onebroker.actors.store.durable import AccessToken, SqliteDurable
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.token.actor import TokenActor
from onebroker.actors.token.messages import Connect, Disconnect, TokenMessage
from onebroker.actors.token.state import HeldToken
from onebroker.config.clock import IST, Clock
from tests.support.patience import PATIENCE_SECONDS


async def connect_once(path: Path, *, end: bool = False) -> AccessToken:
    """Start an actor over nothing but the file, connect, disconnect when `end`, stop."""
    clock = Clock.starting_at(datetime(2026, 11, 20, 9, 0, tzinfo=IST))
    mailbox: Mailbox[TokenMessage] = open_mailbox("token", capacity=8)
    published: Published[HeldToken | None] = Published(None)

    def build() -> TokenActor:
        return TokenActor(
            mailbox,
            store=MemoryStore(clock),
            durable=SqliteDurable(path),
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
