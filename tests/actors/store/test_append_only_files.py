"""The append-only files of one moment: of a running server, of a dead one, of an old one; while they are rewritten, and cut off at any byte."""

import shutil
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import redis
import trio

from onebroker.actors.store import append_only_files
from onebroker.actors.store.append_only_files import FilesChanging, OpenPart, open_append_only_files
from onebroker.actors.store.embedded import PARTS_FOLDER, EmbeddedServer, find_server_binary
from onebroker.actors.store.interface import Set, SetAdd
from onebroker.actors.store.redis import RedisStore, RedisStoreActor

OLD_FILES = Path(__file__).resolve().parents[2] / "data" / "store"
BASE, INCR = "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"
MANIFEST = f"file {BASE} seq 1 type b\nfile {INCR} seq 1 type i\n"


def put(folder: Path, manifest: str, **files: bytes) -> Path:
    parts = folder / "redis" / PARTS_FOLDER
    parts.mkdir(parents=True, exist_ok=True)
    for name, data in {BASE: b"base", INCR: b"incr", **files}.items():
        (parts / name).write_bytes(data)
    (parts / "appendonly.aof.manifest").write_text(manifest)
    return parts


def write(target: Path, manifest: bytes, parts: Sequence[OpenPart], cut: int = 0) -> None:
    """Write a copy as a backup does; `cut` bytes of the last file are left out."""
    for part in parts:
        (target / part.name).parent.mkdir(parents=True, exist_ok=True)
        data = part.file.read(part.size)
        (target / part.name).write_bytes(data[: len(data) - cut] if part is parts[-1] else data)
    if manifest:
        (target / "redis" / PARTS_FOLDER / "appendonly.aof.manifest").write_bytes(manifest)


async def stored(folder: Path, *names: str) -> list[bytes | None]:
    """Start a server on a copy, and return what it holds."""
    server = EmbeddedServer(folder, find_server_binary(None))
    store = RedisStore(server.address)
    async with trio.open_nursery() as nursery:
        await nursery.start(RedisStoreActor(store, server).run)
        values = [await store.get(name) for name in names]
        nursery.cancel_scope.cancel()
    return values


def test_a_directory_without_a_server_has_none(tmp_path: Path) -> None:
    with ExitStack() as stack:
        assert open_append_only_files(tmp_path, stack) is None


def test_what_is_appended_and_removed_later_does_not_count(tmp_path: Path) -> None:
    parts = put(tmp_path, MANIFEST)
    with ExitStack() as stack:
        found = open_append_only_files(tmp_path, stack)
        assert found is not None
        with (parts / INCR).open("ab") as file:
            file.write(b"more")
        (parts / INCR).unlink()
        assert [part.file.read(part.size) for part in found.parts] == [b"base", b"incr"]
        assert [part.name for part in found.parts] == [f"redis/{PARTS_FOLDER}/{name}" for name in (BASE, INCR)]


def test_parts_that_only_wait_to_be_removed_are_left_out(tmp_path: Path) -> None:
    put(tmp_path, MANIFEST + "file appendonly.aof.0.incr.aof seq 0 type h\n")
    with ExitStack() as stack:
        found = open_append_only_files(tmp_path, stack)
        assert found is not None
        assert found.manifest == MANIFEST.encode()


def test_files_that_are_rewritten_meanwhile_are_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = put(tmp_path, MANIFEST)
    (parts / BASE).unlink()  # a server that rewrites has just removed it
    open_one, later = append_only_files._open, MANIFEST.replace(".1.", ".2.")

    def opened(path: Path, name: str, stack: ExitStack) -> OpenPart:
        if path.name == BASE:
            put(tmp_path, later, **{BASE.replace(".1.", ".2."): b"new base", INCR.replace(".1.", ".2."): b"new incr"})
            (parts / BASE).unlink()
        return open_one(path, name, stack)

    monkeypatch.setattr(append_only_files, "_open", opened)
    with ExitStack() as stack:
        found = open_append_only_files(tmp_path, stack)
        assert found is not None
        assert found.manifest == later.encode()
        assert [part.file.read(part.size) for part in found.parts] == [b"new base", b"new incr"]


def test_files_that_never_stay_are_said(tmp_path: Path) -> None:
    (put(tmp_path, MANIFEST) / BASE).unlink()
    with ExitStack() as stack, pytest.raises(FilesChanging, match="change all the time"):
        open_append_only_files(tmp_path, stack)


@pytest.mark.demo
async def test_a_copy_of_a_running_server_holds_every_acknowledged_write(
    tmp_path: Path, server: EmbeddedServer, redis_store: RedisStore
) -> None:
    for number in range(50):
        await redis_store.commit(Set(f"k{number}", b"%d" % number), count="writes")
    with ExitStack() as stack:
        found = open_append_only_files(tmp_path, stack)
        assert found is not None
        await redis_store.commit(Set("later", b"1"), count="writes")
        write(tmp_path / "copy", found.manifest, found.parts)
    assert await stored(tmp_path / "copy", "k0", "k49", "later", "writes") == [b"0", b"49", None, b"50"]


@pytest.mark.demo
@pytest.mark.parametrize("cut", [1, 20, 60])
async def test_a_commit_that_is_cut_off_is_dropped_as_a_whole(
    tmp_path: Path, server: EmbeddedServer, redis_store: RedisStore, cut: int
) -> None:
    await redis_store.commit(Set("first", b"1"), count="writes")
    await redis_store.commit(Set("a", b"1"), SetAdd("b", "1"), Set("c", b"1"), count="writes")
    with ExitStack() as stack:
        found = open_append_only_files(tmp_path, stack)
        assert found is not None
        write(tmp_path / "copy", found.manifest, found.parts, cut)
    assert await stored(tmp_path / "copy", "first", "a", "c", "writes") == [b"1", None, None, b"1"]


@pytest.mark.demo
async def test_copies_taken_while_the_server_rewrites_its_files_are_whole(
    tmp_path: Path, server: EmbeddedServer, redis_store: RedisStore
) -> None:
    client: redis.Redis = server.address.resolve()()
    acknowledged = []
    for number in range(12):
        for each in range(40):
            await redis_store.commit(Set(f"{number}.{each}", b"x" * 2000), count="writes")
        with suppress(redis.ResponseError):  # it is at it already
            await trio.to_thread.run_sync(client.bgrewriteaof)
        with ExitStack() as stack:
            found = await trio.to_thread.run_sync(open_append_only_files, tmp_path, stack)
            assert found is not None
            acknowledged.append(b"%d" % (40 * (number + 1)))
            write(tmp_path / f"copy{number}", found.manifest, found.parts)
    client.close()
    copies = [await stored(tmp_path / f"copy{number}", "writes") for number in (0, 5, 11)]
    assert copies == [[acknowledged[number]] for number in (0, 5, 11)]
    names = (tmp_path / "redis" / PARTS_FOLDER / "appendonly.aof.manifest").read_text()
    assert ".1.base" not in names  # it was rewritten, more than once


@pytest.mark.demo
async def test_the_file_of_an_old_server_is_copied_too(tmp_path: Path) -> None:
    (tmp_path / "redis").mkdir()
    shutil.copy(OLD_FILES / "redis-6.2-preamble.aof", tmp_path / "redis" / "appendonly.aof")
    with ExitStack() as stack:
        found = open_append_only_files(tmp_path, stack)
        assert found is not None
        assert found.manifest == b""
        write(tmp_path / "copy", found.manifest, found.parts)
    assert (tmp_path / "copy" / "redis" / "appendonly.aof").read_bytes() == (
        OLD_FILES / "redis-6.2-preamble.aof"
    ).read_bytes()
