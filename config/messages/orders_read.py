"""Sentences of the order and trade book routes (rules 2.4.1). `subject` is Orders or Trades."""


def not_available(subject: str) -> str:
    """503: no actor keeps the document."""
    return f"{subject} are not available"


def out_of_date(subject: str, key: str, as_of: str) -> str:
    """503: the document is more than 30 s old."""
    return f"{subject} are out of date: {key} was last written at {as_of}"


def unable_to_retrieve(subject: str) -> str:
    """502: no broker is ok or stale."""
    return f"Unable to retrieve {subject.lower()} information"


LIMIT_MINIMUM = 1
LIMIT_MAXIMUM = 10_000


def limit_not_whole(text: str) -> str:
    return f"limit must be a whole number, not '{text}'"


def limit_out_of_range(number: int) -> str:
    return f"limit must be from {LIMIT_MINIMUM} to {LIMIT_MAXIMUM}, not {number}"


def cursor_not_whole(text: str) -> str:
    return f"cursor must be a whole number, not '{text}'"


def cursor_negative(number: int) -> str:
    return f"cursor must be at least 0, not {number}"
