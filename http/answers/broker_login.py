"""Answers about the login of a broker in a browser."""

import msgspec


class MadeLogin(msgspec.Struct, kw_only=True):
    user_id: str
    """The broker's id of the account."""
    expires_at: str
    """YYYY-MM-DDTHH:MM:SS in Indian time."""


class BrokerLogin(msgspec.Struct, kw_only=True):
    """How a broker is logged in to."""

    broker: str
    """Broker code."""
    page: str | None
    """The address that the person opens; null when the broker needs no person."""
    redirect: str | None
    """The path to which the broker must send the person back: it is registered at the broker with this service's address before it."""
    closes_at: str | None
    """Until when the login can be brought back, YYYY-MM-DDTHH:MM:SS in Indian time."""
    login: MadeLogin | None
    """The login that was made now; null when a person must make it."""


PAGE_EXAMPLE = {
    "broker": "zerodha",
    "page": "https://kite.zerodha.com/connect/login?v=3&api_key=key&redirect_params=state%3Dabc",
    "redirect": "/login/zerodha",
    "closes_at": "2026-11-25T08:35:00",
    "login": None,
}
LOGIN_EXAMPLE = {
    "broker": "dhan",
    "page": None,
    "redirect": None,
    "closes_at": None,
    "login": {"user_id": "1000000001", "expires_at": "2026-11-26T08:30:00"},
}
