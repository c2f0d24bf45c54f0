"""Actors and messages that the tests of supervision share."""

from datetime import datetime

import attrs

from onebroker.actors.kernel.mailbox import Reply
from onebroker.config.clock import IST, Clock

START = datetime(2026, 11, 20, 9, 15, tzinfo=IST)


class Boom(Exception):
    """What the actors of these tests crash with."""


@attrs.frozen
class Ask:
    reply: Reply[int]


@attrs.frozen
class Add:
    number: int


@attrs.frozen
class Crash:
    reply: Reply[int] | None = None


Message = Ask | Add | Crash


def clock() -> Clock:
    return Clock.following_trio(START)
