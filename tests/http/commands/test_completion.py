"""`onebroker completion`: the script completes every command, and without its extra it says what to install."""

import shutil
import subprocess
import sys

import pytest

from onebroker.http.__main__ import main
from tests.support.command_lines import commands

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_knows_every_command(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for command in commands():
        assert command.name.rpartition(" ")[2] in script


def test_bash_reads_the_script(capsys, tmp_path):
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "onebroker"
    script.write_text(capsys.readouterr().out)
    asked = f"source {script}; COMP_WORDS=(onebroker flat); COMP_CWORD=1; _shtab_onebroker; echo ${{COMPREPLY[@]}}"
    done = subprocess.run([shutil.which("bash"), "-c", asked], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["flatten"], done.stderr


def test_without_shtab_a_sentence_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "shtab is not installed, which makes the script: pip install 'onebroker[completion]'\n"
