"""Who may call: the token check of every request (rules 1.5), the credentials of connect (rules 1.4.2), the metrics
token.

Comparisons take constant time and compare bytes. ASGI delivers header texts decoded as Latin-1, so encoding them as
Latin-1 restores the bytes that the client sent.
"""

import hmac

from quart import Request, Websocket

from onebroker.actors.token.state import refuse_reason
from onebroker.config.messages import session
from onebroker.config.refusal import Refusal
from onebroker.config.sections import ServiceSettings
from onebroker.http.listener.connection_limits import proving
from onebroker.http.listener.refused_clients import Why
from onebroker.http.route import TokenRule
from onebroker.http.services import Services

TOKEN_HEADER = "access-token"
_BEARER = "bearer "


async def check_rule(rule: TokenRule, request: Request, services: Services) -> None:
    """Raise Refusal if `rule` does not admit the request."""
    if rule is TokenRule.OPEN or (rule is TokenRule.METRICS and await _may_read_metrics(request, services)):
        return
    if rule is TokenRule.CREDENTIALS:
        await check_credentials(request, services)
    else:
        with proving(request.scope):
            await admit_client(header_bytes(request, TOKEN_HEADER), services, request.remote_addr or "")


async def admit_client(presented: bytes | None, services: Services, address: str) -> None:
    """Raise Refusal 401, checking in the order of rules 1.5.2; raise Refusal 503 while the stored token is not known.

    Where the token comes from elsewhere, ask there first; each question waits longer, the more wrong tokens came in the last minute.
    """
    source = services.token_source
    if source is not None and presented is not None and not source.knows(presented):
        await services.connects.wait()
        try:
            await source.learn(presented)
        except Refusal as refused:
            if refused.status == 401:
                services.connects.refused(address)
            raise
    check_client(presented, services, address)


def check_client(presented: bytes | None, services: Services, address: str) -> None:
    """Check a token as `check_presented` does, and tell a wrong token of the client at `address`. A missing token and a token whose time is over
    are not told: honest clients send these."""
    try:
        check_presented(presented, services)
    except Refusal as refused:
        if refused.sentence == session.INVALID_ACCESS_TOKEN:
            services.refused_clients.note(Why.TOKEN, address)
        raise


def check_presented(presented: bytes | None, services: Services) -> None:
    """Check a token that arrived in another way, as `check_client` does; None = no token came."""
    if presented is None:
        raise Refusal(401, session.ACCESS_TOKEN_REQUIRED)
    held = services.token.value
    if held is None:
        raise Refusal(503, session.TOKEN_NOT_READ_YET)
    reason = refuse_reason(held, presented, services.clock.now())
    if reason is not None:
        raise Refusal(401, reason)


async def check_credentials(request: Request, services: Services) -> None:
    """Raise Refusal 500 if the service has no credentials, and 401 if the request's credentials differ (rules 1.4.2)."""
    settings = services.settings
    key = settings.api_key.reveal().encode() if settings.api_key else b""
    secret = settings.api_secret.reveal().encode() if settings.api_secret else b""
    if not key or not secret:
        raise Refusal(500, session.CREDENTIALS_NOT_CONFIGURED)
    await services.connects.wait()
    # Both are always compared, so the time does not show which of them is wrong.
    with proving(request.scope):
        same_key = hmac.compare_digest(header_bytes(request, "api-key") or b"", key)
        same_secret = hmac.compare_digest(header_bytes(request, "api-secret") or b"", secret)
        if not (same_key and same_secret):
            services.connects.refused(request.remote_addr or "")
            raise Refusal(401, session.INVALID_KEY_OR_SECRET)


def header_bytes(request: Request | Websocket, name: str) -> bytes | None:
    """Return a header as it was sent; None if it is missing. A header given twice is returned empty, which never matches."""
    given = request.headers.getlist(name)
    if not given:
        return None
    return given[0].encode("latin-1", "replace") if len(given) == 1 else b""


async def _may_read_metrics(request: Request, services: Services) -> bool:
    """Tell whether the metrics token came. Each try waits longer, the more wrong tokens came in the last minute."""
    if header_bytes(request, "authorization") is None:
        return False
    await services.metrics_readers.wait()
    if _has_metrics_token(request, services.settings):
        return True
    services.metrics_readers.refused(request.remote_addr or "")
    return False


def _has_metrics_token(request: Request, settings: ServiceSettings) -> bool:
    """Tell whether `Authorization: Bearer` has the configured metrics token; without a configured token the answer is always no."""
    given = header_bytes(request, "authorization") or b""
    expected = settings.metrics_token.reveal().encode() if settings.metrics_token else b""
    scheme, token = given[: len(_BEARER)], given[len(_BEARER) :].strip()
    return bool(expected) and scheme.lower() == _BEARER.encode() and hmac.compare_digest(token, expected)
