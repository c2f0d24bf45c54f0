"""The ceiling of `bench.bench_routes`: a trio server written by hand for this measurement. It finds the end of a head, compares the token, and sends
bytes that were made once. It is no HTTP server: it checks no host name and no age, and it knows one path.
"""

import contextlib
import hmac

import trio

_HEAD_END = b"\r\n\r\n"


async def serve_by_hand(
    path: str, token: str, body: bytes, *, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve `body` at `path` on a free port of the loopback, which `task_status` gets, until cancelled."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    answer = head % len(body) + body
    refusal = b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n"
    request_line, secret = b"GET %s HTTP/1.1" % path.encode(), token.encode()

    async def converse(stream: trio.SocketStream) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # the client left within an answer
            await answer_all(stream)

    async def answer_all(stream: trio.SocketStream) -> None:
        data = b""
        while piece := await stream.receive_some(64 * 1024):
            data += piece
            while (end := data.find(_HEAD_END)) >= 0:
                lines, data = data[:end].split(b"\r\n"), data[end + 4 :]
                headers = dict(line.lower().split(b": ", 1) for line in lines[1:])
                is_right = lines[0] == request_line and hmac.compare_digest(headers.get(b"access-token", b""), secret)
                await stream.send_all(answer if is_right else refusal)

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    task_status.started(int(listeners[0].socket.getsockname()[1]))
    await trio.serve_listeners(converse, listeners)
