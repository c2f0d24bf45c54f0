"""The lines of ours that a run of the tests ran: the figure of each top folder, and the share of the lines changed since a commit.

`make coverage` measures; it writes the report that is read here. Run from the checkout:

    PYTHONPATH=. python tests/support/covered.py folders
    PYTHONPATH=. python tests/support/covered.py changed <commit>

Coverage counts statements, each by its first line. A change often touches a later line only (an argument of a call), so here each
changed line counts as its statement does. Lines without a statement (comments, docstrings, `else:`) and lines that coverage
excludes do not count.
"""

import json
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parents[2]
REPORT = Path(".coverage", "coverage.json")
"""In the checkout."""
FOLDERS = ("config", "brokers", "actors", "http")
LEAST_PERCENT = 95
"""Of the changed lines."""

_HUNK = re.compile(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@")
_DIFF = ("diff", "--merge-base", "--unified=0", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/")
_NO_CODE = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


class CannotJudge(Exception):
    """There is no report, or it was made before a change; or git does not know the commit. Its text says which."""


@attrs.frozen
class Lines:
    """Numbers of lines that were run, and that were not."""

    run: frozenset[int]
    missed: frozenset[int]


def read_report(root: Path) -> dict[str, Lines]:
    """Return the measured statements of each file, by their first lines; paths as git has them. Raises CannotJudge."""
    try:
        files = json.loads((root / REPORT).read_bytes())["files"]
    except FileNotFoundError:
        raise CannotJudge("nothing is measured yet: run `make coverage`") from None
    return {
        path: Lines(frozenset(told["executed_lines"]), frozenset(told["missing_lines"])) for path, told in files.items()
    }


def folder_table(report: Mapping[str, Lines]) -> list[str]:
    """Return a line for each top folder and one for all: statements, those that were run, percent."""
    counts = {folder: [0, 0] for folder in (*FOLDERS, "all")}
    for path, lines in report.items():
        for name in (path.partition("/")[0], "all"):
            counts[name][0] += len(lines.run)
            counts[name][1] += len(lines.run) + len(lines.missed)
    return [
        f"{'folder':10} {'statements':>10} {'run':>8} {'percent':>8}",
        *(f"{name:10} {all_:10} {run:8} {_percent(run, all_):8.1f}" for name, (run, all_) in counts.items()),
    ]


def statement_lines(source: bytes) -> dict[int, int]:
    """Return the first line of its statement for each line with code."""
    first_of: dict[int, int] = {}
    first = 0
    """Of the statement that goes on; 0 = none does."""
    for token in tokenize.tokenize(iter(source.splitlines(keepends=True)).__next__):
        if token.type == tokenize.NEWLINE:
            first = 0
        elif token.type not in _NO_CODE and token.type != tokenize.ENCODING:
            first = first or token.start[0]
            first_of.update(dict.fromkeys(range(token.start[0], token.end[0] + 1), first))
    return first_of


def changed_lines(root: Path, commit: str) -> dict[str, set[int]]:
    """Return the lines of ours that the checkout has and the commit had not, by file, in files git does not know yet too. Of a branch
    that went on from an earlier commit, its changes since then. Raises CannotJudge."""
    modules = [f"{folder}/*.py" for folder in FOLDERS]
    changed: dict[str, set[int]] = defaultdict(set)
    path = ""
    for line in _git(root, *_DIFF, commit, "--", *modules):
        if line.startswith("+++ "):
            path = line.removeprefix("+++ b/")
        elif hunk := _HUNK.match(line):
            begin, number = int(hunk[1]), int(hunk[2] or 1)
            changed[path].update(range(begin, begin + number))
    for new in _git(root, "ls-files", "--others", "--exclude-standard", "--", *modules):
        changed[new].update(range(1, len((root / new).read_bytes().splitlines()) + 1))
    return {path: numbers for path, numbers in sorted(changed.items()) if numbers}


def _git(root: Path, *arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotJudge(done.stderr.strip())
    return done.stdout.splitlines()


def judged(root: Path, report: Mapping[str, Lines], changed: Mapping[str, Iterable[int]]) -> dict[str, Lines]:
    """Return which of the changed lines were run, by file. A file that the report does not have was not run. Raises CannotJudge when
    a file was written after the report."""
    measured_at = (root / REPORT).stat().st_mtime
    found = {}
    for path, numbers in changed.items():
        if (root / path).stat().st_mtime > measured_at:
            raise CannotJudge(f"{path} was written after the tests were measured: run `make coverage` again")
        first_of = statement_lines((root / path).read_bytes())
        measured = report.get(path, Lines(frozenset(), frozenset(first_of.values())))
        lines = Lines(
            frozenset(number for number in numbers if first_of.get(number) in measured.run),
            frozenset(number for number in numbers if first_of.get(number) in measured.missed),
        )
        if lines.run or lines.missed:
            found[path] = lines
    return found


def changed_table(found: Mapping[str, Lines]) -> tuple[list[str], bool]:
    """Return a line for each file and one for all, and whether enough of the changed lines were run."""
    if not found:
        return ["no statement of ours changed"], True
    said = [f"{'changed':>8} {'run':>6} {'percent':>8}  file: lines that were not run"]
    run = sum(len(lines.run) for lines in found.values())
    all_ = run + sum(len(lines.missed) for lines in found.values())
    for path, lines in found.items():
        number = len(lines.run) + len(lines.missed)
        missed = f": {spans(lines.missed)}" if lines.missed else ""
        said.append(f"{number:8} {len(lines.run):6} {_percent(len(lines.run), number):8.1f}  {path}{missed}")
    enough = 100 * run >= LEAST_PERCENT * all_
    said.append(f"{all_:8} {run:6} {_percent(run, all_):8.1f}  all; {'enough' if enough else 'too few'}: "
                f"at least {LEAST_PERCENT} percent are wanted")  # fmt: skip
    return said, enough


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 100.0


def spans(numbers: Iterable[int]) -> str:
    """Write line numbers as people do: "3, 5-7"."""
    ends: list[list[int]] = []
    for number in sorted(numbers):
        if ends and ends[-1][1] == number - 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ends)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Print a table and return the exit code: 1 = too few changed lines were run, 2 = nothing can be judged."""
    try:
        match arguments:
            case ["folders"]:
                said, enough = folder_table(read_report(root)), True
            case ["changed", commit] if commit:
                report = read_report(root)
                said, enough = changed_table(judged(root, report, changed_lines(root, commit)))
            case _:
                raise CannotJudge("say `folders`, or `changed` and a commit")
    except CannotJudge as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(said))
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
