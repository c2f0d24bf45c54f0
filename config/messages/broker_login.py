"""Sentences of the login of a broker in a browser (ours)."""

from collections.abc import Iterable

DONE = "onebroker has the login; this page can be closed."
NOT_OPEN = "No login waits here. Ask onebroker for the broker's page again, and log in there within five minutes."


def broker_must_be_one_of(brokers: Iterable[str]) -> str:
    """404."""
    return f"broker must be one of {', '.join(brokers)}"


def first_login_by_command(broker: str) -> str:
    """409: the broker repeats nothing of its page, and no login tells yet whose account it is. A stranger's address could not be told from ours."""
    return f"the first login of {broker} must be made by `onebroker login {broker}`: {broker} does not repeat our state, so only the account tells later whose login it is"


def login_failed(broker: str, reason: str) -> str:
    """502: the broker refused the login, or could not be reached."""
    return f"the login of {broker} failed: {reason}"
