"""What a dry run shows of a broker's request: everything but what is secret (order-engine 5.4)."""

import msgspec
import pytest

from onebroker.actors.engine.dry_run import shown_request
from onebroker.brokers.requests import CallKind, WireRequest

URL = "https://broker.test/orders/regular"


def shown(*, url: str = URL, body: bytes = b"") -> dict[str, object]:
    headers = {"authorization": "token key:s3cr3t"}
    return shown_request(WireRequest(kind=CallKind.ORDER, method="POST", url=url, headers=headers, body=body))


def test_method_url_and_body_are_shown_and_headers_never():
    assert shown(body=b'{"quantity": 1}') == {"method": "POST", "url": URL, "body": {"quantity": 1}}


def test_a_request_without_body_shows_none():
    assert shown()["body"] is None


def test_a_form_body_is_shown_as_its_fields():
    assert shown(body=b"quantity=1&tag=a%20b&price=")["body"] == {"quantity": "1", "tag": "a b", "price": ""}


@pytest.mark.parametrize(
    "name", ["access_token", "api_key", "jKey", "Checksum", "app-secret", "totp", "userPin", "password"]
)
def test_a_secret_is_shown_neither_in_the_url_nor_in_a_body_at_any_depth(name):
    assert shown(url=f"{URL}?{name}=s3cr3t&kind=a")["url"] == f"{URL}?kind=a"
    assert shown(body=f"{name}=s3cr3t&quantity=1".encode())["body"] == {"quantity": "1"}
    secret = {name: "s3cr3t", "quantity": 1}
    nested = msgspec.json.encode({"data": [secret], "head": {name: {"x": "s3cr3t"}}})
    assert shown(body=nested)["body"] == {"data": [{"quantity": 1}], "head": {}}
    assert shown(body=msgspec.json.encode([secret]))["body"] == [{"quantity": 1}]


@pytest.mark.parametrize("name", ["instrument_token", "symboltoken"])
def test_the_brokers_name_of_the_instrument_is_no_secret(name):
    assert shown(body=f"{name}=NSE_EQ|1".encode())["body"] == {name: "NSE_EQ|1"}
