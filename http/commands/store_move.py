"""`onebroker store move --to database|files`: moves the durable store between the data directory and the database of `store.database`.

The service is stopped: the command holds the data directory and the database. The source is not changed. A move that was cut off goes on when the command
is run again; until its end the store is where it was. At the end both sides are read and compared by counts and hashes, and only then does the
data directory say that the store is at the other side.

Exit code 2 for wrong use, 3 when a service or another command holds one of both, 4 when the database is away or the two sides are not equal.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec
import trio

from onebroker.actors.store.data_directory import sync_folder, write_whole
from onebroker.actors.store.database_hold import DatabaseHold
from onebroker.actors.store.durable import DurableBusy
from onebroker.actors.store.durable_copy import Compared, Tell, copy_store, rows_in
from onebroker.actors.store.durable_postgres import PostgresDurable
from onebroker.actors.store.durable_sql import Engine
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteEngine
from onebroker.actors.store.open_durable import ELSEWHERE_FILE, note_database
from onebroker.config.settings import Settings
from onebroker.http.commands.exit_codes import DONE, INTERRUPTED, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import Bar, MovingBlock, Table, is_terminal, write, write_json
from onebroker.http.commands.stored_formats import open_data_directory

DRAFT_FILE = "durable.moving.sqlite"
"""The file of a store that comes from a database, until it is complete."""
MOVED_FILE = "durable.moved.sqlite"
"""The file of before, after a move to a database."""
NOTE_FILE = "durable.moving"
"""Names the database to which a move has begun."""
AGAIN = "run the same command again: it goes on where it stopped"


def run_move(parsed: argparse.Namespace, settings: Settings, durable: PostgresDurable) -> int:
    """Run the command; `durable` is the store in the database."""
    data_dir = settings.service.data_dir
    move = _to_database if parsed.to == "database" else _to_files
    try:
        with open_data_directory(data_dir) as directory, _held(durable), _progress(shown=not parsed.json) as tell:
            compared, last = trio.run(
                move, _Sides(directory.path, durable, tell, parsed.replace), strict_exception_groups=True
            )
    except KeyboardInterrupt:
        raise CommandFailed(f"the move was interrupted, and the store is where it was; {AGAIN}", INTERRUPTED) from None
    _say(parsed, compared, last)
    return DONE


@attrs.frozen
class _Sides:
    data_dir: Path
    durable: PostgresDurable
    tell: Tell
    replace: bool
    """Whether what the database holds may be replaced."""

    @property
    def file(self) -> Path:
        return self.data_dir / DURABLE_FILE


async def _to_database(sides: _Sides) -> tuple[Sequence[Compared], str]:
    shown, note = sides.durable.server.shown, sides.data_dir / NOTE_FILE
    if not sides.file.exists():
        if (sides.data_dir / ELSEWHERE_FILE).exists():
            raise CommandFailed(f"the store of {sides.data_dir} is in a database already", WRONG_USE)
        raise CommandFailed(f"{sides.data_dir} has no store: a service with these settings makes one", WRONG_USE)
    begun = note.exists() and note.read_text("utf-8").strip() == shown
    if not begun and not sides.replace and (rows := await rows_in(sides.durable.engine)):
        raise CommandFailed(
            f"the database {shown} holds a store already ({rows:,} rows): give another one, or --replace", WRONG_USE
        )
    write_whole(note, f"{shown}\n".encode())
    source = SqliteEngine(sides.file)
    compared = await _copied(source, sides.durable.engine, sides.tell)
    if any(sides.data_dir.glob(f"{DURABLE_FILE}-*")):  # its log: somebody has it open
        raise DurableBusy(f"{DURABLE_FILE} is in use by another process, and the store is where it was; {AGAIN}")
    note_database(sides.data_dir, shown)
    sides.file.replace(sides.data_dir / MOVED_FILE)
    note.unlink()
    sync_folder(sides.data_dir)
    return compared, (
        f"the store is in the database {shown} now; {sides.data_dir / MOVED_FILE} is the old file, which holds the access token: remove it when you "
        "need it no more"
    )


async def _to_files(sides: _Sides) -> tuple[Sequence[Compared], str]:
    if sides.file.exists():
        raise CommandFailed(f"the store of {sides.data_dir} is in its file {DURABLE_FILE} already", WRONG_USE)
    draft = sides.data_dir / DRAFT_FILE
    compared = await _copied(sides.durable.engine, SqliteEngine(draft), sides.tell)
    (sides.data_dir / ELSEWHERE_FILE).unlink(missing_ok=True)
    draft.replace(sides.file)
    sync_folder(sides.data_dir)
    return compared, (
        f"the store is in {sides.file} now: remove store.database from the settings; the database {sides.durable.server.shown} keeps its copy until "
        "you remove it"
    )


async def _copied(source: Engine, target: Engine, tell: Tell) -> Sequence[Compared]:
    compared = await copy_store(source, target, tell)
    if unequal := [each.table for each in compared if not each.equal]:
        raise CommandFailed(
            f"not equal on both sides: {', '.join(unequal)}. Somebody has written meanwhile. The store is where it was; {AGAIN}",
            NOTHING_REACHABLE,
        )
    return compared


@contextmanager
def _held(durable: PostgresDurable) -> Iterator[None]:
    hold = DatabaseHold(durable.server)
    try:
        hold.take()
        yield
    finally:
        hold.close()
        durable.server.close()


@contextmanager
def _progress(*, shown: bool) -> Iterator[Tell]:
    """Yield the function that shows a person at a terminal how far the copy is."""
    if not shown or not is_terminal(sys.stderr):
        yield lambda table, done, rows: None
        return
    block = MovingBlock(sys.stderr)

    def tell(table: str, done: int, rows: int) -> None:
        block.show([Bar(done=done, total=rows, text=f"{table}: {done:,} of {rows:,} rows")])

    try:
        yield tell
    finally:
        block.close()


def _say(parsed: argparse.Namespace, compared: Sequence[Compared], last: str) -> None:
    if parsed.json:
        tables = {each.table: {"rows": each.target.rows, "sha256": each.target.sha256} for each in compared}
        write_json(sys.stdout, msgspec.to_builtins({"to": parsed.to, "tables": tables}))
        return
    rows = [
        [each.table, f"{each.source.rows:,}", f"{each.target.rows:,}", each.source.sha256[:12], each.target.sha256[:12]]
        for each in compared
    ]
    head = ["table", "rows", "rows there", "hash", "hash there"]
    write(sys.stdout, [Table(head=head, rows=rows, right=frozenset({"rows", "rows there"})), last])
