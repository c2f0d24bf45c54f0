"""Under which names callers reach the service (`Host`), and from which pages browsers open its stream (`Origin`).

A page of any site may have its own name resolve to this machine, and its browser then takes the service for that site. Such
requests carry the site's name: they are answered 421 before anything else is looked at. Names of this machine, the address the
connection came in by, `service.host` and `service.host_names` are the service's own.
"""

from urllib.parse import urlsplit

from quart import Request, Websocket

from onebroker.config.exposure import is_loopback
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.sections import ServiceSettings


class HostNames:
    def __init__(self, settings: ServiceSettings) -> None:
        self._names = frozenset(_bare(name) for name in (settings.host, *settings.host_names))

    def check(self, request: Request | Websocket) -> None:
        """Raise Refusal 421 for another site's name, 403 for a WebSocket of another site's page."""
        host = request.headers.get("host")  # HTTP/1.0 may have none; no browser speaks it
        if host is not None and not self._is_own(_bare(host), request):
            raise Refusal(421, shared.host_not_served(host))
        origin = request.headers.get("origin")
        if isinstance(request, Websocket) and origin is not None and not self._is_own(_host_of(origin), request):
            raise Refusal(403, shared.origin_not_served(origin))

    def _is_own(self, name: str, request: Request | Websocket) -> bool:
        if not name:
            return False
        here = request.scope.get("server")
        return name in self._names or is_loopback(name) or (here is not None and name == here[0])


def _bare(host: str) -> str:
    """Return a `Host` without port, brackets, closing dot, in lower case; empty for one that is none."""
    text = host.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name = text if text.count(":") > 1 else text.partition(":")[0]  # an IPv6 address of the settings has no brackets
    return name.rstrip(".")


def _host_of(origin: str) -> str:
    try:
        return urlsplit(origin).hostname or ""
    except ValueError:
        return ""
