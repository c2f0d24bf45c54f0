"""Reads the texts that stand below the fields of a class: what a field means, as the API's documents tell it."""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise


def field_texts(kind: type) -> Mapping[str, str]:
    """Return field -> the text below it, with those of the classes above it. A class that was made without source has none."""
    found: dict[str, str] = {}
    for above in reversed(kind.__mro__):
        if above.__module__.startswith("onebroker."):
            found.update(_of_module(above.__module__).get(above.__name__, {}))
    return found


@cache
def _of_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """Return class -> field -> text, of one module."""
    module = importlib.import_module(name)
    tree = ast.parse(inspect.getsource(module))
    return {node.name: dict(_texts(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _texts(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for line, below in pairwise(node.body):
        names = _names(line)
        if names and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            text = below.value.value
            if isinstance(text, str):
                for name in names:
                    yield name, plain(text)


def _names(line: ast.stmt) -> list[str]:
    targets = [line.target] if isinstance(line, ast.AnnAssign) else line.targets if isinstance(line, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def plain(text: str) -> str:
    """Return a text of the source as one paragraph a line."""
    paragraphs = textwrap.dedent(inspect.cleandoc(text)).split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
