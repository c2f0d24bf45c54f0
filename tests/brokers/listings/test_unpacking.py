"""Packed files are unpacked within a bound, in pieces, as whole and as broken as gzip itself finds them."""

import gzip
import io
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.icicidirect.instruments import read_files as read_security_master
from onebroker.brokers.listings.frame import unpacked
from onebroker.brokers.listings.unpacking import gunzipped, unzipped
from onebroker.brokers.requests import BadAnswer
from onebroker.brokers.shoonya.instruments import read_files as read_shoonya

MB = 1024 * 1024


def zipped(name: str, body: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, body)
    return packed.getvalue()


@given(st.lists(st.binary(max_size=5000), min_size=1, max_size=4), st.integers(0, 3), st.integers(1, 9))
def test_what_gzip_holds_comes_out_whatever_its_members(parts: list[bytes], zeros: int, level: int) -> None:
    body = b"".join(gzip.compress(part * 50, level) for part in parts) + b"\0" * zeros
    assert gunzipped(body, "it") == gzip.decompress(body) == b"".join(part * 50 for part in parts)


def test_more_than_a_piece_comes_out_whole() -> None:
    body = bytes(3 * MB) + b"end"
    assert gunzipped(gzip.compress(body), "it") == body


@pytest.mark.parametrize("most", [0, 1, MB, 3 * MB - 1])
def test_a_file_that_holds_more_than_the_bound_is_refused(most: int) -> None:
    body = bytes(3 * MB)
    with pytest.raises(BadAnswer, match="it holds more than"):
        gunzipped(gzip.compress(body), "it", most)
    with (
        zipfile.ZipFile(io.BytesIO(zipped("a", body))) as archive,
        pytest.raises(BadAnswer, match="it holds more than"),
    ):
        unzipped(archive, "a", "it", most)


def test_exactly_the_bound_is_taken() -> None:
    body = bytes(3 * MB)
    assert gunzipped(gzip.compress(body), "it", 3 * MB) == body
    with zipfile.ZipFile(io.BytesIO(zipped("a", body))) as archive:
        assert unzipped(archive, "a", "it", 3 * MB) == body


def test_a_body_that_breaks_off_gives_what_came_and_a_damaged_one_is_refused() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000)).encode()
    body = gzip.compress(text)
    begun = unpacked(body[: len(body) // 2])
    assert text.startswith(begun)
    assert len(begun) > 1000
    with pytest.raises(BadAnswer, match="cannot be unpacked"):
        unpacked(body[:12] + b"\xff" * 20 + body[32:])
    with pytest.raises(zlib.error):
        gunzipped(body + b"rubbish", "it")


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (lambda body: unpacked(body), gzip.compress(bytes(3 * MB))),
        (lambda body: read_shoonya([body] * 6), zipped("NSE_symbols.txt", bytes(3 * MB))),
        (lambda body: read_security_master([body]), zipped("NSEScripMaster.txt", bytes(3 * MB))),
    ],
)
def test_every_packed_instrument_file_is_bounded(read, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for packed in (gunzipped, unzipped):
        monkeypatch.setattr(packed, "__defaults__", (2 * MB,))
    with pytest.raises(BadAnswer, match="holds more than 2 MB"):
        read(body)
