"""The names by which callers reach the service (`Host`), and the pages from which browsers may open its stream
(`Origin`).

Any site can make its own name resolve to this machine; a browser then takes the service for that site. Such requests
carry the site's name and are answered 421 before anything else is checked. The service's own names are the names of
this machine, the address at which the connection arrived, `service.host` and `service.host_names`.
"""

from urllib.parse import urlsplit

from quart import Request, Websocket

from onebroker.config.messages import shared
from onebroker.config.network_exposure import is_loopback
from onebroker.config.refusal import Refusal
from onebroker.config.sections import ServiceSettings
from onebroker.http.listener.refused_clients import RefusedClients, Why


class HostNames:
    def __init__(self, settings: ServiceSettings, clients: RefusedClients) -> None:
        """`clients` tells the refusals."""
        self._clients = clients
        self._names = frozenset(_bare(name) for name in (settings.host, *settings.host_names))

    def check(self, request: Request | Websocket) -> None:
        """Raise Refusal 421 for another site's name, and 403 for a WebSocket from another site's page."""
        host = request.headers.get("host")  # HTTP/1.0 may have no `Host`; no browser speaks it
        here = _here(request)
        if host is not None and not self.serves(host, here):
            self._clients.note(Why.HOST, request.remote_addr or "")
            raise Refusal(421, shared.host_not_served(host))
        origin = request.headers.get("origin")
        if isinstance(request, Websocket) and origin is not None and not self._is_own(_host_of(origin), here):
            self._clients.note(Why.ORIGIN, request.remote_addr or "")
            raise Refusal(403, shared.origin_not_served(origin))

    def serves(self, host: str, here: str | None) -> bool:
        """Tell whether a `Host` names this service. `here`: the address at which the connection arrived, where it is known."""
        return self._is_own(_bare(host), here)

    def _is_own(self, name: str, here: str | None) -> bool:
        return bool(name) and (name in self._names or is_loopback(name) or name == here)


def _here(request: Request | Websocket) -> str | None:
    server = request.scope.get("server")
    return None if server is None else server[0]


def _bare(host: str) -> str:
    """Return a `Host` without port, brackets and closing dot, in lower case; empty if it is not a host."""
    text = host.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name = text if text.count(":") > 1 else text.partition(":")[0]  # an IPv6 address in the settings has no brackets
    return name.rstrip(".")


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
