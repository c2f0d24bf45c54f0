"""Sentences of the stream of live data (`/stream`). Where a REST route has a sentence for the same case, that sentence is used."""

from collections.abc import Iterable

# Messages of a client (400)

MESSAGE_FORM = "a message must be a JSON object in a text frame"
MESSAGE_KIND = "a message must hold exactly one of subscribe, unsubscribe, resume and access-token"
TOKEN_ALREADY_TAKEN = "the access token was taken already"
RESUME_FIRST = "resume comes before any subscription"
RESUME_FORM = "resume must be the seq of the last message received, with stream, the id that this stream began with"
AGES_FORM = "ages must be true or false"
ID_FORM = "id must be text or a number"


def unknown_key(name: str) -> str:
    return f"{name} is not a part of this message"


def channel_unknown(channels: Iterable[str]) -> str:
    return f"the channel must be one of {', '.join(channels)}"


def mode_unknown(modes: Iterable[str]) -> str:
    return f"mode must be one of {', '.join(modes)}"


def documents_form(names: Iterable[str]) -> str:
    return f"documents must be a non-empty list of {', '.join(names)}"


def too_many_instruments(most: int) -> str:
    """429, for one entry."""
    return f"a stream carries at most {most} instruments"


def too_many_chains(most: int) -> str:
    """429."""
    return f"a stream carries at most {most} option chains"


NO_CHAINS = "a replica has no option chains: ask the service itself"
"""403."""

# Why a stream starts again (in `started`)

STREAM_UNKNOWN = "this stream is not kept any more, so this is a new one: subscribe again for fresh snapshots"
SEQ_NOT_SENT = "this stream has not come as far as that seq, so this is a new one: subscribe again for fresh snapshots"

# Reasons for closing: at most 123 bytes

STOPPING = "the service is stopping"
TAKEN_OVER = "the stream was resumed on another connection"
TOO_MANY_STREAMS = "the service serves no more streams at once; try again later"
ANSWERS_NOT_READ = "too many messages were sent without reading the answers"
FAILED = "the stream failed; connect again"

# The path without an upgrade (426)

UPGRADE_REQUIRED = "/stream is a WebSocket: connect to it with one"
