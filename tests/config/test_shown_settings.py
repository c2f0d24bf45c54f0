"""What is shown of the settings: all that differs from its default, and no secret."""

import pytest

from onebroker.config.settings import SettingsError, build_settings
from onebroker.config.shown_settings import secret_texts, shown_settings
from tests.support.every_case import every_case

SECRET = "s3cr3t-of-the-test"
KNOWN = {"zerodha": frozenset({"api_key", "totp"}), "dhan": frozenset({"access_token"})}
HOSTS = {"zerodha": frozenset({"order_url"})}


def shown(**values):
    return shown_settings(build_settings(values, known_brokers=KNOWN, second_hosts=HOSTS))


def test_only_what_has_no_default_is_shown_of_settings_that_are_not_set():
    assert shown(service={"data_dir": "/data"}) == (("service.data_dir", "/data"),)


def test_what_differs_is_shown_by_its_name_in_the_file():
    rows = shown(
        service={"data_dir": "/data", "port": 9000, "host_names": ["a.example", "b.example"], "plain_text": True},
        history={"record": "all", "tick_archive": "s3://bucket/ticks"},
        object_store={"endpoint": "https://minio.example", "access_key_id": "id", "secret_access_key": "word"},
        engine={
            "daily_loss_limit": 5000,
            "freeze_quantities": {"NIFTY": 1800},
            "square_off": {"equity": "15:00"},
            "protection_bands": {"shares": [{"percent": 3}]},
        },
        brokers={"dhan": {"enabled": False, "rate": {"orders": {"second": 5}}}},
        audit={"keep_days": 30},
    )
    assert dict(rows) == {
        "service.data_dir": "/data",
        "service.port": "9000",
        "service.host_names": "a.example, b.example",
        "service.plain_text": "true",
        "history.record": "all",
        "history.tick_archive": "s3://bucket/ticks",
        "object_store.endpoint": "https://minio.example",
        "object_store.access_key_id": "id",
        "object_store.secret_access_key": "***",
        "engine.daily_loss_limit": "5000",
        "engine.freeze_quantities.NIFTY": "1800",
        "engine.square_off.equity": "15:00",
        "engine.protection_bands.shares": "percent=3",
        "brokers.dhan.enabled": "false",
        "brokers.dhan.rate.orders.second": "5",
        "audit.keep_days": "30",
    }


def test_no_secret_is_shown():
    address = f"http://user:{SECRET}@127.0.0.1:1/path?token={SECRET}"
    urls = ("rest_url", "login_url", "stream_url", "order_stream_url", "instruments_url", "order_url")
    rows = shown(
        service={"data_dir": "/data", **dict.fromkeys(("api_key", "api_secret", "metrics_token"), SECRET)},
        redis={"url": f"redis://:{SECRET}@127.0.0.1:6379/0?password={SECRET}"},
        brokers={"zerodha": {"api_key": SECRET, "totp": SECRET, **dict.fromkeys(urls, address)}},
    )
    assert SECRET not in str(rows)
    by_name = dict(rows)
    assert by_name["service.api_key"] == by_name["brokers.zerodha.totp"] == "***"
    assert by_name["redis.url"] == "redis://127.0.0.1:6379/0"
    assert by_name["brokers.zerodha.rest_url"] == by_name["brokers.zerodha.order_url"] == "http://127.0.0.1:1/path"


@every_case(
    ("text", "expected"),
    [
        ("redis://a.example/0", "redis://a.example/0"),
        ("redis://token@a.example", "redis://a.example"),
        ("redis+sentinel://:p@a:1,b:2/0", "redis+sentinel://a:1,b:2/0"),
    ],
)
def test_an_address_is_shown_without_user_and_password(text: str, expected: str):
    assert dict(shown(service={"data_dir": "/data"}, redis={"url": text}))["redis.url"] == expected


def test_the_address_of_a_database_is_shown_without_user_and_password():
    url = "postgresql://me:a%20secret@db.example:5433/orders?sslmode=require"
    settings = build_settings({"service": {"data_dir": "/data"}, "store": {"database": url}}, known_brokers={})
    assert dict(shown_settings(settings))["store.database"] == "postgresql://db.example:5433/orders"
    assert {"a%20secret", "a secret"} <= set(secret_texts(settings))


def test_a_database_has_an_address_of_postgresql():
    with pytest.raises(SettingsError, match=r"store\.database must begin with postgresql://"):
        build_settings({"store": {"database": "host=db password=hidden"}}, known_brokers={})
