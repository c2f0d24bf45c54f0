"""The reading of an answer, however its bytes are cut: every encoding and framing, without a socket."""

import functools
import gzip
import random
import zlib
from itertools import pairwise
from urllib.parse import urlsplit

import pytest

from onebroker.brokers.requests import CallKind, WireRequest
from onebroker.brokers.transport.http_exchange import PIECE_BYTES, BrokenAnswer, Exchange
from tests.support.every_case import every_case

MOST = 10_000_000
RANDOM = random.Random(7)
BODIES = {
    "empty": b"",
    "short": b"instrument,token",
    "noise": RANDOM.randbytes(100_000),
    "one piece": bytes(PIECE_BYTES),
    "one piece and a byte": bytes(PIECE_BYTES + 1),
    "pieces": bytes(PIECE_BYTES * 3),
    "rows": b"".join(b"%d,INFY,NSE,%d\n" % (row, RANDOM.randrange(9999)) for row in range(20_000)),
}


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def members(data):
    half = len(data) // 2
    return gzip.compress(data[:half], mtime=0) + gzip.compress(data[half:], mtime=0)


ENCODINGS = {
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "gzip of two members": ("gzip", members),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "both": ("gzip, deflate", lambda data: zlib.compress(gzip.compress(data))),
}


@functools.cache
def packed(kind, encoding):
    """The body in its encoding; cached, as packing takes longer than reading."""
    return ENCODINGS[encoding][1](BODIES[kind])


def with_length(data):
    return b"Content-Length: %d\r\n\r\n%s" % (len(data), data)


def chunked(data):
    parts = [data[start : start + 3001] for start in range(0, len(data), 3001)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


def cut(wire, step):
    """Cut into parts of `step` bytes; where those are few, only the beginning and the end, which hold what can go wrong."""
    places = range(0, len(wire), step)
    if step < 100:
        begin = 600 // step + 1
        places = [*places[:begin], *places[max(begin, len(places) - 20 // step) :]]
    return [wire[start:end] for start, end in pairwise([*places, len(wire)])]


def read(wire, step, closing=False):
    """Return the exchange, and the pieces it gave for `wire` cut into parts of `step` bytes."""
    exchange = Exchange(MOST)
    request = WireRequest(kind=CallKind.READ, method="GET", url="http://x.test/")
    exchange.request_bytes(request, urlsplit(request.url))
    pieces = []
    for part in cut(wire, step):
        assert not exchange.whole
        pieces += exchange.receive(part)
    if closing:
        pieces += exchange.receive(b"")
    return exchange, pieces


@every_case("step", [1, 1009, 65536, 10_000_000])
@every_case("framing", [with_length, chunked])
@every_case("encoding", ENCODINGS)
@every_case("kind", BODIES)
def test_a_body_is_the_same_however_it_is_packed_framed_and_cut(kind, encoding, framing, step):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n" % ENCODINGS[encoding][0].encode()
    exchange, pieces = read(head + framing(packed(kind, encoding)), step)
    assert exchange.whole
    assert exchange.reusable
    assert exchange.answer(b"".join(pieces)).body == BODIES[kind]
    if encoding != "identity":
        assert max(map(len, pieces), default=0) <= PIECE_BYTES


@every_case("encoding", [name for name in ENCODINGS if name != "identity"])
@every_case("kind", BODIES)
def test_a_packed_body_without_its_last_bytes_is_broken(kind, encoding):
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\n" % ENCODINGS[encoding][0].encode()
    with pytest.raises(BrokenAnswer, match="ends too early"):
        read(head + with_length(packed(kind, encoding)[:-1]), 65536)


def test_an_answer_that_is_not_whole_is_none():
    exchange, pieces = read(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 65536)
    assert (pieces, exchange.whole, exchange.reusable) == ([b"half"], False, False)
    with pytest.raises(BrokenAnswer):
        exchange.answer(b"half")


def test_a_body_that_ends_with_the_connection_is_whole_only_then():
    wire = b"HTTP/1.1 200 OK\r\n\r\nuntil the end"
    assert not read(wire, 65536)[0].whole
    exchange, pieces = read(wire, 65536, closing=True)
    assert (exchange.answer(b"".join(pieces)).body, exchange.reusable) == (b"until the end", False)


def test_what_follows_an_answer_makes_its_connection_unusable():
    exchange, pieces = read(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP", 65536)
    assert (exchange.answer(b"".join(pieces)).body, exchange.reusable) == (b"ok", False)
