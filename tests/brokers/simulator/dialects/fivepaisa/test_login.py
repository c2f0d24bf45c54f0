"""5paisa's server over the real exchange: logins and sessions."""

from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import attrs
import msgspec
import pytest

from onebroker.brokers.fivepaisa import login
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.config.clock import IST
from tests.support.dialect_client import START


def test_a_login_outlives_a_restart_and_ends_at_23_59(broker):
    made = broker.access.login
    assert made.user_id == "52345678"
    assert made.profile["ClientName"] == "ASHA VERMA"
    assert datetime.fromtimestamp(made.expires_at, IST) == START.replace(hour=23, minute=59)
    claims = login.claims(made.tokens["AccessToken"])
    assert (claims["unique_name"], claims["RedirectServer"], claims["exp"]) == ("52345678", "C", made.expires_at)
    broker.dialect = broker.build()
    assert broker.send(login.profile_request(broker.access)).status == 200
    broker.wall.now = made.expires_at + 1
    with pytest.raises(BrokerRefusal) as dead:
        login.parse_profile(broker.send(login.profile_request(broker.access)), made)
    assert dead.value.kind is RefusalKind.SESSION_DEAD


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("pin", "1", RefusalKind.BAD_CREDENTIALS), ("client_code", "1", RefusalKind.BAD_CREDENTIALS),
        ("user_key", "1", RefusalKind.BAD_CREDENTIALS), ("encryption_key", "1", RefusalKind.BAD_CREDENTIALS),
        ("user_id", "1", RefusalKind.BAD_CREDENTIALS), ("totp_secret", "GEZDGNBVGY3TQOJQ", RefusalKind.BAD_TOTP),
    ],
)  # fmt: skip
def test_every_wrong_key_of_a_login_is_refused_for_what_it_is(broker, key, value, kind):
    broker.bare = attrs.evolve(broker.bare, credentials={**broker.dialect.credentials, key: value})
    with pytest.raises(BrokerRefusal) as refused:
        broker.logged_in()
    assert refused.value.kind is kind


def test_a_code_of_another_minute_is_refused(broker):
    flow = login.log_in(broker.bare, "", broker.clock.now() - timedelta(minutes=2))
    with pytest.raises(BrokerRefusal) as refused:
        flow.send(broker.send(next(flow)))
    assert refused.value.kind is RefusalKind.BAD_TOTP


def test_the_page_sends_a_person_back_with_a_request_token_that_is_good_once(broker):
    credentials = broker.dialect.credentials
    url = f"{broker.bare.endpoints.login_url}?VendorKey={credentials['user_key']}&ResponseURL=https://me/back&State=7"
    answer = broker.dialect.handle(broker.request("GET", url))
    query = dict(parse_qsl(urlsplit(answer.headers["location"]).query))
    assert (answer.status, query["state"]) == (302, "7")
    body = {
        "RequestToken": query["RequestToken"], "EncryKey": credentials["encryption_key"], "UserId": credentials["user_id"],
    }  # fmt: skip
    said = [msgspec.json.decode(broker.post("GetAccessToken", body, token="").body)["body"] for _ in range(2)]
    assert [each["Status"] for each in said] == [0, 2]
    assert broker.dialect.handle(broker.request("GET", broker.bare.endpoints.login_url)).status == 400


def test_who_may_not_call_is_told_in_the_documented_ways(broker):
    client = {"ClientCode": "52345678"}
    assert broker.post("V4/Margin", client, token=" ").body == b"Invalid Token"
    for token in ("dead", "a.b.c", broker.access.token("AccessToken") + "x", "ü.ü.ü"):
        assert msgspec.json.decode(broker.post("V4/Margin", client, token=token).body)["body"]["Status"] == 9
    key = msgspec.json.decode(broker.post("V4/Margin", client, key="nobody").body)
    assert (key["head"]["status"], key["body"]) == ("2", None)
    other = msgspec.json.decode(broker.post("V4/Margin", {"ClientCode": "5"}).body)
    assert other["body"]["Status"] == 2
    broker.dialect.expire_session()
    assert msgspec.json.decode(broker.post("V4/Margin", client).body)["body"]["Status"] == 9


def test_minted_tokens_are_good(broker):
    minted = broker.dialect.session()
    assert b'"Status":0' in broker.post("V4/Margin", {"ClientCode": "52345678"}, token=minted["AccessToken"]).body
