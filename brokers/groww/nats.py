"""The NATS client protocol, as far as Groww's stream uses it: bytes in, messages out, and the lines that a client sends.

Lines end with CR LF; a MSG or HMSG line is followed by as many bytes as it says. Websocket frames may split the flow
anywhere. No I/O, no Groww. Source: docs/brokers/groww.md, section 6.1; NATS client protocol (general knowledge, checked
with nats-py 2.16 against the simulator).
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Final

import attrs
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MOST_PAYLOAD: Final = 65_536
"""Most bytes of one message. Groww's are hundreds: a larger size means damage, and waiting for it would be silence."""
MOST_DIGITS: Final = 9
"""Most digits of a size: Python does not even read a number of thousands of digits."""
MOST_LINE: Final = 16_384
"""Most bytes of one line; INFO is the longest."""
PING: Final = b"PING\r\n"
PONG: Final = b"PONG\r\n"
_END: Final = b"\r\n"
_USER_PREFIX: Final = bytes([20 << 3])  # "U" as the first character
_SEED_BYTES: Final = 32


@attrs.frozen
class Info:
    fields: Mapping[str, object]


@attrs.frozen
class Message:
    subject: str
    sid: str
    payload: bytes = attrs.field(repr=False)


@attrs.frozen
class Pinged:
    """The server asks for a sign of life."""


@attrs.frozen
class Ponged:
    pass


@attrs.frozen
class Acknowledged:
    """`+OK`."""


@attrs.frozen
class Failed:
    """`-ERR`; the text without quotes."""

    text: str


@attrs.frozen
class Unreadable:
    """Bytes that are not the protocol; everything held with them has been dropped."""

    reason: str


NatsEvent = Info | Message | Pinged | Ponged | Acknowledged | Failed | Unreadable


class _Broken(Exception):
    """The flow cannot be read any further."""


class Reader:
    """Keeps the part of a message that has come so far."""

    def __init__(self) -> None:
        self._held = b""

    def receive(self, data: bytes) -> list[NatsEvent]:
        """Return the messages that `data` completes, in order; never raises."""
        self._held += data
        events: list[NatsEvent] = []
        try:
            while (event := self._next()) is not None:
                events.append(event)
        except _Broken as broken:
            self._held = b""
            events.append(Unreadable(str(broken)))
        return events

    def _next(self) -> NatsEvent | None:
        end = self._held.find(_END, 0, MOST_LINE)
        if end < 0:
            if len(self._held) >= MOST_LINE:
                raise _Broken("a line without an end")
            return None
        line = self._held[:end]
        word, _, rest = line.partition(b" ")
        word = word.upper()
        if word in (b"MSG", b"HMSG"):
            return self._message(word, rest.split(), end + len(_END))
        event = _line_event(word, rest)
        self._held = self._held[end + len(_END) :]
        return event

    def _message(self, word: bytes, arguments: list[bytes], start: int) -> Message | None:
        """Read `subject sid [reply] bytes`, for HMSG `... header-bytes bytes`; None until the payload is whole."""
        sizes = 1 if word == b"MSG" else 2
        if not 2 + sizes <= len(arguments) <= 3 + sizes or not all(
            argument.isdigit() and len(argument) <= MOST_DIGITS for argument in arguments[-sizes:]
        ):
            raise _Broken("a message without its sizes")
        total = int(arguments[-1])
        header = int(arguments[-2]) if sizes == 2 else 0
        if header > total or total > MOST_PAYLOAD:
            raise _Broken(f"a message of {total} bytes")
        whole = start + total + len(_END)
        if len(self._held) < whole:
            return None
        if self._held[start + total : whole] != _END:
            raise _Broken("a message that does not end where it says")
        payload = self._held[start + header : start + total]
        self._held = self._held[whole:]
        return Message(arguments[0].decode("utf-8", "replace"), arguments[1].decode("utf-8", "replace"), payload)


def _line_event(word: bytes, rest: bytes) -> NatsEvent:
    if word == b"INFO":
        try:
            return Info(msgspec.json.decode(rest, type=dict[str, object]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _Broken(f"an INFO that cannot be read: {error}") from error
    if word == b"-ERR":
        return Failed(rest.decode("utf-8", "replace").strip().strip("'"))
    plain = _PLAIN.get(word)
    if plain is None:
        raise _Broken("a line that is no operation")
    return plain


_PLAIN: Mapping[bytes, NatsEvent] = {b"PING": Pinged(), b"PONG": Ponged(), b"+OK": Acknowledged()}


# --- what a client sends -----------------------------------------------------------------------------------------------


def subscribe(subject: str, sid: str) -> bytes:
    return f"SUB {subject} {sid}\r\n".encode()


def unsubscribe(sid: str) -> bytes:
    return f"UNSUB {sid}\r\n".encode()


def connect(*, jwt: str, signature: str) -> bytes:
    """Return the CONNECT line of a user who proves a key by signing the server's nonce."""
    fields = {
        "echo": True,
        "headers": True,
        "jwt": jwt,
        "lang": "python3",
        "no_responders": True,
        "pedantic": False,
        "protocol": 1,
        "sig": signature,
        "verbose": False,
        "version": "1",
    }
    return b"CONNECT " + msgspec.json.encode(fields) + _END


# --- keys --------------------------------------------------------------------------------------------------------------


def user_key(seed: bytes) -> str:
    """Return the public key of a 32-byte Ed25519 seed in the form NATS gives a user's key: `U...`, 56 characters."""
    data = _USER_PREFIX + _key(seed).public_key().public_bytes_raw()
    return base64.b32encode(data + _crc(data).to_bytes(2, "little")).decode().rstrip("=")


def sign(seed: bytes, nonce: str) -> str:
    """Return the signature of the server's nonce, base64 with padding."""
    return base64.b64encode(_key(seed).sign(nonce.encode())).decode()


def seed_text(seed: bytes) -> str:
    """Return a seed as text for `StreamAddress.handed`."""
    return seed.hex()


def seed_of(written: str) -> bytes:
    """Read a text made by `seed_text`; raise ValueError for any other text."""
    seed = bytes.fromhex(written)
    if len(seed) != _SEED_BYTES:
        raise ValueError("not a seed")
    return seed


def _key(seed: bytes) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(seed)


def _crc(data: bytes) -> int:
    """CRC-16/XMODEM: polynomial 0x1021, from zero."""
    return binascii.crc_hqx(data, 0)
