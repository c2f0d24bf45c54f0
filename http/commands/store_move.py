"""`onebroker store move --to database|files`: moves the durable store, and the candles where `store.candles` says so, between the data directory and the
database of `store.database`.

The service is stopped: the command holds the data directory and the database. The source is not changed, but for the candles, which
leave the history file when they are compared. A move that was cut off goes on when the command
is run again; until its end the store is where it was. At the end both sides are read and compared by counts and hashes, and only then does the
data directory say that the store is at the other side.

Exit code 2 for wrong use, 3 when a service or another command holds one of both, 4 when the database is away or the two sides are not equal.
"""

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import attrs
import msgspec
import trio

from onebroker.actors.history.candle_copy import CandleStore, copy_candles
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.history_paths import incoming_folder
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.open_history import candles_file, note_candles, open_file
from onebroker.actors.history.postgres_candles import PostgresCandles, candle_server
from onebroker.actors.store.data_directory import sync_folder, write_whole
from onebroker.actors.store.database_hold import DatabaseHold
from onebroker.actors.store.durable import DurableBusy
from onebroker.actors.store.durable_copy import Compared, Contents, Tell, copy_store, rows_in
from onebroker.actors.store.durable_postgres import PostgresDurable
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
    move = _to_database if parsed.to == "database" else _to_files
    try:
        with (
            open_data_directory(settings.service.data_dir) as directory,
            _held(durable),
            _progress(shown=not parsed.json) as tell,
        ):
            sides = _Sides(directory.path, settings, durable, tell, parsed.replace)
            moved = trio.run(_with_candles, move, sides, strict_exception_groups=True)
    except KeyboardInterrupt:
        raise CommandFailed(f"the move was interrupted, and the store is where it was; {AGAIN}", INTERRUPTED) from None
    except HistoryError as error:
        raise CommandFailed(f"{error}; {AGAIN}", NOTHING_REACHABLE) from error
    _say(parsed, moved)
    return DONE


@attrs.frozen
class _Sides:
    data_dir: Path
    settings: Settings
    durable: PostgresDurable
    tell: Tell
    replace: bool
    """Whether what the database holds may be replaced."""

    @property
    def file(self) -> Path:
        return self.data_dir / DURABLE_FILE


@attrs.frozen
class _Candles:
    """The two places of candles."""

    duck: DuckHistory
    database: PostgresCandles


@attrs.frozen
class _Moved:
    compared: Sequence[Compared]
    said: Sequence[str]


_Move = Callable[[_Sides, _Candles], Awaitable[_Moved]]


async def _with_candles(move: _Move, sides: _Sides) -> _Moved:
    url = sides.settings.store.database
    assert url is not None
    duck = open_file(sides.data_dir, sides.settings.history)
    candles = _Candles(duck, PostgresCandles(candle_server(url.reveal())))
    try:
        return await move(sides, candles)
    finally:
        with trio.CancelScope(shield=True):
            await candles.database.close()
            await duck.close()


async def _to_database(sides: _Sides, candles: _Candles) -> _Moved:
    data_dir, shown, note = sides.data_dir, sides.durable.server.shown, sides.data_dir / NOTE_FILE
    durable_moves = sides.file.exists()
    candles_move = sides.settings.store.candles == "database" and not candles_file(data_dir).exists()
    if not durable_moves and not candles_move:
        raise CommandFailed(f"the store of {data_dir} is in a database already, or there is none", WRONG_USE)
    if not (note.exists() and note.read_text("utf-8").strip() == shown):
        rows = await rows_in(sides.durable.engine) if durable_moves else 0
        rows += sum((await candles.database.candle_days()).values()) if candles_move else 0
        if rows and not sides.replace:
            raise CommandFailed(
                f"the database {shown} holds a store already ({rows:,} rows): give another one, or --replace", WRONG_USE
            )
        if candles_move:
            await candles.database.clear()
    write_whole(note, f"{shown}\n".encode())
    compared: list[Compared] = []
    said = [f"the store is in the database {shown} now"]
    if durable_moves:
        compared += _equal(await copy_store(SqliteEngine(sides.file), sides.durable.engine, sides.tell))
    if candles_move:
        compared += await _copied_candles(candles.duck, candles.database, sides)
        note_candles(data_dir)
        await candles.duck.drop_candles()
    if durable_moves:
        if any(data_dir.glob(f"{DURABLE_FILE}-*")):  # its log: somebody has it open
            raise DurableBusy(f"{DURABLE_FILE} is in use by another process; {AGAIN}")
        note_database(data_dir, shown)
        sides.file.replace(data_dir / MOVED_FILE)
        said.append(
            f"{data_dir / MOVED_FILE} is the old file, which holds the access token: remove it when you need it no more"
        )
    note.unlink()
    sync_folder(data_dir)
    return _Moved(compared, said)


async def _to_files(sides: _Sides, candles: _Candles) -> _Moved:
    data_dir = sides.data_dir
    durable_moves, candles_move = not sides.file.exists(), candles_file(data_dir).exists()
    if not durable_moves and not candles_move:
        raise CommandFailed(f"the store of {data_dir} is in its files already", WRONG_USE)
    draft = data_dir / DRAFT_FILE
    compared: list[Compared] = []
    if durable_moves:
        compared += _equal(await copy_store(sides.durable.engine, SqliteEngine(draft), sides.tell))
    if candles_move:
        compared += await _copied_candles(candles.database, candles.duck, sides)
        candles_file(data_dir).unlink()
    if durable_moves:
        (data_dir / ELSEWHERE_FILE).unlink(missing_ok=True)
        draft.replace(sides.file)
    sync_folder(data_dir)
    said = (
        f"the store is in the files of {data_dir} now: remove the section [store] from the settings",
        f"the database {sides.durable.server.shown} keeps its copy until you remove it",
    )
    return _Moved(compared, said)


async def _copied_candles(source: CandleStore, target: CandleStore, sides: _Sides) -> Sequence[Compared]:
    contents = await copy_candles(source, target, incoming_folder(sides.data_dir), sides.tell)
    here, there = (Contents(rows=each.rows, sha256=each.sha256, last=None) for each in contents)
    return _equal([Compared(table="candles", source=here, target=there)])


def _equal(compared: Sequence[Compared]) -> Sequence[Compared]:
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


def _say(parsed: argparse.Namespace, moved: _Moved) -> None:
    compared = moved.compared
    if parsed.json:
        tables = {each.table: {"rows": each.target.rows, "sha256": each.target.sha256} for each in compared}
        write_json(sys.stdout, msgspec.to_builtins({"to": parsed.to, "tables": tables}))
        return
    rows = [
        [each.table, f"{each.source.rows:,}", f"{each.target.rows:,}", each.source.sha256[:12], each.target.sha256[:12]]
        for each in compared
    ]
    head = ["table", "rows", "rows there", "hash", "hash there"]
    write(sys.stdout, [Table(head=head, rows=rows, right=frozenset({"rows", "rows there"})), *moved.said])
