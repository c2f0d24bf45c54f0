"""What both clients do with httpx in the same way: settings, exceptions, answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

from onebroker_client.http_messages import HttpAnswer, HttpRequest, Lost, NotSent

CONNECT_SECONDS = 5.0
IDLE_SECONDS = 3.0
"""A kept connection that was idle for longer is not used again: the service closes it after 5 s, and an order that meets the close is lost."""
READ_BYTES = 64 * 1024
_NEVER_THERE = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)


def options(url: str, timeout_seconds: float) -> dict[str, Any]:
    """Return the settings of an httpx client. Proxies of the environment are not used: orders do not leave by accident through them."""
    return {
        "base_url": url,
        "timeout": httpx.Timeout(timeout_seconds, connect=CONNECT_SECONDS),
        "limits": httpx.Limits(keepalive_expiry=IDLE_SECONDS),
        "trust_env": False,
    }


@contextmanager
def translated() -> Iterator[None]:
    """Turn what httpx raises into NotSent, where no connection was made, or Lost."""
    try:
        yield
    except _NEVER_THERE as error:
        raise NotSent(str(error) or type(error).__name__) from error
    except (httpx.RequestError, httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError) as error:
        raise Lost(str(error) or type(error).__name__) from error


def arguments(request: HttpRequest) -> dict[str, Any]:
    return {"method": request.method, "url": request.target, "headers": request.headers, "content": request.body}


def answer_of(response: httpx.Response) -> HttpAnswer:
    return HttpAnswer(response.status_code, response.headers.get("content-type", ""), response.content)
