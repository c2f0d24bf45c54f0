"""Sentences of the audit's route. The documents leave them to us."""

CURSOR_UNKNOWN = "cursor must be the cursor of an earlier answer"
"""400."""


def unreadable(error: str) -> str:
    """503: a file of the audit cannot be read."""
    return f"the audit could not be read: {error}"


PARENT_ID = "parent must be the id of a parent"
"""400."""
