"""The client's side of a hold of the history: it is told whenever the service did not hold it still until the end."""

from contextlib import asynccontextmanager

import pytest
import trio

from onebroker.http.control.control_socket import ControlFailed, NoService, history_held

HELD = b'{"progress":{"held":true}}\n'


@asynccontextmanager
async def service(path, first, last):
    """A service that answers a hold with `first`, and after the client has closed its side with `last`; None: it ends there."""
    asked = []
    listener = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
    await listener.bind(str(path))
    listener.listen()

    async def answer(stream):
        async with stream:
            asked.append(await stream.receive_some())
            if first is None:
                return
            await stream.send_all(first)
            if last is None:
                return
            while await stream.receive_some():
                pass
            await stream.send_all(last)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, answer, [trio.SocketListener(listener)])
        yield asked
        nursery.cancel_scope.cancel()
    listener.close()


async def hold(path):
    async with history_held(path, "why"):
        await trio.lowlevel.checkpoint()


async def test_a_hold_that_lasted_is_no_error(tmp_path):
    async with service(tmp_path / "socket", HELD, b'{"done":{}}\n') as asked, history_held(tmp_path / "socket", "why"):
        assert asked == [b'{"command":"hold_history","reason":"why"}\n']


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        (b'{"error":"damaged"}\n', None, "damaged"),
        (None, None, "the service ended before it answered"),
        (HELD, b'{"error":"too long"}\n', "too long"),
        (HELD, None, "the service ended before it answered"),
    ],
)
async def test_a_hold_that_did_not_last_is_an_error(tmp_path, first, last, said):
    async with service(tmp_path / "socket", first, last):
        with pytest.raises(ControlFailed, match=said):
            await hold(tmp_path / "socket")


async def test_without_a_service_there_is_no_hold(tmp_path):
    with pytest.raises(NoService):
        async with history_held(tmp_path / "socket", "why"):
            raise AssertionError
