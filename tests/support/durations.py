"""How long each test took, and all of a kind together: printed at the end of a run and kept in `.pytest_cache/durations.json`.

Workers write a test's kind and processor seconds into its reports, which the process that prints reads; so `-n 2` and no `-n` are the
same. Seconds are of the wall; of them the processor seconds of the test's own process, the rest was waiting or another process's work.
"""

import json
import time
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import attrs
import pytest

from tests.support.kinds import KINDS, Starts, kind_of

SLOWEST = 30
KEPT_SECONDS = 0.5
"""Tests below this are kept as a part of their file's sum only: the file stays small."""


@attrs.define
class Spent:
    """What a test, a file or a kind took."""

    cases: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0

    def add(self, other: "Spent") -> None:
        self.cases += other.cases
        self.seconds += other.seconds
        self.processor_seconds += other.processor_seconds

    def rounded(self) -> dict[str, float]:
        return {
            "cases": self.cases,
            "seconds": round(self.seconds, 2),
            "processor_seconds": round(self.processor_seconds, 2),
        }


class Durations:
    """A plugin of the process that runs tests and of the process that prints."""

    def __init__(self, config: pytest.Config) -> None:
        self._tests = config.rootpath / "tests"
        self._file = config.rootpath / ".pytest_cache" / "durations.json"
        self._starts = Starts()
        self._began_count = 0
        self._phase_began = 0.0
        self._phase_processor = 0.0
        self._began = time.monotonic()
        self.spent: dict[str, Spent] = defaultdict(Spent)
        """By test."""
        self.kinds: dict[str, str] = {}

    # Where tests run

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._began_count = self._starts.count

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, None, None]:
        self._phase_processor = time.process_time()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        self._phase_processor = time.process_time()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        self._phase_processor = time.process_time()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        told: Any = report  # pytest sends a report's own attributes on to the process that prints
        told.kind = kind_of(item, self._tests, started=self._starts.count - self._began_count)
        told.processor_seconds = time.process_time() - self._phase_processor
        return report

    # Where reports come together

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        own = self.spent[report.nodeid]
        own.cases = 1
        own.seconds += report.duration
        own.processor_seconds += getattr(report, "processor_seconds", 0.0)
        self.kinds[report.nodeid] = getattr(report, "kind", KINDS[0])

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.spent:
            return
        by_kind: dict[str, Spent] = {kind: Spent() for kind in KINDS}
        for test, spent in self.spent.items():
            by_kind[self.kinds[test]].add(spent)
        total = Spent()
        for spent in by_kind.values():
            total.add(spent)
        write = terminalreporter.write_line
        terminalreporter.section("durations")
        write(f"{'kind':16} {'cases':>7} {'seconds':>9} {'of processor':>13}")
        for name, spent in [*by_kind.items(), ("all", total)]:
            if spent.cases:
                write(f"{name:16} {spent.cases:7} {spent.seconds:9.1f} {spent.processor_seconds:13.1f}")
        slowest = sorted(self.spent, key=lambda test: -self.spent[test].seconds)[:SLOWEST]
        write(f"The slowest, in seconds (all above {KEPT_SECONDS} s: {self._file.relative_to(self._file.parents[1])}):")
        for test in slowest:
            write(f"{self.spent[test].seconds:9.1f} {test}")
        self._keep(by_kind, total)

    def _keep(self, by_kind: dict[str, Spent], total: Spent) -> None:
        by_file: dict[str, Spent] = defaultdict(Spent)
        for test, spent in self.spent.items():
            by_file[test.partition("::")[0]].add(spent)
        kept = {
            "wall_seconds": round(time.monotonic() - self._began, 1),
            "total": total.rounded(),
            "kinds": {name: spent.rounded() for name, spent in by_kind.items() if spent.cases},
            "files": {name: by_file[name].rounded() for name in sorted(by_file)},
            "tests": {
                test: round(spent.seconds, 2)
                for test, spent in sorted(self.spent.items())
                if spent.seconds > KEPT_SECONDS
            },
        }
        self._file.parent.mkdir(exist_ok=True)
        self._file.write_text(json.dumps(kept, indent=1) + "\n")
