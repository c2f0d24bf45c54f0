"""Answers about the messages to people."""

import msgspec


class TriedReceiver(msgspec.Struct, kw_only=True):
    """Whether a receiver took the test message."""

    receiver: int
    """Its place in `alerts.to`, from 1."""
    scheme: str
    """Such as `tgram`."""
    ok: bool
    words: str | None
    """Why it did not take the message; null when it did."""


class TriedReceivers(msgspec.Struct, kw_only=True):
    receivers: list[TriedReceiver]


EXAMPLE = {
    "receivers": [
        {"receiver": 1, "scheme": "tgram", "ok": True, "words": None},
        {"receiver": 2, "scheme": "json", "ok": False, "words": "no answer within 20 s"},
    ]
}
