"""The page of the events, made of `config/events.py`: `PYTHONPATH=. python tests/support/event_page.py` writes docs/events.md.

The meaning of an event is the docstring of its class, the meaning of a field the text below it. Fields whose names say everything have no text.
"""

import ast
import inspect
import logging
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import attrs
import msgspec

from onebroker.config import events
from onebroker.config.events import ALL, Event, Value, as_json, as_text

PAGE = Path(__file__).resolve().parents[2] / "docs" / "events.md"

_HEAD = """# Events

<!-- written by tests/support/event_page.py from config/events.py -->

An event is a change in the service: an order leaves, a login ends, a feed falls silent. It is told once, when it happens. It is one line of the
[audit](audit.md), and one line of the log if the log's level shows it. In plain text the line is the event's name, then `field=value`. A value that is not one word stands in quotes, as a JSON text:

```
2026-11-25T09:15:00.123+05:30 INFO onebroker.events: order.answered broker=zerodha verb=place outcome=rejected words="RMS: margin exceeds"
```

With `--log-format json` each line is a JSON object, and the fields are fields of their own:

```json
{json}
```

- A field that is not known, or that does not apply, is left out. The meaning of such a field calls this `None`.
- Prices and amounts are rupees, as decimal text. Quantities are units. `parent`, `leg` and `intent` are ids of the order engine. `broker` is a broker's code.
- A list is words with commas in plain text, and an array in JSON. Yes and no are `true` and `false` in JSON.
- No field holds a secret: no access token, key, password, PIN or login.
- New versions may add events and fields. Ignore the events and fields that you do not know.
"""

_EXAMPLES: Mapping[str, Value] = {
    "version": "0.2.0",
    "listener": "127.0.0.1:8000",
    "brokers": ("zerodha", "dhan"),
    "logins_needed": ("zerodha",),
    "key": True,
    "durability": "every write on disk",
    "calendar_until": "2026-12-31",
    "last_day": "2026-12-31",
    "exchanges": ("nse", "bse"),
    "day": "2026-11-25",
    "instruments": 131842,
    "address": "192.0.2.7",
    "count": 12,
    "broker": "zerodha",
    "until": "2026-11-26T06:00:00+05:30",
    "by_person": True,
    "read": "positions",
    "failed": 4,
    "verb": "place",
    "parent": "7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10",
    "leg": "7f3a1c52-0d5e-4c0b-9a53-3f0f1d8f6f10.1",
    "token": "ob4k9x2m7p1q0z",
    "order_id": "251125000012345",
    "instrument": "1d0c3f0e-93f4-5c1e-8d7b-0a4b6a1f9c22",
    "side": "BUY",
    "quantity": 50,
    "product": "CNC",
    "order_type": "LIMIT",
    "price": Decimal("1512.40"),
    "prepared_ms": 2.613,
    "queued_ms": 0.214,
    "outcome": "accepted",
    "broker_ms": 84,
    "added": 20,
    "filled": 50,
    "average_price": 1512.35,
    "type": "bracket",
    "units": 50,
    "locked": True,
    "loss": Decimal("5200.00"),
    "limit": Decimal(5000),
    "feed": "market",
    "others": True,
    "kind": "login",
    "do": "log in: onebroker login zerodha",
    "percent": 80,
    "receiver": 1,
    "scheme": "tgram",
    "mode": "reduce_only",
    "reason": "the strategy is wrong",
    "values": ("service.port=9000", "service.api_key=***"),
    "request": "4f1c09a2b7d3",
    "who": "token",
    "method": "DELETE",
    "path": "/api/orders/cancel?order_id=251125000012345",
    "status": 200,
    "intent": "0b6f4d7e-58a1-4a0e-8c22-5f1f0f4c7a11",
    "skipped": ("dhan: the rate budget is full",),
    "lines": 48213,
    "last_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "file": "2026-11-25.jsonl",
    "bytes": 181,
    "torn_hash": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
}
"""Field -> its value in the example lines."""

_OWN: Mapping[str, Mapping[str, Value]] = {
    "stop": {"up_seconds": 28415.2},
    "clock.stepped": {"seconds": 412.6, "slept_seconds": 412.6},
    "problem": {"words": "the login has ended: Invalid token"},
    "problem.over": {"words": "the login has ended: Invalid token", "seconds": 310.4},
    "alert.failed": {"kind": "rejected", "words": "Failed to send Telegram notification: Bad Gateway, error=502."},
    "alert.given_up": {"kind": "rejected", "message": "9f31c07a", "words": "not taken for 24 hours"},
    "loss.level": {"loss": Decimal("4100.00")},
    "client.refused": {"why": "wrong access token"},
    "login.needed": {"why": "the login has ended"},
    "login.refused": {"words": "Invalid TOTP"},
    "feed.down": {"why": "the broker closed the connection"},
    "read.failing": {"words": "the broker answered 503"},
    "read.ok": {"seconds": 21.4},
    "budget.full": {"why": "10 orders in a second"},
    "order.answered": {"words": None},
    "request.asked": {"address": "127.0.0.1"},
    "audit.day": {"day": "2026-11-24"},
    "order.unknown": {"words": "no answer within 10 s"},
    "order.settled": {"state": "open"},
    "order.changed_elsewhere": {"words": "somebody else changed an order of this at zerodha: quantity 50 to 20"},
    "order.taken_back": {"units": 20, "filled": 30},
    "order.rejected": {"words": "RMS: margin exceeds"},
    "parent.state": {"before": "armed", "state": "working"},
    "parent.trouble": {"words": "orders still to be cancelled at zerodha: 1"},
    "parent.trouble_over": {"words": "orders still to be cancelled at zerodha: 1"},
}
"""Event -> field -> its value in the example line, where it differs from `_EXAMPLES`. None leaves it out."""


def page() -> str:
    """Return the text of docs/events.md."""
    json_line = (
        '{"at":"2026-11-25T09:15:00.123+05:30","level":"info","log":"onebroker.events",'
        + _json(example(_kind("order.filled")))[1:]
    )
    table = ["| Event | Level | Meaning |", "|---|---|---|"]
    table += [f"| [`{kind.name}`](#{_anchor(kind)}) | {_level(kind)} | {_meaning(kind)} |" for kind in ALL]
    parts = [_HEAD.replace("{json}", json_line), "\n".join(table) + "\n", *map(_section, ALL)]
    return "\n".join(parts)


def example(kind: type[Event]) -> Event:
    """Return an event of this kind with the values of the examples. A field without a value there is left out if it may be."""
    given = {**_EXAMPLES, **_OWN.get(kind.name, {})}
    values = {}
    for field in attrs.fields(kind):
        if field.name in given:
            values[field.name] = given[field.name]
        elif field.default is attrs.NOTHING:
            raise LookupError(f"give {kind.name} an example of {field.name}")
    return kind(**values)


def _json(event: Event) -> str:
    return msgspec.json.encode(as_json(event)).decode()


def _kind(name: str) -> type[Event]:
    return next(kind for kind in ALL if kind.name == name)


def _anchor(kind: type[Event]) -> str:
    return kind.name.replace(".", "")


def _level(kind: type[Event]) -> str:
    return logging.getLevelName(kind.level).lower()


def _meaning(kind: type[Event]) -> str:
    return inspect.cleandoc(kind.__doc__ or "").replace("\n", " ")


def _section(kind: type[Event]) -> str:
    rows = ["| Field | Type | Meaning |", "|---|---|---|"]
    rows += [f"| `{name}` | {type_} | {meaning} |" for name, type_, meaning in fields_of(kind)]
    lines = [
        f"## `{kind.name}`", "", f"Level: {_level(kind)}. {_meaning(kind)}", "", *rows, "",
        "```", as_text(example(kind)), "```", "",
    ]  # fmt: skip
    return "\n".join(lines)


_TYPES = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "yes or no",
    "Decimal": "decimal text",
    "tuple[str, ...]": "list",
}


def fields_of(kind: type[Event]) -> list[tuple[str, str, str]]:
    """Return each field of a kind of event: name, type in words, and the text below it ("" without a text)."""
    tree = ast.parse(Path(events.__file__).read_text())
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__)
    found: list[tuple[str, str, str]] = []
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not _is_class_variable(node):
            found.append((node.target.id, _type(node.annotation), _text(after)))
    return found


def _is_class_variable(node: ast.AnnAssign) -> bool:
    return ast.unparse(node.annotation).startswith("ClassVar")


def _type(annotation: ast.expr) -> str:
    text = ast.unparse(annotation)
    words = _TYPES[text.removesuffix(" | None")]
    return f"{words}, may be missing" if text.endswith(" | None") else words


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split()).replace("|", "\\|")
    return ""


if __name__ == "__main__":
    PAGE.write_text(page())
