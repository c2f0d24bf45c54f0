"""Sentences about a halt of trading by hand."""

NOT_KNOWN = "whether trading is halted is not known yet, so no entry is sent"
CONFIRM = 'confirm must be "HALT"'
NOT_HALTED = "trading is not halted"


def reason_length(most: int) -> str:
    return f"reason must be a text of 1 to {most} characters"


def halted(reason: str) -> str:
    return f"trading is halted: {reason}"


def not_stored(error: str) -> str:
    return f"trading is halted until the service ends, but the halt could not be stored: {error}"


def not_resumed(error: str) -> str:
    return f"trading stays halted, because that it resumes could not be stored: {error}"
