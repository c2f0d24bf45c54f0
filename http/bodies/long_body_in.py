"""Decodes a JSON object with one long list in pieces, so that a body of megabytes never blocks all other tasks.

A piece is cut where an item seems to end, and is decoded as a list of its own. If it decodes, the cut is right: inside
a text or a nested value a closing bracket would be missing. Any other body is decoded at once, and may have at most
`AT_ONCE_BYTES`, because meanwhile no other task runs and no stop acts.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec
import trio
from werkzeug.exceptions import RequestEntityTooLarge

AT_ONCE_BYTES = 1024 * 1024
"""Decoded in at most a tenth of a second (with a member in every ten bytes)."""
MOST_ITEMS = 300_000
"""Every instrument that exists, and half as many again. With more items, the garbage collector needs seconds to look through them."""
PIECE_BYTES = 32 * 1024
"""Decoded in about a quarter of a millisecond."""

_BLANK = rb"[ \t\r\n]*+"
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_MEMBER = _BLANK + _TEXT + _BLANK + rb":" + _BLANK + rb"(?:" + _TEXT + rb"|[-+.0-9A-Za-z]++)" + _BLANK
_BEFORE = re.compile(
    _BLANK + rb"\{((?:" + _MEMBER + rb",)*+)" + _BLANK + rb"(" + _TEXT + rb")" + _BLANK + rb":" + _BLANK + rb"\["
)
_AFTER = re.compile(_BLANK + rb"((?:," + _MEMBER + rb")*+)\}" + _BLANK)
_CUT = re.compile(rb"\}" + _BLANK + rb",")


async def decode(raw: bytes, name: str, read: Callable[[bytes], Any] = msgspec.json.decode) -> object:
    """Return what `read` returns. Other tasks run meanwhile when `raw` is an object of scalars and a list `name`.

    `read` decodes JSON. Raises ValueError or RecursionError if `raw` is not JSON, and whatever else `read` raises.
    Raises RequestEntityTooLarge (the framework's 413 page) if `raw` is too long to be decoded at once and cannot be
    decoded in pieces: the list must have at most MOST_ITEMS items, each below AT_ONCE_BYTES."""
    if len(raw) > PIECE_BYTES:
        framed = _framed(raw, name, read)
        if framed is not None:
            members, start, end = framed
            items = await _items(raw, start, end, read)
            if items is not None:
                return {**members, name: items}
    return decode_at_once(raw, read)


def decode_at_once(raw: bytes, read: Callable[[bytes], Any] = msgspec.json.decode) -> object:
    """Return what `read` returns. Raises what `read` raises, and RequestEntityTooLarge above AT_ONCE_BYTES."""
    if len(raw) > AT_ONCE_BYTES:
        raise RequestEntityTooLarge
    return read(raw)


def _framed(raw: bytes, name: str, read: Callable[[bytes], Any]) -> tuple[dict[str, object], int, int] | None:
    """Return the scalar members, and where the list's content begins and ends; None if the body has another form."""
    before, end = _BEFORE.match(raw, 0, AT_ONCE_BYTES), raw.rfind(b"]")
    if before is None or before.end() > end or len(raw) - end > AT_ONCE_BYTES:
        return None
    after = _AFTER.fullmatch(raw, end + 1)
    if after is None:
        return None
    try:
        first, last = (
            read(b"{" + before[1][:-1] + b"}"),
            read(b"{" + after[1][1:] + b"}"),
        )  # without the comma next to the list
        key = read(before[2])
    except ValueError:
        return None
    if key != name or len({name, *first, *last}) != 1 + len(first) + len(last):
        return None
    return {**first, **last}, before.end(), end


async def _items(raw: bytes, start: int, end: int, read: Callable[[bytes], Any]) -> list[object] | None:
    """Return the list's items; None if the pieces are not the items of one list."""
    items: list[object] = []
    size = PIECE_BYTES
    while True:
        cut = _CUT.search(raw, min(start + size, end), end)
        stop = end if cut is None else cut.start() + 1
        if stop - start > AT_ONCE_BYTES:
            return None
        try:
            piece = read(b"[" + raw[start:stop] + b"]")
        except (ValueError, RecursionError):
            if cut is None:
                return None
            size *= 2  # the cut was inside an item
            continue
        if cut is None and not piece:  # nothing follows the last comma
            return None
        items += piece
        if len(items) > MOST_ITEMS:
            return None
        if cut is None:
            return items
        start, size = cut.end(), PIECE_BYTES
        await trio.lowlevel.checkpoint()
