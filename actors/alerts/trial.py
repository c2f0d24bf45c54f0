"""The test message: sent once to every receiver, past the outbox, so that a person sees at once which receiver works."""

from collections.abc import Sequence

import trio

from onebroker.actors.alerts.actor import send_message
from onebroker.actors.alerts.message import new_message
from onebroker.actors.alerts.news import News
from onebroker.actors.alerts.receiver import Receiver
from onebroker.config.alert_kinds import AlertKind
from onebroker.config.clock import Clock


async def try_receivers(receivers: Sequence[Receiver], clock: Clock) -> tuple[str | None, ...]:
    """Send the test message to all receivers at once. Return for each why it did not take it, or None."""
    now = clock.epoch()
    news = News(
        kind=AlertKind.TEST,
        title="test of the alerts",
        lines=("This receiver gets the alerts of onebroker. There is nothing to do.",),
        at=now,
    )
    message = new_message([news], due_at=now, waiting=frozenset())
    answers: list[str | None] = [None] * len(receivers)

    async def send(place: int, receiver: Receiver) -> None:
        answers[place] = await send_message(receiver, message)

    async with trio.open_nursery() as nursery:
        for place, receiver in enumerate(receivers):
            nursery.start_soon(send, place, receiver)
    return tuple(answers)
