"""The addresses of Kotak Neo's two sockets: from its config service, else from the login's answer, else as configured.

Source: docs/brokers/kotakneo.md, section 2, step 3 (official SDK). Addresses come as https; they mean the socket's
scheme.
"""

from collections.abc import Generator
from urllib.parse import urlencode, urlsplit, urlunsplit

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.fields import part, row_of, text
from onebroker.brokers.kotakneo import wire
from onebroker.brokers.requests import BadAnswer, BrokerError, CallKind, WireRequest, WireResponse

MARKET, ORDERS = "broadcast_endpoint", "interactive_endpoint"
"""Endings of the config service's names."""

_SOCKET_SCHEMES = {"https": "wss", "http": "ws"}


def ask(access: Access, tail: str) -> Generator[WireRequest, WireResponse, str | None]:
    """Ask the config service for the address of this login's data centre; None when it has no address or cannot be asked."""
    centre = None if access.login is None else access.login.tokens.get("dataCenter")
    if not centre:
        return None
    query = urlencode({"appVersion": wire.SDK_VERSION, "platform": "api", "environment": "prod"})
    url = f"{access.endpoints.others['config_url']}?{query}"
    try:
        response = yield WireRequest(kind=CallKind.READ, method="GET", url=url, headers={"Accept": "application/json"})
        configs = part(part(row_of(response.json()), "data"), "configs")
    except (BadAnswer, BrokerError):
        return None
    source = text(configs.get(f"{centre}_broadcast_source"))
    return None if source is None else text(configs.get(f"{centre}_{source}_{tail}"))


def told(access: Access, name: str) -> str | None:
    """Return an address that the login's answer named (`feedUrl`, `rtUrl`)."""
    return None if access.login is None else access.login.tokens.get(name)


def as_socket(url: str) -> str:
    """Return an address with the scheme of a socket."""
    parts = urlsplit(url.strip())
    return urlunsplit(parts._replace(scheme=_SOCKET_SCHEMES.get(parts.scheme, parts.scheme)))


def beside(base: str, path: str) -> str:
    """Return the socket `path` on the host of `base`; the path of `base` is dropped."""
    parts = urlsplit(base)
    return urlunsplit((_SOCKET_SCHEMES.get(parts.scheme, parts.scheme), parts.netloc, path, "", ""))
