"""Python types of JSON schemas: which annotation a field gets, which schemas have a number in them, which words have one name.

Two sides have different rules. An answer's number is `N`, the caller's choice of `float` or `Decimal`; a moment is a `Moment`. What is
sent may be given in more forms (`Number`, `date | str`).
"""

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Schema = dict[str, Any]
Side = Literal["answer", "request"]

_EPOCH = re.compile(r"\bepoch seconds\b", re.IGNORECASE)
_TEXT_MOMENT = re.compile(r"^ISO 8601 with|YYYY-MM-DD(T| )HH:MM:SS\S*,? (in )?Indian time")
_DURATION = re.compile(r"(seconds|_ms)$")
_GIVEN_NAMES = {
    frozenset({"DAY", "IOC"}): "OrderValidity",
    frozenset({"nse", "bse", "mcx", "ncdex"}): "OrderExchange",
    frozenset({"nse", "bse", "mcx", "ncdex", "unknown", "all"}): "ExchangeOrAll",
}
"""Lists whose first field would give them a name that says too little."""
_JSON_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "null": "None"}


def python_name(name: str) -> str:
    """Return a field's name in Python: `from` -> `from_`, `access-token` -> `access_token`."""
    plain = re.sub(r"\W", "_", name)
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name) if part)


def target(reference: str) -> str:
    return reference.rsplit("/", 1)[-1]


def references(schema: Any) -> Iterator[str]:
    """Yield the names of the schemas that a schema names, in their order."""
    if isinstance(schema, list):
        for inner in schema:
            yield from references(inner)
    elif isinstance(schema, dict):
        for name, inner in schema.items():
            if name == "$ref":
                yield target(inner)
            elif name not in ("example", "examples", "discriminator"):
                yield from references(inner)


def is_open(schema: Schema) -> bool:
    """Whether an object of an answer has further fields that nobody lists."""
    return schema.get("additionalProperties") is True


def alternatives(schema: Schema) -> list[Schema]:
    found: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    return found


def is_union(schema: Schema) -> bool:
    return bool(alternatives(schema)) and "properties" not in schema


@dataclass
class Words:
    """The names of closed lists of words: of a schema of its own, or after the first field that has them."""

    taken: set[str]
    named: dict[frozenset[Any], str] = field(default_factory=dict)
    lists: dict[str, list[Any]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def component(self, name: str, schema: Schema) -> None:
        self.named.setdefault(frozenset(schema["enum"]), name)
        self.lists[name] = schema["enum"]
        self.texts[name] = schema.get("description", "")

    def name(self, words: list[Any], owner: str, of_field: str) -> str:
        """Return the name of a list of words; two lists of the same words have one name."""
        key = frozenset(words)
        if key not in self.named:
            names = (_GIVEN_NAMES.get(key, camel(of_field)), owner + camel(of_field))
            choice = next(name for name in names if name not in self.taken)
            self.taken.add(choice)
            self.named[key], self.lists[choice] = choice, words
        return self.named[key]


@dataclass
class Typing:
    """Gives fields their annotations. One for each side and module."""

    schemas: dict[str, Schema]
    side: Side
    words: Words
    generic: frozenset[str] = frozenset()
    """Schemas of answers with a number in them, at any depth."""
    elsewhere: dict[str, str] = field(default_factory=dict)
    """Schema -> the module that has it already, as a prefix: `answers.`."""
    choices: dict[str, list[str]] = field(default_factory=dict)
    """Name of a field's choice of several structs -> all that it may be; filled while fields are annotated."""
    used_words: set[str] = field(default_factory=set)

    def of(self, schema: Schema, owner: str, name: str) -> str:
        """Return the annotation of one field."""
        text = schema.get("description", "")
        parts = list(dict.fromkeys(self._parts(schema, owner, name, text)))
        if "Any" in parts or self._mixes_texts_and_numbers(parts):
            return "Any"
        structs = [part for part in parts if part.partition("[")[0] in self._classes()]
        if self.side == "answer" and len(structs) > 1:
            choice = self._choice(owner, name, [part for part in parts if part != "None"])
            parts = [choice, *(part for part in parts if part == "None")]
        return " | ".join([*(part for part in parts if part != "None"), *(part for part in parts if part == "None")])

    def _classes(self) -> set[str]:
        return {
            self._qualified(name)
            for name, schema in self.schemas.items()
            if "properties" in schema and not (self.side == "answer" and is_open(schema))
        }

    def _qualified(self, name: str) -> str:
        return self.elsewhere.get(name, "") + name

    def _choice(self, owner: str, name: str, parts: list[str]) -> str:
        choice = owner + camel(name)
        self.choices[choice] = parts
        return f"{choice}[N]" if any("[N]" in part for part in parts) else choice

    def _mixes_texts_and_numbers(self, parts: list[str]) -> bool:
        """Whether a Decimal could not be told from a text: such a value stays as JSON has it."""
        return self.side == "answer" and "N" in parts and bool({"str", "bool"} & set(parts))

    def _parts(self, schema: Schema, owner: str, name: str, text: str) -> Iterator[str]:
        if "$ref" in schema:
            yield self._reference(target(schema["$ref"]))
        elif alternatives(schema):
            for inner in alternatives(schema):
                yield from self._parts(inner, owner, name, inner.get("description", text))
        elif "enum" in schema or "const" in schema:
            yield self._words(schema.get("enum", [schema.get("const")]), owner, name)
            if "null" in (schema.get("type") or ()):
                yield "None"
        else:
            kinds = schema.get("type", "")
            for kind in kinds if isinstance(kinds, list) else [kinds]:
                yield from self._plain(kind, schema, owner, name, text)

    def _reference(self, name: str) -> str:
        schema = self.schemas[name]
        if schema.get("type") == "null":
            return "None"
        if schema.get("type") == "string":
            if "enum" not in schema:
                return "str"
            named = self.words.named[frozenset(schema["enum"])]
            self.used_words.add(named)
            return named
        if self.side == "answer" and is_open(schema):
            return "dict[str, Any]"
        return self._qualified(name) + ("[N]" if name in self.generic else "")

    def _words(self, words: list[Any], owner: str, name: str) -> str:
        if all(isinstance(word, bool) for word in words):
            return "bool"
        if len(words) == 1:
            return f'Literal["{words[0]}"]'
        named = self.words.name(words, owner, name)
        self.used_words.add(named)
        return named

    def _plain(self, kind: str, schema: Schema, owner: str, name: str, text: str) -> Iterator[str]:
        if kind in ("string", "number"):
            yield self._scalar(kind, schema, name, text)
        elif kind in _JSON_TYPES:
            yield _JSON_TYPES[kind]
        elif kind == "array":
            yield f"list[{self.of(schema.get('items', {}), owner, name)}]"
        elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            yield f"dict[str, {self.of(schema['additionalProperties'], owner, name)}]"
        elif kind == "object":
            yield "dict[str, Any]"
        else:
            yield "Any"

    def _scalar(self, kind: str, schema: Schema, name: str, text: str) -> str:
        form = schema.get("format", "")
        if form == "date":
            return "date" if self.side == "answer" else "date | str"
        if self.side == "request":
            return "str" if kind == "string" else "Number"
        if kind == "string":
            return "Moment" if form == "date-time" or _TEXT_MOMENT.search(text) else "str"
        if _EPOCH.search(text):
            return "Moment"
        return "float" if _DURATION.search(name) else "N"


def with_numbers(typing: Typing, names: list[str]) -> frozenset[str]:
    """Return the schemas of answers that have a number of the caller's choice in them, or refer to one that has."""
    direct = {name for name in names if any(re.search(r"\bN\b", text) for text in annotations(typing, name))}
    refers = {name: set(references(typing.schemas[name])) for name in names if not is_open(typing.schemas[name])}
    while True:
        more = {name for name, others in refers.items() if others & direct} - direct
        if not more:
            return frozenset(direct)
        direct |= more


def annotations(typing: Typing, name: str) -> list[str]:
    """Return the annotations of a schema's fields."""
    schema = typing.schemas[name]
    if "properties" not in schema or (typing.side == "answer" and is_open(schema)):
        return []
    return [typing.of(property_, name, field_name) for field_name, property_ in properties(schema).items()]


def properties(schema: Schema) -> dict[str, Schema]:
    """Return the fields of an object; where the object speaks of epoch seconds for all its moments, they say so themselves."""
    general = schema.get("description", "")
    says = bool(_EPOCH.search(general))
    return {
        name: {**inner, "description": "Epoch seconds."}
        if says and name.endswith("_at") and "description" not in inner
        else inner
        for name, inner in schema["properties"].items()
    }
