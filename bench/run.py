"""Run several benchmarks, each several times in turns, and report median, least and most of every figure.

Each turn runs every chosen benchmark once, as a process of its own, so that what else the machine does in an hour falls on all of them. A benchmark's
last line is JSON; every number in it is a figure, named by its path and by the words of its row. A benchmark that fails is reported with its last
words, and the others go on.

`--against COMMIT` runs the code of that commit in the same turns, each benchmark right before or after its pair. Its figures are compared pair by pair: the median of the ratios, present to other.
Both sides use the libraries of this environment.

    python -m bench.run --list
    python -m bench.run --quick --repeats 5
    python -m bench.run --only documents --only health --against HEAD~10 --json figures.json
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[1]
PRESENT, OTHER = "present", "other"
ABOUT = frozenset({"machine", "versions", "python", "platform", "load", "units", "unit", "benchmark", "peers"})
"""What a benchmark tells about itself and its machine: no figures."""
LAST_WORDS = 3
MOST_MINUTES = 30


@attrs.frozen(kw_only=True)
class Bench:
    """One benchmark, and the options of a short run."""

    about: str
    quick: tuple[str, ...] | None = None
    """None: it has no short run."""
    minutes: float
    """About how long it takes, in full."""


BENCHES: Mapping[str, Bench] = {
    "documents": Bench(about="rebuild of the five documents", quick=(), minutes=0.5),
    "packing": Bench(about="compression of published bodies", quick=(), minutes=0.2),
    "health": Bench(about="a look over all problems", quick=(), minutes=0.2),
    "audit": Bench(about="an event's line in the audit", quick=("--events", "2000"), minutes=0.2),
    "chain": Bench(about="an option chain", quick=(), minutes=0.2),
    "find": Bench(about="search over all instruments", quick=("--rows", "15000"), minutes=1),
    "listing": Bench(about="pages of the instrument list", quick=(), minutes=0.5),
    "commit": Bench(about="a write ahead to the disk", quick=("--writes", "100"), minutes=0.6),
    "candles": Bench(about="a year of minutes, twenty years of days", minutes=2),
    "history": Bench(about="ticks recorded and read", minutes=2),
    "quotes": Bench(about="ticks of ten brokers folded", quick=("--seconds", "5"), minutes=1),
    "order_preparation": Bench(
        about="from a request to its bytes", quick=("--orders", "40", "--without-sdk"), minutes=2
    ),
    "scrape": Bench(about="a scrape of the metrics", quick=("--scrapes", "100"), minutes=1.5),
    "start": Bench(about="from the process to the first answer", quick=("--runs", "1"), minutes=5),
    "idle": Bench(about="a service that nobody asks", minutes=2),
    "stream": Bench(about="ticks to stream clients", minutes=2),
    "screen": Bench(
        about="the screen in Chromium (needs the extra `browser`)", quick=("--seconds", "10", "--loads", "2"), minutes=2
    ),
    "routes": Bench(about="a document next to other servers (needs bench/install_peers.py)", minutes=5),
    "replica": Bench(about="200 streams and 2,000 reads a second through a replica", quick=None, minutes=3),
    "beat": Bench(about="the documents' beat while clients read", minutes=2),
    "parents": Bench(about="500 open parents and their triggers", minutes=4),
    "catalogue": Bench(about="the daily build from ten files", minutes=10),
    "orders": Bench(about="500 orders in ten minutes", minutes=12),
    "memory": Bench(about="memory before, during and after a load", minutes=20),
}
"""Name of the module after `bench_` -> the benchmark."""


@attrs.frozen(kw_only=True)
class Run:
    """One run of one benchmark."""

    bench: str
    side: str
    turn: int
    load: float
    """The machine's load average right before."""
    figures: Mapping[str, float] | None
    """None: it failed."""
    last_words: str = ""


def figures_of(report: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every number of a report with its name."""
    match report:
        case bool() | str() | None:
            return
        case int() | float():
            yield path, float(report)
        case dict():
            for name, value in report.items():
                if name not in ABOUT:
                    yield from figures_of(value, f"{path} {name}".strip())
        case list():
            keys = [_words(each) if isinstance(each, dict) else "" for each in report]
            for number, (key, each) in enumerate(zip(keys, report, strict=True)):
                name = key if keys.count(key) == 1 else f"{number} {key}".strip()
                yield from figures_of(each, f"{path} {name or number}".strip())


def _words(row: Mapping[str, object]) -> str:
    return " ".join(value for name, value in row.items() if isinstance(value, str) and name not in ABOUT)


def report_of(output: str) -> dict[str, object] | None:
    """Return the last line of the output that is a JSON object."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            with contextlib.suppress(ValueError):
                report: dict[str, object] = json.loads(line)
                return report
    return None


def run_once(command: Sequence[str], root: Path, *, bench: str, side: str, turn: int) -> Run:
    """Run a benchmark of the code in `root`, to its end."""
    load = os.getloadavg()[0]
    environment = {**os.environ, "PYTHONPATH": f"{root / '.typing'}{os.pathsep}{root}"}
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=MOST_MINUTES * 60, check=False
        )
    except subprocess.TimeoutExpired:
        words = f"not done after {MOST_MINUTES} minutes"
        return Run(bench=bench, side=side, turn=turn, load=load, figures=None, last_words=words)
    report = report_of(done.stdout) if done.returncode == 0 else None
    if report is None:
        words = " | ".join((done.stderr or done.stdout).strip().splitlines()[-LAST_WORDS:])
        return Run(bench=bench, side=side, turn=turn, load=load, figures=None, last_words=words)
    return Run(bench=bench, side=side, turn=turn, load=load, figures=dict(figures_of(report)))


def in_turns(commands: Mapping[str, Sequence[str]], roots: Mapping[str, Path], repeats: int) -> Iterator[Run]:
    """Run every benchmark once a turn; in every second turn the other side goes first."""
    for turn in range(repeats):
        for bench, command in commands.items():
            sides = list(roots.items())
            for side, root in reversed(sides) if turn % 2 else sides:
                yield run_once(command, root, bench=bench, side=side, turn=turn)


@attrs.frozen(kw_only=True)
class Row:
    """One figure over all turns."""

    bench: str
    figure: str
    runs: int
    median: float
    least: float
    most: float
    ratio: float | None
    """The median of the pairs' ratios, present to other; None without pairs."""


def rows_of(runs: Iterable[Run]) -> list[Row]:
    """Return every figure of the present code, in the order of its benchmarks."""
    values: dict[tuple[str, str], dict[tuple[str, int], float]] = {}
    for run in runs:
        for figure, value in (run.figures or {}).items():
            values.setdefault((run.bench, figure), {})[run.side, run.turn] = value
    rows = []
    for (bench, figure), by_run in values.items():
        own = {turn: value for (side, turn), value in by_run.items() if side == PRESENT}
        if own:
            ratios = [value / by_run[OTHER, turn] for turn, value in own.items() if by_run.get((OTHER, turn))]
            rows.append(
                Row(
                    bench=bench,
                    figure=figure,
                    runs=len(own),
                    median=statistics.median(own.values()),
                    least=min(own.values()),
                    most=max(own.values()),
                    ratio=statistics.median(ratios) if ratios else None,
                )
            )
    return rows


def table(rows: Sequence[Row]) -> str:
    """Return the figures as a Markdown table."""
    compared = any(row.ratio is not None for row in rows)
    head = ["bench", "figure", "runs", "median", "min", "max", *(["ratio"] if compared else [])]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for row in rows:
        cells = [row.bench, row.figure, str(row.runs), *(f"{value:.4g}" for value in (row.median, row.least, row.most))]
        if compared:
            cells.append("" if row.ratio is None else f"{row.ratio:.3f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


@contextlib.contextmanager
def code_of(commit: str) -> Iterator[Path]:
    """Give a folder with the code of a commit."""
    with tempfile.TemporaryDirectory(prefix="onebroker-bench-") as folder:
        tree = Path(folder) / "code"
        subprocess.run(["git", "worktree", "add", "--detach", "-q", tree, commit], cwd=ROOT, check=True)
        try:
            yield tree
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)


def _machine() -> dict[str, object]:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {
        "commit": head.stdout.strip(),
        "python": sys.version.split()[0],
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": dict(sorted((each.metadata["Name"], each.version) for each in distributions())),
    }


def _command(name: str, *, quick: bool) -> list[str]:
    options = BENCHES[name].quick if quick else ()
    return [sys.executable, "-m", f"bench.bench_{name}", *(options or ())]


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=BENCHES, help="run this benchmark; may be repeated")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="short runs, of the benchmarks that have them")
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run's figures there")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def main() -> None:
    options = _parsed()
    if options.list:
        for name, bench in BENCHES.items():
            _say(f"{name:20}{bench.minutes:6.1f} min  {'quick ' if bench.quick is not None else '      '}{bench.about}")
        return
    names = [name for name in options.only or BENCHES if not options.quick or BENCHES[name].quick is not None]
    commands = {name: _command(name, quick=options.quick) for name in names}
    runs = []
    with contextlib.ExitStack() as stack:
        roots = {PRESENT: ROOT}
        if options.against is not None:
            roots[OTHER] = stack.enter_context(code_of(options.against))
        for run in in_turns(commands, roots, options.repeats):
            runs.append(run)
            outcome = f"{len(run.figures)} figures" if run.figures is not None else f"FAILED: {run.last_words}"
            _say(f"turn {run.turn + 1}, {run.bench}, {run.side} (load {run.load:.1f}): {outcome}")
    _say(table(rows_of(runs)))
    machine = _machine()
    _say(f"commit {machine['commit']}, Python {machine['python']}, {machine['system']}, {machine['cores']} cores")
    if options.json is not None:
        options.json.write_text(json.dumps({"machine": machine, "runs": [attrs.asdict(run) for run in runs]}, indent=1))
    if all(run.figures is None for run in runs):
        raise SystemExit("no benchmark has given a figure")


if __name__ == "__main__":
    main()
