"""Each route of the document has a method in both clients, with the same name and the same arguments."""

import ast
import inspect
from pathlib import Path

import pytest
from onebroker_client.async_methods import AsyncMethods
from onebroker_client.operations import OPERATIONS
from onebroker_client.sync_methods import SyncMethods

PACKAGE = Path(__file__).resolve().parents[2] / "clients" / "python" / "src" / "onebroker_client"


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_has_a_method_in_both_clients_that_passes_every_argument(name):
    operation, sync, later = OPERATIONS[name], getattr(SyncMethods, name), getattr(AsyncMethods, name)
    assert inspect.signature(sync) == inspect.signature(later)
    assert (inspect.iscoroutinefunction(sync), inspect.iscoroutinefunction(later)) == (False, True)
    in_path = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
    takes = set(inspect.signature(sync).parameters) - {"self"}
    assert takes == {*operation.query, *operation.body, *in_path}

    class Kept(SyncMethods):
        def _call(self, operation, arguments):
            return operation, arguments

    given = {argument: f"a {argument}" for argument in takes}
    assert getattr(Kept(), name)(**given) == (name, given)


def _own(module: str, kind: str) -> set[str]:
    """Return the public names that a client adds by hand. Its module is only read: httpx is not in this environment."""
    (found,) = [one for one in ast.parse((PACKAGE / module).read_text()).body if getattr(one, "name", "") == kind]
    named = {one.name for one in found.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)}
    named |= {one.targets[0].id for one in found.body if isinstance(one, ast.Assign)}
    return {name for name in named if not name.startswith("_")}


def test_what_is_written_by_hand_is_the_same_in_both_clients():
    assert _own("sync_client.py", "Client") == _own("async_client.py", "AsyncClient")
    assert _own("sync_client.py", "Client") == {"token", "close", "stream", "open_stream"}
    assert _own("sync_client.py", "Stream") == _own("async_client.py", "AsyncStream") == {"close"}
