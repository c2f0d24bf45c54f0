"""Writes protobuf by hand: the wire format, as the simulated sockets of Groww and Upstox send it. Zero values are left out, as in proto3.

The codecs read it with Google's library. So the two sides share neither code nor tables.
Source: protobuf.dev, "Encoding".
"""

import struct
from collections.abc import Iterable, Mapping

_VARINT, _FIXED64, _LENGTH = 0, 1, 2
_SHORT = tuple(bytes((value,)) for value in range(0x80))
"""The numbers of one byte: most keys and lengths."""


def varint(value: int) -> bytes:
    """Return a number in base 128, low digits first. A negative number is written as 64 bits in two's complement."""
    if 0 <= value < 0x80:
        return _SHORT[value]
    rest, out = value & 0xFFFF_FFFF_FFFF_FFFF, bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def whole(number: int, value: int) -> bytes:
    """Return an integer or enum field."""
    return varint(number << 3 | _VARINT) + varint(value) if value else b""


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | _FIXED64) + struct.pack("<d", value) if value else b""


def text(number: int, value: str | None) -> bytes:
    return message(number, value.encode()) if value else b""


def message(number: int, content: bytes) -> bytes:
    """Return a field that holds a message (or bytes), even an empty one."""
    return varint(number << 3 | _LENGTH) + varint(len(content)) + content


def doubles(values: Mapping[int, float]) -> bytes:
    """Return several double fields."""
    return b"".join(double(number, value) for number, value in values.items())


def number_map(number: int, entries: Iterable[tuple[int, bytes]]) -> bytes:
    """Return a map field from numbers to messages. Each entry is a pair of fields 1 and 2."""
    return b"".join(message(number, whole(1, key) + message(2, content)) for key, content in entries)


def text_map(number: int, entries: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a map field from texts to fields 2, each as bytes: a message or a number."""
    return b"".join(message(number, text(1, key) + content) for key, content in entries)
