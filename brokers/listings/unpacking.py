"""Unpacks packed instrument files, in pieces and up to a limit: a megabyte of zip can hold gigabytes of zeros."""

import zipfile
import zlib

from onebroker.brokers.requests import BadAnswer

MOST_UNPACKED_BYTES = 1024 * 1024 * 1024
"""Limit for one file; the largest real files hold some tens of megabytes."""
_PIECE_BYTES = 1024 * 1024
_GZIP_WINDOW = 31  # tells zlib to expect the header and checksum of gzip


def gunzipped(body: bytes, what: str, most_bytes: int = MOST_UNPACKED_BYTES) -> bytes:
    """Return the content of a gzip body, all its members; of a truncated body the part that came.

    Raises zlib.error for damaged data, BadAnswer for more than `most_bytes`.
    """
    pieces: list[bytes] = []
    room = most_bytes
    while body:
        member = zlib.decompressobj(wbits=_GZIP_WINDOW)
        while not member.eof:
            piece = member.decompress(body, min(_PIECE_BYTES, room + 1))
            body = member.unconsumed_tail
            if not piece and not body:
                break  # cut short
            room = _room_left(room, piece, what, most_bytes)
            pieces.append(piece)
        body = member.unused_data.lstrip(b"\0")  # some writers pad their last block with zeros
    return b"".join(pieces)


def unzipped(archive: zipfile.ZipFile, name: str, what: str, most_bytes: int = MOST_UNPACKED_BYTES) -> bytes:
    """Return the content of a member. Raises BadAnswer for more than `most_bytes`, and whatever zipfile raises."""
    pieces: list[bytes] = []
    room = most_bytes
    with archive.open(name) as member:
        while piece := member.read(min(_PIECE_BYTES, room + 1)):
            room = _room_left(room, piece, what, most_bytes)
            pieces.append(piece)
    return b"".join(pieces)


def _room_left(room: int, piece: bytes, what: str, most_bytes: int) -> int:
    if len(piece) > room:
        raise BadAnswer(f"{what} holds more than {most_bytes // 1024 // 1024} MB")
    return room - len(piece)
