"""How files come into the build: piece by piece onto the disk, begun anew when they break, shown to no flow."""

from types import SimpleNamespace

import attrs
import pytest
import trio

from onebroker.actors.catalogue.builder import ProcessBuilder
from onebroker.actors.catalogue.download import download
from onebroker.actors.catalogue.incoming_files import WRITE_BYTES, IncomingFile, IncomingMemory
from onebroker.actors.catalogue.progress import BuildProgress, ProgressKeeper
from onebroker.actors.kernel.published import Published
from onebroker.brokers.requests import BadAnswer, CallKind, OutcomeUnknown, WireRequest, WireResponse
from onebroker.config.clock import Clock
from tests.support.patience import PATIENCE_SECONDS

BODY = bytes(range(256)) * 4096
"""A megabyte, four times what is gathered before a writing."""
PIECES = [BODY[start : start + 10_007] for start in range(0, len(BODY), 10_007)]


def on_disk(tmp_path):
    return IncomingFile(tmp_path / "x", trio.to_thread.run_sync)


@pytest.fixture(params=["disk", "memory"])
def incoming(request, tmp_path):
    return on_disk(tmp_path) if request.param == "disk" else IncomingMemory()


async def whole(incoming):
    kept = await incoming.kept()
    return kept if isinstance(kept, bytes) else kept.read_bytes()


@pytest.mark.parametrize("pieces", [PIECES, [BODY], [b"a"], [b"", b""], []])
async def test_a_file_is_kept_as_its_pieces_came(incoming, pieces):
    await incoming.begin()
    for piece in pieces:
        await incoming.take(piece)
    assert await whole(incoming) == b"".join(pieces)


@pytest.mark.parametrize("came", [1, len(PIECES) - 1])
async def test_a_file_that_is_begun_anew_holds_nothing_of_what_came_before(incoming, came):
    await incoming.begin()
    for piece in PIECES[:came]:
        await incoming.take(piece)
    await incoming.begin()
    await incoming.take(b"the second time")
    assert await whole(incoming) == b"the second time"


async def test_what_came_is_on_the_disk_but_for_the_little_that_is_gathered(tmp_path):
    incoming = on_disk(tmp_path)
    await incoming.begin()
    for number, piece in enumerate(PIECES, 1):
        await incoming.take(piece)
        came = sum(map(len, PIECES[:number]))
        assert came - WRITE_BYTES < (tmp_path / "x").stat().st_size <= came


async def _here(work):
    await trio.lowlevel.checkpoint()
    return work()


@pytest.mark.parametrize("kind", ["disk", "memory"])
async def test_other_tasks_run_between_two_pieces(autojump_clock, tmp_path, kind):
    incoming = IncomingFile(tmp_path / "x", _here) if kind == "disk" else IncomingMemory()
    turns = 0

    async def count():
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        for piece in PIECES:
            await incoming.take(piece)
        nursery.cancel_scope.cancel()
    assert turns >= len(PIECES) - 1


@pytest.mark.parametrize("step", ["begin", "take", "kept"])
async def test_a_folder_that_is_gone_is_an_os_error(tmp_path, step):
    incoming = IncomingFile(tmp_path / "gone" / "x", trio.to_thread.run_sync)
    with pytest.raises(FileNotFoundError):
        await (incoming.take(BODY) if step == "take" else getattr(incoming, step)())


# Downloads onto the disk


class Script:
    """A transport whose answers are the next of `answers`: (status, pieces, error or None)."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    async def send(self, request, timeout_seconds):
        self.requests.append(request)
        status, pieces, error = self.answers.pop(0)
        for piece in pieces:
            if request.body_to is not None:
                await request.body_to.take(piece)
        if error is not None:
            raise error
        return WireResponse(status=status, body=b"" if request.body_to is not None else b"".join(pieces))


CUT = OutcomeUnknown("the connection broke")


def only(market, flow=None):
    """The sources with one broker, which asks for its files by `flow`."""
    source = market.sources(market.registry)["zerodha"]
    if flow is not None:
        source = attrs.evolve(
            source, broker=attrs.evolve(source.broker, instruments=SimpleNamespace(file_requests=flow))
        )
    return {"zerodha": source}


async def fetched(sources, transport, folder):
    progress = Published(BuildProgress())
    with trio.fail_after(PATIENCE_SECONDS):
        downloads = await download(
            sources, dict.fromkeys(sources, transport), Clock(), ProgressKeeper(progress), ProcessBuilder(folder)
        )
    return downloads, progress.value.brokers["zerodha"]


@pytest.mark.parametrize("first", [(200, PIECES[:60], CUT), (503, [b"<html>busy</html>"], None), (200, [], CUT)])
async def test_a_file_that_broke_is_fetched_once_more_and_kept_whole(market, tmp_path, first):
    transport = Script(first, (200, PIECES, None))
    downloads, progress = await fetched(only(market), transport, tmp_path)
    (kept,) = downloads.files["zerodha"].bodies
    assert kept.read_bytes() == BODY
    assert (len(transport.requests), progress.bytes_fetched, progress.files) == (2, len(BODY), 1)


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([(200, PIECES[:60], CUT)] * 2, "the connection broke"),
        ([(404, PIECES[:60], None)], "its file was answered with HTTP 404"),
        ([(500, PIECES[:60], None)] * 2, "its file was answered with HTTP 500"),
    ],
)
async def test_half_a_file_and_the_body_of_an_error_are_no_file(market, tmp_path, answers, why):
    transport = Script(*answers)
    downloads, progress = await fetched(only(market), transport, tmp_path)
    assert (downloads.files, downloads.lost, progress.files) == ({}, {"zerodha": why}, 0)
    assert transport.answers == []


async def test_no_body_of_a_file_is_in_memory(market, tmp_path):
    answers = []

    def flow(access, now):
        answers.append((yield WireRequest(kind=CallKind.FILE, method="GET", url="https://x.test/file")))

    transport = Script((200, PIECES, None))
    downloads, _ = await fetched(only(market, flow), transport, tmp_path)
    assert answers == [WireResponse(status=200)]
    assert [kept.read_bytes() for kept in downloads.files["zerodha"].bodies] == [BODY]


async def test_a_flow_may_look_into_an_answer_of_another_kind_which_is_kept_too(market, tmp_path):
    def flow(access, now):
        index = yield WireRequest(kind=CallKind.READ, method="GET", url="https://x.test/index")
        if not index.body:
            raise BadAnswer("there is no index")
        yield WireRequest(kind=CallKind.FILE, method="GET", url=f"https://x.test/{index.body.decode()}")

    transport = Script((503, [b"busy"], None), (200, [b"today"], None), (200, PIECES, None))
    downloads, progress = await fetched(only(market, flow), transport, tmp_path)
    assert transport.requests[-1].url == "https://x.test/today"
    assert [kept.read_bytes() for kept in downloads.files["zerodha"].bodies] == [b"today", BODY]
    assert progress.bytes_fetched == len(b"today") + len(BODY)
    downloads, _ = await fetched(only(market, flow), Script((404, [], None)), tmp_path)
    assert downloads.lost == {"zerodha": "there is no index"}
