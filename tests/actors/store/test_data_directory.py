"""The data directory: private, one holder, one owner id for ever."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from onebroker.actors.store.data_directory import DataDirectory, DataDirectoryBusy

_HOLDER = """
import sys, time
from pathlib import Path
from onebroker.actors.store.data_directory import DataDirectory
directory = DataDirectory(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_the_directory_is_made_and_private(tmp_path: Path) -> None:
    with DataDirectory(tmp_path / "deep" / "data") as directory:
        assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
        assert stat.S_IMODE((directory.path / "lock").stat().st_mode) == 0o600


def test_an_open_directory_is_made_private(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with DataDirectory(tmp_path):
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_second_start_is_told_who_holds_the_directory_and_a_killed_holder_lets_go(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(DataDirectoryBusy) as busy:
            DataDirectory(tmp_path)
        holder.send_signal(signal.SIGKILL)
    assert busy.value.holder == holder.pid
    assert str(busy.value) == f"the data directory {tmp_path} is in use by process {holder.pid}"
    with DataDirectory(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_child_process_does_not_inherit_the_lock(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    program = ["/bin/sh", "-c", "echo up; exec sleep 60"]
    with subprocess.Popen(program, close_fds=False, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        directory.close()
        with DataDirectory(tmp_path):
            pass
        child.kill()


def test_the_owner_id_is_random_and_stays(tmp_path: Path) -> None:
    with DataDirectory(tmp_path / "a") as first, DataDirectory(tmp_path / "b") as second:
        owner = first.engine_owner()
        assert len(owner) == 32
        assert owner == first.engine_owner()
        assert owner != second.engine_owner()
    with DataDirectory(tmp_path / "a") as again:
        assert again.engine_owner() == owner
    assert stat.S_IMODE((tmp_path / "a" / "engine-owner").stat().st_mode) == 0o600
