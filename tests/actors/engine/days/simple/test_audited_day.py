"""A trading day with faults, kept by the audit and compared with the exchange's ledger: one line `order.sent` for each message, and the other way round."""

from collections import Counter
from contextlib import asynccontextmanager

import attrs
import trio

from onebroker.actors.audit.open_audit import open_audit
from onebroker.actors.audit.verify import verify
from onebroker.actors.audit.writer import AuditPlace
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.kernel.events import Events
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.simple.test_order_events import sent_and_ledger
from tests.actors.engine.days.simple.test_simple_order import far_below, until_parent
from tests.actors.engine.days.unknown.test_unknown_orders import bracket
from tests.support.audited import at_once, audited


@asynccontextmanager
async def kept(day, folder):
    """Let the audit hear a day; it ends after the service, as in the process."""
    place = AuditPlace(folder=folder, keep_days=1826, in_thread=at_once)
    async with open_audit(place, day.clock, Events()) as audit:
        day.events = Events(day.heard.append, audit.hear)
        yield audit


def lines_and_ledger(day, folder):
    """Return two counts of the order messages by broker, verb and order: as the audit has them, and as the exchange has them."""
    lines = [line for line in audited(folder) if line["event"] == "order.sent"]
    counted = Counter((line["broker"], line["verb"], line.get("order_id") or line["token"]) for line in lines)
    return counted, sent_and_ledger(day)[1]


def secrets_of(day):
    """Return every text of the brokers' credentials and logins that is no common word."""
    texts = {text for code in day.codes for text in day.settings().brokers[code].credentials.values()}
    for handle in day.sessions.values():
        login = handle.view.value.access.login
        texts |= {text for text in attrs.asdict(login).values() if isinstance(text, str) and text != login.user_id}
    return {text for text in texts if len(text) > 7}


async def test_every_message_of_a_day_is_one_line(day, autojump_clock, tmp_path):
    async with day.market(), kept(day, tmp_path), day.service():
        share, other = day.equity(), day.equity(1)
        rests = await day.place(day.body(share, price=far_below(day, share)), intent_id="i-1")
        fills = await day.place(day.body(other, price=far_below(day, other)), intent_id="i-2")
        assert (await day.modify(rests.body["order_id"], quantity=12)).status == 200
        day.simulator.set_price(other.instrument_id, far_below(day, other), 60)
        await until_parent(day, fills, "completed")
        day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=5)
        refused = await day.place(day.body(share, price=far_below(day, share), broker="zerodha"), intent_id="i-3")
        assert refused.status != 200
        day.simulator.fault("upstox", FaultKind.DROP_AFTER_ACCEPT, seconds=5)
        lost = await day.place(day.body(share, price=far_below(day, share), broker="upstox"), intent_id="i-4")
        assert lost.status == 504
        await trio.sleep(60)
        assert (await day.cancel(rests.body["order_id"])).status == 200
        secrets = secrets_of(day)
    counted, ledger = lines_and_ledger(day, tmp_path)
    assert counted == ledger
    assert {verb for _, verb, _ in counted} == {"place", "modify", "cancel"}
    lines = audited(tmp_path)
    of_first = [line["event"] for line in lines if line.get("parent") == rests.body["parent_id"]]
    assert of_first[:4] == ["parent.state", "order.decided", "parent.state", "order.sent"]
    decided = next(line for line in lines if line["event"] == "order.decided" and line["intent"] == "i-3")
    assert decided["broker"] == "zerodha"
    assert secrets
    text = "".join(path.read_text() for path in tmp_path.iterdir())
    assert [secret for secret in secrets if secret in text] == []
    assert verify(tmp_path, running=False).fault is None


async def test_every_message_of_a_plan_is_one_line(market, autojump_clock, tmp_path):
    async with kept(market, tmp_path), traded(market) as trading:
        answer = await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(-1))))
        await trio.sleep(5)
        market.simulator.fault("all", FaultKind.REFUSE_CONNECTIONS, seconds=20)
        trading.moved(-2)
        await trio.sleep(60)
        trading.moved(6)
        await trading.until(answer, "completed")
    counted, ledger = lines_and_ledger(market, tmp_path)
    assert counted == ledger
    assert {"place", "cancel"} <= {verb for _, verb, _ in counted}
    lines = audited(tmp_path)
    placed = [line["leg"] for line in lines if line["event"] == "order.sent" and line["verb"] == "place"]
    decided = [line["leg"] for line in lines if line["event"] == "order.decided" and "leg" in line]
    assert set(placed) <= set(decided)
    assert verify(tmp_path, running=False).fault is None


async def test_an_order_that_no_broker_can_take_is_a_decision_with_its_reasons(day, autojump_clock, tmp_path):
    async with day.market(), kept(day, tmp_path), day.service():
        share = day.equity()
        answer = await day.place(day.body(share, price=far_below(day, share), quantity=10**9))
        assert answer.status >= 400
    (decided,) = [line for line in audited(tmp_path) if line["event"] == "order.decided"]
    assert decided["words"] == answer.body["error"]
    assert sorted(text.partition(":")[0] for text in decided["skipped"]) == sorted(day.codes)
