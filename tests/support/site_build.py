"""The documentation site, built for a test as `make site` builds it: every warning of mkdocs is an error.

Not with `--quiet`: it hides the warnings from `--strict` too.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]


def build_site(folder: Path) -> Path:
    """Build the site into `folder`, and return it. Skips the test where the extra `docs` is not installed."""
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed: pip install -c constraints.txt -e '.[docs]'")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
