"""The small directory, and a backup of it."""

import shutil

import pytest
import trio

from tests.support.command_lines import run_line
from tests.support.small_directory import make


@pytest.fixture(scope="session")
def small_directory(tmp_path_factory):
    """The small directory; nobody changes it."""
    folder = tmp_path_factory.mktemp("small") / "data"
    trio.run(make, folder)
    return folder


@pytest.fixture
def data_dir(tmp_path, small_directory):
    """A copy of it for one test."""
    return shutil.copytree(small_directory, tmp_path / "data")


@pytest.fixture(scope="session")
def backup(tmp_path_factory, small_directory):
    """A backup of it."""
    file = tmp_path_factory.mktemp("backup") / "onebroker.tar"
    assert run_line("backup", file, "--data-dir", small_directory) == 0
    return file
