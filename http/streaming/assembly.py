"""Putting the boards, the streams and their feeds together."""

import trio

from onebroker.actors.kernel.supervisor import FOREVER, Child
from onebroker.http.services import LiveServices
from onebroker.http.streaming.boards import DocumentBoard, EventBoard
from onebroker.http.streaming.client_stream import Boards
from onebroker.http.streaming.feeds import FeedSources, ReaderSource, StreamFeeds
from onebroker.http.streaming.quote_board import QuoteBoard
from onebroker.http.streaming.registry import Streams


def live_services(sources: FeedSources) -> tuple[LiveServices, Child]:
    """Return what `/stream` needs, and the actor that feeds it, to be supervised."""
    boards = Boards(
        quotes=QuoteBoard(ReaderSource(sources.quotes, sources.clock)),
        orders=EventBoard("orders"),
        parents=EventBoard("parents"),
        documents=DocumentBoard(),
    )
    streams = Streams(boards)
    feeds = Child(name="streams", build=lambda: StreamFeeds(streams, sources), policy=FOREVER)
    return LiveServices(streams=streams, stopping=trio.Event()), feeds
