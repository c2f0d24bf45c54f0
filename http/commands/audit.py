"""`onebroker audit verify` and `onebroker audit show PARENT` (docs/audit.md). They read the audit's files, with and without a running service.

Exit code of verify: 0 when the audit is whole, 1 when it is not; of show: 1 when there is no line of that parent. 4 when a file cannot be read.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from onebroker.actors.audit.chain import RESERVED
from onebroker.actors.audit.day_files import FOLDER
from onebroker.actors.audit.reading import lines_of_parent
from onebroker.actors.audit.verify import Verdict, verify
from onebroker.config.events import shown
from onebroker.http.commands.command_settings import data_dir_of
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.printable import printable

NOT_WHOLE = NOTHING_FOUND = 1
LOOKS = 3
"""How often an unfinished last line is looked at before it counts."""
LOOK_SECONDS = 0.3


def run_verify(parsed: argparse.Namespace) -> int:
    data_dir = data_dir_of(parsed)
    with _Reading():
        verdict = _verdict(_folder(data_dir))
    for line in verdict_lines(verdict):
        print(printable(line))
    return DONE if verdict.fault is None else NOT_WHOLE


def _verdict(folder: Path) -> Verdict:
    """Check the audit. A last line that stays unfinished is a fault; a running service finishes its line in milliseconds."""
    for _ in range(LOOKS):
        verdict = verify(folder, running=True)
        if not verdict.unfinished:
            return verdict
        time.sleep(LOOK_SECONDS)
    return verify(folder, running=False)


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """Yield what is printed of a check."""
    if verdict.fault is not None:
        yield f"{verdict.fault.file} line {verdict.fault.line}: {verdict.fault.what}"
    if verdict.first is None or verdict.last is None:
        yield "no lines" if verdict.fault is None else "nothing before it"
        return
    whole = "whole" if verdict.fault is None else "whole before that"
    yield f"{whole}: {verdict.lines} lines, {verdict.days[0]} to {verdict.days[-1]} ({len(verdict.days)} days)"
    if verdict.first.n > 1:
        yield f"begins at line {verdict.first.n}, {verdict.first.at}: older files were removed"
    if verdict.torn:
        yield f"torn writes that were closed off: {verdict.torn}"
    yield f"first hash {verdict.first.hash} (line {verdict.first.n})"
    yield f"last hash  {verdict.last.hash} (line {verdict.last.n}, {verdict.last.at})"


def run_show(parsed: argparse.Namespace) -> int:
    found = False
    with _Reading():
        for raw in lines_of_parent(_folder(data_dir_of(parsed)), parsed.parent.strip().lower()):
            found = True
            print(raw.decode() if parsed.json else printable(readable(raw)))
    if not found:
        raise CommandFailed("the audit has no line of that parent", NOTHING_FOUND)
    return DONE


def readable(raw: bytes) -> str:
    """Return a line for people: when, what, and the fields of the event, as the log writes them."""

    fields = msgspec.json.decode(raw, type=dict[str, object])
    told = (f"{name}={shown(value)}" for name, value in fields.items() if name not in RESERVED)
    return " ".join((f"{fields['n']} {fields['at']} {fields['event']}", *told))


class _Reading:
    """Turns a file that cannot be read into the command's failure."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from onebroker.http.commands.exit_codes import CommandFailed

        if isinstance(error, BrokenPipeError):  # the reader of the output has seen enough
            return
        if isinstance(error, OSError):
            raise CommandFailed(f"the audit could not be read: {error}", NOTHING_REACHABLE) from None


def _folder(data_dir: Path) -> Path:

    folder = data_dir / FOLDER
    if not folder.is_dir():
        raise CommandFailed(f"{data_dir} has no audit", WRONG_USE)
    return folder
