"""The output of `history load` and `factors load` (progress, counts, reasons of refused rows, exit code) and the places where they work."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import msgspec
import polars as pl

from onebroker.config.sections import HistorySettings, StoreSettings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE
from onebroker.http.commands.history.file_load import Progress, Tell
from onebroker.http.commands.history.store_access import Checked, Places
from onebroker.http.commands.screen import Bar, MovingBlock, is_terminal

SOME_REFUSED = 1
MOST_FINDINGS = 50
"""The most findings that are printed; the file has all of them."""


@attrs.frozen(kw_only=True)
class Loaded:
    """One file and the result for its rows."""

    file: str
    kind: str
    progress: Progress
    report: str
    """The file with the refused and the overwriting rows, if there are any."""

    def counts(self) -> dict[str, object]:
        progress = self.progress
        return {
            "file": self.file,
            "kind": self.kind,
            "rows": progress.rows,
            "added": progress.added,
            "replaced": progress.replaced,
            "equal": progress.equal,
            "refused": progress.refused,
            "overwriting": progress.overwriting,
            "reasons": progress.reasons,
            "report": self.report if progress.refused or progress.overwriting else None,
        }


def places_of(parsed: argparse.Namespace) -> Places:
    """Return where to work; the settings are read only if the options do not give the place, or name a settings file."""
    given: Path | None = parsed.data_dir
    if given is not None and parsed.config is None:
        return Places(given.expanduser(), HistorySettings(), StoreSettings())
    settings = read_settings(parsed.config)
    data_dir = settings.service.data_dir if given is None else given.expanduser()
    return Places(data_dir, settings.history, settings.store)


def progress_line(path: Path, *, shown: bool) -> Tell:
    """Return the function that shows a person at a terminal the progress of a file."""
    if not shown or not is_terminal(sys.stderr):
        return lambda progress, share: None
    line = MovingBlock(sys.stderr)

    def tell(progress: Progress, share: float) -> None:
        text = f"{path.name}: {progress.rows:,} rows, {progress.refused:,} refused"
        line.show([Bar(done=round(share * 1000), total=1000, text=text)])
        if share >= 1:
            line.close()

    return tell


def say(loaded: Sequence[Loaded], *, as_json: bool) -> int:
    """Print the result; return the exit code."""
    if as_json:
        _print(msgspec.json.encode([result.counts() for result in loaded]).decode())
    for result in () if as_json else loaded:
        progress = result.progress
        _print(
            f"{result.file}: {progress.rows} rows of {result.kind}: {progress.added} added, {progress.replaced} replaced, "
            f"{progress.equal} equal, {progress.refused} refused"
            + (f", {progress.overwriting} overwrote other rows of the file" if progress.overwriting else "")
        )
        for reason, count in progress.reasons.items():
            _print(f"  {count} × {reason}")
        if progress.refused or progress.overwriting:
            _print(f"  each of these rows: {result.report}")
    return SOME_REFUSED if any(result.progress.refused or result.progress.overwriting for result in loaded) else DONE


def say_checked(checked: Checked, *, as_json: bool) -> int:
    """Print the result of a check, with the first findings in full; return 1 if it found anything, else 0."""
    if as_json:
        _print(msgspec.json.encode(attrs.asdict(checked)).decode())
    else:
        for rename in checked.renames:
            _print(f"renamed: {rename}")
        _print(f"{checked.findings} findings" + (f": {checked.file}" if checked.findings else ""))
        for row in pl.read_csv(checked.file, n_rows=MOST_FINDINGS, infer_schema=False).iter_rows():
            _print("  " + "  ".join(part for part in row if part))
        if checked.findings > MOST_FINDINGS:
            _print("  ...")
    return SOME_REFUSED if checked.findings else DONE


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
