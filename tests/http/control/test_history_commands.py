"""What the control socket takes in for the history: staged files of its own folder, of a known kind, and nothing else."""

from datetime import date
from decimal import Decimal

import pytest
import trio

from onebroker.actors.history.history_paths import incoming_folder
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.messages import TakeFactors, TakeFile
from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.store.durable_history import Factor
from onebroker.actors.store.merge_result import Merged
from onebroker.http.control.history_commands import answer_take, write_factors

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
