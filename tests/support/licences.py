"""The licences of every package that the service installs, by the packages' own metadata.

    PYTHONPATH=. .venv/bin/python tests/support/licences.py

prints a line for each package of `requirements.lock`: name, version, licence. The exit code is 1 when a licence is not among `KNOWN`: somebody has to
read it before the package is kept.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import attrs

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"
KNOWN = (
    "3-Clause BSD License",
    "Apache-2.0",
    "Apache Software License",
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "LGPL-3.0-only",  # psycopg, an extra: a library of its own, used unchanged
    "MIT",
    "MIT License",
    "MIT-0",
    "MPL-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)",
    "PSF-2.0",
    "Python Software Foundation License",
)
"""Licences that let the service be used, changed and passed on, as metadata name them."""
MARKED = re.compile(r"^([A-Za-z0-9_.-]+)==(\S+)( ;.*)?", re.MULTILINE)
WORD = re.compile(r"\s+(?:AND|OR|WITH|and|or)\s+|[()]|\s*/\s*")


@attrs.frozen
class Licensed:
    name: str
    version: str
    licences: tuple[str, ...]
    """As the metadata name them; empty = they name none, or the package is not installed here (it is for another machine)."""
    is_installed: bool

    @property
    def unknown(self) -> tuple[str, ...]:
        if not self.is_installed:
            return ()
        return tuple(each for each in self.licences if each not in KNOWN) or (() if self.licences else ("none told",))


def locked() -> Iterator[tuple[str, str]]:
    """Yield name and version of each package of the lock."""
    for found in MARKED.finditer(LOCK.read_text()):
        yield found[1], found[2]


def licensed(name: str, version: str) -> Licensed:
    try:
        told = metadata(name)
    except PackageNotFoundError:
        return Licensed(name, version, (), is_installed=False)
    classified = [line.rpartition(" :: ")[2] for line in told.get_all("Classifier") or () if line.startswith("License")]
    classified = [each for each in classified if each != "OSI Approved"]
    names = ["License-Expression"] if classified else ["License-Expression", "License"]
    expression = next((told[name] for name in names if name in told), "")
    words = [word.strip() for word in WORD.split(expression) if word.strip()]
    return Licensed(name, version, tuple(dict.fromkeys(words or classified)), is_installed=True)


def main() -> int:
    rows = [licensed(name, version) for name, version in locked()]
    for row in rows:
        words = ", ".join(row.licences) or ("not installed here" if not row.is_installed else "none told")
        print(f"{row.name:24} {row.version:16} {words}")
    unread = [row.name for row in rows if row.unknown]
    if unread:
        print(f"read the licences of: {', '.join(unread)}", file=sys.stderr)
    return 1 if unread else 0


if __name__ == "__main__":
    sys.exit(main())
