"""Which instruments each broker's feed should carry: what is open, what is held, what was asked for lately. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.mailbox import Address
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.messages import SessionMessage
from onebroker.actors.sessions.view import SessionView
from onebroker.brokers.broker import Broker
from onebroker.brokers.records import Listing, OrderRow
from onebroker.config.vocabulary import is_finished

ASKED_SECONDS = 900.0
"""How long an instrument is watched after it was last read."""


class Session(Protocol):
    """One broker as the quote book reaches it."""

    @property
    def broker(self) -> Broker: ...

    @property
    def address(self) -> Address[SessionMessage]: ...

    @property
    def view(self) -> Published[SessionView]: ...


@attrs.frozen
class Share:
    """What one broker's feed is asked to carry."""

    listings: tuple[Listing, ...]
    instrument_ids: frozenset[str]


def wanted(
    views: Mapping[str, SessionView], asked: Mapping[str, float], id_of: Callable[[str, str], str | None]
) -> dict[str, None]:
    """Return the instruments wanted, the most needed first: with open orders, held, then the latest asked for.

    `asked` is instrument_id -> when it was last read; `id_of(broker, broker_token)` is the catalogue.
    """
    tokens = [
        *((code, row.instrument_token) for code, view in views.items() for row in _open(view)),
        *((code, row.instrument_token) for code, view in views.items() for row in view.positions),
        *((code, row.instrument_token) for code, view in views.items() for row in view.holdings),
    ]
    known = (id_of(code, token) for code, token in tokens)
    ids = dict.fromkeys(instrument_id for instrument_id in known if instrument_id is not None)
    ids.update(dict.fromkeys(sorted(asked, key=lambda instrument_id: (-asked[instrument_id], instrument_id))))
    return ids


def _open(view: SessionView) -> Iterator[OrderRow]:
    return (row for row in view.orders.values() if not is_finished(row.status))


def share(broker: Broker, ids: Iterable[str], instrument: Callable[[str], Instrument | None]) -> Share:
    """Return what a broker's feed carries of `ids`: what it lists, as far as its connections have room."""
    room = broker.feed.sockets * broker.feed.per_socket
    listings: dict[str, Listing] = {}
    for instrument_id in ids:
        if len(listings) == room:
            break
        found = instrument(instrument_id)
        listing = None if found is None else found.listings.get(broker.code)
        if listing is not None:
            listings[instrument_id] = listing
    return Share(tuple(listings.values()), frozenset(listings))
