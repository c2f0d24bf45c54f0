"""One client's stream: turns its subscriptions into numbered messages, even when the connection changes. Pure: no
socket, no clock (`now` is monotonic seconds), no waiting.
"""

from collections import deque

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.chain.contracts import ChainName
from onebroker.config.messages import stream as sentences
from onebroker.config.refusal import Refusal
from onebroker.http.live import frames
from onebroker.http.live.boards import DocumentBoard, EventBoard, Wake
from onebroker.http.live.chain_board import ChainBoard, name_fields
from onebroker.http.live.chain_channel import ChainChannel
from onebroker.http.live.channels import NEVER, Channel, DocumentChannel, EventChannel, QuoteChannel
from onebroker.http.live.quote_board import Mode, QuoteBoard

MOST_INSTRUMENTS = 1000
MOST_CHAINS = 10
MOST_ANSWER_BYTES = 1024 * 1024
"""The most bytes of answers that a client has not taken; with more, its connection ends."""


@attrs.frozen(kw_only=True)
class Boards:
    """The boards that a client can subscribe to."""

    quotes: QuoteBoard
    orders: EventBoard
    parents: EventBoard
    documents: DocumentBoard
    chains: ChainBoard

    @property
    def events(self) -> tuple[EventBoard, ...]:
        return self.orders, self.parents


class ClientStream:
    def __init__(self, stream_id: str, boards: Boards, most_instruments: int = MOST_INSTRUMENTS) -> None:
        self.id = stream_id
        self.seq = 0
        """Number of the last message made."""
        self.wake: Wake = _nothing
        """Called when a message may be due; the connection sets it."""
        self._most_instruments = most_instruments
        self._answers: deque[bytes] = deque()
        self._answer_bytes = 0
        self.quotes = QuoteChannel(boards.quotes, self._work)
        self.events = {board.name: EventChannel(board, self._work) for board in boards.events}
        self.documents = DocumentChannel(boards.documents, self._work)
        self.chains = ChainChannel(boards.chains, self._work)
        self._channels: tuple[Channel, ...] = (*self.events.values(), self.documents, self.chains, self.quotes)
        self._turns: deque[Channel] = deque(self._channels)
        """The channel that sent last comes last, so that on a slow line no channel keeps another back."""

    # Requests of the client

    def subscribe_quote(self, instrument: Instrument, mode: Mode) -> None:
        """Raises Refusal 429."""
        modes = self.quotes.modes
        if len(modes) >= self._most_instruments and instrument.instrument_id not in modes:
            raise Refusal(429, sentences.too_many_instruments(self._most_instruments))
        self.quotes.subscribe(instrument, mode)

    def subscribe_chain(self, name: ChainName) -> None:
        """Raises Refusal 429."""
        names = self.chains.names
        if len(names) >= MOST_CHAINS and name not in names:
            raise Refusal(429, sentences.too_many_chains(MOST_CHAINS))
        self.chains.subscribe(name)

    def answer(self, body: bytes) -> None:
        """Send `body` before any other message."""
        self._answers.append(body)
        self._answer_bytes += len(body)
        self._work()

    @property
    def overfull(self) -> bool:
        """Whether the client sends requests without reading the answers."""
        return self._answer_bytes > MOST_ANSWER_BYTES

    @property
    def begun(self) -> bool:
        """Whether anything is subscribed."""
        named = self.quotes.modes or self.documents.names or self.chains.names
        return bool(named or any(channel.subscribed for channel in self.events.values()))

    # Sending

    def next_message(self, now: float) -> bytes | None:
        """Return the next message with its number; None if nothing is due."""
        body = self._next_body(now)
        if body is None:
            return None
        self.seq += 1
        return frames.numbered(self.seq, body)

    def _next_body(self, now: float) -> bytes | None:
        if self._answers:
            answer = self._answers.popleft()
            self._answer_bytes -= len(answer)
            return answer
        for channel in self._turns:
            body = channel.next_body(self.seq + 1, now)
            if body is not None:
                self._turns.remove(channel)
                self._turns.append(channel)
                return body
        return None

    def due_at(self, now: float) -> float:
        """Return when something will be due without a change (monotonic seconds); infinity = only when woken."""
        if self._answers:
            return now
        return min((channel.due_at(now) for channel in self._channels), default=NEVER)

    # Connections

    def resume(self, seq: int) -> None:
        """Continue after message `seq`, the last one that the client has. Lost answers are not repeated; one answer
        lists all subscriptions.

        Raises ValueError if no message `seq` was sent.
        """
        if not 0 <= seq <= self.seq:
            raise ValueError(f"seq {seq} was not sent")
        for channel in self._channels:
            channel.rewind(seq)
        self.seq = seq
        self._answers.clear()
        self._answer_bytes = 0
        self.answer(frames.message("resumed", {"stream": self.id, "subscriptions": self.subscriptions()}))

    def subscriptions(self) -> dict[str, object]:
        return {
            "quotes": dict(self.quotes.modes),
            **{name: channel.subscribed for name, channel in self.events.items()},
            "documents": list(self.documents.names),
            **({"ages": True} if self.documents.with_ages else {}),
            "chain": [name_fields(name) for name in self.chains.names],
        }

    def close(self) -> None:
        """End all subscriptions."""
        for channel in self._channels:
            channel.close()

    def _work(self) -> None:
        self.wake()


def _nothing() -> None:
    """A stream without a connection: what is due waits."""
