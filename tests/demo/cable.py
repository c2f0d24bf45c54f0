"""A cable between a browser and a demo: a forwarder on a port of its own, which can be cut without a word to either end, and joined again.

    with Cable(demo.port) as cable:
        screen = Screen(browser, demo, port=cable.port)
        cable.cut()
        ...
        cable.join()

A connection from before a cut stays open and carries nothing any more, as when a router has forgotten it: neither end is told.
"""

import contextlib
import socket
import threading
from types import TracebackType

CHUNK = 65_536


class Cable:
    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._joined = threading.Event()
        self._joined.set()
        self._ended = False
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._cut_off: list[socket.socket] = []
        """Ends of connections from before a cut."""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """From now on nothing arrives, and a new connection is not answered. Nobody is told."""
        self._joined.clear()

    def join(self) -> None:
        """New connections work again."""
        pairs, self._pairs = self._pairs, []
        self._cut_off.extend(end for pair in pairs for end in pair)
        self._joined.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        self._joined.wait()
        try:
            far = socket.create_connection(("127.0.0.1", self._to))
        except OSError:
            near.close()
            return
        pair = (near, far)
        self._pairs.append(pair)
        for one, other in (pair, pair[::-1]):
            threading.Thread(target=self._carry, args=(one, other, pair), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, pair: tuple[socket.socket, socket.socket]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if not self._joined.is_set():
                    self._joined.wait()
                if pair not in self._pairs:
                    return  # from before a cut: the bytes are lost, and neither end is told
                target.sendall(data)
        if pair in self._pairs:
            self._pairs.remove(pair)
            for end in pair:
                end.close()

    def __enter__(self) -> "Cable":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._listener.close()
        self._joined.set()
        for end in (*self._cut_off, *(end for pair in self._pairs for end in pair)):
            with contextlib.suppress(OSError):
                end.close()
