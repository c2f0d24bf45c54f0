"""`onebroker restore`: a whole data directory or none, and nothing that exists is changed."""

import gzip
import io
import json
import os
import shutil
import tarfile

import pytest
import trio

from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.store.durable import EngineCount
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.http.commands.backup import archive
from onebroker.http.commands.stored_formats import FORMATS, stored_formats
from tests.support.command_lines import run_line

CUTS = 40


@pytest.fixture
def refused(tmp_path, capsys):
    """Restore a file that must be refused with exit code 2; return the sentence. Nothing is left behind."""

    def restore(file, code=2):
        target = tmp_path / "there" / "data"
        capsys.readouterr()
        assert run_line("restore", file, "--data-dir", target) == code
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1, said.err
        assert not (tmp_path / "there").exists() or list((tmp_path / "there").iterdir()) == []
        return said.err

    return restore


@pytest.fixture
def changed(tmp_path, backup):
    """Return what writes another backup: `edit` gets the members (name -> bytes) and the manifest, and `more` adds entries."""

    def write(edit=lambda members, manifest: None, more=()):
        with tarfile.open(backup) as tar:
            members = {entry.name: tar.extractfile(entry).read() for entry in tar}
        manifest = json.loads(members.pop("manifest.json"))
        edit(members, manifest)
        file = tmp_path / "changed.tar"
        with tarfile.open(file, "w") as tar:
            for name, data in {**members, "manifest.json": json.dumps(manifest).encode()}.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
            for entry in more:
                tar.addfile(entry, io.BytesIO(bytes(entry.size)))
        return file

    return write


def test_the_directory_is_private_and_counts_as_an_old_copy(tmp_path, backup, capsys):
    target = tmp_path / "deep" / "data"
    assert run_line("restore", backup, "--data-dir", target) == 0
    assert capsys.readouterr().out.startswith(f"{target} is restored: 8 files, 0.9 MB, made at 20")
    modes = {path: path.stat().st_mode & 0o777 for path in (target, *target.rglob("*"))}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert stored_formats(target) == FORMATS
    assert trio.run(SqliteDurable(target / "durable.sqlite").engine_count) == EngineCount(run=34, writes=2, lost=True)
    assert not (target / "engine-owner").exists()
    assert [entry.name for entry in target.parent.iterdir()] == ["data"]


def test_an_empty_directory_is_taken(tmp_path, backup):
    (tmp_path / "data").mkdir()
    assert run_line("restore", backup, "--data-dir", tmp_path / "data") == 0
    assert (tmp_path / "data" / "durable.sqlite").exists()


def test_a_packed_backup_is_restored(tmp_path, backup):
    (tmp_path / "packed.tar.gz").write_bytes(gzip.compress(backup.read_bytes()))
    assert run_line("restore", tmp_path / "packed.tar.gz", "--data-dir", tmp_path / "data") == 0


def test_a_directory_that_holds_something_is_left_alone(tmp_path, backup, capsys):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").write_text("mine")
    assert run_line("restore", backup, "--data-dir", tmp_path / "data") == 2
    assert capsys.readouterr().err == f"{tmp_path / 'data'} is not empty: give a directory that is empty or not there\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]
    assert (tmp_path / "data" / "mine").read_text() == "mine"


def test_a_directory_in_which_a_service_runs_is_busy(tmp_path, backup, capsys):
    with DataDirectory(tmp_path / "data"):
        assert run_line("restore", backup, "--data-dir", tmp_path / "data") == 3
    assert capsys.readouterr().err == f"the data directory {tmp_path / 'data'} is in use by process {os.getpid()}\n"


def test_a_file_or_a_link_is_no_place(tmp_path, backup, capsys):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("file", "link"):
        assert run_line("restore", backup, "--data-dir", tmp_path / name) == 2
        assert capsys.readouterr().err == f"{tmp_path / name} is no directory\n"


def test_a_service_that_starts_meanwhile_keeps_its_directory(tmp_path, backup, capsys, monkeypatch):
    extract, target = archive.BackupReader.extract, tmp_path / "data"

    def extract_while_a_service_starts(self, folder):
        extract(self, folder)
        DataDirectory(target).close()

    monkeypatch.setattr(archive.BackupReader, "extract", extract_while_a_service_starts)
    assert run_line("restore", backup, "--data-dir", target) == 2
    assert "is not empty any more" in capsys.readouterr().err
    assert [entry.name for entry in target.iterdir()] == ["lock"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]


def test_a_file_that_is_not_there_or_no_backup_is_said(tmp_path, refused):
    assert refused(tmp_path / "none.tar") == f"{tmp_path / 'none.tar'} is not there\n"
    (tmp_path / "text.tar").write_text("no backup" * 1000)
    assert "text.tar is damaged, or no backup" in refused(tmp_path / "text.tar")
    assert "it is no file" in refused(tmp_path)


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path, backup, refused):
    whole = backup.read_bytes()
    end = whole.rindex(b'"members"')  # in the manifest, which is last
    for cut in range(0, end, end // CUTS):
        (tmp_path / "cut.tar").write_bytes(whole[:cut])
        assert refused(tmp_path / "cut.tar")


def test_a_byte_that_changed_in_any_member_is_found(tmp_path, backup, refused):
    with tarfile.open(backup) as tar:
        entries = [entry for entry in tar if entry.name != "manifest.json"]
    whole = backup.read_bytes()
    for entry in entries:
        damaged = bytearray(whole)
        damaged[entry.offset_data + entry.size // 2] ^= 1
        (tmp_path / "damaged.tar").write_bytes(damaged)
        assert refused(tmp_path / "damaged.tar").endswith(f": {entry.name} in it is damaged: nothing was restored\n")


@pytest.mark.parametrize(
    "name",
    [
        "../outside", "/tmp/outside", "audit/../../outside", "audit/2026-11-23.jsonl/../../x", "./durable.sqlite", "lock",
        "redis/redis.conf", "redis/appendonlydir/.hidden", "catalogue/deep/x.arrow", "catalogue/x.arrow\n", "history/",
        "engine-owner",
    ],
)  # fmt: skip
def test_a_member_with_a_path_that_no_backup_has_is_refused(changed, refused, name):
    entry = tarfile.TarInfo(name)
    entry.size = 5
    assert "it has a member that no backup has" in refused(changed(more=[entry]))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_a_member_that_is_no_file_is_refused(changed, refused, kind):
    entry = tarfile.TarInfo("catalogue/x.arrow")
    entry.type, entry.linkname = kind, "/etc/passwd"
    assert "it has a member that no backup has" in refused(changed(more=[entry]))


def test_two_members_of_one_name_are_refused(changed, refused):
    assert "it has two members durable.sqlite" in refused(changed(more=[tarfile.TarInfo("durable.sqlite")]))


def test_a_member_too_many_or_too_few_is_refused(changed, refused):
    added = changed(lambda members, manifest: members.update({"catalogue/x.arrow": b"x"}))
    assert "names other members than it has: catalogue/x.arrow" in refused(added)
    taken = changed(lambda members, manifest: members.pop("audit/2026-11-23.jsonl"))
    assert "names other members than it has: audit/2026-11-23.jsonl" in refused(taken)


def test_a_backup_without_the_durable_store_is_refused(changed, refused):
    def without(members, manifest):
        del members["durable.sqlite"]
        manifest["members"] = [each for each in manifest["members"] if each["name"] != "durable.sqlite"]

    assert "it holds no durable.sqlite" in refused(changed(without))


@pytest.mark.parametrize("store", [*FORMATS, "a store of later"])
def test_a_newer_format_of_any_store_is_refused_with_a_sentence(changed, refused, store):
    number = FORMATS.get(store, 0) + 1
    said = refused(changed(lambda members, manifest: manifest["formats"].update({store: number})))
    assert f"was written by a newer release of onebroker ({store} {number})" in said


def test_a_newer_archive_is_refused_whatever_else_its_manifest_says(changed, refused):
    def newer(members, manifest):
        manifest.clear()
        manifest.update({"format": 2, "of later": True})

    assert "a newer release of onebroker has made it (format 2; this release reads 1)" in refused(changed(newer))


def test_a_manifest_that_cannot_be_read_is_refused(changed, refused):
    assert "its manifest cannot be read" in refused(changed(lambda members, manifest: manifest.pop("formats")))


def test_a_disk_without_room_is_said_before_anything_is_written(backup, refused, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10**9, 10**9, 1000))
    assert "it needs 0.9 MB and the disk of" in refused(backup, code=4)
