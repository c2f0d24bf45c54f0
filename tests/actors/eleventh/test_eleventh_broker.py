"""An eleventh broker comes from outside the package and works like the others: nothing but the registry knows of it."""

import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def eleventh(day, toy):
    day.__init__(brokers=("zerodha", "toy"), further=toy, number=150)
    return day


async def test_it_logs_in_is_read_and_named_by_the_catalogue(eleventh, autojump_clock):
    async with eleventh.market(), eleventh.service():
        view = eleventh.sessions["toy"].view.value
        assert view.live
        assert view.read_errors == {}
        assert set(eleventh.equity().listings) == {"zerodha", "toy"}
        assert len(eleventh.snapshot.listings("toy")) > 50


async def test_the_engine_trades_there_and_its_fills_come_back(eleventh, autojump_clock):
    async with eleventh.market(), eleventh.service():
        share = eleventh.equity()
        market = eleventh.exchange.market(share.instrument_id)
        price = (market.last_price * 97 / 100).quantize(Decimal(1))
        answer = await eleventh.place(eleventh.body(share, price=price, broker="toy"))
        order_id = answer.body["order_id"]
        await eleventh.until(lambda: order_id in eleventh.sessions["toy"].view.value.orders)
        eleventh.simulator.set_price(share.instrument_id, price - 1)
        await eleventh.until(lambda: eleventh.sessions["toy"].view.value.orders[order_id].status == "COMPLETE")
        (message,) = [one for one in eleventh.messages("place") if one["broker"] == "toy"]
        assert message["quantity"] == 10


async def test_its_dead_session_is_repaired_like_any_other(eleventh, autojump_clock):
    async with eleventh.market(), eleventh.service():
        before = eleventh.sessions["toy"].view.value.access.login
        eleventh.simulator.fault("toy", FaultKind.EXPIRE_SESSION)

        def repaired():
            access = eleventh.sessions["toy"].view.value.access
            return access is not None and access.login != before

        await eleventh.until(repaired, 120)
        assert eleventh.sessions["zerodha"].view.value.live


MAY_NAME_BROKERS = {
    "brokers/registry.py": "the list",
    "brokers/codec/display_names.py": "the names people write; a broker of the registry that is not there has its own",
    "brokers/simulator/host/lookup.py": "the list of dialects",
    "brokers/simulator/world/broker_traits.py": "the exchange's table of accounts",
    "brokers/broker.py": "an example in a docstring",
    "config/charges/brokerage.py": "what each broker charges, as published; one without a row ranks last and can be given one by a file",
    "config/charges/statutory.py": "whose page a figure was read on",
    "config/settings_file.py": "the example in a new settings file",
    "http/commands/parsers/services.py": "an example of a command",
    "http/commands/parsers/trading.py": "likewise",
    "http/docs_page/example_calls.py": "what a variable of an example may be",
    "http/routes/broker_login.py": "examples of sentences in the API's document",
    "http/routes/orders_close.py": "likewise",
}


def test_nothing_else_in_the_package_names_a_broker_so_an_eleventh_needs_no_other_change():
    words = "|".join(build_registry())
    found = subprocess.run(
        ["grep", "-rlwE", words, "--include=*.py", "actors", "http", "brokers", "config"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    folders = tuple(
        f"{place}/{code}/" for code in build_registry() for place in ("brokers", "brokers/simulator/dialects")
    )
    examples = "http/answers/"  # of the API's documents
    assert {name for name in found if not name.startswith((*folders, examples))} == set(MAY_NAME_BROKERS)
