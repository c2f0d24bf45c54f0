"""Does the suite still notice a wrong program? Changes one expression of the code at a time and runs the tests of its area.

    python -m bench.mutants --seed 9 --number 40 --further

Run it in a separate clean clone: it writes into the checkout, and puts every file back. The seed alone decides the changes: the same seed makes the
same changes in the same code. Each change is run against its area's tests of the first command, up to the first failure. With `--further`, a
surviving change is run against the further command's tests too. One line of JSON per mutant says which test killed it. The last line has the sums.
`--known FILE` takes such lines of an earlier run: the same changes are made, and the test that killed a change there is tried first.
"""

import argparse
import ast
import copy
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import attrs

AREAS = {
    "engine": ("actors/engine", ("tests/actors/engine", "tests/http/routes", "tests/actors/test_tree.py")),
    "sessions": ("actors/sessions", ("tests/actors/sessions", "tests/actors/test_tree.py", "tests/actors/portfolio")),
    "codecs": ("brokers", ()),
}
"""Area -> (folder of its code, its tests). A codec's tests are those of its broker."""
NOT_CODECS = frozenset({"simulator", "transport"})
COMPARISONS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
RUN_SECONDS = 1800.0


@attrs.frozen
class Mutant:
    """One changed expression."""

    file: str
    line: int
    start: int
    end: int
    """Offsets in the file's text."""
    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}: {self.before[:60]} -> {self.after[:60]}"


def changed(node: ast.AST) -> ast.AST | None:
    """Return a node with another meaning, or None if there is nothing to change."""
    other = copy.deepcopy(node)
    match other:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            other.ops = [COMPARISONS[type(operator)]()]
        case ast.BoolOp(op=ast.And()):
            other.op = ast.Or()
        case ast.BoolOp(op=ast.Or()):
            other.op = ast.And()
        case ast.BinOp(op=ast.Add()):
            other.op = ast.Sub()
        case ast.BinOp(op=ast.Sub()):
            other.op = ast.Add()
        case ast.UnaryOp(op=ast.Not()):
            return other.operand
        case ast.Constant(value=bool(value)):
            other.value = not value
        case ast.Constant(value=int(value)):
            other.value = value + 1
        case ast.IfExp():
            other.body, other.orelse = other.orelse, other.body
        case _:
            return None
    return other


def expressions(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the expressions inside functions. Annotations, f-strings and defaults of classes are left out."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                yield from _inside(statement)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _inside(child)


def mutants_of(root: Path, file: Path) -> list[Mutant]:
    text = file.read_text()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    found = []
    for node in expressions(ast.parse(text)):
        other = changed(node)
        if other is not None:
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            before = text.encode()[start:end].decode()
            after = f"({ast.unparse(ast.fix_missing_locations(other))})"
            found.append(Mutant(str(file.relative_to(root)), node.lineno, start, end, before, after))
    return found


def files_of(root: Path, area: str) -> list[Path]:
    folder = root / AREAS[area][0]
    if area == "codecs":
        brokers = [entry for entry in sorted(folder.iterdir()) if (entry / "values.py").exists()]
        return [file for broker in brokers if broker.name not in NOT_CODECS for file in sorted(broker.glob("*.py"))]
    return sorted(folder.rglob("*.py"))


def tests_of(root: Path, area: str, file: str) -> list[str]:
    if area != "codecs":
        return list(AREAS[area][1])
    code = Path(file).parts[1]
    shared = [
        "tests/brokers/codec",
        "tests/brokers/contract",
        "tests/brokers/listings",
        "tests/brokers/test_requests.py",
    ]
    sdk = [str(test.relative_to(root)) for test in sorted((root / "tests/sdk").glob(f"test_{code}*.py"))]
    return [f"tests/brokers/{code}", *shared, *sdk, "tests/actors/sessions"]


def chosen(root: Path, seed: int, number: int) -> list[tuple[str, Mutant]]:
    """Return `number` mutants, half of them in the engine. Files are chosen by chance first, so a long file is not more important."""
    chance = random.Random(seed)
    shares = {"engine": number // 2, "sessions": number // 4, "codecs": number - number // 2 - number // 4}
    found = []
    for area, count in shares.items():
        files = [own for file in files_of(root, area) if (own := mutants_of(root, file))]
        found += [(area, chance.choice(own)) for own in chance.sample(files, count)]
    return found


def failing(root: Path, arguments: list[str], workers: int) -> str | None:
    """Run tests up to the first failure. Return its name, or `ends with N` if no test of the run explains the end, or None if all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", str(workers), *arguments]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "it never ends"
    if done.returncode in (0, 5):
        return None
    said = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return said[1] if said else f"ends with {done.returncode}"


def killer(root: Path, tests: list[str], options: list[str], workers: int, known: str | None) -> str | None:
    """Return a test that fails: the known test, else the first of the quick tests, else the first of the others."""
    if known and "::" in known and failing(root, [*options, known], 0):
        return known
    for marks in ("unit", "not unit"):
        if (found := failing(root, [*options, "-m", marks, *tests], workers)) is not None:
            return found
    return None


def end(number: int, frame: object) -> None:
    """End in order, so that the changed file is put back."""
    raise SystemExit(128 + number)


def judged(
    root: Path, area: str, mutant: Mutant, given: argparse.Namespace, known: dict[str, str | None]
) -> dict[str, object]:
    file, tests = root / mutant.file, tests_of(root, area, mutant.file)
    text, began = file.read_bytes(), time.monotonic()
    file.write_bytes(text[: mutant.start] + mutant.after.encode() + text[mutant.end :])
    try:
        first = killer(root, tests, given.options, given.workers, known.get("first"))
        further = None
        if first is None and given.further:
            further = killer(root, tests, [*given.options, "--further"], given.workers, known.get("further"))
    finally:
        file.write_bytes(text)
    seconds = round(time.monotonic() - began, 1)
    return {"area": area, "mutant": mutant.name, "first": first, "further": further, "seconds": seconds}


def main() -> int:
    parser = argparse.ArgumentParser(description="Change one expression at a time and see whether the tests notice.")
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--further", action="store_true", help="run what survives against the further command's tests")
    parser.add_argument("--known", type=Path, help="lines of an earlier run")
    parser.add_argument("--only", choices=AREAS, help="only the mutants of this area")
    parser.add_argument("options", nargs="*", help="further options of pytest, behind --")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, end)
    root = Path(__file__).resolve().parents[1]
    if subprocess.run(["git", "diff", "--quiet"], cwd=root, check=False).returncode:
        sys.exit("the checkout has changes: run this in a clean clone")
    lines = given.known.read_text().splitlines() if given.known else []
    known = {said["mutant"]: said for said in map(json.loads, lines) if "mutant" in said}
    sums: Counter[str] = Counter()
    for area, mutant in chosen(root, given.seed, given.number):
        if given.only in (None, area):
            said = judged(root, area, mutant, given, known.get(mutant.name, {}))
            sums["first" if said["first"] else "further" if said["further"] else "survived"] += 1
            print(json.dumps(said), flush=True)
    print(json.dumps({"seed": given.seed, "killed_by": dict(sums)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
