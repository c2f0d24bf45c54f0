"""The AsyncAPI 3.0 document of the stream, made from the types of its messages (`http/answers/stream.py`)."""

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from onebroker.config.schema_marks import COMPONENTS
from onebroker.http.answers import portfolio, quotes, stream
from onebroker.http.answers.stream_examples import EXAMPLES
from onebroker.http.document.schemas import answer_schemas
from onebroker.http.document.shared_schemas import NAMED_TYPES, given_schemas, request_schemas, used

_ALSO = (
    *NAMED_TYPES, *stream.QUOTES, quotes.Quote, portfolio.FundsDocument, portfolio.HoldingsDocument, portfolio.PositionsDocument, portfolio.OrderBook,
    portfolio.TradeBook,
)  # fmt: skip
DESCRIPTION = """Changes of quotes, orders, parents, documents and option chains, sent as they happen. Messages are text in both directions, and each message is one
JSON object. The content is that of the REST routes (`/openapi.json`). Every message of the service has `seq` and `type`.

Send the access token in the header `access-token` of the upgrade, or as the first message within 5 s. Close codes: 1001 the service stops, 1009 a
message above 256 KB, 1013 too many streams, 4401 the token is missing, wrong or over, 4409 the stream was resumed elsewhere, 4429 answers were not
read."""


def asyncapi_document() -> dict[str, Any]:
    kinds = (*stream.REQUESTS, *stream.MESSAGES)
    _, components = answer_schemas((*kinds, *_ALSO))
    messages = {kind.__name__: _message(kind) for kind in kinds}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "onebroker stream",
            "version": version("onebroker"),
            "description": DESCRIPTION,
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {
            "service": {
                "host": "127.0.0.1:8000",
                "protocol": "ws",
                "description": "The service. Behind a proxy with TLS: wss, by the proxy's name.",
                "security": [{"$ref": "#/components/securitySchemes/accessToken"}],
            }
        },
        "channels": {
            "stream": {
                "address": "/stream",
                "title": "The stream",
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
            }
        },
        "operations": {
            "receiveRequest": _operation("receive", "What a client asks.", stream.REQUESTS),
            "sendMessage": _operation("send", "What the service tells.", stream.MESSAGES),
        },
        "components": {
            "messages": messages,
            "schemas": used(messages, {**request_schemas(), **components, **given_schemas()}),
            "securitySchemes": {
                "accessToken": {
                    "type": "httpApiKey",
                    "in": "header",
                    "name": "access-token",
                    "description": "Of connect.",
                }
            },
        },
    }


def _message(kind: type) -> dict[str, Any]:
    name = kind.__name__
    title = re.sub(r"(?<!^)([A-Z])", lambda found: " " + found[1].lower(), name)
    return {
        "name": name,
        "title": title,
        "payload": {"$ref": COMPONENTS + name},
        "examples": [{"payload": example} for example in EXAMPLES[name]],
    }


def _operation(action: str, summary: str, kinds: Iterable[type]) -> dict[str, Any]:
    return {
        "action": action,
        "summary": summary,
        "channel": {"$ref": "#/channels/stream"},
        "messages": [{"$ref": f"#/channels/stream/messages/{kind.__name__}"} for kind in kinds],
    }
