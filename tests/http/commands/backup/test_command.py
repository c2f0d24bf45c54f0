"""`onebroker backup`: everything of a directory in one private file, or no file and a sentence."""

import hashlib
import json
import tarfile
from contextlib import ExitStack
from datetime import datetime, timedelta

import attrs
import trio

from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.http.commands.backup import command
from onebroker.http.commands.backup.archive import BackupWriter
from onebroker.http.commands.stored_formats import FORMATS, FORMATS_FILE
from tests.support.command_lines import run_line
from tests.support.small_directory import TOKEN, found

MEMBERS = {
    "durable.sqlite",
    "catalogue/2026-11-23.arrow",
    "history/history.duckdb",
    "audit/2026-11-23.jsonl",
    "audit/2026-11-24.jsonl",
    "redis/appendonlydir/appendonly.aof.1.base.rdb",
    "redis/appendonlydir/appendonly.aof.1.incr.aof",
    "redis/appendonlydir/appendonly.aof.manifest",
}


def test_the_file_holds_every_store_and_says_what_it_holds(backup):
    assert backup.stat().st_mode & 0o777 == 0o600
    with tarfile.open(backup) as tar:
        assert tar.getmembers()[-1].name == "manifest.json"
        parts = {entry.name: tar.extractfile(entry).read() for entry in tar}
    manifest = json.loads(parts.pop("manifest.json"))
    assert parts.keys() == MEMBERS
    assert {each["name"]: (each["bytes"], each["sha256"]) for each in manifest.pop("members")} == {
        name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in parts.items()
    }
    made_at = datetime.fromisoformat(manifest.pop("made_at"))
    assert made_at.utcoffset() == timedelta(hours=5, minutes=30)
    assert manifest.pop("onebroker")
    assert manifest == {"format": 1, "service_ran": False, "has_redis": True, "formats": dict(FORMATS)}


def test_the_audit_is_copied_last_and_redis_is_copied_before_the_durable_store(backup):
    with tarfile.open(backup) as tar:
        names = [name.partition("/")[0] for name in tar.getnames()]
    assert list(dict.fromkeys(names)) == ["redis", "durable.sqlite", "catalogue", "history", "audit", "manifest.json"]


def test_a_file_that_is_there_is_not_changed(tmp_path, data_dir, capsys):
    file = tmp_path / "backup.tar"
    file.write_text("mine")
    assert run_line("backup", file, "--data-dir", data_dir) == 2
    assert capsys.readouterr().err == f"{file} is there already and was not changed\n"
    assert file.read_text() == "mine"


def test_a_directory_without_data_is_said_and_not_made(tmp_path, capsys):
    assert run_line("backup", tmp_path / "backup.tar", "--data-dir", tmp_path / "none") == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none'} holds nothing of onebroker\n"
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_another_command_holds_is_busy(tmp_path, data_dir, capsys):
    with DataDirectory(data_dir):
        assert run_line("backup", tmp_path / "backup.tar", "--data-dir", data_dir) == 3
    assert "is in use by process" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]


def test_a_part_that_cannot_be_copied_leaves_no_file_and_no_draft(tmp_path, data_dir, capsys):
    (data_dir / "audit" / "2026-11-24.jsonl").unlink()
    (data_dir / "audit" / "2026-11-24.jsonl").mkdir()
    assert run_line("backup", tmp_path / "backup.tar", "--data-dir", data_dir) == 4
    assert capsys.readouterr().err.startswith("no backup was made: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]
    DataDirectory(data_dir).close()


def test_an_interrupted_backup_leaves_no_file_and_no_draft(tmp_path, data_dir, capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "open_days", interrupted)
    assert run_line("backup", tmp_path / "backup.tar", "--data-dir", data_dir) == 130
    assert capsys.readouterr().err == "no backup was made: it was interrupted\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]


def test_a_history_that_is_written_while_it_is_copied_makes_no_backup(tmp_path, data_dir, capsys, monkeypatch):
    """Nobody should do it; a backup with such a file would be found out only when it is needed."""
    file, add = data_dir / "history" / "history.duckdb", BackupWriter.add

    def add_while_it_is_written(self, name, source, size):
        add(self, name, source, size)
        if name == "history/history.duckdb":
            with file.open("r+b") as other:
                other.write(file.read_bytes()[:1])

    monkeypatch.setattr(BackupWriter, "add", add_while_it_is_written)
    assert run_line("backup", tmp_path / "backup.tar", "--data-dir", data_dir) == 4
    assert "history/history.duckdb was written while it was copied" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == ["data"]


def test_a_directory_of_a_newer_release_is_refused(tmp_path, data_dir, capsys):
    (data_dir / FORMATS_FILE).write_text(json.dumps({**FORMATS, "audit": FORMATS["audit"] + 1}))
    assert run_line("backup", tmp_path / "backup.tar", "--data-dir", data_dir) == 2
    assert "was written by a newer release of onebroker (audit 2)" in capsys.readouterr().err


def test_a_catalogue_file_that_is_gone_is_named_and_the_rest_is_there(tmp_path, data_dir, capsys):
    (data_dir / "catalogue" / "2026-11-23.arrow").unlink()
    assert run_line("backup", tmp_path / "backup.tar", "--data-dir", data_dir) == 0
    assert "the catalogue names 2026-11-23.arrow, which is not there" in capsys.readouterr().out
    with tarfile.open(tmp_path / "backup.tar") as tar:
        assert set(tar.getnames()) == MEMBERS - {"catalogue/2026-11-23.arrow"} | {"manifest.json"}


def test_of_a_server_elsewhere_nothing_is_copied_and_that_is_said(tmp_path, data_dir, capsys):
    path = tmp_path / "onebroker.toml"
    path.write_text(f'[service]\ndata_dir = "{data_dir}"\n[redis]\nurl = "redis://127.0.0.1:1/0"\n')
    path.chmod(0o600)
    assert run_line("backup", tmp_path / "backup.tar", "--config", path) == 0
    assert "it holds no open orders and no logins" in capsys.readouterr().out
    with tarfile.open(tmp_path / "backup.tar") as tar:
        assert [name for name in tar.getnames() if name.startswith("redis")] == []


async def test_a_catalogue_that_is_replaced_meanwhile_is_copied_with_the_rows_that_name_it(
    tmp_path, data_dir, monkeypatch
):
    copy, durable = command.copy_durable, SqliteDurable(data_dir / "durable.sqlite")
    (row,) = await durable.catalogue_files()
    folder, looks = data_dir / "catalogue", []

    def copied_and_replaced(source, target):
        """After the first copy, a build puts another file in the place of the day's."""
        copy(source, target)
        looks.append(target)
        if len(looks) == 1:
            (folder / row.file).rename(folder / "2026-11-23.2.arrow")
            newer = attrs.evolve(row, file="2026-11-23.2.arrow")
            trio.from_thread.run(durable.put_catalogue_file, newer)

    monkeypatch.setattr(command, "copy_durable", copied_and_replaced)
    (tmp_path / "drafts").mkdir()
    with ExitStack() as stack:
        source = command._Source(data_dir=data_dir, in_database=False)
        kept, catalogue = await command._durable_and_catalogue(tmp_path / "drafts", source, stack)
    assert list(catalogue.opened) == ["2026-11-23.2.arrow"]
    assert (catalogue.missing, len(looks)) == ([], 2)
    assert (await SqliteDurable(kept).catalogue_files())[0].file == "2026-11-23.2.arrow"


def test_a_running_service_is_copied_and_goes_on(tmp_path, config, service, capsys):
    path, _ = config
    assert run_line("backup", tmp_path / "backup.tar", "--config", path) == 0
    assert "backup.tar is written" in capsys.readouterr().out
    with tarfile.open(tmp_path / "backup.tar") as tar:
        manifest = json.loads(tar.extractfile("manifest.json").read())
        audit = [name for name in tar.getnames() if name.startswith("audit/")]
        assert b'"hold_history"' in tar.extractfile(audit[-1]).read()
    assert (manifest["service_ran"], manifest["has_redis"]) == (True, True)
    assert run_line("restore", tmp_path / "backup.tar", "--data-dir", tmp_path / "restored") == 0
    assert run_line("audit", "verify", "--data-dir", tmp_path / "restored") == 0
    assert run_line("backup", tmp_path / "second.tar", "--config", path) == 0


def test_what_a_backup_holds_is_what_the_directory_held(tmp_path, backup, small_directory):
    assert run_line("restore", backup, "--data-dir", tmp_path / "restored") == 0
    told = trio.run(found, tmp_path / "restored")
    assert told["token"] == TOKEN
    assert told["audit"][:2] == (None, 3)
    assert told["writes"] == b"2"
    assert [name for name, value in told.items() if not value] == []
