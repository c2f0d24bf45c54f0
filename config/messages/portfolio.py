"""Sentences of the portfolio routes (rules 1.4.10). `subject` is Funds, Holdings or Positions; `key` names the document."""


def nothing_keeping(subject: str, key: str) -> str:
    """503: the document does not exist."""
    return f"{subject} are not available: nothing is keeping {key}"


def out_of_date(subject: str, key: str, as_of: str) -> str:
    """503: the document is older than the route allows."""
    return f"{subject} are out of date: {key} was last written at {as_of}"


def unable_to_retrieve(subject: str) -> str:
    """502: every broker is missing or unreadable."""
    return f"Unable to retrieve {subject.lower()} information"
