"""Stands in for the brokers' hosts of instrument files: serves the files of a folder, over TLS on loopback.

    python -m bench.file_server FOLDER      prints its port when it is ready, and serves until it is ended

`/<name>` answers with the file of that name, packed with gzip if the client accepts that. The files are read and packed beforehand.
"""

import argparse
import gzip
import ssl
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

CERTIFICATE = Path(__file__).parents[1] / "tests" / "data" / "transport" / "loopback.pem"
"""The tests' certificate, for 127.0.0.1."""
PACKING = 6
"""The level that servers use by default."""


class File:
    """One file and its packed form."""

    def __init__(self, path: Path) -> None:
        self.plain = path.read_bytes()
        self.packed = gzip.compress(self.plain, PACKING)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: "FileServer"

    def do_GET(self) -> None:
        file = self.server.files.get(self.path.lstrip("/"))
        packed = "gzip" in self.headers.get("Accept-Encoding", "")
        body = b"" if file is None else file.packed if packed else file.plain
        self.send_response(404 if file is None else 200)
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class FileServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {path.name: File(path) for path in folder.iterdir()}
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATE)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    server = FileServer(parser.parse_args().folder)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
