"""Streams and their connections: which stream is resumed, which ends, and how many there are."""

import itertools

import pytest

from onebroker.http.live.client_stream import ClientStream
from onebroker.http.live.open_streams import KEPT_SECONDS, CannotResume, Streams, TooMany
from tests.http.live.streaming import Server


# Streams without a connection
class Ended(Exception):
    """A connection was told to end."""


def nothing() -> None:
    """A connection that hears nothing."""


def registry(**bounds: int) -> Streams:
    numbers = itertools.count(1)
    return Streams(Server().boards, new_id=lambda: f"stream {next(numbers)}", **bounds)


def begun(streams: Streams, end=nothing) -> ClientStream:
    stream = streams.begin(nothing, end)
    stream.events["orders"].subscribe()
    return stream


def test_a_stream_waits_for_its_client_for_a_minute_and_no_longer():
    streams = registry()
    stream = begun(streams)
    streams.lose(stream, nothing, 100.0)
    streams.expire(100.0 + KEPT_SECONDS)
    assert streams.resume(stream.id, 0, nothing, nothing) is stream
    streams.lose(stream, nothing, 200.0)
    streams.expire(200.1 + KEPT_SECONDS)
    with pytest.raises(CannotResume, match="not kept any more"):
        streams.resume(stream.id, 0, nothing, nothing)
    assert streams.figures().streams == 0
    assert not streams.boards.orders.watchers


def test_a_stream_with_a_connection_never_expires_and_one_that_began_nothing_is_not_kept():
    streams = registry()
    held, empty = begun(streams), streams.begin(nothing, nothing)
    streams.expire(1e9)
    streams.lose(empty, nothing, 0.0)
    assert streams.resume(held.id, 0, nothing, nothing) is held
    assert streams.figures().streams == 1


def test_a_resume_ends_the_connection_that_still_has_the_stream_which_then_keeps_nothing_of_it():
    streams = registry()
    ended: list[str] = []
    first, second = (lambda: ended.append("first")), (lambda: ended.append("second"))
    stream = begun(streams, first)
    streams.resume(stream.id, 0, nothing, second)
    assert ended == ["first"]
    streams.lose(stream, first, 0.0)
    assert streams.figures().waiting == 0
    streams.lose(stream, second, 0.0)
    assert streams.figures().waiting == 1


def test_a_seq_that_was_never_sent_resumes_nothing():
    streams = registry()
    stream = begun(streams)
    with pytest.raises(CannotResume, match="not come as far"):
        streams.resume(stream.id, 1, nothing, nothing)


def test_of_too_many_streams_the_one_alone_for_longest_gives_way_and_connected_ones_never_do():
    streams = registry(most_streams=2)
    first, second = begun(streams), begun(streams)
    with pytest.raises(TooMany):
        streams.begin(nothing, nothing)
    streams.lose(second, nothing, 1.0)
    streams.lose(first, nothing, 2.0)
    begun(streams)
    with pytest.raises(CannotResume):
        streams.resume(second.id, 0, nothing, nothing)
    assert streams.resume(first.id, 0, nothing, nothing) is first


def test_open_sockets_are_bounded():
    streams = registry(most_connections=1)
    with streams.connection(), pytest.raises(TooMany), streams.connection():
        pass
    with streams.connection():
        assert streams.figures().connections == 1
