"""The call of each route by curl and by Python, as `/docs` shows it. Pure.

Both read the same environment variables, so that an example runs as it stands: `ONEBROKER` is the service's address, `TOKEN` the access token from
connect, `API_KEY` and `API_SECRET` are those of the settings. Every other variable stands for a value that only its reader knows, `INSTRUMENT`
for the id of an instrument, say. The Python examples need nothing but Python.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs
import msgspec

Node: TypeAlias = dict[str, Any]
"""A part of the OpenAPI document."""

MEANINGS: Mapping[str, str] = {
    "ONEBROKER": "the service's address, such as http://127.0.0.1:8000",
    "API_KEY": "the API key of the settings",
    "API_SECRET": "the API secret of the settings",
    "TOKEN": "the access token, from connect",
    "INSTRUMENT": "the id of an instrument, from find",
    "UNDERLYING": "the symbol of an underlying with options, such as NIFTY",
    "DAY": "a broking day, YYYY-MM-DD",
    "EXPIRY": "one of its expiries, YYYY-MM-DD, from expiries",
    "PRICE": "a price in rupees that the instrument's tick size divides",
    "ORDER_ID": "the broker's id of an order, from place",
    "PARENT_ID": "the id of a parent, from place",
    "INTENT_ID": "the id of an intent, from place",
    "BROKER": "the code of a broker, such as zerodha",
    "REDIRECT": "the path and query of the address to which a broker sent the browser back",
    "START": "a moment, YYYY-MM-DD HH:MM:SS in India time",
    "END": "a later moment",
}
"""Environment variable -> what its reader sets it to."""

_INSTRUMENT = {"instrument_id": "$INSTRUMENT"}
_OPTIONS = {"underlying_symbol": "$UNDERLYING", "exchange": "nse"}
_PERIOD = {"start": "$START", "end": "$END"}
_TWO = {"instruments": [_INSTRUMENT, _INSTRUMENT]}

QUERIES: Mapping[str, Mapping[str, str]] = {
    "get_master": {"exchange": "nse", "segment": "equities"},
    "search_instruments": {"exchange": "nse", "segment": "equities", "query": "A", "limit": "5"},
    "find_instruments": {"q": "nifty ce", "limit": "5"},
    "get_expiries": _OPTIONS,
    "get_option_chain": {**_OPTIONS, "expiry_date": "$EXPIRY", "strikes": "5"},
    "get_prices": {**_INSTRUMENT, "interval": "day", "days": "30"},
    "get_ticks": {**_INSTRUMENT, **_PERIOD},
    "get_ended_parents": {"on": "$DAY"},
    "get_orders": {"limit": "20"},
    "get_trades": {"limit": "20"},
    "get_audit": {"limit": "20"},
    **dict.fromkeys(("get_details", "get_additional_details", "get_ltp", "get_ohlc", "get_quote"), _INSTRUMENT),
}
"""Operation id -> the query of its example. Operations that are not here are called without one."""

BODIES: Mapping[str, object] = {
    **dict.fromkeys(
        ("get_details_list", "get_additional_details_list", "get_ltp_list", "get_ohlc_list", "get_quote_list"), _TWO
    ),
    "get_prices_list": {**_TWO, "interval": "day", "days": 30},
    "get_ticks_list": {**_TWO, **_PERIOD},
    "place_order": {
        **_INSTRUMENT,
        "transaction_type": "BUY",
        "product": "MIS",
        "order_type": "LIMIT",
        "quantity": 1,
        "price": "$PRICE",
    },
    "modify_order": {"order_id": "$ORDER_ID", "quantity": 2},
    "cancel_order": {"order_id": "$ORDER_ID"},
    "cancel_parents": {"parent_id": "$PARENT_ID"},
    "flatten": {"confirm": "FLATTEN", "dry_run": True},
    "close_positions": {"confirm": "CLOSE", "broker": "zerodha", "dry_run": True},
    "halt_trading": {"confirm": "HALT", "reason": "the feed shows wrong prices"},
}
"""Operation id -> the body of its example."""

_PATHS = {"take_login": "$REDIRECT", "get_dashboard_file": "/dashboard/app.js"}
"""Operation id -> the path of its example, where a part of it is not known before."""
_NUMBERS = frozenset(("PRICE",))
"""Variables that stand in a body without quotation marks."""
_HEADERS = {
    "accessToken": ("access-token", "$TOKEN"),
    "apiKey": ("api-key", "$API_KEY"),
    "apiSecret": ("api-secret", "$API_SECRET"),
}
"""Security scheme of the document -> (header, its value)."""
_VARIABLE = re.compile(r"\$([A-Z_]+)")
_VARIABLE_KEPT = re.compile(r"(\$[A-Z_]+)")


@attrs.frozen
class Call:
    """A request in which `$NAME` stands for an environment variable."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: object
    """None = no body."""
    upgrades: bool
    """Whether the route is a WebSocket."""


def call_of(method: str, path: str, operation: Node) -> Call:
    """Return the example of a route; `method` and `path` as they are keys in the OpenAPI document."""
    name = operation["operationId"]
    needed = operation["security"][0] if operation["security"] else {}
    return Call(
        method=method.upper(),
        path=_PATHS.get(name, path).replace("{intent_id}", "$INTENT_ID").replace("{code}", "$BROKER"),
        query=QUERIES.get(name, {}),
        headers={header: value for scheme, (header, value) in _HEADERS.items() if scheme in needed},
        body=BODIES.get(name),
        upgrades="101" in operation["responses"],
    )


def variables(call: Call) -> list[str]:
    """Return the environment variables that a call reads, in the order of `MEANINGS`."""
    said = set(_VARIABLE.findall(repr(call)))
    return [name for name in MEANINGS if name in said or name == "ONEBROKER"]


# --- curl ---------------------------------------------------------------------------------------------------------------


def curl_call(call: Call) -> str:
    """Return the call as a command of a shell."""
    words = ["curl -sS"]
    if call.upgrades:
        words[0] += " -N --http1.1 --max-time 3"
    elif call.method != "GET":
        words[0] += f" -X {call.method}"
    if call.query:
        words[0] += " --get"
    words[0] += f' "$ONEBROKER{call.path}"'
    words += [f'--data-urlencode "{name}={value}"' for name, value in call.query.items()]
    headers = {**call.headers, **(_UPGRADE if call.upgrades else {})}
    words += [f'-H "{name}: {value}"' for name, value in headers.items()]
    if call.body is None:
        return " \\\n  ".join(words)
    words += ['-H "Content-Type: application/json"', "--data @- <<END"]
    return " \\\n  ".join(words) + f"\n{_json(call.body)}\nEND"


_UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "b25lYnJva2VyIGV4YW1wbGU=",
}


def _json(body: object) -> str:
    text = msgspec.json.format(msgspec.json.encode(body), indent=0).decode()
    for name in _NUMBERS:
        text = text.replace(f'"${name}"', f"${name}")
    return text


# --- Python -------------------------------------------------------------------------------------------------------------


def python_call(call: Call) -> str:
    """Return the call as a program; of a WebSocket, with the library trio-websocket."""
    return _stream_program(call) if call.upgrades else _request_program(call)


def _request_program(call: Call) -> str:
    imports = ["import os", *(["import urllib.parse"] if call.query else ()), "import urllib.request"]
    lines = [f'url = os.environ["ONEBROKER"] + {_python(call.path)}']
    if call.query:
        lines.append(f"query = {_python(call.query)}")
        lines.append('url += "?" + urllib.parse.urlencode(query)')
    given = ["url", f'method="{call.method}"']
    if call.body is not None:
        imports.insert(0, "import json")
        lines.append(f"body = {_python(call.body)}")
        given.append("data=json.dumps(body).encode()")
    headers = {**call.headers, **({} if call.body is None else {"Content-Type": "application/json"})}
    if headers:
        lines.append(f"headers = {_python(headers)}")
        given.append("headers=headers")
    lines += [
        f"request = urllib.request.Request({', '.join(given)})",
        "with urllib.request.urlopen(request) as answer:",
        "    print(answer.read().decode())",
    ]
    return "\n".join((*imports, "", *lines))


def _stream_program(call: Call) -> str:
    return "\n".join(
        (
            "import os",
            "",
            "import trio",
            "from trio_websocket import open_websocket_url",
            "",
            "",
            "async def main():",
            f'    url = os.environ["ONEBROKER"].replace("http", "ws", 1) + {_python(call.path)}',
            f"    headers = {_python(list(call.headers.items()))}",
            "    async with open_websocket_url(url, extra_headers=headers) as stream:",
            "        print(await stream.get_message())",
            "",
            "",
            "trio.run(main)",
        )
    )


def _python(value: object) -> str:
    """Return a value as Python writes it, with a variable read from the environment."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_python(name)}: {_python(each)}" for name, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_python, value)) + "]"
        case tuple():
            return "(" + ", ".join(map(_python, value)) + ")"
        case str():
            return _python_text(value)
        case _:
            return repr(value)


def _python_text(value: str) -> str:
    """Return a text as the sum of its parts; each variable in it is a part."""
    parts = [part for part in _VARIABLE_KEPT.split(value) if part]
    return " + ".join(map(_python_part, parts)) or '""'


def _python_part(part: str) -> str:
    if not part.startswith("$"):
        return msgspec.json.encode(part).decode()
    read = f'os.environ["{part[1:]}"]'
    return f"float({read})" if part[1:] in _NUMBERS else read
