"""`onebroker audit verify` and `audit show`, over files that no service writes."""

import json
from pathlib import Path

import pytest

from onebroker.actors.audit.day_files import FOLDER, plain
from onebroker.config.events import HaltOff, OrderSent, RequestAnswered
from onebroker.http.__main__ import main
from onebroker.http.commands import audit
from tests.http.routes.test_audit import AT, DAY, ONE, asked, moved, write

pytestmark = pytest.mark.unit


@pytest.fixture
def data_dir(tmp_path) -> Path:
    folder = tmp_path / FOLDER
    write(
        folder, AT, asked("r1"), moved(ONE), OrderSent(broker="dhan", verb="place", parent=ONE, leg=f"{ONE}.0", intent="i-1"),
        RequestAnswered(request="r1", status=200, parents=(ONE,), intents=("i-1",)),
    )  # fmt: skip
    write(folder, AT + DAY, HaltOff())
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, list[str]]:
    code = main(arguments)
    captured = capsys.readouterr()
    return code, (captured.out + captured.err).splitlines()


def test_a_whole_audit_is_counted(data_dir, capsys):
    code, said = run(capsys, "audit", "verify", "--data-dir", str(data_dir))
    last = json.loads(plain(data_dir / FOLDER, "2026-11-26").read_text().splitlines()[-1])
    assert code == 0
    assert said[0] == "whole: 6 lines, 2026-11-25 to 2026-11-26 (2 days)"
    assert said[-1] == f"last hash  {last['hash']} (line 6, 2026-11-26T09:15:00.000+05:30)"


def test_the_settings_name_the_data_directory_too(data_dir, capsys, tmp_path):
    config = tmp_path / "onebroker.toml"
    config.write_text(f'[service]\ndata_dir = "{data_dir}"\n')
    assert run(capsys, "audit", "verify", "--config", str(config))[0] == 0


def test_a_changed_byte_is_found_with_its_file_and_line(data_dir, capsys):
    path = plain(data_dir / FOLDER, "2026-11-25")
    path.write_bytes(path.read_bytes().replace(b'"verb":"place"', b'"verb":"plaze"'))
    code, said = run(capsys, "audit", "verify", "--data-dir", str(data_dir))
    assert code == 1
    assert said[0] == f"{path} line 3: the line is not whole, or was changed"


def test_an_unfinished_line_counts_unless_it_is_finished_soon(data_dir, capsys, monkeypatch):
    path = plain(data_dir / FOLDER, "2026-11-26")
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    monkeypatch.setattr(audit.time, "sleep", lambda _seconds: None)
    assert run(capsys, "audit", "verify", "--data-dir", str(data_dir))[0] == 1
    monkeypatch.setattr(audit.time, "sleep", lambda _seconds: path.write_bytes(whole))
    assert run(capsys, "audit", "verify", "--data-dir", str(data_dir))[0] == 0


def test_the_lines_of_a_parent_are_shown_in_order(data_dir, capsys):
    code, said = run(capsys, "audit", "show", ONE, "--data-dir", str(data_dir))
    assert code == 0
    assert [line.split(" ")[0] for line in said] == ["1", "2", "3", "4"]
    assert said[2] == (
        f"3 2026-11-25T09:15:00.000+05:30 order.sent broker=dhan verb=place parent={ONE} leg={ONE}.0 intent=i-1"
    )
    _, raw = run(capsys, "audit", "show", ONE, "--json", "--data-dir", str(data_dir))
    assert [json.loads(line)["n"] for line in raw] == [1, 2, 3, 4]
    assert run(capsys, "audit", "show", "nobody", "--data-dir", str(data_dir)) == (
        1,
        ["the audit has no line of that parent"],
    )


def test_a_directory_without_an_audit_is_said(tmp_path, capsys):
    assert run(capsys, "audit", "verify", "--data-dir", str(tmp_path)) == (2, [f"{tmp_path} has no audit"])
