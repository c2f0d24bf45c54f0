"""What every broker's server does: routes, the login check, refusals, expiry of tokens, open sockets, known orders, books. No broker's words."""

import hashlib
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import time
from functools import cached_property
from typing import ClassVar, Generic, Protocol, TypeVar

import attrs

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, TokenStore
from onebroker.brokers.simulator.dialects.listed import Listed, Named
from onebroker.brokers.simulator.dialects.rest import NoRoute, Refused, Route, answer
from onebroker.brokers.simulator.dialects.tokens import Tokens
from onebroker.brokers.simulator.exchange.accounts import ODD_FACTOR
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import (
    Market,
    SimFill,
    SimHolding,
    SimOrder,
    SimPosition,
    SimRefusal,
)
from onebroker.config.clock import Clock

_Name = TypeVar("_Name", bound=Named)
_Row = TypeVar("_Row")


class HasSocket(Protocol):
    """A socket session that shows its socket."""

    socket: Socket


_Session = TypeVar("_Session", bound=HasSocket)


class OpenSockets(Generic[_Session]):
    """The open sockets of a server. The host keeps a session alive; a session whose client is gone is forgotten."""

    def __init__(self) -> None:
        self._sessions: weakref.WeakSet[_Session] = weakref.WeakSet()

    def keep(self, session: _Session) -> _Session:
        """Remember a session, and return it."""
        self._sessions.add(session)
        return session

    def connected(self) -> int:
        """Return the number of sockets whose client is connected."""
        return sum(not session.socket.gone for session in self._sessions)

    def take_all(self) -> Sequence[_Session]:
        """Return the open sessions and forget them, for a broker that ends its sockets in its own way."""
        sessions = list(self._sessions)
        self._sessions.clear()
        return sessions

    def close_all(self, code: int, reason: str) -> None:
        """Close every socket with a websocket code."""
        for session in self.take_all():
            session.socket.close(code, reason)


def _odd_quantity(position: SimPosition) -> SimPosition:
    return attrs.evolve(
        position,
        overnight_quantity=position.overnight_quantity * ODD_FACTOR,
        day_buy_quantity=position.day_buy_quantity * ODD_FACTOR,
        day_sell_quantity=position.day_sell_quantity * ODD_FACTOR,
    )


def _odd_value(position: SimPosition) -> SimPosition:
    return attrs.evolve(
        position,
        overnight_price=position.overnight_price * ODD_FACTOR,
        day_buy_value=position.day_buy_value * ODD_FACTOR,
        day_sell_value=position.day_sell_value * ODD_FACTOR,
    )


_ODD: Mapping[FaultKind, Callable[[SimPosition], SimPosition]] = {
    FaultKind.ODD_QUANTITY: _odd_quantity,
    FaultKind.ODD_VALUE: _odd_value,
}


def _every(_row: object) -> bool:
    return True


class RestDialect(ABC, Generic[_Name]):
    """One broker's server over one account. A subclass brings the broker's routes, words, login and sockets.

    A subclass narrows the type of `_names` by an annotation of its own, and sets `credentials` and its login desk after `super().__init__`.
    """

    code: str
    token_expiry: ClassVar[time]
    """Indian time of day at which access tokens end."""
    token_length: ClassVar[int]
    """Characters of a minted token."""

    def __init__(self, account: AccountView, names: Listed[_Name], store: TokenStore, clock: Clock, seed: int) -> None:
        self._account, self._names, self._clock, self._seed = account, names, clock, seed
        self._tokens = Tokens(store, clock, f"{self.code}|{seed}", expiry=self.token_expiry, length=self.token_length)

    # the host's side ------------------------------------------------------------------------------------------------

    def handle(self, request: DialectRequest) -> WireResponse:
        try:
            return answer(self._routes, request, self._check)
        except NoRoute as missing:
            return self._no_route(missing.status)
        except Refused as refused:
            return refused.answer
        except SimRefusal as refusal:
            return self._refusal(refusal)

    def expire_session(self) -> None:
        self._tokens.expire_all()
        self._close_sockets()

    # what a subclass brings -----------------------------------------------------------------------------------------

    @abstractmethod
    def _table(self) -> Sequence[Route]:
        """Return the routes. The first match answers, so fixed paths come before paths with a placeholder."""

    @abstractmethod
    def _check(self, request: DialectRequest) -> None:
        """Raise `Refused` for a call without a live login. Routes that are marked open are not checked."""

    @abstractmethod
    def _no_route(self, status: int) -> WireResponse:
        """Answer a call that no route takes; `status` is 404 or 405."""

    @abstractmethod
    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        """Answer with the exchange's refusal in the broker's words, or raise an exception that the subclass answers itself."""

    @abstractmethod
    def _unknown_order(self) -> Exception:
        """Return the refusal of a call that names an order which does not exist: `Refused`, or an exception that the subclass answers itself."""

    @abstractmethod
    def _close_sockets(self) -> None:
        """End every open socket, because the tokens have ended."""

    # what every server looks up -------------------------------------------------------------------------------------

    @cached_property
    def _routes(self) -> Sequence[Route]:
        return self._table()

    def _digest(self, *words: str) -> bytes:
        """Return 32 bytes of this account's own, for its credentials."""
        return hashlib.sha256("|".join((self.code, *words, str(self._seed))).encode()).digest()

    def _name(self, instrument_id: str) -> _Name:
        """Return the broker's name of a contract that an order, a fill or a holding of this account is in."""
        return self._names.by_id[instrument_id]

    def _market(self, name: _Name) -> Market:
        return self._account.market(name.contract.instrument_id)

    def _known(self, order_id: object) -> SimOrder:
        """Return an order in its present state, even if a late book does not show it yet. Raises `_unknown_order`."""
        order = self._account.order(order_id) if isinstance(order_id, str) else None
        if order is None:
            raise self._unknown_order()
        return order

    def _order_book(self, wanted: Callable[[SimOrder], bool] = _every) -> Sequence[SimOrder]:
        """Return today's orders as a whole book shows them, oldest first; those that are `wanted` in this answer."""
        orders = [order for order in self._account.orders() if wanted(order)]
        return self._shown(FaultKind.PARTIAL_ORDERS, orders, [order.new.instrument_id for order in orders])

    def _fills(self, order_id: str | None = None) -> Sequence[SimFill]:
        """Return today's fills, oldest first; of one order if `order_id` names it, else as a whole book shows them."""
        if order_id is not None:
            return [fill for fill in self._account.fills() if fill.order_id == order_id]
        fills = self._account.fills()
        return self._shown(FaultKind.PARTIAL_TRADES, fills, [fill.instrument_id for fill in fills])

    def _position_book(
        self, wanted: Callable[[_Name], bool] = _every
    ) -> Sequence[tuple[SimPosition, _Name, Market]]:  # fmt: skip
        """Return the positions with what their rows need, in the instruments that are `wanted` in this answer. A position in an expired contract is
        settled and no longer shown."""
        names = self._names.by_id
        book = [
            (position, names[position.instrument_id], self._account.market(position.instrument_id))
            for position in self._account.positions()
            if position.instrument_id in names and wanted(names[position.instrument_id])
        ]
        for kind, spoilt in _ODD.items():
            struck = self._account.struck_row(kind, [position.instrument_id for position, _, _ in book])
            if struck is not None:
                book[struck] = (spoilt(book[struck][0]), *book[struck][1:])
        return self._shown(FaultKind.PARTIAL_POSITIONS, book, [position.instrument_id for position, _, _ in book])

    def _holding_book(self) -> Sequence[tuple[SimHolding, _Name, Market]]:
        book = [
            (holding, self._name(holding.instrument_id), self._account.market(holding.instrument_id))
            for holding in self._account.holdings()
        ]
        return self._shown(FaultKind.PARTIAL_HOLDINGS, book, [holding.instrument_id for holding, _, _ in book])

    def _shown(self, kind: FaultKind, rows: Sequence[_Row], instrument_ids: Sequence[str]) -> Sequence[_Row]:
        """Return the rows of one answer, without the row that a fault leaves out. `instrument_ids` are the rows' instruments."""
        missing = self._account.struck_row(kind, instrument_ids)
        return rows if missing is None else [*rows[:missing], *rows[missing + 1 :]]


def stream_base(base: str) -> str:
    """Return the address of sockets at a host: `ws://…` for `http://…`, `wss://…` for `https://…`."""
    return "ws" + base.removeprefix("http")
