"""`POST /api/alerts/test`: every receiver gets one message, and the answer says which did not take it."""

import attrs
import pytest

from onebroker.actors.alerts.receiver import Receiver
from onebroker.http.app import build_app

PATH = "/api/alerts/test"


class Sent:
    def __init__(self) -> None:
        self.titles: list[str] = []

    async def takes(self, title: str, _text: str) -> str | None:
        self.titles.append(title)
        return None

    async def refuses(self, title: str, _text: str) -> str | None:
        self.titles.append(title)
        return "the chat is not known"


@pytest.fixture
def ask(services, token):
    async def ask(*receivers: Receiver):
        app = build_app(attrs.evolve(services, receivers=receivers))
        answer = await app.test_client().post(PATH, headers={"access-token": token})
        return answer.status_code, await answer.get_json()

    return ask


async def test_each_receiver_is_tried_and_told_of(ask):
    sent = Sent()
    receivers = [
        Receiver(number=1, scheme="tgram", name="a", send=sent.takes),
        Receiver(number=2, scheme="json", name="b", send=sent.refuses),
    ]
    status, body = await ask(*receivers)
    assert (status, body["receivers"]) == (
        200,
        [
            {"receiver": 1, "scheme": "tgram", "ok": True, "words": None},
            {"receiver": 2, "scheme": "json", "ok": False, "words": "the chat is not known"},
        ],
    )
    assert len(sent.titles) == 2
    assert all("test of the alerts" in title for title in sent.titles)


async def test_without_a_receiver_nothing_is_sent(ask):
    assert await ask() == (409, {"error": "alerts.to names no receiver: docs/alerts.md says how to write them"})
