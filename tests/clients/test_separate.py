"""The client and the service import nothing of each other, and the client's core imports no sockets."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "clients" / "python" / "src" / "onebroker_client"
SHELLS = {"sync_client.py", "async_client.py", "connections.py"}
WITH_IO = {"anyio", "asyncio", "httpcore", "httpx", "select", "selectors", "socket", "ssl", "threading", "time", "trio"}


def imported(path: Path) -> set[str]:
    """Return the top names that a module imports, those for type checkers included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found


def test_the_client_imports_its_own_dependencies_alone():
    named = set().union(*(imported(path) for path in PACKAGE.glob("*.py")))
    others = named - sys.stdlib_module_names - {"onebroker_client"}
    assert others == {"anyio", "httpcore", "httpx", "msgspec", "typing_extensions", "wsproto"}


@pytest.mark.parametrize("folder", ["config", "brokers", "actors", "http"])
def test_the_service_does_not_import_the_client(folder):
    assert [path for path in (ROOT / folder).rglob("*.py") if "onebroker_client" in path.read_text()] == []


@pytest.mark.parametrize(
    "path", [path for path in sorted(PACKAGE.glob("*.py")) if path.name not in SHELLS], ids=lambda path: path.name
)
def test_a_module_of_the_core_has_no_socket_no_clock_and_no_pause(path):
    assert imported(path) & WITH_IO == set()
    assert "datetime.now" not in path.read_text()


def test_the_shells_are_what_has_them():
    assert all(imported(PACKAGE / name) & WITH_IO for name in SHELLS)
