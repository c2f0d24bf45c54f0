"""Sentences of the session routes and of the token check (rules 1.4.1, 1.4.2, 1.5). A sentence marked ours is used
where the document gives a status and no text."""

WELCOME = "Welcome to onebroker: ten broker accounts as one account"
"""Ours (rules 1.4.1 asks for a welcome sentence)."""

# The token check, in the order of its steps (rules 1.5.2); all 401.
ACCESS_TOKEN_REQUIRED = "Access token is required"
INVALID_ACCESS_TOKEN = "Invalid access token"
ACCESS_TOKEN_EXPIRED = "Access token has expired"

INVALID_KEY_OR_SECRET = "Invalid API key or secret"
"""401 (rules 1.4.2): either header missing, empty or wrong."""

CREDENTIALS_NOT_CONFIGURED = "The API key and API secret of the service are not configured"
"""500 (rules 1.4.2), ours."""

TOKEN_NOT_READ_YET = "the access token cannot be checked: the stored token has not been read yet"
"""503, ours: neither the durable store nor the fast copy could be read since the start."""


def token_not_written(error: str) -> str:
    """503 of connect, ours: a token that is not stored durably is not given to the caller."""
    return (
        f"the access token could not be written to the durable store: {error}; no session was opened, so connect again"
    )


def token_not_removed(error: str) -> str:
    """503 of disconnect, ours: the session is still open."""
    return f"the access token could not be removed from the durable store: {error}; the session is still open"
