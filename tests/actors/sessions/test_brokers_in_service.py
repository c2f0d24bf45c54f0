"""From settings to the brokers in service."""

from datetime import datetime

import attrs
import pytest

from onebroker.actors.sessions.brokers_in_service import brokers_in_service, require_credentials
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Moment
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import IST
from onebroker.config.sections import BrokerSettings, CadenceOverrides, Credentials, RateOverrides, RateRow
from onebroker.config.settings import SettingsError
from tests.support.every_case import every_case

REGISTRY = build_registry()


def service(settings, *, day_limits=True):
    return brokers_in_service(REGISTRY, settings, exit_share=0.2, day_limits=day_limits)


def test_only_enabled_brokers_of_the_settings_are_in_service_in_the_registrys_order():
    every = {code: BrokerSettings() for code in reversed(tuple(REGISTRY))}
    assert list(service(every)) == list(REGISTRY)
    assert list(service({**every, "zerodha": BrokerSettings(enabled=False)})) == [c for c in REGISTRY if c != "zerodha"]
    assert service({}) == {}


@every_case("code", list(REGISTRY))
def test_without_overrides_a_broker_is_as_its_own_table_says(code):
    one = service({code: BrokerSettings()})[code]
    assert one.broker == REGISTRY[code]
    assert one.access.endpoints == REGISTRY[code].endpoints
    assert one.access.login is None
    assert (one.order_windows, one.call_windows) == (REGISTRY[code].order_windows, REGISTRY[code].call_windows)
    assert one.kind_windows == REGISTRY[code].kind_windows


def test_the_budget_of_a_broker_holds_the_windows_of_single_kinds():
    budget = service({"zerodha": BrokerSettings(rate=RateOverrides(calls=RateRow(second=50)))})["zerodha"].budget()
    now = Moment(monotonic=0.0, wall=datetime(2026, 11, 23, 9, 15, tzinfo=IST))
    budget.take(CallKind.QUOTE, Priority.READ, now)
    assert not budget.room(CallKind.QUOTE, Priority.READ, now)
    assert budget.room(CallKind.READ, Priority.READ, now)


def test_overrides_replace_only_what_they_name():
    given = BrokerSettings(
        rate=RateOverrides(orders=RateRow(second=3), calls=RateRow(minute=77)),
        cadence=CadenceOverrides(orders=9.0, closed=44.0),
        daily_messages=500,
    )
    one, own = service({"zerodha": given})["zerodha"], REGISTRY["zerodha"]
    assert one.order_windows == attrs.evolve(own.order_windows, second=3, day=500)
    assert one.call_windows == attrs.evolve(own.call_windows, minute=77)
    assert one.broker.cadence == attrs.evolve(own.cadence, orders=9.0, closed=44.0)
    assert one.budget().daily_cap == 500


def test_without_day_limits_nothing_is_capped_for_the_day_and_the_windows_stay():
    one = service({"zerodha": BrokerSettings(daily_messages=5)}, day_limits=False)["zerodha"]
    assert one.budget().daily_cap is None
    assert one.call_windows.day is None
    assert one.order_windows.second == REGISTRY["zerodha"].order_windows.second


def test_addresses_of_the_settings_replace_the_brokers_own_altogether():
    base = "http://127.0.0.1:1"
    given = BrokerSettings(
        rest_url=f"{base}/r", login_url=f"{base}/l", stream_url="ws://127.0.0.1:1/s",
        order_stream_url="ws://127.0.0.1:1/o", instruments_url=f"{base}/i", others={"order_url": f"{base}/x"},
    )  # fmt: skip
    endpoints = service({"upstox": given})["upstox"].access.endpoints
    assert attrs.asdict(endpoints) == {
        "rest_url": f"{base}/r", "login_url": f"{base}/l", "stream_url": "ws://127.0.0.1:1/s",
        "order_stream_url": "ws://127.0.0.1:1/o", "instruments_url": f"{base}/i", "others": {"order_url": f"{base}/x"},
    }  # fmt: skip


def test_each_budget_is_a_fresh_one():
    one = service({"zerodha": BrokerSettings()})["zerodha"]
    assert one.budget() is not one.budget()


@pytest.mark.parametrize(
    ("given", "lacking"),
    [
        ({"api_key": "k", "api_secret": "s"}, None),
        ({"api_key": "k"}, "brokers.zerodha needs api_secret"),
        ({}, "brokers.zerodha needs api_key, api_secret"),
    ],
)
def test_credentials_that_are_missing_are_named(given, lacking):
    settings = {"zerodha": BrokerSettings(credentials=Credentials(given))}
    if lacking is None:
        require_credentials(REGISTRY, settings)
        return
    with pytest.raises(SettingsError, match=lacking):
        require_credentials(REGISTRY, settings)


def test_any_complete_set_of_credentials_will_do_and_the_nearest_is_named():
    broker = attrs.evolve(
        REGISTRY["zerodha"],
        credential_keys=frozenset({"client_id", "pin", "totp_secret"}),
        other_credential_keys=(frozenset({"client_id", "access_token"}),),
        optional_credential_keys=frozenset({"nickname"}),
    )
    assert broker.missing_credentials({"client_id", "access_token"}) == frozenset()
    assert broker.missing_credentials({"client_id", "pin"}) == {"totp_secret"}
    assert broker.all_credential_keys == {"client_id", "pin", "totp_secret", "access_token", "nickname"}


def test_a_disabled_broker_needs_nothing():
    require_credentials(REGISTRY, {"zerodha": BrokerSettings(enabled=False)})


# --- address and algo id -------------------------------------------------------------------------------------------------


def complete(code, **more):
    return BrokerSettings(credentials=Credentials(dict.fromkeys(REGISTRY[code].credential_keys, "x")), **more)


def test_the_settings_say_by_which_address_a_brokers_calls_leave():
    services = service(
        {
            "zerodha": BrokerSettings(source_address="192.0.2.7"),
            "upstox": BrokerSettings(address_family="ipv4"),
            "dhan": BrokerSettings(),
        }
    )
    assert [str(services[code].egress) for code in ("zerodha", "upstox", "dhan")] == [
        "source address 192.0.2.7", "IPv4 only", "either address family",
    ]  # fmt: skip


@every_case(
    ("code", "given", "why"),
    [
        ("upstox", "My algo 7", None),
        ("upstox", "", "must be 1 to 64 plain characters, as Upstox's X-Algo-Name takes it"),
        ("upstox", " blank", "must be 1 to 64 plain characters, as Upstox's X-Algo-Name takes it"),
        ("upstox", "two\r\nlines", "must be 1 to 64 plain characters, as Upstox's X-Algo-Name takes it"),
        ("upstox", "x" * 65, "must be 1 to 64 plain characters, as Upstox's X-Algo-Name takes it"),
        ("fivepaisa", "7001", None),
        ("fivepaisa", "A7", "must be a whole number of at most 18 digits, as 5paisa's AlgoID takes it"),
        ("shoonya", "ALGO7", None),
        ("zerodha", "ALGO7", None),
        ("dhan", "ALGO7", "cannot be used: no documented field of Dhan's order messages takes an algo id"),
        ("groww", "ALGO7", "cannot be used: no documented field of Groww's order messages takes an algo id"),
    ],
)
def test_an_algo_id_is_taken_where_the_broker_has_a_field_for_it(code, given, why):
    settings = {code: complete(code, algo_id=given)}
    if why is None:
        require_credentials(REGISTRY, settings)
        assert service(settings)[code].access.algo_id == given
        return
    with pytest.raises(SettingsError) as refused:
        require_credentials(REGISTRY, settings)
    assert refused.value.lines == (f"brokers.{code}.algo_id {why}",)
