"""The login of a broker in a browser: who may ask for the page, and which address is taken."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import attrs
import pytest
import trio
import trio.testing
from quart_trio.testing.client import TrioClient

from onebroker.actors.kernel.mailbox import open_mailbox
from onebroker.actors.sessions.brokers_in_service import brokers_in_service
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.broker import Login
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BrokerError
from onebroker.config.settings import build_settings
from onebroker.http.app import build_app
from onebroker.http.login_windows import WINDOW_SECONDS
from onebroker.http.services import LoginServices

CODES = ("zerodha", "shoonya", "dhan")
"""A person, and the state comes back; a person, without a state; no person."""


@attrs.define
class Session:
    """The session of one broker: it keeps the addresses that it gets, and answers with `outcome`."""

    box: object
    outcome: object = None
    redirects: list[str] = attrs.field(factory=list)

    @property
    def address(self):
        return self.box.address

    async def run(self):
        self.box.running = True
        async for message in self.box:
            self.redirects.append(message.redirect)
            assert not message.other_account
            if isinstance(self.outcome, Exception):
                message.reply.refuse(self.outcome)
            else:
                message.reply.answer(self.outcome)


@attrs.define
class Logins:
    client: TrioClient
    token: str
    sessions: dict[str, Session]
    store: MemoryStore

    async def ask(self, code, token=None):
        headers = {"access-token": self.token if token is None else token}
        answer = await self.client.post(f"/api/brokers/{code}/login", headers=headers)
        return answer.status_code, await answer.get_json()

    async def page(self, code):
        status, body = await self.ask(code)
        assert status == 200
        return body["page"]

    async def come_back(self, path, method="GET"):
        answer = await self.client.open(path, method=method)
        return answer.status_code, await answer.get_data(as_text=True)


@pytest.fixture
async def logins(house, services, token, nursery):
    registry = build_registry()
    keys = {code: registry[code].all_credential_keys for code in CODES}
    brokers = {code: dict.fromkeys(keys[code], "7") for code in CODES}
    settings = build_settings({"brokers": brokers}, known_brokers=keys)
    in_service = brokers_in_service(registry, settings.brokers, exit_share=0.1, day_limits=False)
    login = Login(
        user_id="AB1234", tokens={"access_token": "secret-token"}, logged_in_at=services.clock.epoch(),
        expires_at=services.clock.epoch() + 3600.0,
    )  # fmt: skip
    sessions = {code: Session(open_mailbox(f"{code} session", capacity=8), login) for code in in_service}
    for session in sessions.values():
        nursery.start_soon(session.run)
    await trio.testing.wait_all_tasks_blocked()
    held = LoginServices(brokers=in_service, sessions=sessions, store=house.store)
    app = build_app(attrs.evolve(services, logins=held))
    return Logins(app.test_client(), token, sessions, house.store)


def state_of(page):
    """The state that Zerodha repeats: it is a parameter inside a parameter."""
    return parse_qs(parse_qs(urlsplit(page).query)["redirect_params"][0])["state"][0]


async def test_the_page_of_a_broker_opens_its_window(logins, services):
    status, body = await logins.ask("zerodha")
    assert (status, body["broker"], body["redirect"], body["login"]) == (200, "zerodha", "/login/zerodha", None)
    closes = services.clock.now() + timedelta(seconds=WINDOW_SECONDS)
    assert body["closes_at"] == closes.strftime("%Y-%m-%dT%H:%M:%S")
    back = f"/login/zerodha?request_token=t&state={state_of(body['page'])}"
    status, text = await logins.come_back(back)
    assert (status, "onebroker has the login" in text) == (200, True)
    assert logins.sessions["zerodha"].redirects == [f"http://localhost{back}"]


async def test_an_address_is_taken_once(logins):
    back = f"/login/zerodha?request_token=t&state={state_of(await logins.page('zerodha'))}"
    assert (await logins.come_back(back))[0] == 200
    assert (await logins.come_back(back))[0] == 404
    assert len(logins.sessions["zerodha"].redirects) == 1


async def test_two_browsers_at_once_bring_one_login(logins):
    back = f"/login/zerodha?request_token=t&state={state_of(await logins.page('zerodha'))}"
    statuses = []

    async def come():
        statuses.append((await logins.come_back(back))[0])

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(come)
    assert sorted(statuses) == [200, 404, 404, 404, 404]


async def test_a_program_that_looks_at_the_link_does_not_use_it_up(logins):
    back = f"/login/zerodha?request_token=t&state={state_of(await logins.page('zerodha'))}"
    assert (await logins.come_back(back, "HEAD"))[0] == 404
    assert (await logins.come_back(back))[0] == 200


@pytest.mark.parametrize(
    "back", ["/login/zerodha", "/login/zerodha?request_token=t&state=guessed", "/login/nobody?a=b"]
)
async def test_an_address_without_its_window_is_told_nothing(logins, back):
    await logins.page("zerodha")
    status, text = await logins.come_back(back)
    assert (status, "No login waits here" in text) == (404, True)
    assert [each.redirects for each in logins.sessions.values()] == [[], [], []]


async def test_a_window_is_over_after_five_minutes(logins, mock_clock):
    back = f"/login/zerodha?request_token=t&state={state_of(await logins.page('zerodha'))}"
    mock_clock.jump(WINDOW_SECONDS)
    assert (await logins.come_back(back))[0] == 404
    assert logins.sessions["zerodha"].redirects == []


async def test_the_first_login_of_a_broker_without_a_state_needs_the_command(logins):
    status, body = await logins.ask("shoonya")
    begun = body["error"].partition(":")[0]
    assert (status, begun) == (409, "the first login of shoonya must be made by `onebroker login shoonya`")
    assert (await logins.come_back("/login/shoonya?code=c"))[0] == 404


async def test_a_broker_without_a_state_takes_the_first_query_of_its_window(logins):
    await logins.store.write(Set(keys.broker_login("shoonya"), b"{}"))
    assert (await logins.come_back("/login/shoonya?code=c"))[0] == 404
    await logins.page("shoonya")
    assert (await logins.come_back("/login/shoonya?code=c"))[0] == 200


async def test_a_broker_that_needs_no_person_logs_in_at_once(logins):
    status, body = await logins.ask("dhan")
    assert (status, body["page"], body["redirect"], body["closes_at"]) == (200, None, None, None)
    assert body["login"]["user_id"] == "AB1234"
    assert logins.sessions["dhan"].redirects == [""]
    assert (await logins.come_back("/login/dhan?code=c"))[0] == 404


@pytest.mark.parametrize("error", [BrokerError("the broker says <no>"), ValueError("the address has no <code>")])
async def test_the_reason_of_a_failure_is_shown_as_text(logins, error):
    for session in logins.sessions.values():
        session.outcome = error
    back = f"/login/zerodha?request_token=t&state={state_of(await logins.page('zerodha'))}"
    status, text = await logins.come_back(back)
    assert status == 502
    assert "the login of zerodha failed: " in text
    assert "&lt;" in text
    assert "<no>" not in text
    assert await logins.ask("dhan") == (502, {"error": f"the login of dhan failed: {error}"})


async def test_an_unknown_broker_is_not_found(logins):
    assert await logins.ask("nobody") == (404, {"error": f"broker must be one of {', '.join(logins.sessions)}"})


async def test_only_the_token_opens_a_window(logins):
    assert (await logins.ask("zerodha", token="wrong"))[0] == 401
    assert (await logins.ask("shoonya", token=""))[0] == 401
    assert (await logins.come_back("/login/shoonya?code=c"))[0] == 404


async def test_no_answer_holds_a_secret_or_may_be_kept(logins):
    back = f"/login/zerodha?request_token=t&state={state_of(await logins.page('zerodha'))}"
    answer = await logins.client.get(back)
    text = await answer.get_data(as_text=True)
    assert "AB1234" not in text
    assert "secret-token" not in text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "no-store"
