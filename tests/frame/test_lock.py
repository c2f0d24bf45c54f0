"""requirements.lock: every package of the service with its hashes, at the versions of constraints.txt, under licences that somebody has read."""

import re
import tomllib
from pathlib import Path

from tests.support import licences

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {_plain(name): version for name, _, version in (line.partition("==") for line in lines if "==" in line)}


def locked() -> dict[str, str]:
    return {_plain(name): version for name, version in licences.locked()}


def test_every_package_of_the_lock_has_hashes() -> None:
    entries = re.split(r"^(?=\S)", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked()) > 40
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_lock_and_the_constraints_name_the_same_versions() -> None:
    """A package that only another machine needs is not among the constraints."""
    constraints = pinned()
    assert {name: version for name, version in locked().items() if constraints.get(name, version) != version} == {}
    assert len(locked().keys() - constraints.keys()) <= 3


def test_the_lock_holds_every_package_that_the_service_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = {_plain(re.split(r"[<>=~!; \[]", each)[0]) for each in (*project["dependencies"], *extras["alerts"], *extras["completion"], *extras["postgres"])}  # fmt: skip
    assert wanted - locked().keys() == set()


def test_every_licence_was_read() -> None:
    rows = [licences.licensed(name, version) for name, version in licences.locked()]
    assert {row.name: row.unknown for row in rows if row.unknown} == {}
    assert len([row for row in rows if row.is_installed]) > 40
