"""How clients reach Groww's stream: socket tokens under a live login, and the opening of the stream."""

import hashlib

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.base import OpenSockets
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket
from onebroker.brokers.simulator.dialects.groww.envelope import bad_request, body_of
from onebroker.brokers.simulator.dialects.groww.login import LoginDesk
from onebroker.brokers.simulator.dialects.groww.naming import GrowwNames
from onebroker.brokers.simulator.dialects.groww.nkeys import public_key
from onebroker.brokers.simulator.dialects.groww.socket import NatsSession, Pass
from onebroker.brokers.simulator.dialects.rest import as_json


class SocketDesk:
    """Hands out socket tokens and opens sockets."""

    def __init__(self, account: AccountView, names: GrowwNames, login: LoginDesk, seed: str) -> None:
        self._account, self._names, self._login, self._seed = account, names, login, seed
        self._count = 0
        self._passes: dict[str, Pass] = {}
        self._sockets: OpenSockets[NatsSession] = OpenSockets()

    def token(self, request: DialectRequest) -> WireResponse:
        """Answer the call for a socket token. This answer has no envelope."""
        key = body_of(request).get("socketKey")
        public = public_key(key) if isinstance(key, str) else None
        if public is None:
            raise bad_request("Invalid socketKey.")
        login = self._login.token_of(request)
        jwt = f"eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.{self._next('jwt')}.{self._next('signature')}"
        self._passes[jwt] = Pass(public, self._next("subscription")[:24], login)
        return as_json(200, {"token": jwt, "subscriptionId": self._passes[jwt].subscription_id})

    def open(self, socket: Socket) -> NatsSession:
        """Open a socket for anybody. CONNECT tells later who the client is."""
        nonce = self._next("nonce")[:22]
        return self._sockets.keep(NatsSession(self._account, self._names, socket, nonce, self._pass_of))

    def close_all(self) -> None:
        """End every open socket and every socket token."""
        self._passes.clear()
        for session in self._sockets.take_all():
            session.end("User Authentication Expired")

    def _pass_of(self, jwt: object) -> Pass | None:
        """Return a socket token whose login is still live, or None."""
        found = self._passes.get(jwt) if isinstance(jwt, str) else None
        return found if found is not None and self._login.is_live(found.login) else None

    def _next(self, word: str) -> str:
        self._count += 1
        return hashlib.sha256(f"{self._seed}|{word}|{self._count}".encode()).hexdigest()
