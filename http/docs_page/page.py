"""The page `/docs`, made from the OpenAPI document: an index, each route with its call, and each schema. Pure.

The page runs nothing and asks no other host. Every heading has an anchor, so that a route can be linked: `/docs#place_order`.
"""

import base64
import hashlib
from collections.abc import Iterator
from html import escape

import msgspec

from onebroker.http.docs_page.example_calls import MEANINGS, Node, call_of, curl_call, python_call, variables
from onebroker.http.docs_page.markup import block, inline, prose, table
from onebroker.http.docs_page.schema_words import component_sections, meaning, words

STYLE = """
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 64rem; padding: 1rem; overflow-wrap: break-word; }
nav ul { columns: 20rem; list-style: none; padding: 0; }
pre, .wide { overflow-x: auto; }
pre { border: 1px solid #8884; border-radius: .25rem; padding: .5rem; }
code { font: 14px/1.5 ui-monospace, monospace; }
table { border-collapse: collapse; margin: .5rem 0 1rem; width: 100%; }
td, th { border-bottom: 1px solid #8884; padding: .25rem .75rem .25rem 0; text-align: left; vertical-align: top; }
td p { margin: 0 0 .25rem; }
section { border-top: 1px solid #8888; margin-top: 2rem; }
summary { cursor: pointer; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }
"""

CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""One style, known by its hash; no scripts."""

_JSON = "application/json"


def docs_page(document: Node) -> bytes:
    """Return the page of an OpenAPI document."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>onebroker API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body>"
        '<a class="skip" href="#routes">Skip the index</a><h1>onebroker API</h1>'
        f"{prose(document['info']['description'])}"
        '<p>The same for programs: <a href="/openapi.json">openapi.json</a>, and of the stream '
        '<a href="/asyncapi.json">asyncapi.json</a>. <a href="/docs/try">A page that sends requests</a>.</p>'
        f'{_variables()}{_index(document)}<main id="routes">{"".join(_tags(document))}</main>'
        f'<section id="schemas"><h2>Schemas</h2></section>{component_sections(document["components"]["schemas"])}'
        "</body></html>"
    ).encode()


def _variables() -> str:
    rows = ((f"<code>{name}</code>", inline(text)) for name, text in MEANINGS.items())
    return (
        '<section id="variables"><h2>Variables of the examples</h2>'
        "<p>The examples run as they stand once these environment variables are set. Those in Python need Python 3.11 and nothing "
        "else; that of the stream needs trio-websocket.</p>"
        f"{table(('Variable', ''), rows)}</section>"
    )


def _operations(document: Node, tag: str) -> Iterator[tuple[str, str, Node]]:
    """The (method, path, operation) of each route of a tag."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield method, path, operation


def _index(document: Node) -> str:
    lists = "".join(
        f'<h3><a href="#tag-{escape(tag["name"])}">{escape(tag["name"])}</a></h3><ul>'
        + "".join(
            f'<li><a href="#{escape(operation["operationId"])}"><code>{method.upper()} {escape(path)}</code></a></li>'
            for method, path, operation in _operations(document, tag["name"])
        )
        + "</ul>"
        for tag in document["tags"]
    )
    return f'<nav aria-label="Routes"><h2>Index</h2>{lists}<p><a href="#schemas">Schemas</a></p></nav>'


def _tags(document: Node) -> Iterator[str]:
    for tag in document["tags"]:
        name = escape(tag["name"])
        yield f'<section id="tag-{name}"><h2>{name}</h2>{prose(tag["description"])}</section>'
        for method, path, operation in _operations(document, tag["name"]):
            yield _route(document, method, path, operation)


def _route(document: Node, method: str, path: str, operation: Node) -> str:
    name = escape(operation["operationId"])
    call = call_of(method, path, operation)
    read = ", ".join(f"<code>{each}</code>" for each in variables(call))
    return (
        f'<section id="{name}"><h3><a href="#{name}"><code>{method.upper()} {escape(path)}</code></a></h3>'
        f"{prose(operation['summary'])}<p>Needs: {_needs(operation)}.</p>{_parameters(operation)}{_body(operation)}"
        f"<p>By curl (reads {read}):</p>{block(curl_call(call))}<p>By Python:</p>{block(python_call(call))}"
        f"{_answers(document, operation)}</section>"
    )


def _needs(operation: Node) -> str:
    schemes = {
        "accessToken": "the access token",
        "apiKey": "the API key",
        "apiSecret": "the API secret",
        "metricsToken": "the metrics token",
    }
    return " or ".join(
        " and ".join(schemes[name] for name in each) for each in operation["security"]
    ) or "no token"  # fmt: skip


def _parameters(operation: Node) -> str:
    rows = [
        (
            f"<code>{escape(row['name'])}</code>",
            row["in"],
            words(row["schema"]),
            "yes" if row["required"] else "no",
            prose(row["description"]) + meaning(row["schema"]),
        )
        for row in operation.get("parameters", ())
    ]
    return table(("Parameter", "In", "Type", "Required", ""), rows) if rows else ""


def _body(operation: Node) -> str:
    if "requestBody" not in operation:
        return ""
    content = operation["requestBody"]["content"][_JSON]
    examples = "".join(
        f"<details><summary>Body: {escape(name)}</summary>{_example(each['value'])}</details>"
        for name, each in content.get("examples", {}).items()
    )
    must = "" if operation["requestBody"].get("required") else " (may be absent)"
    return f"<p>Body{must}: {words(content['schema'])}</p>{examples}"


def _answers(document: Node, operation: Node) -> str:
    rows = []
    for status, told in operation["responses"].items():
        answer = _resolved(document, told)
        kinds = "; ".join(
            words(content["schema"]) if kind == _JSON else escape(kind)
            for kind, content in answer.get("content", {}).items()
        )
        rows.append((status, kinds, inline(answer["description"])))
    return table(("Status", "Body", ""), rows) + "".join(_answer_examples(document, operation))


def _answer_examples(document: Node, operation: Node) -> Iterator[str]:
    """The example answers of the statuses below 400."""
    for status, told in operation["responses"].items():
        content = _resolved(document, told).get("content", {}).get(_JSON, {}) if status < "400" else {}
        values = [each["value"] for each in content.get("examples", {}).values()]
        for value in values or ([content["example"]] if "example" in content else []):
            yield f"<details><summary>Answer {status}</summary>{_example(value)}</details>"


def _resolved(document: Node, answer: Node) -> Node:
    name = answer.get("$ref", "").removeprefix("#/components/responses/")
    shared: Node = document["components"]["responses"].get(name, answer)
    return shared


def _example(value: object) -> str:
    return block(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
