"""Reads the messages of a client: turns text into values. Pure; raises Refusal 400, in the words of the REST routes where those exist."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs
import msgspec

from onebroker.actors.store.keys import RESOURCES
from onebroker.config.messages import instruments as instrument_sentences
from onebroker.config.messages import stream as sentences
from onebroker.config.refusal import Refusal
from onebroker.http.live.quote_board import Mode

CHANNELS = ("quotes", "orders", "parents", "documents", "chain")
CHAIN_FIELDS = ("exchange", "underlying_symbol", "expiry_date", "segment", "strikes")
TOKEN = "access-token"

EventsName: TypeAlias = Literal["orders", "parents"]


@attrs.frozen(kw_only=True)
class Subscribe:
    channel: str
    mode: Mode = Mode.LTP
    """For quotes."""
    instruments: Sequence[object] = ()
    """For quotes: items as they were sent; each is resolved separately (rules 1.4.4)."""
    documents: tuple[str, ...] = ()
    ages: bool = False
    """For documents: whether their ages are sent too."""
    chain: Mapping[str, object] = attrs.field(factory=dict)
    """For chain: the fields as they were sent, named as the parameters of the REST route."""


@attrs.frozen(kw_only=True)
class Unsubscribe:
    channel: str
    instruments: Sequence[object] | None = None
    """None = all instruments."""
    documents: tuple[str, ...] = RESOURCES
    chain: Mapping[str, object] | None = None
    """None = all chains."""


@attrs.frozen(kw_only=True)
class Resume:
    stream_id: str
    seq: int


@attrs.frozen(kw_only=True)
class ShowToken:
    """The first message of a client that cannot send headers."""

    token: bytes = attrs.field(repr=False)
    resume: Resume | None


Command: TypeAlias = Subscribe | Unsubscribe | Resume | ShowToken


def read_object(raw: str | bytes) -> dict[str, Any]:
    """Return the JSON object of a text frame."""
    if not isinstance(raw, str):
        raise Refusal(400, sentences.MESSAGE_FORM)
    try:
        value = msgspec.json.decode(raw)
    except (ValueError, RecursionError):  # malformed text, or nesting that is too deep
        raise Refusal(400, sentences.MESSAGE_FORM) from None
    if not isinstance(value, dict):
        raise Refusal(400, sentences.MESSAGE_FORM)
    return value


def read_id(given: Mapping[str, Any]) -> str | int | float | None:
    """Return the id that the client gave its message; the answer repeats it."""
    own = given.get("id")
    if own is not None and (isinstance(own, bool) or not isinstance(own, str | int | float)):
        raise Refusal(400, sentences.ID_FORM)
    return own


def read_command(given: Mapping[str, Any]) -> Command:
    """Return the command of the message."""
    kinds = [kind for kind in ("subscribe", "unsubscribe", TOKEN, "resume") if kind in given]
    if kinds not in (["subscribe"], ["unsubscribe"], ["resume"], [TOKEN], [TOKEN, "resume"]):
        raise Refusal(400, sentences.MESSAGE_KIND)
    match kinds[0]:
        case "subscribe":
            return _subscribe(given)
        case "unsubscribe":
            return _unsubscribe(given)
        case "resume":
            return _resume(given)
        case _:
            _only(given, TOKEN, "resume", "stream")
            token = given[TOKEN]
            return ShowToken(
                token=token.encode("utf-8", "surrogatepass") if isinstance(token, str) else b"",
                resume=_resume({key: given[key] for key in given if key != TOKEN}) if "resume" in given else None,
            )


def _subscribe(given: Mapping[str, Any]) -> Subscribe:
    channel = _channel(given["subscribe"])
    if channel == "quotes":
        _only(given, "subscribe", "mode", "instruments")
        return Subscribe(channel=channel, mode=_mode(given.get("mode", Mode.LTP)), instruments=_instruments(given))
    if channel == "documents":
        _only(given, "subscribe", "documents", "ages")
        return Subscribe(
            channel=channel, documents=_documents(given.get("documents")), ages=_ages(given.get("ages", False))
        )
    if channel == "chain":
        _only(given, "subscribe", *CHAIN_FIELDS)
        return Subscribe(channel=channel, chain=_chain(given))
    _only(given, "subscribe")
    return Subscribe(channel=channel)


def _unsubscribe(given: Mapping[str, Any]) -> Unsubscribe:
    channel = _channel(given["unsubscribe"])
    if channel == "quotes":
        _only(given, "unsubscribe", "instruments")
        return Unsubscribe(channel=channel, instruments=_instruments(given) if "instruments" in given else None)
    if channel == "documents":
        _only(given, "unsubscribe", "documents")
        names = _documents(given["documents"]) if "documents" in given else RESOURCES
        return Unsubscribe(channel=channel, documents=names)
    if channel == "chain":
        _only(given, "unsubscribe", *CHAIN_FIELDS)
        return Unsubscribe(channel=channel, chain=_chain(given) or None)
    _only(given, "unsubscribe")
    return Unsubscribe(channel=channel)


def _resume(given: Mapping[str, Any]) -> Resume:
    _only(given, "resume", "stream")
    seq, stream_id = given["resume"], given.get("stream")
    if isinstance(seq, bool) or not isinstance(seq, int) or seq < 0 or not isinstance(stream_id, str):
        raise Refusal(400, sentences.RESUME_FORM)
    return Resume(stream_id=stream_id, seq=seq)


def _only(given: Mapping[str, Any], *known: str) -> None:
    unknown = next((key for key in given if key not in known and key != "id"), None)
    if unknown is not None:
        raise Refusal(400, sentences.unknown_key(unknown))


def _channel(value: object) -> str:
    if not isinstance(value, str) or value not in CHANNELS:
        raise Refusal(400, sentences.channel_unknown(CHANNELS))
    return value


def _chain(given: Mapping[str, Any]) -> dict[str, object]:
    return {name: given[name] for name in CHAIN_FIELDS if name in given}


def _mode(value: object) -> Mode:
    try:
        return Mode(value)  # type: ignore[arg-type]  # whatever it is, it is one of them or a ValueError
    except ValueError:
        raise Refusal(400, sentences.mode_unknown(tuple(Mode))) from None


def _ages(value: object) -> bool:
    if not isinstance(value, bool):
        raise Refusal(400, sentences.AGES_FORM)
    return value


def _instruments(given: Mapping[str, Any]) -> Sequence[object]:
    items = given.get("instruments")
    if not isinstance(items, list) or not items:
        raise Refusal(400, instrument_sentences.INSTRUMENTS_FORM)
    return items


def _documents(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or any(name not in RESOURCES for name in value):
        raise Refusal(400, sentences.documents_form(RESOURCES))
    return tuple(dict.fromkeys(value))
