"""The lines that a run of the tests ran: what counts as changed, what as run, and when nothing can be judged."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.support.covered import FOLDERS, REPORT, ROOT, changed_lines, main, spans, statement_lines

BEFORE = '''\
"""A module."""


def worth(units: int) -> int:
    return units * 2
'''
AFTER = '''\
"""A module."""


def worth(units: int) -> int:
    # A comment is no statement.
    if units < 0:
        raise ValueError(
            "units",
            units,
        )
    return units * 3


def price() -> int: ...
'''
RAN = {"executed_lines": [4, 6, 11], "missing_lines": [7], "excluded_lines": [14]}


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout whose commit `before` has one module, and in which the module was changed since."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "config").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "config" / "money.py").write_text(BEFORE)
    (tmp_path / "tests" / "test_money.py").write_text("one = 1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "--quiet", "--message=Before")
    git(tmp_path, "tag", "before")
    (tmp_path / "config" / "money.py").write_text(AFTER)
    (tmp_path / "tests" / "test_money.py").write_text("one = 2\n")
    return tmp_path


def report(checkout: Path, **files: object) -> None:
    """Write a report, later than everything else."""
    (checkout / REPORT).parent.mkdir(exist_ok=True)
    (checkout / REPORT).write_text(json.dumps({"files": {f"config/{name}.py": told for name, told in files.items()}}))
    later = max(module.stat().st_mtime for module in (checkout / "config").iterdir()) + 1
    os.utime(checkout / REPORT, (later, later))


def test_every_line_of_a_statement_counts_as_its_first_and_comments_count_nowhere() -> None:
    assert statement_lines(AFTER.encode()) == {1: 1, 4: 4, 6: 6, **dict.fromkeys((7, 8, 9, 10), 7), 11: 11, 14: 14}


def test_lines_that_were_not_run_are_told_and_too_few_of_them_fail(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(checkout, money=RAN)
    assert main(["changed", "before"], checkout) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[1].split(maxsplit=3) == ["6", "2", "33.3", "config/money.py: 7-10"]
    assert said[2].split(maxsplit=3) == ["6", "2", "33.3", "all; too few: at least 95 percent are wanted"]


def test_enough_lines_pass(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(checkout, money={**RAN, "executed_lines": [4, 6, 7, 11], "missing_lines": []})
    assert main(["changed", "before"], checkout) == 0
    assert capsys.readouterr().out.splitlines()[-1].split()[:3] == ["6", "6", "100.0"]


def test_a_file_that_git_does_not_know_counts_and_without_a_report_none_of_it_was_run(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "config" / "clock.py").write_text("one = 1\ntwo = 2\n")
    report(checkout, money=RAN)
    assert main(["changed", "before"], checkout) == 1
    assert "config/clock.py: 1-2" in capsys.readouterr().out


def test_what_another_branch_changed_meanwhile_does_not_count(checkout: Path) -> None:
    git(checkout, "commit", "--quiet", "--all", "--message=After")
    git(checkout, "checkout", "--quiet", "-b", "other", "before")
    (checkout / "config" / "money.py").write_text(f"{BEFORE}\n\nTEN = 10\n")
    git(checkout, "commit", "--quiet", "--all", "--message=Other")
    git(checkout, "checkout", "--quiet", "main")
    assert changed_lines(checkout, "other") == changed_lines(checkout, "before")


def test_only_tests_changed(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "config" / "money.py").write_text(BEFORE)
    report(checkout, money=RAN)
    assert main(["changed", "before"], checkout) == 0
    assert capsys.readouterr().out == "no statement of ours changed\n"


def test_nothing_is_judged_without_a_report_or_after_a_later_change_or_from_an_unknown_commit(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["changed", "before"], checkout) == 2
    assert capsys.readouterr().err == "nothing is measured yet: run `make coverage`\n"
    report(checkout, money=RAN)
    assert main(["changed", "nowhere"], checkout) == 2
    assert "nowhere" in capsys.readouterr().err
    assert main(["changed", ""], checkout) == 2
    assert capsys.readouterr().err == "say `folders`, or `changed` and a commit\n"
    os.utime(checkout / REPORT, (1, 1))
    assert main(["changed", "before"], checkout) == 2
    assert capsys.readouterr().err == (
        "config/money.py was written after the tests were measured: run `make coverage` again\n"
    )


def test_each_top_folder_has_its_figure(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(checkout, money=RAN)
    assert main(["folders"], checkout) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows[0] == ["config", "4", "3", "75.0"]
    assert [row[0] for row in rows] == ["config", "brokers", "actors", "http", "all"]
    assert rows[-1] == ["all", "4", "3", "75.0"]


def test_numbers_are_written_as_spans() -> None:
    assert spans({7, 3, 5, 6}) == "3, 5-7"


def test_the_folders_are_the_measured_ones() -> None:
    measured = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["source_dirs"]
    assert measured == list(FOLDERS)
