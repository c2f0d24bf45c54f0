"""Make the environments of the official SDKs and of the Python client under `.sdk/` from their pins; nothing to do = no time.

Run by the test command: `python tests/sdk/install.py`. An environment is made again when its pins changed; it counts as
made only once the pins it holds are written into it, so an interrupted run starts over. The pins are whole and are installed
without resolving: some SDKs pin libraries of years ago, with which no two of them would fit together.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1] / ".sdk"
PINS = {"others": HERE, "fyers": HERE, "client": HERE.parent / "clients"}
"""Name of the folder under `.sdk/` -> where its `<name>.txt` stands. The ten SDKs do not all resolve together. `client` holds what
`clients/python` needs; the client itself is on the path of the tests that use it."""
MADE_FROM = "made-from.txt"
"""Written last: the pins that an environment holds."""


def is_made(name: str) -> bool:
    """Return whether `.sdk/<name>` holds exactly these pins."""
    made_from = ROOT / name / MADE_FROM
    return made_from.is_file() and made_from.read_text() == _pins(name).read_text()


def begin(name: str) -> "subprocess.Popen[bytes]":
    """Make `.sdk/<name>` anew and return the process that fills it."""
    folder = ROOT / name
    if folder.exists():
        shutil.rmtree(folder)
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    quietly = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    return subprocess.Popen([python, *quietly, "-r", _pins(name)])


def _pins(name: str) -> Path:
    return PINS[name] / f"{name}.txt"


def main() -> int:
    """Fill those that are missing side by side: most of a minute is unpacking and compiling."""
    begun = {name: begin(name) for name in PINS if not is_made(name)}
    ended = {name: process.wait() for name, process in begun.items()}
    for name, code in ended.items():
        if code == 0:
            (ROOT / name / MADE_FROM).write_text(_pins(name).read_text())
    for name in PINS:
        print(f".sdk/{name}: {('failed' if ended[name] else 'installed') if name in ended else 'present'}")
    return max((abs(code) for code in ended.values()), default=0)


if __name__ == "__main__":
    sys.exit(main())
