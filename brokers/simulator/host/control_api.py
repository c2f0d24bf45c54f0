"""The control API: move a market, switch faults on and off, act as a person, read the ledger, choose an instrument (architecture 6).

`GET` of the address lists the requests, the kinds of faults and the verbs of a person (`control_words.py`). Loopback only; bad input is a 400 with
`error`.

Every path begins with a random part, which is printed with the address. A body must be `application/json`. A web page in a browser on this machine
can find the port by trying. The page must neither move the market nor read the ledger.
"""

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import TypeVar

import attrs
import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.exchange.exchange import DEFAULT_HOLD_SECONDS
from onebroker.brokers.simulator.exchange.faults import ALL_BROKERS, OF_ONE_INSTRUMENT, FaultKind
from onebroker.brokers.simulator.exchange.person import Person
from onebroker.brokers.simulator.host.control_words import PERSON_VERBS, control_words
from onebroker.brokers.simulator.host.gateway import Answer, Outbox
from onebroker.brokers.simulator.host.simulation import Simulator
from onebroker.brokers.simulator.world.model import Contract, NewOrder, SimFunds, SimOrder, SimPosition, SimRefusal
from onebroker.config.instruments import SEGMENT_SHAPES, Shape, bare_segment, identity_from_fields, prefixed_segment
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

LOOPBACK = "127.0.0.1"
DEFAULT_LISTED = 50
V = TypeVar("V")
_encoder = msgspec.json.Encoder(decimal_format="number")


class BadInput(Exception):
    """The request cannot be carried out; the text says why."""


class _Price(msgspec.Struct, forbid_unknown_fields=True):
    instrument: str | dict[str, str | float | None]
    last_price: Decimal
    hold_seconds: float = DEFAULT_HOLD_SECONDS


class _Fill(msgspec.Struct, forbid_unknown_fields=True):
    broker: str
    order_id: str
    quantity: int


class _EmptySide(msgspec.Struct, forbid_unknown_fields=True):
    instrument: str | dict[str, str | float | None]
    side: Side
    seconds: float = DEFAULT_HOLD_SECONDS
    at_circuit: bool = False


class _Bonus(msgspec.Struct, forbid_unknown_fields=True):
    instrument: str | dict[str, str | float | None]
    had: int
    has: int


class _MoveExpiry(msgspec.Struct, forbid_unknown_fields=True):
    exchange: str
    underlying: str
    old: date
    new: date


class _SquareOff(msgspec.Struct, forbid_unknown_fields=True):
    broker: str
    at: time | None


class _Annul(msgspec.Struct, forbid_unknown_fields=True):
    broker: str
    trade_id: str


class _Available(msgspec.Struct, forbid_unknown_fields=True):
    broker: str
    available: Decimal


class _Fault(msgspec.Struct, forbid_unknown_fields=True):
    broker: str
    kind: str
    seconds: float | None = None
    count: int | None = None
    delay_seconds: float | None = None
    instrument: str | dict[str, str | float | None] | None = None
    order_type: OrderType | None = None


class _Person(msgspec.Struct, forbid_unknown_fields=True):
    broker: str
    verb: str
    order_id: str | None = None
    instrument: str | dict[str, str | float | None] | None = None
    product: Product | None = None
    to_product: Product | None = None
    side: Side | None = None
    order_type: OrderType | None = None
    quantity: int | None = None
    price: Decimal | None = None
    trigger_price: Decimal | None = None


class _Heal(msgspec.Struct, forbid_unknown_fields=True):
    broker: str | None = None
    kind: str | None = None
    instrument: str | dict[str, str | float | None] | None = None


class Control:
    """A `Site` (server.py) over a simulator."""

    refusing = False

    def __init__(self, simulator: Simulator, prefix: str) -> None:
        """`prefix` begins every path, such as `/6fQ…`."""
        self._simulator = simulator
        self._prefix = prefix
        self._routes: Mapping[tuple[str, str], Callable[[DialectRequest], object]] = {
            ("POST", "/price"): self._price,
            ("POST", "/fill"): self._fill,
            ("POST", "/bonus"): self._bonus,
            ("POST", "/move-expiry"): self._move_expiry,
            ("POST", "/funds"): self._set_funds,
            ("POST", "/empty-side"): self._empty_side,
            ("POST", "/square-off"): self._square_off,
            ("POST", "/annul"): self._annul,
            ("POST", "/fault"): self._fault,
            ("POST", "/heal"): self._heal,
            ("POST", "/person"): self._person,
            ("GET", ""): self._listed,
            ("GET", "/"): self._listed,
            ("GET", "/ledger"): self._ledger,
            ("GET", "/calls"): self._calls,
            ("GET", "/instruments"): self._instruments,
        }

    def refuse_once(self) -> bool:
        return False

    async def handle(self, request: DialectRequest) -> Answer:
        if refused := _refused_page(request):
            return _answer(*refused)
        known = f"{request.path}/".startswith(f"{self._prefix}/")
        route = self._routes.get((request.method, request.path.removeprefix(self._prefix))) if known else None
        if route is None:
            return _answer(
                404, {"error": f"there is no {request.method} of this path; it begins with that of the control address"}
            )
        try:
            return _answer(200, route(request))
        except (BadInput, msgspec.DecodeError) as error:
            return _answer(400, {"error": str(error)})

    def answer_lost(self, answer: Answer) -> None:
        """Nothing to record: control answers no order messages."""

    def open_socket(self, request: DialectRequest) -> WireResponse:
        return _json(404, {"error": "there are no sockets here"})

    def received(self, outbox: Outbox, message: bytes | str) -> None:
        """Never called: no socket opens."""

    def closed(self, outbox: Outbox) -> None:
        """Never called: no socket opens."""

    def _price(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_Price)
        contract = self._find(wanted.instrument)
        if not 0 <= wanted.hold_seconds < float("inf"):
            raise BadInput("hold_seconds must be a number of at least 0")
        try:
            self._simulator.set_price(contract.instrument_id, wanted.last_price, wanted.hold_seconds)
        except ValueError as error:
            raise BadInput(str(error)) from error
        return {"instrument_id": contract.instrument_id, "last_price": wanted.last_price}

    def _fill(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_Fill)
        self._one_broker(wanted.broker)
        try:
            self._simulator.exchange.fill(wanted.broker, wanted.order_id, wanted.quantity)
        except ValueError as error:
            raise BadInput(str(error)) from error
        return {"broker": wanted.broker, "order_id": wanted.order_id, "quantity": wanted.quantity}

    def _set_funds(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_Available)
        self._one_broker(wanted.broker)
        self._simulator.exchange.set_available(wanted.broker, wanted.available)
        return {"broker": wanted.broker, "available": wanted.available}

    def _empty_side(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_EmptySide)
        contract = self._find(wanted.instrument)
        if not 0 < wanted.seconds < float("inf"):
            raise BadInput("seconds must be above zero")
        self._simulator.empty_side(contract.instrument_id, wanted.side, wanted.seconds, at_circuit=wanted.at_circuit)
        return {"instrument_id": contract.instrument_id, "side": wanted.side}

    def _bonus(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_Bonus)
        contract = self._find(wanted.instrument)
        try:
            action = self._simulator.exchange.bonus(contract.instrument_id, wanted.had, wanted.has)
        except ValueError as error:
            raise BadInput(str(error)) from error
        return {"instrument_id": contract.instrument_id, "ex_date": action.ex_date}

    def _move_expiry(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_MoveExpiry)
        try:
            names = self._simulator.exchange.move_expiry(wanted.exchange, wanted.underlying, wanted.old, wanted.new)
        except ValueError as error:
            raise BadInput(str(error)) from error
        return {"renamed": names}

    def _square_off(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_SquareOff)
        self._one_broker(wanted.broker)
        self._simulator.exchange.hands.square_off_at(wanted.broker, wanted.at)
        return {"broker": wanted.broker, "at": wanted.at}

    def _annul(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_Annul)
        self._one_broker(wanted.broker)
        try:
            self._simulator.exchange.hands.annul(wanted.broker, wanted.trade_id)
        except ValueError as error:
            raise BadInput(str(error)) from error
        return {"broker": wanted.broker, "trade_id": wanted.trade_id}

    def _find(self, named: str | dict[str, str | float | None]) -> Contract:
        if isinstance(named, str):
            instrument_id = named
        else:
            bare = bare_segment(str(named.get("segment")))
            if bare not in SEGMENT_SHAPES:
                raise BadInput("give instrument_id, or exchange, segment and the identity fields")
            segment = prefixed_segment(str(named.get("exchange")), bare)
            fields = {
                key: value.upper() if "symbol" in key and isinstance(value, str) else value
                for key, value in named.items()
            }
            fields |= {"exchange": str(named.get("exchange")), "segment": segment, "shape": SEGMENT_SHAPES[bare].value}
            try:
                instrument_id = identity_from_fields(fields).instrument_id
            except (KeyError, TypeError, ValueError) as error:
                raise BadInput("give instrument_id, or exchange, segment and the identity fields") from error
        contract = self._simulator.exchange.contract(instrument_id)
        if contract is None:
            raise BadInput("the instrument is not listed")
        return contract

    def _fault(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_Fault)
        self._known_broker(wanted.broker)
        kind = _kind(wanted.kind)
        for name in ("seconds", "count", "delay_seconds"):
            value = getattr(wanted, name)
            ahead = name == "delay_seconds" and kind is FaultKind.WRONG_DATE
            if value is not None and value <= 0 and not ahead:
                raise BadInput(f"{name} must be above zero")
        concerned = None if wanted.instrument is None else self._find(wanted.instrument).instrument_id
        if concerned is not None and kind not in OF_ONE_INSTRUMENT:
            raise BadInput(f"{kind} strikes more than the orders or rows of one instrument")
        if wanted.order_type is not None and kind is not FaultKind.REJECT_ORDERS:
            raise BadInput(f"{kind} strikes more than new orders of one type")
        self._simulator.fault(
            wanted.broker,
            kind,
            seconds=wanted.seconds,
            count=wanted.count,
            delay_seconds=wanted.delay_seconds,
            instrument_id=concerned,
            order_type=wanted.order_type,
        )
        return {"broker": wanted.broker, "kind": kind}

    def _heal(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body or b"{}", type=_Heal)
        kind = None if wanted.kind is None else _kind(wanted.kind)
        if wanted.broker is not None:
            self._known_broker(wanted.broker)
        concerned = None if wanted.instrument is None else self._find(wanted.instrument).instrument_id
        return {"healed": self._simulator.faults.heal(wanted.broker, kind, concerned)}

    def _person(self, request: DialectRequest) -> object:
        wanted = msgspec.json.decode(request.body, type=_Person)
        self._one_broker(wanted.broker)
        act = self._acts.get(wanted.verb)
        if act is None:
            raise BadInput(f"there is no verb {wanted.verb}; the verbs are {', '.join(PERSON_VERBS)}")
        try:
            order = act(wanted)
        except SimRefusal as refusal:
            raise BadInput(refusal.message) from refusal
        return {"broker": wanted.broker, "verb": wanted.verb, "order": None if order is None else _order(order)}

    @property
    def _acts(self) -> Mapping[str, Callable[[_Person], SimOrder | None]]:
        return {
            "place": self._placed,
            "modify": lambda wanted: self._hand.modify(
                wanted.broker, _given(wanted.order_id, "order_id"), quantity=wanted.quantity, price=wanted.price,
                trigger_price=wanted.trigger_price,
            ),
            "cancel": lambda wanted: self._hand.cancel(wanted.broker, _given(wanted.order_id, "order_id")),
            "reduce": lambda wanted: self._hand.reduce(*self._position_of(wanted), wanted.quantity),
            "convert": self._converted,
        }  # fmt: skip

    @property
    def _hand(self) -> Person:
        return self._simulator.exchange.person

    def _placed(self, wanted: _Person) -> SimOrder:
        broker, instrument_id, product = self._position_of(wanted)
        return self._hand.place(
            broker,
            NewOrder(
                instrument_id=instrument_id, product=product, side=_given(wanted.side, "side"),
                order_type=wanted.order_type or (OrderType.MARKET if wanted.price is None else OrderType.LIMIT),
                validity=Validity.DAY, quantity=_given(wanted.quantity, "quantity"), price=wanted.price,
                trigger_price=wanted.trigger_price,
            ),
        )  # fmt: skip

    def _converted(self, wanted: _Person) -> None:
        to_product = _given(wanted.to_product, "to_product")
        self._hand.convert(*self._position_of(wanted), to_product, wanted.quantity)

    def _position_of(self, wanted: _Person) -> tuple[str, str, Product]:
        if wanted.instrument is None:
            raise BadInput("give instrument")
        contract = self._find(wanted.instrument)
        return wanted.broker, contract.instrument_id, _given(wanted.product, "product")

    def _listed(self, _request: DialectRequest) -> object:
        return control_words()

    def _one_broker(self, broker: str) -> None:
        if broker not in self._simulator.gateways:
            raise BadInput(f"no broker {broker} is simulated")

    def _known_broker(self, broker: str) -> None:
        if broker != ALL_BROKERS:
            self._one_broker(broker)

    def _ledger(self, request: DialectRequest) -> object:
        return ledger_document(self._simulator, _number(request, "since", 0))

    def _calls(self, _request: DialectRequest) -> object:
        """Return when each broker was called: `calls` and the `orders` among them in monotonic seconds, and the number of refused calls."""
        limits = {code: gateway.limits for code, gateway in self._simulator.gateways.items()}
        return {
            code: {
                "calls": list(broker_limits.calls),
                "orders": list(broker_limits.orders),
                "refused": broker_limits.refused,
            }
            for code, broker_limits in limits.items()
        }

    def _instruments(self, request: DialectRequest) -> object:
        shape = request.first("shape")
        if shape is not None and shape not in tuple(Shape):
            raise BadInput("shape must be one of security, future, option")
        limit = _number(request, "limit", DEFAULT_LISTED)
        listed = [
            contract for contract in self._simulator.exchange.contracts() if shape in (None, contract.identity.shape)
        ]
        return [self._shown(contract) for contract in listed[:limit]]

    def _shown(self, contract: Contract) -> dict[str, object]:
        exchange = self._simulator.exchange
        market = exchange.market(contract.instrument_id)
        return {
            **contract.identity.fields(),
            "name": contract.name,
            "isin": contract.isin,
            "lot_size": contract.lot_size,
            "tick_size": contract.tick_size,
            "freeze_quantity": contract.freeze_quantity,
            "last_price": exchange.last_price(contract),
            "lower_circuit": market.lower_circuit,
            "upper_circuit": market.upper_circuit,
            "brokers": [code for code in exchange.brokers if exchange.account(code).traits.lists(contract)],
        }


def _kind(word: str) -> FaultKind:
    if word not in tuple(FaultKind):
        raise BadInput(f"there is no fault {word}; the kinds are {', '.join(FaultKind)}")
    return FaultKind(word)


def _given(value: V | None, name: str) -> V:
    if value is None:
        raise BadInput(f"give {name}")
    return value


def _refused_page(request: DialectRequest) -> tuple[int, dict[str, str]] | None:
    """Return status and answer for a request that may come from a web page; None for any other request."""
    if request.headers.get("host", LOOPBACK).partition(":")[0] != LOOPBACK:
        return 421, {"error": f"the control address is one of {LOOPBACK}"}
    if "origin" in request.headers:
        return 403, {"error": "web pages control nothing here"}
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind != "application/json":
        return 415, {"error": "the body must be application/json"}
    return None


def ledger_document(simulator: Simulator, since: int) -> dict[str, object]:
    """Return the exchange's own truth. Messages are those numbered `since` and later; everything else is complete."""
    exchange = simulator.exchange
    accounts = [exchange.account(code) for code in exchange.brokers]
    return {
        "next": exchange.ledger.next,
        "messages": exchange.ledger.messages(since),
        "orders": [_order(order) for order in exchange.all_orders()],
        "fills": exchange.ledger.fills(),
        "acts": exchange.ledger.acts(),
        "positions": {
            account.code: [_position(position) for position in account.held_positions()] for account in accounts
        },
        "holdings": {account.code: account.holdings() for account in accounts},
        "funds": {account.code: _funds(account.true_funds()) for account in accounts},
    }


def _order(order: SimOrder) -> dict[str, object]:
    return {
        "broker": order.broker,
        "order_id": order.order_id,
        "exchange_order_id": order.exchange_order_id,
        "tag": order.new.tag,
        "instrument_id": order.new.instrument_id,
        "side": order.new.side,
        "product": order.new.product,
        "order_type": order.order_type,
        "validity": order.validity,
        "status": order.status,
        "status_message": order.status_message,
        "quantity": order.quantity,
        "filled_quantity": order.filled_quantity,
        "pending_quantity": order.pending_quantity,
        "average_price": order.average_price,
        "price": order.price,
        "trigger_price": order.trigger_price,
        "after_market": order.new.after_market,
        "modifications": order.modifications,
        "placed_at": order.placed_at,
        "updated_at": order.updated_at,
    }


def _position(position: SimPosition) -> dict[str, object]:
    return {**attrs.asdict(position), "quantity": position.quantity}


def _funds(funds: SimFunds) -> dict[str, object]:
    return {**attrs.asdict(funds), "used": funds.used, "available": funds.available}


def _number(request: DialectRequest, name: str, default: int) -> int:
    text = request.first(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit():
        raise BadInput(f"{name} must be a whole number of at least 0")
    return int(text)


def _json(status: int, document: object) -> WireResponse:
    return WireResponse(status=status, headers={"content-type": "application/json"}, body=_encoder.encode(document))


def _answer(status: int, document: object) -> Answer:
    return Answer(_json(status, document))
