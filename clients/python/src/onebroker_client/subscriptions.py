"""What a client may say on `/stream`. Made by generate.py from the service's documents; do not change it by hand."""

from __future__ import annotations

from msgspec import Struct

from onebroker_client import requests
from onebroker_client.values import Number
from onebroker_client.words import Channel, Document, Mode


class ResumeStream(Struct, kw_only=True, omit_defaults=True):
    """Continue a stream after a lost connection, before any subscription, within 60 s."""

    id: str | Number | None = None
    """Comes back in the answer."""
    resume: int
    """`seq` of the last message received."""
    stream: str
    """The id of `started`."""


class ShowToken(Struct, kw_only=True, omit_defaults=True, rename={"access_token": "access-token"}):
    """The first message of a client that cannot set the header `access-token`, within 5 s."""

    id: str | Number | None = None
    """Comes back in the answer."""
    access_token: str
    resume: int | None = None
    """`seq` of the last message received, to continue a stream."""
    stream: str | None = None


class SubscribeChain(Struct, kw_only=True, omit_defaults=True, tag_field="subscribe", tag="chain"):
    """An option chain: whole, then its changes."""

    id: str | Number | None = None
    """Comes back in the answer."""
    underlying_symbol: str
    exchange: str
    expiry_date: str
    """YYYY-MM-DD."""
    segment: str | None = None
    """Needed where two segments have options of this underlying and expiry."""
    strikes: int | None = None
    """The most strikes, those nearest to the money. Left out: 20."""


class SubscribeDocuments(Struct, kw_only=True, omit_defaults=True, tag_field="subscribe", tag="documents"):
    """Whole documents."""

    id: str | Number | None = None
    """Comes back in the answer."""
    documents: list[Document]
    ages: bool | None = None
    """Whether the ages of the client's documents are sent too, once a second. Left out: no."""


class SubscribeEvents(Struct, kw_only=True, omit_defaults=True):
    """The order book or the unfinished parents, then their events."""

    id: str | Number | None = None
    """Comes back in the answer."""
    subscribe: Channel


class SubscribeQuotes(Struct, kw_only=True, omit_defaults=True, tag_field="subscribe", tag="quotes"):
    """Quotes of instruments. A second subscription of an instrument sets the new mode."""

    id: str | Number | None = None
    """Comes back in the answer."""
    mode: Mode
    instruments: list[requests.InstrumentNamed]


class UnsubscribeChain(Struct, kw_only=True, omit_defaults=True, tag_field="unsubscribe", tag="chain"):
    """End a chain, named as in its subscription. Without the fields: all chains."""

    id: str | Number | None = None
    """Comes back in the answer."""
    underlying_symbol: str | None = None
    exchange: str | None = None
    expiry_date: str | None = None
    segment: str | None = None
    strikes: int | None = None


class UnsubscribeDocuments(Struct, kw_only=True, omit_defaults=True, tag_field="unsubscribe", tag="documents"):
    id: str | Number | None = None
    """Comes back in the answer."""
    documents: list[Document] | None = None
    """Left out: all."""


class UnsubscribeEvents(Struct, kw_only=True, omit_defaults=True):
    id: str | Number | None = None
    """Comes back in the answer."""
    unsubscribe: Channel


class UnsubscribeQuotes(Struct, kw_only=True, omit_defaults=True, tag_field="unsubscribe", tag="quotes"):
    id: str | Number | None = None
    """Comes back in the answer."""
    instruments: list[requests.InstrumentNamed] | None = None
    """Left out: all."""
