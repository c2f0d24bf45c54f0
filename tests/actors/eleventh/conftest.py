"""An eleventh broker, made from outside the package: `toy`, which speaks JSON in units and rupees and logs in by itself.

What stands here is all that a broker is: the codecs of docs/adding-a-broker.md, its one value, a dialect, the exchange's line.
"""

from decimal import Decimal
from types import SimpleNamespace
from urllib.parse import urlsplit

import attrs
import msgspec
import polars as pl
import pytest

from onebroker.brokers.broker import Broker, Cadence, Capabilities, Endpoints, Login, LoginKind, Windows
from onebroker.brokers.codec.order_messages import not_refused, refused
from onebroker.brokers.codec.order_rows import Instrument, OrderFields
from onebroker.brokers.codec.refusals import Refusals, by_status
from onebroker.brokers.codec.segments import CASH, offered
from onebroker.brokers.codec.words import Words
from onebroker.brokers.events import CorruptFrame, OrderUpdate, Ticks
from onebroker.brokers.listings.frame import listing_frame
from onebroker.brokers.records import FundsRow, HoldingRow, PositionRow, Tick, TradeRow
from onebroker.brokers.requests import (
    BadAnswer,
    BrokerRefusal,
    CallKind,
    RefusalKind,
    StreamAddress,
    WireRequest,
    WireResponse,
)  # fmt: skip
from onebroker.brokers.simulator.world.broker_traits import BrokerTraits, Limit
from onebroker.brokers.simulator.world.model import NewOrder, SimRefusal
from onebroker.config.vocabulary import OrderStatus, OrderType, Product, Side, Validity

STATUSES = Words(
    "toy",
    OrderStatus,
    read_only={each.value: each for each in OrderStatus}
    | {"TRIGGER_PENDING": OrderStatus.PENDING, "AFTER_MARKET": OrderStatus.PENDING},
)
SIDES = Words("toy", Side, both={each: each.value for each in Side})

# --- the codecs --------------------------------------------------------------------------------------------------------


def call(access, kind, method, path, body=None):
    headers = {"token": access.login.tokens["token"]} if access.login is not None else {}
    data = b"" if body is None else msgspec.json.encode(body)
    return WireRequest(kind=kind, method=method, url=access.endpoints.rest_url + path, headers=headers, body=data)


def read(response):
    refusal = refusal_of(response)
    if refusal is not None:
        raise refusal
    return response.json()


KINDS = Refusals(by_status({401: RefusalKind.SESSION_DEAD, 429: RefusalKind.RATE_LIMITED}))


def refusal_of(response):
    if response.status == 200:
        return None
    message = response.body.decode("utf-8", "replace")
    return BrokerRefusal(KINDS.kind(response.status, None, message), message)


def log_in(access, redirect, now):
    answer = read((yield call(access, CallKind.LOGIN, "POST", "/login", {"key": access.credentials["key"]})))
    return Login(tokens={"token": answer["token"]}, user_id=answer["user"], logged_in_at=now.timestamp(),
                 expires_at=now.timestamp() + 86_400)  # fmt: skip


def reading(path):
    def requests(access, now):
        yield call(access, CallKind.READ, "GET", path)

    return requests


ORDERS = OrderFields(
    order_id="id", status=STATUSES.required_at("status"), transaction_type=SIDES.at("side"), product=lambda row: row["product"],
    order_type=lambda row: row["type"], validity=lambda row: row["validity"], quantity="quantity", filled="filled",
    price="price", trigger_price=lambda row: 0.0, average_price="average", tag="tag",
)  # fmt: skip


def order_row(row):
    return ORDERS.row(row, Instrument(token=row["token"], tradingsymbol=row["token"], exchange="T"))


def place_request(access, ticket, now):
    body = {
        "token": ticket.listing.broker_token, "side": SIDES.say(ticket.transaction_type), "type": ticket.order_type,
        "quantity": ticket.quantity, "price": str(ticket.price or 0), "tag": ticket.token,
    }  # fmt: skip
    return call(access, CallKind.ORDER, "POST", "/orders", body)


def parse_order_answer(response):
    refusal = refusal_of(response)
    if refusal is not None:
        return refused(refusal, response, surely=response.status in (400, 401, 429))
    return not_refused(msgspec.json.decode(response.body)["id"], response)


class Frames:
    def receive(self, frame):
        try:
            said = msgspec.json.decode(frame)
            if "order" in said:
                return [OrderUpdate(order_row(said["order"]))]
            return [Ticks((Tick(broker_token=said["token"], last_price=said["price"]),))]
        except (msgspec.DecodeError, BadAnswer, KeyError, TypeError):
            return [CorruptFrame("not ours")]


def address(access, now):
    yield from ()
    return StreamAddress(url=access.endpoints.stream_url, headers={"token": access.login.tokens["token"]})


def rows(response, make):
    return [make(row) for row in read(response)]


CODECS = {
    "login": SimpleNamespace(
        login_page=lambda access, state="": "", log_in=log_in, renew=lambda access, now: None,
        profile_request=lambda access: call(access, CallKind.READ, "GET", "/me"),
        parse_profile=lambda response, login: read(response),
    ),
    "orders": SimpleNamespace(
        place_request=place_request,
        modify_request=lambda access, change, now: call(
            access, CallKind.ORDER, "PUT", f"/orders/{change.row.order_id}", {"price": str(change.price)}
        ),
        cancel_request=lambda access, row, now: call(access, CallKind.ORDER, "DELETE", f"/orders/{row.order_id}"),
        parse_order_answer=parse_order_answer,
    ),
    "books": SimpleNamespace(
        order_requests=reading("/orders"), trade_requests=reading("/trades"),
        parse_orders=lambda answers, listings: rows(answers[0], order_row),
        parse_trades=lambda answers, listings: rows(answers[0], lambda row: TradeRow(**row)),
    ),
    "portfolio": SimpleNamespace(
        position_requests=reading("/positions"), holding_requests=reading("/holdings"), fund_requests=reading("/funds"),
        parse_positions=lambda answers, listings: rows(answers[0], lambda row: PositionRow(**row)),
        parse_holdings=lambda answers: rows(answers[0], lambda row: HoldingRow(**row)),
        parse_funds=lambda answers: FundsRow(available_balance=read(answers[0])["cash"]),
    ),
    "instruments": SimpleNamespace(
        file_requests=lambda access, now: iter_of(call(attrs.evolve(access, login=None), CallKind.FILE, "GET", "/file")),
        read_files=lambda bodies: listing_frame(pl.DataFrame(msgspec.json.decode(bodies[0]), infer_schema_length=None)),
    ),
    "feed": SimpleNamespace(
        sockets=1, per_socket=100, silence_seconds=None, ping_seconds=None, ready_seconds=None, address=address,
        decoder=lambda access, address, listings: Frames(), opening_messages=lambda access: [],
        subscribe_messages=lambda listings: [msgspec.json.encode({"watch": [one.broker_token for one in listings]})],
        unsubscribe_messages=lambda listings: [msgspec.json.encode({"leave": [one.broker_token for one in listings]})],
        ping_message=lambda: None,
    ),
}  # fmt: skip


def iter_of(request):
    yield request


TOY = Broker(
    code="toy",
    name="Toy",
    login_kind=LoginKind.UNATTENDED,
    credential_keys=frozenset({"key"}),
    endpoints=Endpoints(
        rest_url="https://toy.test", login_url="https://toy.test", stream_url="wss://toy.test/feed",
        order_stream_url="wss://toy.test/feed", instruments_url="https://toy.test/file",
    ),
    capabilities=Capabilities(
        segments=offered({"nse": CASH}), order_types={"equity": frozenset({"MARKET", "LIMIT"})},
        products={"equity": frozenset({"CNC"})}, validities=frozenset({"DAY"}), after_market=False,
        disclosed_quantity=False, modifiable=frozenset({"price"}), asked_by_token=False,
    ),
    order_windows=Windows(second=10),
    call_windows=Windows(),
    cadence=Cadence(orders=1, trades=1, positions=1, funds=1, holdings=30),
    profile_seconds=60.0,
    quotes=None,
    quotes_in_service=False,
    candles=None,
    order_feed=None,
    feed_carries_orders=True,
    **CODECS,
)  # fmt: skip


# --- its server --------------------------------------------------------------------------------------------------------


class ToyDialect:
    code = "toy"

    def __init__(self, account, tokens, clock, seed):
        self.account, self.tokens = account, tokens
        self.credentials = {"key": "open sesame"}
        self.number = 0
        self.live = set()

    def addresses(self, base):
        names = ("rest_url", "login_url", "stream_url", "order_stream_url", "instruments_url")
        return dict.fromkeys(names, base) | {"stream_url": base.replace("http", "ws", 1)}

    def session(self):
        return {"token": self.mint()}

    def mint(self):
        self.number += 1
        self.live.add(token := f"toy-{self.number}")
        return token

    def handle(self, request):
        try:
            return self.work(request)
        except SimRefusal as refusal:
            return WireResponse(status=400, body=str(refusal).encode())
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, ArithmeticError):
            return WireResponse(status=400, body=b"not understood")

    def work(self, request):
        name = (request.method, request.path.split("/")[1])
        if name == ("POST", "login"):
            if msgspec.json.decode(request.body)["key"] != self.credentials["key"]:
                return WireResponse(status=403, body=b"wrong key")
            return self.said({"token": self.mint(), "user": self.account.client_id})
        if name == ("GET", "file"):
            return self.said([self.listing(one) for one in self.account.contracts() if self.trades(one)])
        if request.headers.get("token") not in self.live:
            return WireResponse(status=401, body=b"log in first")
        return self.said(self.answer(name, request))

    def answer(self, name, request):
        account, order_id = self.account, request.path.rpartition("/")[2]
        match name:
            case ("GET", "me"):
                return {"user": account.client_id, "name": account.client_name}
            case ("GET", "orders"):
                return [self.order(one) for one in account.orders()]
            case ("GET", "trades"):
                return [
                    {"trade_id": one.trade_id, "order_id": one.order_id, "transaction_type": one.side, "product": one.product,
                     "instrument_token": one.instrument_id, "tradingsymbol": "", "exchange": "T", "quantity": one.quantity,
                     "price": float(one.price)}
                    for one in account.fills()
                ]  # fmt: skip
            case ("GET", "positions"):
                return [
                    {"position_key": f"{one.instrument_id}{one.product}", "view": "net", "product": one.product,
                     "instrument_token": one.instrument_id, "tradingsymbol": "", "exchange": "T", "quantity": one.quantity}
                    for one in account.positions()
                ]  # fmt: skip
            case ("GET", "holdings"):
                return [
                    {"instrument_token": one.instrument_id, "tradingsymbol": "", "exchange": "T", "isin": None,
                     "settled_quantity": one.total_quantity}
                    for one in account.holdings()
                ]  # fmt: skip
            case ("GET", "funds"):
                return {"cash": float(account.funds().available)}
            case ("POST", "orders"):
                body = msgspec.json.decode(request.body)
                new = NewOrder(
                    instrument_id=body["token"], side=Side(body["side"]), product=Product.CNC,
                    order_type=OrderType(body["type"]), validity=Validity.DAY, quantity=body["quantity"],
                    price=Decimal(body["price"]) or None, tag=body["tag"],
                )  # fmt: skip
                return {"id": account.place(new).order_id}
            case ("PUT", "orders"):
                price = Decimal(msgspec.json.decode(request.body)["price"])
                return {"id": account.modify(order_id, price=price).order_id}
            case ("DELETE", "orders"):
                return {"id": account.cancel(order_id).order_id}
        raise KeyError(name)

    @staticmethod
    def trades(contract):
        return contract.identity.exchange == "nse" and contract.bare in CASH

    @staticmethod
    def listing(contract):
        return {
            "exchange": "nse", "segment": contract.bare, "symbol": contract.identity.symbol, "isin": contract.isin,
            "lot_size": 1, "tick_size": float(contract.tick_size), "contract_units": 1,
            "broker_token": contract.instrument_id, "tradingsymbol": contract.identity.symbol, "broker_exchange": "T",
        }  # fmt: skip

    @staticmethod
    def order(order):
        return {
            "id": order.order_id, "status": str(order.status), "side": order.new.side, "product": order.new.product,
            "type": order.order_type, "validity": order.validity, "token": order.new.instrument_id,
            "quantity": order.quantity, "filled": order.filled_quantity, "pending": order.pending_quantity,
            "price": float(order.price or 0), "average": float(order.average_price), "tag": order.new.tag,
        }  # fmt: skip

    @staticmethod
    def said(body):
        return WireResponse(status=200, headers={"content-type": "application/json"}, body=msgspec.json.encode(body))

    def open_socket(self, request, socket):
        if request.headers.get("token") not in self.live:
            return WireResponse(status=401)
        return ToySocket(self, socket)

    def expire_session(self):
        self.live.clear()

    def refusal_in_200(self):
        return self.said({"refused": True})

    def rate_limited(self):
        return WireResponse(status=429, body=b"slow down")


class ToySocket:
    def __init__(self, dialect, socket):
        self.dialect, self.socket, self.watched = dialect, socket, set()

    def received(self, message):
        said = msgspec.json.decode(message)
        self.watched.update(said.get("watch", ()))
        self.watched.difference_update(said.get("leave", ()))
        self.markets_moved(self.watched)

    def markets_moved(self, instrument_ids):
        for one in self.watched & instrument_ids:
            price = float(self.dialect.account.market(one).last_price)
            self.socket.send(msgspec.json.encode({"token": one, "price": price}).decode())

    def order_changed(self, order, fill):
        self.socket.send(msgspec.json.encode({"order": self.dialect.order(order)}).decode())

    def beat(self):
        pass


TRAITS = BrokerTraits(
    client_id="TOY1",
    client_name="Asha Verma",
    order_number=lambda day, number: f"T{day:%y%m%d}{number:06d}",
    limits=(Limit(1, 10),),
)


@pytest.fixture
def toy():
    """What `Day(further=...)` takes: the broker, its dialect's builder, its traits."""
    assert urlsplit(TOY.endpoints.rest_url).hostname == "toy.test"
    return {"toy": (TOY, ToyDialect, TRAITS)}
