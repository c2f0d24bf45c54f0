"""Copies of the audit's files: whole lines, each day once, also while files are written and packed."""

import gzip

from onebroker.actors.audit.copying import end_of, is_told, open_days
from onebroker.actors.audit.day_files import packed, plain
from onebroker.actors.audit.open_end import OpenEnd
from onebroker.actors.audit.reading import BEGIN
from onebroker.actors.audit.verify import verify
from onebroker.actors.audit.waiting_events import Told
from onebroker.config.events import HaltOff

AT = 1_795_578_300.0
DAY_SECONDS = 86_400.0
LONG = b'{"n":3,"a line that is being written":"' + b"x" * 200_000


def write(folder, days):
    end = OpenEnd(folder)
    end.open(AT)
    end.add([Told(AT + number * DAY_SECONDS, HaltOff()) for number in range(days)])
    end.push()
    end.sync()
    end.close()


def copy(folder, target):
    target.mkdir()
    for day in open_days(folder):
        (target / day.name).write_bytes(day.file.read(day.size))
    return sorted(path.name for path in target.iterdir())


def test_an_unfinished_last_line_is_left_out_and_the_copy_is_whole(tmp_path):
    write(tmp_path / "audit", 2)
    with plain(tmp_path / "audit", "2026-11-26").open("ab") as file:
        file.write(LONG)
    assert copy(tmp_path / "audit", tmp_path / "copy") == ["2026-11-25.jsonl", "2026-11-26.jsonl"]
    verdict = verify(tmp_path / "copy", running=False)
    assert (verdict.fault, verdict.lines) == (None, 3)


def test_a_file_of_one_unfinished_line_is_empty_in_the_copy(tmp_path):
    (tmp_path / "audit").mkdir()
    plain(tmp_path / "audit", "2026-11-25").write_bytes(LONG)
    copy(tmp_path / "audit", tmp_path / "copy")
    assert plain(tmp_path / "copy", "2026-11-25").read_bytes() == b""


def test_a_file_that_is_packed_or_removed_meanwhile_is_no_fault(tmp_path):
    folder = tmp_path / "audit"
    write(folder, 4)
    names = []
    for day in open_days(folder):
        names.append(day.name)
        if len(names) == 1:
            second = plain(folder, "2026-11-26")
            packed(folder, "2026-11-26").write_bytes(gzip.compress(second.read_bytes()))
            second.unlink()
            plain(folder, "2026-11-27").unlink()
    assert names == ["2026-11-25.jsonl", "2026-11-26.jsonl.gz", "2026-11-28.jsonl"]


def test_without_an_audit_there_is_nothing(tmp_path):
    assert list(open_days(tmp_path / "audit")) == []


def test_a_word_is_told_only_after_its_place(tmp_path):
    folder = tmp_path / "audit"
    assert end_of(folder) == BEGIN
    write(folder, 1)
    assert is_told(folder, BEGIN, "halt.off")
    with plain(folder, "2026-11-25").open("ab") as file:
        file.write(LONG)
    since = end_of(folder)
    assert not is_told(folder, since, "being written")  # the line has no end yet
    with plain(folder, "2026-11-25").open("ab") as file:
        file.write(b'"}\n{"n":4,"a word":"x"}\n')
    assert is_told(folder, since, "being written")
    assert is_told(folder, since, '"a word"')
    assert not is_told(folder, since, "halt.off")


def test_after_a_packed_file_only_later_days_count(tmp_path):
    folder = tmp_path / "audit"
    write(folder, 1)
    packed(folder, "2026-11-25").write_bytes(gzip.compress(plain(folder, "2026-11-25").read_bytes()))
    plain(folder, "2026-11-25").unlink()
    since = end_of(folder)
    assert not is_told(folder, since, "halt.off")
    plain(folder, "2026-11-26").write_bytes(b'{"halt.off":1}\n')
    assert is_told(folder, since, "halt.off")
