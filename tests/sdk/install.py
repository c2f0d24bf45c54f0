"""Make the environments of the official SDKs under `.sdk/` from the pins beside this file; nothing to do = no time.

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
ENVIRONMENTS = ("others", "fyers")
"""Names of `<name>.txt` beside this file and of the folder under `.sdk/`; the ten SDKs do not all resolve together."""


def install(name: str) -> bool:
    """Make `.sdk/<name>`; return False when it already holds exactly these pins."""
    pins = (HERE / f"{name}.txt").read_text()
    folder = ROOT / name
    made_from = folder / "made-from.txt"
    if made_from.is_file() and made_from.read_text() == pins:
        return False
    if folder.exists():
        shutil.rmtree(folder)
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run(
        [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
            "-r",
            HERE / f"{name}.txt",
        ],
        check=True,
    )
    made_from.write_text(pins)
    return True


def main() -> int:
    for name in ENVIRONMENTS:
        print(f".sdk/{name}: {'installed' if install(name) else 'present'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
