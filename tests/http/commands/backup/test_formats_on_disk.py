"""The formats on disk. A directory of each earlier format is kept packed in tests/data/directories: it opens, and everything in it is found. What this
release writes has the form of the newest of them, or another number in `stored_formats.FORMATS`."""

import tarfile
from pathlib import Path

import pytest
import trio

from onebroker.http.commands.backup.archive import open_backup
from onebroker.http.commands.stored_formats import FORMATS, open_data_directory
from tests.support.command_lines import run_line
from tests.support.small_directory import found, layout, make

KEPT = sorted((Path(__file__).resolve().parents[3] / "data" / "directories").glob("*.tar.xz"))


def formats_of(file):
    with open_backup(file) as backup:
        return backup.manifest.formats


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """The small directory as this release makes it, what is found in it, and its form."""
    folder = tmp_path_factory.mktemp("fresh") / "data"

    async def made():
        await make(folder)
        return await found(folder), await layout(folder)

    return trio.run(made)


def test_the_small_directory_has_something_in_every_store(fresh):
    told, _ = fresh
    assert [name for name, value in told.items() if not value] == []
    assert told["audit"][:2] == (None, 3)


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.name)
def test_a_directory_of_each_format_opens_and_holds_what_it_held(tmp_path, fresh, file):
    folder = tmp_path / "data"
    with tarfile.open(file) as tar:
        tar.extractall(folder, filter="data")
    open_data_directory(folder).close()
    assert trio.run(found, folder) == fresh[0]


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.name)
def test_a_backup_of_each_format_is_restored(tmp_path, fresh, file):
    assert run_line("restore", file, "--data-dir", tmp_path / "data") == 0
    assert trio.run(found, tmp_path / "data") == fresh[0]


def test_the_present_formats_are_kept_and_have_this_form(tmp_path, fresh):
    """A change of a form raises its number, and a directory of the new format is kept (`tests/support/small_directory.py` makes it)."""
    (file,) = [file for file in KEPT if formats_of(file) == FORMATS]
    with tarfile.open(file) as tar:
        tar.extractall(tmp_path, filter="data")
    assert trio.run(layout, tmp_path) == fresh[1]
