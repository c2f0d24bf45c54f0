"""The command that runs all benchmarks: turns, names of figures, medians, pairs, and a benchmark that fails. No time is judged."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
ROOT = Path(__file__).resolve().parents[2]


def loaded():
    """The module. `bench` is a folder of commands and belongs to no package that tests can import."""
    spec = importlib.util.spec_from_file_location("bench_run", ROOT / "bench" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench = loaded()
PRESENT, OTHER = bench.PRESENT, bench.OTHER


def made(side, turn, value, *, name="a", figures=None):
    return bench.Run(bench=name, side=side, turn=turn, load=0.0, figures={"x": value} if figures is None else figures)


def test_every_number_of_a_report_has_a_name():
    report = {
        "benchmark": "b", "polars": "2.1.0", "machine": {"cores": 2}, "row": {"p50 ms": 1.5, "ticks": [3, 4], "sure": True},
        "rows": [{"what": "ours", "ms": 2}, {"what": "theirs", "ms": 3}, {"n": 1}, {"n": 2}],
    }  # fmt: skip
    assert dict(bench.figures_of(report)) == {
        "row p50 ms": 1.5, "row ticks 0": 3, "row ticks 1": 4, "rows ours ms": 2, "rows theirs ms": 3, "rows 2 n": 1, "rows 3 n": 2,
    }  # fmt: skip


def test_rows_with_the_same_words_keep_their_places():
    rows = [{"document": "funds", "brokers": 2, "full": 1}, {"document": "funds", "brokers": 10, "full": 2}]
    assert dict(bench.figures_of({"rows": rows})) == {
        "rows 0 funds brokers": 2, "rows 0 funds full": 1, "rows 1 funds brokers": 10, "rows 1 funds full": 2,
    }  # fmt: skip


def test_the_report_is_the_last_object():
    assert bench.report_of('table\n{"a": 1}\n{"b": 2}\n{broken\nend\n') == {"b": 2}
    assert bench.report_of("nothing\n[1]\n") is None


def test_figures_are_medians_with_least_and_most_and_pairs_are_compared_turn_by_turn():
    runs = [made(PRESENT, turn, value) for turn, value in enumerate((2.0, 9.0, 4.0))]
    runs += [made(OTHER, turn, value) for turn, value in enumerate((1.0, 3.0, 4.0))]
    (row,) = bench.rows_of(runs)
    assert (row.runs, row.median, row.least, row.most, row.ratio) == (3, 4.0, 2.0, 9.0, 2.0)
    assert bench.table([row]).splitlines()[-1] == "| a | x | 3 | 4 | 2 | 9 | 2.000 |"


def test_a_failed_run_and_a_pair_of_zero_have_no_ratio():
    failed = bench.Run(bench="a", side=OTHER, turn=0, load=0.0, figures=None, last_words="boom")
    (row,) = bench.rows_of([made(PRESENT, 0, 2.0), failed])
    assert row.ratio is None
    (row,) = bench.rows_of([made(PRESENT, 0, 2.0), made(OTHER, 0, 0.0)])
    assert row.ratio is None
    assert "ratio" not in bench.table([row])


@pytest.fixture
def fake(tmp_path):
    """Return commands of tiny benchmarks, which note in a file that they ran."""
    script = tmp_path / "fake.py"
    script.write_text(
        "import json, sys\n"
        "name, notes = sys.argv[1:]\n"
        "open(notes, 'a').write(name + '\\n')\n"
        "if name == 'bad':\n    sys.exit('it broke')\n"
        "if name == 'mute':\n    print('no report'); sys.exit()\n"
        "print('a table'); print(json.dumps({'rows': [{'what': name, 'ms': 1}]}))\n"
    )
    notes = tmp_path / "notes"
    return lambda *names: {name: [sys.executable, str(script), name, str(notes)] for name in names}, notes


def test_benchmarks_take_turns_and_a_bad_one_ends_nothing(fake, tmp_path):
    commands, notes = fake
    runs = list(bench.in_turns(commands("one", "bad", "mute", "two"), {PRESENT: tmp_path}, 3))
    assert notes.read_text().split() == ["one", "bad", "mute", "two"] * 3
    assert {each.last_words for each in runs if each.bench == "bad"} == {"it broke"}
    assert {each.last_words for each in runs if each.bench == "mute"} == {"no report"}
    assert [(row.bench, row.figure, row.runs) for row in bench.rows_of(runs)] == [
        ("one", "rows one ms", 3),
        ("two", "rows two ms", 3),
    ]


def test_the_sides_of_a_pair_take_turns_to_go_first(fake, tmp_path):
    commands, _ = fake
    runs = bench.in_turns(commands("one"), {PRESENT: tmp_path, OTHER: tmp_path}, 3)
    assert [(each.turn, each.side) for each in runs] == [
        (0, PRESENT), (0, OTHER), (1, OTHER), (1, PRESENT), (2, PRESENT), (2, OTHER),
    ]  # fmt: skip


def test_a_benchmark_that_does_not_end_is_ended(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "MOST_MINUTES", 0.2 / 60)
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    ended = bench.run_once(slow, tmp_path, bench="slow", side=PRESENT, turn=0)
    assert (ended.figures, ended.last_words.startswith("not done after")) == (None, True)


def test_each_side_runs_its_own_code(tmp_path):
    tree = tmp_path / "code"
    (tree / ".typing" / "onebroker" / "config").mkdir(parents=True)
    (tree / ".typing" / "onebroker" / "config" / "clock.py").write_text("MINE = 7\n")
    asks = "import json, onebroker.config.clock as c; print(json.dumps({'mine': getattr(c, 'MINE', 0)}))"
    figures = [
        bench.run_once([sys.executable, "-c", asks], root, bench="x", side=PRESENT, turn=0).figures
        for root in (tree, ROOT)
    ]
    assert figures == [{"mine": 7.0}, {"mine": 0.0}]


def test_every_benchmark_of_the_folder_is_in_the_list():
    names = {path.stem.removeprefix("bench_") for path in (ROOT / "bench").glob("bench_*.py")}
    assert names == bench.BENCHES.keys()


def test_the_command_writes_a_table_and_every_run(tmp_path):
    command = [sys.executable, "-m", "bench.run", "--only", "health", "--quick", "--repeats", "1", "--json", "out.json"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / '.typing'}:{ROOT}"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "| bench | figure | runs | median | min | max |" in done.stdout
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["machine"]["cores"] >= 1
    assert [(each["bench"], each["turn"]) for each in written["runs"]] == [("health", 0)]
    assert written["runs"][0]["figures"]
