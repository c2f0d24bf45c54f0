"""The seam between the simulator's host and a broker's dialect server.

A dialect is synchronous and does no I/O. The host (HTTP server, or the tests' in-process transport) hands it whole requests and whole socket
messages, and carries back its answers. Some faults of the control API can strike any broker: latency, cut connections, 500s, garbage, stalled or
corrupt streams. The host makes those. The dialect makes the faults that need its broker's words (`refusal_in_200`, `expire_session`).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import Protocol

import attrs

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.exchange.risk import Blocked
from onebroker.brokers.simulator.world.model import (
    Contract,
    Market,
    NewOrder,
    SimFill,
    SimFunds,
    SimHolding,
    SimOrder,
    SimPosition,
)
from onebroker.config.clock import Clock


@attrs.frozen(kw_only=True)
class DialectRequest:
    """One HTTP request or socket handshake as it reached the dialect's port."""

    method: str
    base: str
    """Scheme, host and port through which the client came, such as `http://127.0.0.1:9001` (for redirects)."""
    path: str
    query: Sequence[tuple[str, str]]
    """Decoded, in order; repeated names are kept."""
    headers: Mapping[str, str]
    """Lower-case names."""
    body: bytes
    source: str = ""
    """The source address of the client's connection; "" in-process."""

    def first(self, name: str) -> str | None:
        """Return the first value of a query parameter."""
        return next((value for key, value in self.query if key == name), None)


class Socket(Protocol):
    """The host's end of one open socket."""

    @property
    def gone(self) -> bool:
        """Whether the socket takes no more messages, because it is closed or the client is gone."""

    def send(self, frame: bytes | str) -> None:
        """Queue one message. Never blocks: a client that does not read is cut off."""

    def close(self, code: int, reason: str) -> None: ...


class SocketSession(Protocol):
    """The dialect's end of one open socket. Only the host calls it, one call at a time."""

    def received(self, message: bytes | str) -> None: ...

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Handle changed markets of these instruments. Called about twice a second, and at once after POST /price."""

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Handle a change to an order of this dialect's account."""

    def beat(self) -> None:
        """Called every second, for heartbeats."""


class AccountView(Protocol):
    """What a dialect may see and do: one broker's account at the exchange. Every change is on disk when a call returns."""

    code: str
    client_id: str
    client_name: str

    def contracts(self) -> Sequence[Contract]:
        """Return today's listed contracts of this broker, in a fixed order."""

    def contract(self, instrument_id: str) -> Contract | None: ...

    def market(self, instrument_id: str) -> Market: ...

    def candles(
        self, instrument_id: str, interval: str, first: date, last: date
    ) -> Sequence[tuple[float, float, float, float, float, int, int]]:
        """Return rows of (epoch start, open, high, low, close, volume, oi), oldest first; interval as rules 1.4.8."""

    def place(self, new: NewOrder) -> SimOrder:
        """Take an order, and match it at once as far as the book allows. Raises SimRefusal. An order that the risk check accepts but the exchange
        refuses comes back REJECTED, with an order id."""

    def modify(self, order_id: str, **changes: object) -> SimOrder:
        """Change quantity, price, trigger_price, order_type, validity, disclosed_quantity; raises SimRefusal."""

    def cancel(self, order_id: str) -> SimOrder: ...

    def order(self, order_id: str) -> SimOrder | None:
        """Return the present state of one of today's orders, for a message about it. Never late, because no book is read (`FaultKind.LATE_BOOK`)."""

    def tagged(self, tag: str) -> Sequence[SimOrder]:
        """Return the present state of today's orders with a tag. Never late, because no book is read (`FaultKind.LATE_BOOK`)."""

    def orders(self) -> Sequence[SimOrder]:
        """Return today's orders, oldest first."""

    def order_history(self, order_id: str) -> Sequence[SimOrder]:
        """Return the states that one order went through, oldest first."""

    def fills(self) -> Sequence[SimFill]: ...

    def positions(self) -> Sequence[SimPosition]: ...

    def holdings(self) -> Sequence[SimHolding]: ...

    def unlisted(self) -> Collection[str | None]:
        """Return the instruments that are missing in the broker's instrument files."""

    def struck_row(self, kind: FaultKind, instrument_ids: Sequence[str]) -> int | None:
        """Return the place of the row that a fault strikes in an answer with rows of these instruments, and count the answer; None = no row."""

    def funds(self) -> SimFunds: ...

    def margin(self, new: NewOrder) -> Blocked:
        """Return what an order would block if it were the account's only one, in rupees. Raises SimRefusal as `place` does."""


class TokenStore(Protocol):
    """Small durable values of a dialect (its minted tokens), so that a restarted simulator still knows them."""

    def get(self, name: str) -> str | None: ...

    def set(self, name: str, value: str) -> None: ...


@attrs.frozen(kw_only=True)
class Averages:
    """Where a broker's rows have average prices: `fields` of rows that have one of `products`, the fields that name a product (docs/brokers/, the rows of
    orders and of positions). A dialect that says nothing has none."""

    products: tuple[str, ...]
    fields: tuple[str, ...]


class Dialect(Protocol):
    """One broker's server."""

    code: str
    credentials: Mapping[str, str]
    """Keys of onebroker.toml that this account accepts, with their values."""

    def addresses(self, base: str) -> Mapping[str, str]:
        """Return `rest_url, login_url, stream_url, order_stream_url, instruments_url` and second hosts, for a host reached at
        `base` (architecture 6)."""

    def session(self) -> Mapping[str, str]:
        """Return tokens already minted and an unused one-time code, under the names that the broker's login answer uses."""

    def handle(self, request: DialectRequest) -> WireResponse: ...

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Accept a handshake, or answer it with a refusal or redirect."""

    def expire_session(self) -> None:
        """End every minted token, as at the broker's nightly expiry."""

    def refusal_in_200(self) -> WireResponse:
        """Return a refusal in this broker's form, carried in an HTTP 200."""

    def rate_limited(self) -> WireResponse:
        """Return the broker's answer to too many calls."""


DialectFactory = Callable[[AccountView, TokenStore, Clock, int], Dialect]
"""(account, tokens, clock, seed) -> dialect. Each dialects/<code> offers a builder named `build`."""
