"""The chain of the audit: whatever is changed in it is found."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.actors.audit import chain
from onebroker.actors.audit.chain import End
from onebroker.actors.audit.day_files import plain
from onebroker.actors.audit.open_end import OpenEnd
from onebroker.actors.audit.verify import verify
from onebroker.actors.audit.waiting_events import Told
from onebroker.config.events import ALL, FeedUp, HaltOn, OrderRejected, RequestAsked
from tests.support.event_page import example

AT = 1_795_578_300.0
"""2026-11-25 09:15 IST."""
DAY_SECONDS = 86_400.0
EVENTS = (
    HaltOn(mode="reduce_only", reason='a "quoted" reason\nof two lines'),
    FeedUp(broker="zerodha", feed="market"),
    OrderRejected(broker="dhan", parent="p-1", leg=None, words="₹ is not \ud800 text"),
    RequestAsked(
        request="r", who="token", address="::1", method="POST", path="/", body='{"hash":"x","n":1}\n', body_bytes=19
    ),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    """Files of three days: the second was torn and taken up again."""
    folder = tmp_path_factory.mktemp("whole")
    write(folder, 0, *EVENTS)
    write(folder, 1, *EVENTS[:2])
    with plain(folder, day(1)).open("ab") as file:
        file.write(b'{"n":7,"at":"2026')
    write(folder, 1, EVENTS[2])
    write(folder, 2, *EVENTS)
    assert verify(folder, running=False).fault is None
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def day(number: int) -> str:
    return f"2026-11-{25 + number}"


def write(folder: Path, number: int, *events) -> None:
    """Append events on a day, by a writer of its own."""
    end = OpenEnd(folder)
    end.open(AT + number * DAY_SECONDS)
    end.add([Told(AT + number * DAY_SECONDS, event) for event in events])
    end.push()
    end.close()


def spoiled(tmp_path_factory, files: dict[str, bytes]):
    folder = tmp_path_factory.mktemp("spoiled")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return verify(folder, running=False).fault


def lines_of(files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [(name, line) for name in sorted(files) for line in files[name].splitlines(keepends=True)]


def files_of(lines: list[tuple[str, bytes]]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for name, line in lines:
        files[name] = files.get(name, b"") + line
    return files


def test_the_whole_chain_is_accepted_and_counted(whole, tmp_path):
    for name, data in whole.items():
        (tmp_path / name).write_bytes(data)
    verdict = verify(tmp_path, running=False)
    assert verdict.fault is None
    # four, audit.day and two, audit.torn and one, audit.day and four
    assert (verdict.lines, verdict.torn, verdict.days) == (14, 1, (day(0), day(1), day(2)))
    assert (verdict.first.n, verdict.first.previous, verdict.last.n) == (1, chain.NOTHING_BEFORE, 14)


@settings(max_examples=300)
@given(data=st.data())
def test_any_changed_byte_is_found(whole, tmp_path_factory, data):
    name = data.draw(st.sampled_from(sorted(whole)))
    at = data.draw(st.integers(0, len(whole[name]) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != whole[name][at]))
    changed = whole[name][:at] + bytes([byte]) + whole[name][at + 1 :]
    assert spoiled(tmp_path_factory, {**whole, name: changed}) is not None


def test_every_byte_of_the_last_line_counts(whole, tmp_path_factory):
    name = max(whole)
    last = whole[name].splitlines(keepends=True)[-1]
    folder = tmp_path_factory.mktemp("last")
    for other, content in whole.items():
        (folder / other).write_bytes(content)
    for at in range(len(whole[name]) - len(last), len(whole[name])):
        for byte in (whole[name][at] ^ 1, ord(" "), ord("0")):
            if byte != whole[name][at]:
                (folder / name).write_bytes(whole[name][:at] + bytes([byte]) + whole[name][at + 1 :])
                assert verify(folder, running=False).fault is not None, at


def test_any_removed_line_but_the_last_ones_is_found(whole, tmp_path_factory):
    lines = lines_of(whole)
    for at in range(len(lines) - 1):
        assert spoiled(tmp_path_factory, files_of(lines[:at] + lines[at + 1 :])) is not None, at


def test_any_two_lines_in_each_others_place_are_found(whole, tmp_path_factory):
    lines = lines_of(whole)
    for one in range(len(lines)):
        for other in range(one + 1, len(lines)):
            swapped = list(lines)
            swapped[one], swapped[other] = (lines[one][0], lines[other][1]), (lines[other][0], lines[one][1])
            assert spoiled(tmp_path_factory, files_of(swapped)) is not None, (one, other)


@given(data=st.data())
def test_any_inserted_line_is_found(whole, tmp_path_factory, data):
    lines = lines_of(whole)
    at = data.draw(st.integers(0, len(lines)))
    own, _ = chain.encode(EVENTS[1], AT, End(n=at, hash=chain.NOTHING_BEFORE))
    inserted = data.draw(st.sampled_from([*(line for _, line in lines), own, b"\n", b"{}\n"]))
    name = lines[min(at, len(lines) - 1)][0]
    assert spoiled(tmp_path_factory, files_of([*lines[:at], (name, inserted), *lines[at:]])) is not None


def test_a_line_moved_over_the_border_of_two_files_is_found(whole, tmp_path_factory):
    lines = lines_of(whole)
    for at, (name, line) in enumerate(lines):
        for other in set(whole) - {name}:
            moved = [*lines[:at], (other, line), *lines[at + 1 :]]
            assert spoiled(tmp_path_factory, files_of(moved)) is not None, (at, other)


def test_any_removed_file_between_others_is_found(whole, tmp_path_factory):
    without = {name: data for name, data in whole.items() if name != f"{day(1)}.jsonl"}
    assert "numbered" in (what := spoiled(tmp_path_factory, without).what) or "number" in what


def test_the_oldest_files_may_be_gone_and_the_check_says_where_it_begins(whole, tmp_path):
    (tmp_path / max(whole)).write_bytes(whole[max(whole)])
    verdict = verify(tmp_path, running=False)
    assert (verdict.fault, verdict.first.n, verdict.first.event) == (None, 10, "audit.day")


def test_the_fault_names_its_file_and_line(whole, tmp_path):
    for name, data in whole.items():
        (tmp_path / name).write_bytes(data)
    path = plain(tmp_path, day(1))
    path.write_bytes(path.read_bytes().replace(b'"broker":"zerodha"', b'"broker":"upstoxx"'))
    fault = verify(tmp_path, running=False).fault
    assert (fault.file, fault.line, fault.what) == (path, 3, "the line is not whole, or was changed")


def test_an_unfinished_last_line_is_no_fault_while_a_service_runs(whole, tmp_path):
    for name, data in whole.items():
        (tmp_path / name).write_bytes(data)
    path = tmp_path / max(whole)
    path.write_bytes(path.read_bytes()[:-9])
    running = verify(tmp_path, running=True)
    assert (running.fault, running.unfinished, running.lines) == (None, True, 13)
    stopped = verify(tmp_path, running=False)
    assert stopped.fault is not None
    assert "not finished" in stopped.fault.what


def test_no_event_has_a_field_of_the_chain():
    for kind in ALL:
        fields = set(example(kind).fields)
        assert not fields & set(chain.RESERVED), kind.name


def test_a_line_can_be_read_back():
    for kind in ALL:
        raw, end = chain.encode(example(kind), AT, End(n=41, hash="a" * 64))
        line = chain.read(raw[:-1])
        assert (line.n, line.previous, line.event, line.end) == (42, "a" * 64, kind.name, end)
        assert line.at == "2026-11-25T09:15:00.000+05:30"
