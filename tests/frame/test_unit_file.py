"""The unit of systemd: what it closes stays closed, what the service needs stays open, and the packages run with it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onebroker.http.commands.exit_codes import STORE_BUSY, WRONG_USE
from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "docs" / "operations" / "unified-orders@.service"
HIGHEST_SCORE = 1.5

CLOSED = {
    "NoNewPrivileges": "yes",
    "CapabilityBoundingSet": "",
    "AmbientCapabilities": "",
    "PrivateTmp": "yes",
    "PrivateMounts": "yes",
    "PrivateDevices": "yes",
    "PrivateUsers": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "ProtectClock": "yes",
    "ProtectHostname": "yes",
    "ProtectKernelLogs": "yes",
    "ProtectKernelTunables": "yes",
    "ProtectKernelModules": "yes",
    "ProtectControlGroups": "yes",
    "ProtectProc": "invisible",
    "RestrictAddressFamilies": "AF_UNIX AF_INET AF_INET6",
    "RestrictNamespaces": "yes",
    "RestrictRealtime": "yes",
    "RestrictSUIDSGID": "yes",
    "LockPersonality": "yes",
    "MemoryDenyWriteExecute": "yes",
    "RemoveIPC": "yes",
    "KeyringMode": "private",
    "SystemCallArchitectures": "native",
    "SystemCallErrorNumber": "EPERM",
    "UMask": "0077",
    "LimitCORE": "0",
    "StateDirectoryMode": "0700",
}

DENY_WRITE_EXECUTE = """
import ctypes, sys
if ctypes.CDLL(None, use_errno=True).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
    sys.exit(77)
import polars, duckdb, msgspec, hiredis, uuid_utils, rapidfuzz
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
Ed25519PrivateKey.generate().sign(b"x")
frame = polars.DataFrame({"a": list(range(1000))})
assert duckdb.execute("SELECT sum(range) FROM range(1000) WHERE range % 2 = 0").fetchone() == (249500,)
assert frame.lazy().filter(polars.col("a") > 10).select(polars.col("a").sum()).collect().item() == 499445
"""


def directives() -> dict[str, list[str]]:
    """Name -> all values, in order, of the section [Service]."""
    section = UNIT.read_text().split("\n[Service]\n", 1)[1].split("\n[", 1)[0]
    found: dict[str, list[str]] = {}
    for line in section.splitlines():
        if line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals, line
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize(("name", "value"), CLOSED.items(), ids=CLOSED.keys())
def test_what_the_unit_closes_stays_closed(name: str, value: str) -> None:
    assert directives().get(name) == [value]


def test_system_calls_are_listed_and_the_worker_may_lower_its_priority() -> None:
    first, without, again = directives()["SystemCallFilter"]
    assert first == "@system-service"
    assert without.removeprefix("~").split() == ["@privileged", "@resources"]
    assert without.startswith("~")
    assert again.split() == ["setpriority", "setrlimit", "prlimit64"]


def test_a_stop_is_clean_and_a_start_that_cannot_help_is_not_repeated() -> None:
    found = directives()
    assert found["KillSignal"] == ["SIGTERM"]
    assert found["KillMode"] == ["process"]
    assert found["RestartPreventExitStatus"] == [f"{WRONG_USE} {STORE_BUSY}"]
    assert found["User"] == found["Group"] == ["onebroker"]


def test_the_data_directory_is_the_only_place_that_can_be_written() -> None:
    found = directives()
    assert found["StateDirectory"] == ["onebroker"]
    assert "ONEBROKER_SERVICE_DATA_DIR=/var/lib/onebroker" in found["Environment"]
    assert "ReadWritePaths" not in found


def environment() -> dict[str, str]:
    return dict(value.split("=", 1) for value in directives()["Environment"])


def run_without_executable_memory(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", DENY_WRITE_EXECUTE],
        env=variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    if done.returncode == 77:
        pytest.skip("this kernel has no PR_SET_MDWE (Linux 6.3), so MemoryDenyWriteExecute= cannot be tried")
    return done


def test_the_packages_run_without_executable_memory() -> None:
    done = run_without_executable_memory(environment())
    assert done.returncode == 0, done.stderr


def test_the_variable_for_polars_is_still_needed() -> None:
    done = run_without_executable_memory({})
    assert "could not execute mprotect for CPUID check" in done.stderr


def test_systemd_itself_finds_the_unit_closed(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip(
            "systemd-analyze is not on the PATH, so the score is not measured; the directives are checked above"
        )
    unit = tmp_path / "unified-orders@order_engine.service"
    unit.write_text(UNIT.read_text())
    said = subprocess.run(
        [analyze, "security", "--offline=true", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    ).stdout
    score = re.search(r"Overall exposure level for .*: (\d+\.\d)", said)
    assert score is not None, said
    assert float(score[1]) <= HIGHEST_SCORE, said
