"""The alerts' actor: takes the heard events, puts messages into the outbox, and sends each of them to every receiver.

Each receiver has a task of its own: a slow receiver delays no other, and nobody waits for any of them. Orders never meet this actor: they
only append to its inbox.
"""

from collections.abc import Iterator

import attrs
import trio

from onebroker.actors.alerts.inbox import AlertInbox
from onebroker.actors.alerts.message import Message
from onebroker.actors.alerts.news import News
from onebroker.actors.alerts.outbox import STORE_RETRY_SECONDS, Entry, Outbox
from onebroker.actors.alerts.receiver import AlertsView, Receiver, ReceiverView
from onebroker.actors.alerts.reporter import Reporter, ReporterContext
from onebroker.actors.alerts.throttle import QuietHours, Throttle
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Durable
from onebroker.config.events import AlertFailed, AlertGivenUp

SEND_SECONDS = 20.0
"""How long a receiver may take for one message."""
FIRST_PAUSE_SECONDS = 2.0
MOST_PAUSE_SECONDS = 300.0
"""The pause after a failed try doubles up to this."""
GIVE_UP_SECONDS = 86_400.0
"""A message is not sent any more so long after its time came."""
LOOK_SECONDS = 1.0
"""How often the actor looks at the time while an unknown order waits to be told."""
PUBLISH_SECONDS = 0.2
"""The least time between two looks at the whole outbox, so that a thousand messages cost no time of the event loop."""
IDLE_SECONDS = 15.0
"""How often it looks else."""


@attrs.frozen(kw_only=True)
class AlertInputs:
    """What the composition chooses: whom to tell, what, and when."""

    inbox: AlertInbox
    receivers: tuple[Receiver, ...]
    kinds: frozenset[str]
    """The names of the kinds that are sent."""
    quiet: QuietHours = attrs.field(factory=QuietHours)


class AlertsActor:
    def __init__(
        self,
        inputs: AlertInputs,
        *,
        context: ReporterContext,
        durable: Durable,
        events: Events,
        published: Published[AlertsView],
    ) -> None:
        self._inputs = inputs
        self._clock = context.clock
        self._events = events
        self._published = published
        self._reporter = Reporter(context)
        self._throttle = Throttle(inputs.quiet, frozenset(receiver.name for receiver in inputs.receivers))
        self._changes = Published(0)
        self._outbox = Outbox(durable, self._count_change)
        self._views = {
            receiver.name: ReceiverView(number=receiver.number, scheme=receiver.scheme) for receiver in inputs.receivers
        }
        self._given_up = 0
        self._unpublished = False
        """Whether a receiver's state has changed since it was published."""

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._publish()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_stored)
            for receiver in self._inputs.receivers:
                nursery.start_soon(self._serve, receiver)
            task_status.started()
            await self._listen()

    async def _listen(self) -> None:
        """Turn events into messages, as long as the service runs."""
        stepped_at = float("-inf")
        while True:
            news = [one for event in self._inputs.inbox.take() for one in self._reporter.hear(event)]
            news = [one for one in [*news, *self._reporter.due()] if one.kind.value in self._inputs.kinds]
            if news or self._clock.monotonic() - stepped_at >= PUBLISH_SECONDS:
                stepped_at = self._clock.monotonic()
                self._step(news)
            with trio.move_on_after(self._pause_seconds()):
                await self._inputs.inbox.wait()

    def _pause_seconds(self) -> float:
        """Return how long nothing happens without an event. The wall clock may be set meanwhile, so it is looked at again and again."""
        if self._unpublished:
            return PUBLISH_SECONDS
        if self._reporter.waits:
            return LOOK_SECONDS
        return min(IDLE_SECONDS, max(PUBLISH_SECONDS, self._throttle.next_due_seconds(self._clock.epoch())))

    def _step(self, news: list[News]) -> None:
        now = self._clock.epoch()
        carrying, leaving = self._throttle.step(news, now)
        for message in carrying:
            self._outbox.put(message)
        for message in leaving:
            self._outbox.leave(message)
        self._give_up_old(now)
        self._publish()

    # The outbox

    async def _keep_stored(self) -> None:
        """Take over the messages of the last run, then write the changes of the outbox."""
        self._take_over(await self._outbox.load())
        while True:
            version = self._changes.version
            if self._outbox.needs_writing:
                await self._outbox.write()
                if self._outbox.trouble is not None:
                    self._publish()
                    await trio.sleep(STORE_RETRY_SECONDS)
                    continue
            await self._changes.wait_newer(version)

    def _take_over(self, messages: list[Message]) -> None:
        now, known = self._clock.epoch(), {receiver.name for receiver in self._inputs.receivers}
        for message in messages:
            self._throttle.take_over(message, now)
        gathering = set(self._throttle.gathered_ids)
        for entry in list(self._outbox.entries):
            for name in entry.message.waiting - known:
                self._give_up(entry, name, "its receiver is not in alerts.to any more")
            entry.leaves = entry.leaves or entry.message.message_id not in gathering
        self._count_change()

    def _give_up_old(self, now: float) -> None:
        for entry in list(self._outbox.entries):
            if entry.leaves and now - entry.message.due_at > GIVE_UP_SECONDS:
                for name in entry.message.waiting:
                    self._give_up(entry, name, "it was not taken for 24 hours")
        for entry in self._outbox.surplus():
            for name in entry.message.waiting:
                self._give_up(entry, name, "too many messages wait")

    def _give_up(self, entry: Entry, name: str, why: str) -> None:
        self._given_up += 1
        view = self._views.get(name)
        self._events.tell(
            AlertGivenUp(
                kind=entry.message.kind,
                receiver=None if view is None else view.number,
                scheme=None if view is None else view.scheme,
                message=entry.message.message_id,
                words=why,
            )
        )
        self._outbox.took(entry, name)

    # The receivers

    async def _serve(self, receiver: Receiver) -> None:
        """Send one receiver its messages, one after the other."""
        while True:
            version = self._changes.version
            entry, wait_seconds = self._outbox.next_for(receiver.name, self._clock.monotonic())
            if entry is None:
                with trio.move_on_after(wait_seconds):
                    await self._changes.wait_newer(version)
                continue
            self._note(receiver, entry, await send_message(receiver, entry.message))

    def _note(self, receiver: Receiver, entry: Entry, failure: str | None) -> None:
        if failure is None:
            self._taken(receiver, entry)
        else:
            self._not_taken(receiver, entry, failure)
        self._unpublished = True
        self._inputs.inbox.wake()

    def _taken(self, receiver: Receiver, entry: Entry) -> None:
        view = self._views[receiver.name]
        self._views[receiver.name] = attrs.evolve(view, sent=view.sent + 1, failing_since=None)
        self._outbox.took(entry, receiver.name)
        if view.failing_since is not None:  # it is there again: what waits need not wait for its pause
            for waiting in self._outbox.entries:
                waiting.next_try.pop(receiver.name, None)

    def _not_taken(self, receiver: Receiver, entry: Entry, failure: str) -> None:
        view, now = self._views[receiver.name], self._clock.epoch()
        if view.failing_since is None:
            self._events.tell(
                AlertFailed(kind=entry.message.kind, receiver=receiver.number, scheme=receiver.scheme, words=failure)
            )
        self._views[receiver.name] = attrs.evolve(
            view,
            failed=view.failed + 1,
            failing_since=now if view.failing_since is None else view.failing_since,
            last_failure=failure,
            last_failure_at=now,
        )
        tries = entry.tries[receiver.name] = entry.tries.get(receiver.name, 0) + 1
        pause = min(FIRST_PAUSE_SECONDS * 2.0 ** min(tries - 1, 20), MOST_PAUSE_SECONDS)
        entry.next_try[receiver.name] = self._clock.monotonic() + pause

    # What others read

    def _count_change(self) -> None:
        self._changes.set(self._changes.value + 1)

    def _publish(self) -> None:
        self._unpublished = False
        receivers = tuple(self._shown())
        entries = list(self._outbox.entries)
        self._published.set(
            AlertsView(
                receivers=receivers,
                waiting=len(entries),
                gathering=sum(1 for entry in entries if not entry.leaves),
                sent=sum(view.sent for view in receivers),
                failed=sum(view.failed for view in receivers),
                given_up=self._given_up,
                dropped_events=self._inputs.inbox.dropped,
                store_trouble=self._outbox.trouble,
            )
        )

    def _shown(self) -> Iterator[ReceiverView]:
        for name, view in self._views.items():
            yield attrs.evolve(view, waiting=self._outbox.is_waited_for(name))


async def send_message(receiver: Receiver, message: Message) -> str | None:
    """Send a message within the time. Return why it was not taken, or None."""
    with trio.move_on_after(SEND_SECONDS):
        return await receiver.send(message.shown_title, message.shown_body)
    return f"no answer within {SEND_SECONDS:g} s"
