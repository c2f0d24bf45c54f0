"""Documents, instruments and quotes, made again from what the stream says of them. Pure.

A document keeps the bytes that the service sent for each of its members, so a replica answers what the service answers.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.portfolio.assembler import Content, DocumentState, document_body
from onebroker.actors.portfolio.order_book import OrderView
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.portfolio.trade_book import TradeView
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import ReadStatus

_ROWS: Mapping[Resource, type] = {"orders": list[OrderView], "trades": list[TradeView]}
"""The documents whose rows a route filters."""
_NOTHING = Content(pieces=(), rows=(), summary=b"null")
_AFTER_CONTENT = ("brokers", "as_of")


class Age(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the message `ages`."""

    as_of: str
    as_of_epoch: float
    brokers: msgspec.Raw


class _Broker(msgspec.Struct, frozen=True):
    broker: str
    status: ReadStatus


def document(resource: Resource, data: bytes, monotonic: float) -> DocumentState:
    """Return a document from its JSON. Until its age is told, it is as old as its `as_of`, which has whole seconds."""
    members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    as_of = msgspec.json.decode(members["as_of"], type=str)
    pieces = b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in members.items() if name not in _AFTER_CONTENT)
    rows = msgspec.json.decode(members[resource], type=_ROWS[resource]) if resource in _ROWS else ()
    content = Content(pieces=(pieces,), rows=tuple(rows), summary=bytes(members.get("summary", b"null")))
    return _state(resource, content, Age(as_of=as_of, as_of_epoch=_epoch(as_of), brokers=members["brokers"]), monotonic)


def aged(state: DocumentState, age: Age, monotonic: float) -> DocumentState:
    """Return the same document with a newer age."""
    return _state(state.resource, state.content, age, monotonic)


def unusable(resource: Resource, brokers: bytes, as_of_epoch: float, monotonic: float) -> DocumentState:
    """Return a document of which no broker's part is usable: its route answers 502 with `brokers`."""
    age = Age(as_of="", as_of_epoch=as_of_epoch, brokers=msgspec.Raw(brokers))
    return attrs.evolve(_state(resource, _NOTHING, age, monotonic), usable_brokers=False)


def too_old(resource: Resource, brokers: bytes, as_of: str, monotonic: float) -> DocumentState:
    """Return a document that its route refuses because of its age, with `as_of` and `brokers`."""
    age = Age(as_of=as_of, as_of_epoch=_epoch(as_of), brokers=msgspec.Raw(brokers))
    return attrs.evolve(_state(resource, _NOTHING, age, monotonic), usable_brokers=False)


def _epoch(as_of: str) -> float:
    return datetime.strptime(as_of, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=IST).timestamp()


def _state(resource: Resource, content: Content, age: Age, monotonic: float) -> DocumentState:
    brokers = bytes(age.brokers)
    reads = msgspec.json.decode(brokers, type=list[_Broker])
    return DocumentState(
        resource=resource,
        body=document_body(content, brokers, age.as_of),
        as_of=age.as_of,
        as_of_epoch=age.as_of_epoch,
        published_monotonic=monotonic,
        brokers=brokers,
        reads=tuple(BrokerRead(broker=read.broker, status=read.status, slice=None) for read in reads),
        usable_brokers=True,
        content=content,
        build_seconds=0.0,
        gap_seconds=None,
    )


def instrument(shown: Mapping[str, Any]) -> Instrument:
    """Return the instrument of a quote, with what the quote says of it."""
    identity = Identity(
        exchange=shown["exchange"],
        segment=shown["segment"],
        shape=Shape(shown["shape"]),
        symbol=shown["symbol"],
        underlying_symbol=shown["underlying_symbol"],
        expiry_date=shown["expiry_date"],
        strike_price=shown["strike_price"],
        option_type=shown["option_type"],
    )
    return Instrument(
        instrument_id=shown["instrument_id"],
        identity=identity,
        name=None,
        isin=None,
        lot_size=shown.get("lot_size"),
        tick_size=None,
        freeze_quantity=None,
        listings={},
    )


def quote(shown: Mapping[str, Any]) -> Quote | None:
    """Return the quote of a whole quote document (mode `depth`); None if it has no figures, because it may not be served."""
    if "last_price" not in shown:
        return None
    day, depth = shown["ohlc"], shown["depth"]
    tick = Tick(
        broker_token=shown["broker_token"],
        last_price=shown["last_price"],
        average_price=shown["average_price"],
        open=day["open"],
        high=day["high"],
        low=day["low"],
        previous_close=shown["previous_close"],
        last_quantity=shown["last_quantity"],
        volume=shown["volume"],
        buy_quantity=shown["buy_quantity"],
        sell_quantity=shown["sell_quantity"],
        oi=shown["oi"],
        oi_day_high=shown["oi_day_high"],
        oi_day_low=shown["oi_day_low"],
        buy=_levels(depth["buy"]),
        sell=_levels(depth["sell"]),
        last_trade_time=shown["last_trade_time"],
        exchange_time=shown["exchange_time"],
    )
    return Quote(broker=shown["broker"], tick=tick, received_at=shown["received_at"], stale_since=shown["stale_since"])


def _levels(levels: list[Mapping[str, Any]]) -> tuple[DepthLevel, ...]:
    return tuple(DepthLevel(level["price"], level["quantity"], level["orders"]) for level in levels)
