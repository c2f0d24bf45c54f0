"""Make the environment `.sdk/bench` of the servers that `bench.bench_routes` compares with, from the pins in `peers.txt` beside this file.

`python bench/install_peers.py`; nothing to do = no time. It is made again when the pins changed, and counts as made only once they are written into
it. They are no dependencies of onebroker.
"""

import shutil
import subprocess
import sys
import venv
from pathlib import Path

PINS = Path(__file__).resolve().with_name("peers.txt")
FOLDER = PINS.parents[1] / ".sdk" / "bench"
PYTHON = FOLDER / "bin" / "python"
_MADE_FROM = FOLDER / "made-from.txt"


def is_made() -> bool:
    """Return whether the environment holds exactly these pins."""
    return _MADE_FROM.is_file() and _MADE_FROM.read_text() == PINS.read_text()


def main() -> int:
    if is_made():
        print(".sdk/bench: present")
        return 0
    if FOLDER.exists():
        shutil.rmtree(FOLDER)
    venv.create(FOLDER, with_pip=True)
    quietly = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    code = subprocess.run([PYTHON, *quietly, "-r", PINS], check=False).returncode
    if code == 0:
        _MADE_FROM.write_text(PINS.read_text())
    print(f".sdk/bench: {'failed' if code else 'installed'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
