"""A receiver of alerts on a free port of the loopback, in threads of its own: it takes JSON messages, refuses, hangs, or is away.

with alert_receiver() as here:
    url = f"json://127.0.0.1:{here.port}/one"
    ...
    here.messages("/one")
"""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec


class AlertReceiver:
    def __init__(self, port: int = 0) -> None:
        self.taken: list[tuple[str, dict[str, Any]]] = []
        """(path, message), in the order of their coming."""
        self.status: dict[str, int] = {}
        """Path -> the status that is answered in place of 200."""
        self.begun = 0
        """Requests that have come, also those that hang."""
        self._hanging: set[str] = set()
        self._released = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.begun += 1
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if receiver.is_hanging(self.path):
                    return
                status = receiver.status.get(self.path.partition("?")[0], 200)
                if status == 200:
                    receiver.taken.append((self.path.partition("?")[0], msgspec.json.decode(body)))
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("content-length", "0")
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def hang(self, path: str) -> None:
        """Let requests to this path hang until `release`."""
        self._hanging.add(path)

    def is_hanging(self, path: str) -> bool:
        """Tell whether a request was left hanging; return when it is released."""
        if path.partition("?")[0] not in self._hanging:
            return False
        self._released.wait()
        return True

    def release(self) -> None:
        self._released.set()

    def messages(self, path: str) -> list[dict[str, Any]]:
        return [message for of, message in list(self.taken) if of == path]

    def end(self) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextlib.contextmanager
def alert_receiver(port: int = 0) -> Iterator[AlertReceiver]:
    receiver = AlertReceiver(port)
    try:
        yield receiver
    finally:
        receiver.end()
