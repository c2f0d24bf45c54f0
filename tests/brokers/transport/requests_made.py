"""An order, a read, and two servers' scripts that the tests of the REST transport share."""

from onebroker.brokers.requests import CallKind, WireRequest
from tests.support.patience import PATIENCE_SECONDS

SECONDS = PATIENCE_SECONDS / 2


def order(url, body=b"quantity=1"):
    return WireRequest(
        kind=CallKind.ORDER, method="POST", url=url, headers={"Authorization": "token s3cret"}, body=body
    )


def read(url, **headers):
    return WireRequest(kind=CallKind.READ, method="GET", url=url, headers=headers)


async def half_an_answer(peer):
    await peer.request()
    await peer.answer(b"half", length=100)


async def never_answers(peer):
    await peer.request()
    await peer.wait_hang_up()
