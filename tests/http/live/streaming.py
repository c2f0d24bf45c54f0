"""What the service holds and tells, as plain tables, for the tests of streams."""

import itertools
from typing import Any

import msgspec

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.instruments import security
from onebroker.config.refusal import Refusal
from onebroker.http.live import frames
from onebroker.http.live.boards import DocumentBoard, EventBoard, EventLog
from onebroker.http.live.chain_board import ChainBoard
from onebroker.http.live.client_stream import Boards
from onebroker.http.live.quote_board import Mode, QuoteBoard

NOON = 1_795_500_000.0


def instrument(symbol: str) -> Instrument:
    identity = security("nse", "equities", symbol)
    return Instrument(
        instrument_id=identity.instrument_id,
        identity=identity,
        name=None,
        isin=None,
        lot_size=1,
        tick_size=0.05,
        freeze_quantity=None,
        listings={},
    )


DOCUMENTS = ("funds", "positions")


def quote(price: float) -> Quote:
    level = (DepthLevel(price=price, quantity=1, orders=1),)
    return Quote(
        broker="zerodha", tick=Tick(broker_token="1", last_price=price, buy=level, sell=level), received_at=NOON
    )


class Quotes:
    """What the service holds: servable quotes, and since when others are stale."""

    def __init__(self) -> None:
        self.held: dict[str, Quote] = {}
        self.stale: dict[str, float] = {}

    def servable(self, instrument: Instrument) -> Quote | None:
        return None if instrument.instrument_id in self.stale else self.held.get(instrument.instrument_id)

    def stale_since(self, instrument_id: str) -> float | None:
        return self.stale.get(instrument_id)

    def known(self, instrument_id: str) -> bool:
        return instrument_id in self.held

    def now(self) -> float:
        return NOON


class Server:
    """The boards with what is true, and how it changes."""

    def __init__(self, most_events: int = 5) -> None:
        self.quotes = Quotes()
        self.boards = Boards(
            quotes=QuoteBoard(self.quotes),
            orders=EventBoard("orders", EventLog(most_events)),
            parents=EventBoard("parents", EventLog(most_events)),
            documents=DocumentBoard(lambda: NOON),
            chains=ChainBoard(),
        )
        self.events: dict[str, dict[str, int] | None] = {"orders": {}, "parents": {}}
        """Name -> what is so; None while that is not known."""
        self.documents: dict[str, int] = {}
        self.counter = itertools.count(1)
        for name in self.events:
            self.board(name).replace(self.snapshot_of(name))
        for name in DOCUMENTS:
            self.put_document(name)

    def board(self, name: str) -> EventBoard:
        return self.boards.orders if name == "orders" else self.boards.parents

    def snapshot_of(self, name: str):
        state = self.events[name]
        if state is None:
            return lambda: frames.refusal(name, Refusal(503, "not known"), {"snapshot": True})
        return lambda: frames.message(name, {"snapshot": True, "state": dict(state)})

    def tick(self, share: Instrument, price: float) -> None:
        self.quotes.held[share.instrument_id] = quote(price)
        self.quotes.stale.pop(share.instrument_id, None)
        self.boards.quotes.refresh(share.instrument_id)

    def go_stale(self, share: Instrument) -> None:
        if share.instrument_id in self.quotes.held:
            self.quotes.stale.setdefault(share.instrument_id, NOON + next(self.counter))
        self.boards.quotes.refresh(share.instrument_id)

    def event(self, name: str, key: str, *, gone: bool = False) -> None:
        state = self.events[name]
        if state is None:
            return
        told: dict[str, Any] = {"key": key}
        if gone:
            state.pop(key, None)
        else:
            told["value"] = state[key] = next(self.counter)
        self.board(name).publish([msgspec.json.encode(told)], self.snapshot_of(name))

    def replace(self, name: str, state: dict[str, int] | None) -> None:
        self.events[name] = state
        self.board(name).replace(self.snapshot_of(name))

    def put_document(self, name: str) -> None:
        value = self.documents[name] = next(self.counter)
        self.boards.documents.put(name, lambda: frames.message("document", {"document": name, "data": value}))

    def truth(self, subscriptions: dict[str, Any]) -> dict[str, Any]:
        """What a client with these subscriptions should know."""
        board = self.boards.quotes
        return {
            "quotes": {
                one: msgspec.json.decode(board.element(one, Mode(mode)))
                for one, mode in subscriptions["quotes"].items()
            },
            **{name: self.events[name] if subscriptions[name] else None for name in self.events},
            "documents": {name: self.documents[name] for name in subscriptions["documents"]},
        }
