"""The events: docs/events.md says what the code has, each of them is told somewhere in the product, and none has a field for a secret."""

import ast
from collections.abc import Iterator
from pathlib import Path

import attrs

from onebroker.config import events
from onebroker.config.events import ALL, Event
from tests.support.event_page import PAGE, fields_of, page
from tests.support.every_case import every_case

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("config", "brokers", "actors", "http")
MODULE = "onebroker.config.events"
SECRET = {"access_token", "api_key", "api_secret", "key", "mpin", "password", "pin", "refresh_token", "secret", "totp"}


def test_the_page_is_what_the_code_has():
    assert PAGE.read_text() == page(), "run `PYTHONPATH=. python tests/support/event_page.py`"


def test_the_list_holds_every_kind_once_under_a_name_of_its_own():
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event)]
    assert set(ALL) == set(kinds) - {Event}
    assert len({kind.name for kind in ALL}) == len(ALL)


def test_every_kind_of_event_is_told_somewhere():
    made = {name for folder in PRODUCT for path in (ROOT / folder).rglob("*.py") for name in _made(path)}
    untold = {kind.name for kind in ALL if kind.__name__ not in made}
    assert untold == set()


def _made(path: Path) -> Iterator[str]:
    """Yield the names of the kinds of events that a module makes, however it imports them."""
    text = path.read_text()
    if "events" not in text:
        return
    tree = ast.parse(text)
    imported: dict[str, str] = {}
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == MODULE:
            imported |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == MODULE.rpartition(".")[0]:
            modules |= {alias.asname or alias.name for alias in node.names if alias.name == "events"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in imported:
                yield imported[called.id]
            elif (
                isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id in modules
            ):
                yield called.attr


@every_case("kind", ALL)
def test_no_field_holds_a_secret(kind):
    """`key` of `start` is yes or no, `token` of an order is its tag at the broker."""
    texts = {name for name, type_, _ in fields_of(kind) if not type_.startswith("yes or no")}
    assert not texts & SECRET
    assert "token" not in texts or kind.name.startswith("order.")


@every_case("kind", ALL)
def test_every_field_is_on_the_page(kind):
    assert [name for name, _, _ in fields_of(kind)] == [field.name for field in attrs.fields(kind)]
