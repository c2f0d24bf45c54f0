"""A data directory of a newer release is refused with one sentence, whichever of its stores is newer; one of an older release opens."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.store.durable_sql import MIGRATIONS
from onebroker.http.commands.exit_codes import CommandFailed
from onebroker.http.commands.stored_formats import FORMATS, FORMATS_FILE, open_data_directory, stored_formats
from tests.support.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.unit
STORES = ("durable", "redis", "history", "catalogue", "audit")


def note(folder, formats):
    (folder / FORMATS_FILE).write_text(json.dumps(formats))


def test_every_store_has_a_format():
    assert tuple(FORMATS) == STORES
    assert all(number >= 1 for number in FORMATS.values())


def test_a_directory_without_formats_is_one_of_an_older_release_and_gets_them(tmp_path):
    with open_data_directory(tmp_path):
        assert stored_formats(tmp_path) == FORMATS
    assert (tmp_path / FORMATS_FILE).stat().st_mode & 0o077 == 0


def test_older_formats_are_replaced(tmp_path):
    note(tmp_path, {"durable": len(MIGRATIONS) - 1})
    with open_data_directory(tmp_path):
        assert stored_formats(tmp_path) == FORMATS


@pytest.mark.parametrize("store", [*STORES, "a store of later"])
def test_a_newer_format_of_any_store_is_refused_and_the_directory_is_let_go(tmp_path, store):
    newer = {**FORMATS, store: FORMATS.get(store, 0) + 1}
    note(tmp_path, newer)
    with pytest.raises(CommandFailed, match=f"was written by a newer release of onebroker .{store} {newer[store]}."):
        open_data_directory(tmp_path)
    assert stored_formats(tmp_path) == newer
    DataDirectory(tmp_path).close()


def test_a_newer_durable_store_is_found_in_its_own_file(tmp_path):
    with closing(sqlite3.connect(tmp_path / "durable.sqlite")) as file:
        file.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    note(tmp_path, FORMATS)
    with pytest.raises(CommandFailed, match=f"newer release of onebroker .durable {len(MIGRATIONS) + 1}."):
        open_data_directory(tmp_path)


def test_formats_that_cannot_be_read_are_said(tmp_path):
    (tmp_path / FORMATS_FILE).write_text("[]")
    with pytest.raises(CommandFailed, match=r"formats\.json cannot be read"):
        open_data_directory(tmp_path)


def test_serve_says_it_in_one_sentence(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    note(data, {"history": FORMATS["history"] + 1})
    path = tmp_path / "onebroker.toml"
    path.write_text(f'[service]\ndata_dir = "{data}"\napi_key = "k"\napi_secret = "a secret for tests"\n')
    path.chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-m", "onebroker.http", "serve", "--config", str(path)],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{data} was written by a newer release of onebroker (history 2)")
    assert done.stderr.count("\n") == 1
    assert sorted(entry.name for entry in data.iterdir()) == [FORMATS_FILE, "lock"]
