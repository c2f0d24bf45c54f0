"""The client is clean under `mypy --strict` by its own settings, and a user's code is judged as it should be."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.long, pytest.mark.sdk]

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parents[1] / "clients" / "python"
USE = HERE / "typed_use.py"


@pytest.fixture
def mypy(python, tmp_path):
    def run(*arguments):
        command = [
            python,
            "-m",
            "mypy",
            "--cache-dir",
            tmp_path,
            "--config-file",
            CLIENT / "pyproject.toml",
            *arguments,
        ]
        return subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False)

    return run


def test_the_client_has_no_type_error(mypy):
    done = mypy()
    assert (done.returncode, done.stdout.startswith("Success")) == (0, True), done.stdout


def test_a_users_code_has_exactly_the_errors_that_it_should_have(mypy):
    wrong = {number for number, line in enumerate(USE.read_text().splitlines(), 1) if "# expected: an error" in line}
    found = mypy(USE).stdout
    assert {int(number) for number in re.findall(r"typed_use\.py:(\d+): error", found)} == wrong, found
    assert len(wrong) == 3
