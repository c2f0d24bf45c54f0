"""What the control socket takes in for the history: staged files of its own folder, of a known kind, and nothing else."""

from datetime import date
from decimal import Decimal

import pytest
import trio
import trio.testing

from onebroker.actors.history.history_paths import incoming_folder
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.messages import HoldStore, ReleaseStore, TakeFactors, TakeFile
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.merge_result import Merged
from onebroker.http.control.history_commands import answer_hold, answer_take, write_factors

FACTOR = Factor(
    instrument_id="x", ex_date=date(2024, 6, 3), kind="split", price_factor=Decimal("0.2"), volume_factor=Decimal(5),
    source="exchange",
)  # fmt: skip


@pytest.fixture
async def history(nursery):
    """An address, and what was asked at it; each ask is answered with `reply`, an error by being refused with it."""
    mailbox = open_mailbox("history", capacity=4)
    mailbox.running = True
    asked, reply = [], [Merged(added=1)]

    async def work():
        async for message in mailbox:
            asked.append(message)
            (message.reply.refuse if isinstance(reply[0], Exception) else message.reply.answer)(reply[0])

    nursery.start_soon(work)
    yield mailbox.address, asked, reply
    nursery.cancel_scope.cancel()


def staged(data_dir, name="one"):
    folder = incoming_folder(data_dir)
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


async def test_a_staged_file_is_taken_in_and_counted(history, tmp_path):
    address, asked, _ = history
    answer = await answer_take({"kind": "ticks", "file": str(staged(tmp_path))}, tmp_path, address)
    assert answer == {"done": {"added": 1, "replaced": 0, "equal": 0}}
    assert isinstance(asked[0], TakeFile)
    assert (asked[0].kind, asked[0].file) == ("ticks", staged(tmp_path))


async def test_factors_arrive_as_they_were_staged(history, tmp_path):
    address, asked, _ = history
    file = staged(tmp_path)
    await trio.to_thread.run_sync(write_factors, file, [FACTOR])
    assert "done" in await answer_take({"kind": "factors", "file": str(file)}, tmp_path, address)
    assert isinstance(asked[0], TakeFactors)
    assert asked[0].factors == [FACTOR]


@pytest.mark.parametrize(
    "file", ["", "/etc/passwd", "{data}/durable.sqlite", "{data}/history/incoming/../history.duckdb"]
)
async def test_a_file_that_stands_elsewhere_is_refused(history, tmp_path, file):
    address, asked, _ = history
    answer = await answer_take({"kind": "ticks", "file": file.format(data=tmp_path)}, tmp_path, address)
    assert answer == {"error": "file must stand in the folder of what is being loaded"}
    assert asked == []


async def test_an_unknown_kind_and_what_the_actor_refuses_are_errors(history, tmp_path):
    address, _, reply = history
    request = {"kind": "bars", "file": str(staged(tmp_path))}
    assert await answer_take(request, tmp_path, address) == {"error": "kind must be candles, ticks or factors"}
    reply[0] = HistoryError("disk full")
    assert await answer_take(request | {"kind": "candles"}, tmp_path, address) == {"error": "disk full"}
    assert "error" in await answer_take(request | {"kind": "factors"}, tmp_path, address), "the file is not there"


@pytest.fixture
async def holding(nursery):
    """An address that holds and releases, what was asked at it, and the answers to `ReleaseStore`."""
    mailbox = open_mailbox("history", capacity=4)
    mailbox.running = True
    asked, held = [], [True]

    async def work():
        async for message in mailbox:
            asked.append(message)
            message.reply.answer(None if isinstance(message, HoldStore) else held[0])

    nursery.start_soon(work)
    yield mailbox.address, asked, held
    nursery.cancel_scope.cancel()


async def held_by(address, client, service):
    """Answer a hold; the client closes its side as soon as it may copy."""
    told = []

    async def send(line):
        told.append(line)
        await client.send_eof()

    return await answer_hold(address, service, send), told


async def test_a_hold_lasts_until_the_client_closes_its_side(holding):
    address, asked, _ = holding
    client, service = trio.testing.memory_stream_pair()
    answer, told = await held_by(address, client, service)
    assert (answer, told) == ({"done": {}}, [{"progress": {"held": True}}])
    hold, release = asked
    assert (type(hold), type(release), hold.hold == release.hold) == (HoldStore, ReleaseStore, True)


async def test_a_hold_that_ended_before_is_an_error(holding):
    address, _, held = holding
    held[0] = False
    answer, _ = await held_by(address, *trio.testing.memory_stream_pair())
    assert answer["error"].startswith("the history was not held still until the end")


async def test_a_client_that_breaks_off_ends_the_hold(holding):
    address, asked, _ = holding

    async def send(_):
        raise trio.BrokenResourceError

    _, service = trio.testing.memory_stream_pair()
    with pytest.raises(trio.BrokenResourceError):
        await answer_hold(address, service, send)
    assert isinstance(asked[-1], ReleaseStore)


async def test_a_store_that_cannot_be_held_is_said(nursery):
    mailbox = open_mailbox("history", capacity=4)
    mailbox.running = True

    async def work():
        async for message in mailbox:
            if isinstance(message, HoldStore):
                message.reply.refuse(HistoryError("history.duckdb: damaged"))
            else:
                message.reply.answer(False)

    async def send(_):
        raise AssertionError("nothing is held")

    nursery.start_soon(work)
    answer = await answer_hold(mailbox.address, trio.testing.memory_stream_pair()[1], send)
    assert answer == {"error": "history.duckdb: damaged"}
    nursery.cancel_scope.cancel()
