"""What brokers ask of orders since April 2026: which algo an order is of, and the address that it comes from."""

from collections import defaultdict
from datetime import datetime
from functools import partial

import attrs
import msgspec
import pytest
import trio

from onebroker.brokers.broker import Access, Endpoints, Login
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, WireRequest
from onebroker.brokers.simulator.host.lookup import chosen_dialects
from onebroker.brokers.simulator.host.run import SimulatorOptions, run_simulator
from onebroker.brokers.transport.egress import Egress
from onebroker.brokers.transport.network import open_transport
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.vocabulary import Outcome
from tests.support.order_ticket import limit_order
from tests.support.patience import PATIENCE_SECONDS

NOW = datetime(2026, 11, 23, 10, tzinfo=IST)
REGISTRY = build_registry()
TAKE_ONE = [code for code, broker in REGISTRY.items() if broker.algo_field is not None]
SHARES = {
    "zerodha": Listing(broker_token="408065", tradingsymbol="INFY", exchange="NSE"),
    "upstox": Listing(broker_token="NSE_EQ|INE009A01021", tradingsymbol="INFY", exchange="NSE_EQ"),
    "fivepaisa": Listing(broker_token="N:C:1594", tradingsymbol="INFY", exchange="N:C"),
    "shoonya": Listing(broker_token="NSE|1594", tradingsymbol="INFY-EQ", exchange="NSE"),
}
ROW = OrderRow(
    order_id="231019025057849", status="OPEN", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
    instrument_token="408065", tradingsymbol="INFY", exchange="NSE", quantity=5, price=1573.1, exchange_order_id="1202",
)  # fmt: skip


def access_to(code, algo_id):
    broker = REGISTRY[code]
    tokens = defaultdict(lambda: "t")
    return Access(
        endpoints=broker.endpoints, credentials=dict.fromkeys(broker.all_credential_keys, "x"), algo_id=algo_id,
        login=Login(tokens=tokens, user_id="U1", logged_in_at=0.0, expires_at=9e9),
    )  # fmt: skip


def placed(code, algo_id):
    return REGISTRY[code].orders.place_request(access_to(code, algo_id), limit_order(SHARES[code], token="ob1"), NOW)


def everything(request):
    return f"{request.url} {dict(request.headers)} {request.body.decode()}"


def test_the_brokers_whose_documents_name_a_field_take_an_algo_id():
    assert sorted(TAKE_ONE) == sorted(SHARES) == ["fivepaisa", "shoonya", "upstox", "zerodha"]


@pytest.mark.parametrize("code", TAKE_ONE)
def test_an_order_carries_the_algo_id_of_the_settings_and_none_without_it(code):
    field = REGISTRY[code].algo_field.name
    assert "70017001" in everything(placed(code, "70017001"))
    assert field in everything(placed(code, "70017001"))
    if code == "fivepaisa":  # a number that is 0 for those without one
        assert msgspec.json.decode(placed(code, None).body)["body"][field] == 0
    else:
        assert field not in everything(placed(code, None))


def test_upstox_is_told_the_name_with_changes_and_cancels_too():
    cancel = partial(REGISTRY["upstox"].orders.cancel_request, row=ROW, now=NOW)
    assert cancel(access_to("upstox", "My algo")).headers["X-Algo-Name"] == "My algo"
    assert "X-Algo-Name" not in cancel(access_to("upstox", None)).headers


async def test_the_simulated_broker_sees_the_algo_and_the_address_of_an_order(nursery):
    said = []
    options = SimulatorOptions(
        dialects=chosen_dialects(("upstox",)), calendar=always_open(), clock=Clock(), instruments=100
    )
    with trio.fail_after(PATIENCE_SECONDS):
        await nursery.start(partial(run_simulator, options, announce=said.append))
        line, control = said[0], said[-1]["control_url"]
        main = {
            name: line[name] for name in ("rest_url", "login_url", "stream_url", "order_stream_url", "instruments_url")
        }
        broker = REGISTRY["upstox"]
        access = attrs.evolve(
            access_to("upstox", "My algo"),
            endpoints=Endpoints(**main, others={"order_url": line["order_url"]}),
            login=Login(tokens=line["session"], user_id="U1", logged_in_at=0.0, expires_at=9e9),
        )
        async with open_transport(Clock(), egress=Egress(source_address="127.0.0.2")) as transport:
            (wanted,) = broker.instruments.file_requests(access, NOW)
            frame = broker.instruments.read_files([(await transport.send(wanted, PATIENCE_SECONDS)).body])
            row = frame.filter((frame["segment"] == "equities") & (frame["broker_exchange"] == "NSE_EQ")).row(
                0, named=True
            )
            share = Listing(broker_token=row["broker_token"], tradingsymbol=row["tradingsymbol"], exchange="NSE_EQ")
            sent = broker.orders.place_request(
                access, limit_order(share, order_type="MARKET", price=None, token="ob1"), NOW
            )
            answer = broker.orders.parse_order_answer(await transport.send(sent, PATIENCE_SECONDS))
        assert answer.outcome is Outcome.ACCEPTED, answer
        async with open_transport(Clock()) as transport:
            asked = WireRequest(kind=CallKind.READ, method="GET", url=f"{control}/ledger")
            ledger = (await transport.send(asked, PATIENCE_SECONDS)).json()
        (message,) = ledger["messages"]
        assert (message["raw"]["source"], message["raw"]["x-algo-name"]) == ("127.0.0.2", "My algo")
