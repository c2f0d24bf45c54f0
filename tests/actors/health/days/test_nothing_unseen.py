"""Orders under every fault that the simulated brokers know: nothing goes by unseen. The exchange's ledger is the judge.

Each message of the ledger is one `order.sent` and one line of the audit. The other way round, a message without a trace in the ledger met a fault that
strikes before the broker reads. Every order that a caller was told of is a
parent whose life the audit holds; the broker's words of each refusal are in both; no secret is anywhere.
"""

from collections import Counter

import trio

from onebroker.actors.audit.verify import verify
from onebroker.actors.engine.desk.messages import CancelOrder
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import OrderSent
from tests.actors.engine.days.simple.test_audited_day import kept
from tests.actors.health.days.test_faults import CODES, FAULTS, Fault, _moving, _place
from tests.support.audited import audited

LEAST_ORDERS = 20
UNREAD = (FaultKind.HTTP_500, FaultKind.REFUSAL_IN_200, FaultKind.LATENCY, FaultKind.EXPIRE_SESSION)


def intent_of(fault: Fault) -> str:
    return f"{fault.kind}-{fault.delay_seconds}"


class Script:
    """Plays faults, each with orders beside it, and keeps the answers."""

    def __init__(self, here) -> None:
        self.here = here
        self.answers: list = []

    async def under(self, fault: Fault) -> None:
        day = self.here.day
        more = {} if fault.delay_seconds is None else {"delay_seconds": fault.delay_seconds}
        day.simulator.fault(fault.broker, fault.kind, **more)
        await self.order(intent_of(fault), "zerodha")
        await trio.sleep(3)
        day.simulator.faults.heal()
        if fault.kind is FaultKind.EXPIRE_SESSION:
            await self.here.log_in(fault.broker)
        await trio.sleep(fault.lingers_seconds)
        await day.until(lambda: "data" not in {kind for kind, _ in self.here.kinds()}, 90)

    async def order(self, intent: str, broker: str) -> None:
        """Place an order; cancel every second that a broker has taken."""
        answer = await _place(self.here, intent, broker)
        self.answers.append(answer)
        if answer.status == 200 and len(self.answers) % 2:
            clock = self.here.day.clock
            order_id = answer.body["order_id"]
            await self.here.tree.desk.ask(
                lambda reply: CancelOrder(
                    order_id=order_id, broker=None, dry_run=False, routed=clock.monotonic(), reply=reply
                ),
                30,
            )


def secrets_of(day) -> set[str]:
    return {
        text for code in CODES for text in day.settings().brokers[code].credentials.values() if len(text) > 7
    }  # fmt: skip


async def test_each_order_under_each_fault_is_told_and_kept_once(day, watch, autojump_clock, tmp_path):
    day.__init__(brokers=CODES, number=60)
    folder = tmp_path / "audit"
    async with day.market(), kept(day, folder), watch() as here, trio.open_nursery() as nursery:
        for code in CODES:
            await here.log_in(code)
        await day.until(lambda: not here.kinds(), 10)
        await day.until(lambda: here.tree.catalogue.value.latest is not None, 60)
        nursery.start_soon(_moving, day, here.tree)
        script = Script(here)
        for fault in FAULTS:
            await script.under(fault)
        for number in range(LEAST_ORDERS - len(script.answers)):
            await script.order(f"more-{number}", CODES[number % 2])
        await trio.sleep(120)  # unknown orders settle
        nursery.cancel_scope.cancel()
    sent = [event for event in day.heard if isinstance(event, OrderSent)]
    told = Counter((event.broker, event.verb, event.order_id or event.token) for event in sent)
    ledger = Counter(
        (row["broker"], row["verb"], row["tag"] if row["verb"] == "place" else row["order_id"])
        for row in day.ledger()["messages"]
    )
    lines = audited(folder)
    kept_lines = [line for line in lines if line["event"] == "order.sent"]
    counted = Counter((line["broker"], line["verb"], line.get("order_id") or line["token"]) for line in kept_lines)
    assert told == counted
    assert ledger - told == Counter()
    # Some faults answer, or make the caller give up, before the broker has read the message: it left, and the ledger has no trace of it.
    unread = {
        event.token for event in sent if event.intent in {intent_of(fault) for fault in FAULTS if fault.kind in UNREAD}
    }
    assert {token for _, _, token in told - ledger} <= unread
    # Whether an order or a read is the first to meet the expired session is a matter of the dice.
    assert len(told - ledger) in (3, 4)
    assert len(script.answers) >= LEAST_ORDERS
    assert {answer.status for answer in script.answers} >= {200, 422, 504}
    assert verify(folder, running=False).fault is None
    for answer in script.answers:
        if (
            "parent_id" not in answer.body
        ):  # refused before an order was made, because its broker did not answer the last ones
            assert answer.body["error"] in [line.get("words") for line in lines if line["event"] == "order.decided"]
            continue
        own = [line for line in lines if line.get("parent") == answer.body["parent_id"]]
        assert own, answer
        if answer.status == 422 and "broker_response" in answer.body:
            assert answer.body["status_message"] in [line.get("words") for line in own]
    text = "".join(path.read_text() for path in folder.iterdir())
    assert [secret for secret in secrets_of(day) if secret in text] == []
