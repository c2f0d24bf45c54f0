"""What the tests of the Python client share: its package and its generator by path, for this folder only, and its own environment."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "clients" / "python"
SOURCE = CLIENT / "src"

if str(SOURCE) not in sys.path:
    sys.path.append(str(SOURCE))  # last: it holds nothing but `onebroker_client`, of which the core needs msgspec alone


@pytest.fixture(scope="session")
def generate() -> Iterator[ModuleType]:
    """The client's generator as a module. Its package is called `generator`, so it leaves the path again."""
    path = [*sys.path]
    sys.path.insert(0, str(CLIENT))
    try:
        import generate

        yield generate
    finally:
        sys.path[:] = path
        for name in [name for name in sys.modules if name.partition(".")[0] in ("generate", "generator")]:
            del sys.modules[name]
