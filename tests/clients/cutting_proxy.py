"""A TCP proxy on loopback that does what a bad network does: it cuts every connection, or loses the answer to one kind of request.

with CuttingProxy(port) as proxy:
    proxy.lose("POST /api/orders/place")
    proxy.cut()
"""

import contextlib
import socket
import socketserver
import threading

_CHUNK = 64 * 1024


class _Relay(socketserver.BaseRequestHandler):
    server: "CuttingProxy"

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.target)) as service:
            self._is_losing = False
            with self.server.lock:
                self.server.open |= {self.request, service}
            back = threading.Thread(target=self._relay, args=(service, self.request, self._may_pass))
            back.start()
            self._relay(self.request, service, self._heard)
            back.join()
            with self.server.lock:
                self.server.open -= {self.request, service}

    def _relay(self, source, sink, may_pass) -> None:
        """Hand bytes on until one side ends; then both end."""
        with contextlib.suppress(OSError):
            while (data := source.recv(_CHUNK)) and may_pass(data):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _heard(self, data: bytes) -> bool:
        if self.server.losing and data.startswith(self.server.losing):
            self._is_losing = True
            self.server.lost += 1
        return True

    def _may_pass(self, data: bytes) -> bool:
        return not self._is_losing


class CuttingProxy(socketserver.ThreadingTCPServer):
    """The proxy in front of a port of this machine. `cuts` and `lost` count what it did."""

    allow_reuse_address = True

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), _Relay)
        self.target = target
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()
        self.losing = b""
        self.cuts = self.lost = 0
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def lose(self, beginning: str) -> None:
        """From now on lose the answers to the requests that begin so: they arrive, and the connection is cut when they are answered."""
        self.losing = beginning.encode()

    def cut(self) -> None:
        """Cut every connection in the middle of what it is doing."""
        with self.lock:
            self.cuts += len(self.open) // 2
            for one in self.open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> "CuttingProxy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self.shutdown()
        self._thread.join()
        self.server_close()
