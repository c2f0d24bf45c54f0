"""The worked examples of order-engine 6 over the whole way, message by message on the exchange's ledger: 6.10, 6.13 (its lockout) and 6.16,
which turn on what the brokers hold, have lost, ask and have room for. The others: `test_worked_examples_day`."""

import contextlib
from decimal import Decimal as D

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.loss_watch import LossWatch
from onebroker.actors.engine.shown.stored_parents import open_parents
from onebroker.actors.sessions.budget_counts import encode_counts
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from onebroker.brokers.transport.budget import BudgetCounts
from tests.support.day import Day
from tests.support.entry_days import REAL, at
from tests.support.plan_judge import judge
from tests.support.worked_days import ALPHA, BETA, Worked, bare

AROUND_100, AROUND_250 = 12, 7
"""The numbers of shares that may trade from 88.80 to 133.10, and from 179.20 to 268.70."""


async def until_moment(day, text):
    await trio.sleep((at(f"2026-11-23T{text}") - day.clock.now()).total_seconds())


# --- 6.10 --------------------------------------------------------------------------------------------------------------
# Where the section cancels in the moment it is due and closes 0.6 s later, each broker shows its positions, and then its orders and
# positions again, at the next turn of its reads: a second after it is due, and two after that. The orders that close are A1 and A2.

CLOSE = {"transaction_type": "SELL", "quantity": None, "synthetic": {"type": "square_off", "closes_position": True}}
ALPHA_CLOSED, BETA_CLOSED = f"PLACE {ALPHA} SELL 100 LIMIT 99.90", f"PLACE {BETA} BUY 50 LIMIT 100.15"


async def squared_off(day):
    """Up to ten past three. The service runs where something happens."""
    async with day.market(), day.service(quotes=True):
        share = Worked(day, AROUND_100)
        await share.quote("100.00", "100.00", "100.05")
        await share.hold(100, broker=ALPHA)
        await share.hold(-50, broker=BETA)
        await share.rest_elsewhere("A9", "SELL", 100, "104.00", broker=ALPHA)
        answer = await share.send(**CLOSE)
        assert (answer.status, answer.body["outcome"]) == (202, "armed"), answer
        await share.stands(answer, plan="armed", root="waiting")
        assert (await share.part(answer))["next_at"] == at("2026-11-23T15:10").timestamp()
        assert share.said() == []
    await until_moment(day, "15:09:50")
    return share, answer


@contextlib.asynccontextmanager
async def about_to_close(day_kind):
    """The share and the answer ten seconds before it is due, at whose time the seconds begin."""
    day = bare(day_kind(start=at("2026-11-23T11:00"), calendar=REAL))
    with trio.fail_after(86_400):
        share, answer = await squared_off(day)
        async with day.market(), day.service(quotes=True):
            later = Worked(day, AROUND_100)
            later.elsewhere = share.elsewhere
            await later.quote("100.00", "100.00", "100.05")
            later.began = at("2026-11-23T15:10")
            await trio.sleep(8)
            assert later.said() == []
            yield later, answer
    judge(day)


async def test_6_10_at_ten_past_three_what_rests_is_cancelled_and_both_brokers_are_closed(day_kind, autojump_clock):
    async with about_to_close(day_kind) as (share, answer):
        said = ["CANCEL A9", f"{ALPHA_CLOSED} -> A1", f"{BETA_CLOSED} -> A2"]
        await share.says(*said, seconds=10)
        (cancelled, _), *closed = share.spoken()
        assert 0 <= cancelled <= 1.5
        assert all(cancelled < moment <= 3.5 for moment, _ in closed)
        await share.stands(answer, plan="working", root="working")
        assert len((await share.parent(answer))["legs"]) == 2
        share.fill("A1")
        share.fill("A2")
        await share.until(answer, "completed")
        assert (share.net(ALPHA), share.net(BETA)) == (0, 0)
        await share.second(20)
        assert share.said() == said


async def test_6_10_where_the_resting_order_is_not_gone_in_five_seconds_its_row_waits_and_the_other_is_closed(
    day_kind, autojump_clock
):
    """Its broker takes the cancel and does not carry it out, for a while."""
    async with about_to_close(day_kind) as (share, answer):
        with share.keeping("A9", refused=False):
            said = ["CANCEL A9", f"{BETA_CLOSED} -> A1"]
            await share.says(*said, seconds=12)
            (cancelled, _), (closed, _) = share.spoken()
            assert 0 <= cancelled <= 1.5 < 5 < closed <= 8
            share.fill("A1")
            sentence = "what is due waits: 1 resting orders could not be cancelled, so this position was not closed"
            troubles = share.day.engine_context.troubles
            await share.day.until(lambda: sentence in [row.sentence for row in troubles.rows], 10)
            assert (share.net(ALPHA), share.net(BETA)) == (100, 0)
            assert (await share.parent(answer))["state"] == "working"
        await share.day.until(lambda: share.said()[-1].startswith(ALPHA_CLOSED), 30)
        share.fill("A2")
        await share.until(answer, "completed")
        assert (share.net(ALPHA), share.net(BETA)) == (0, 0)
        assert [one for one in share.said() if one.startswith("PLACE")] == [
            f"{BETA_CLOSED} -> A1",
            f"{ALPHA_CLOSED} -> A2",
        ]


# --- 6.13, lockout -----------------------------------------------------------------------------------------------------

LIMIT = D(5000)
SENTENCE = "the day is down 5200.00, which is past the 5000.00 limit, so no new order is being placed"
NOT_SENT_AT_ONCE = (
    {"type": "virtual_limit"},
    {"type": "scheduled", "at_time": "10:30"},
    {"type": "bracket", "stop_price": 90.00, "stop_limit_price": 89.50, "target_price": 110.00},
    {"type": "plan", "root": {"part": "preset", "type": "virtual_limit"}},
    {"type": "plan", "hold_limits": True, "root": {"part": "together", "children": [{"quantity": 4}, {"quantity": {"share": 0.6}}]}},
)  # fmt: skip
"""Entries that the engine would keep: a new one is refused like one that is sent."""
KEPT = (
    {"quantity": 20, "synthetic": {"type": "hidden_stop", "trigger_price": 95}},
    {"order_type": "LIMIT", "price": 104.00, "synthetic": {"type": "virtual_limit"}},
    {"quantity": None, "synthetic": {"type": "square_off"}},
    {"synthetic": {"type": "plan", "root": {"part": "preset", "type": "hidden_stop", "trigger_price": 95}}},
    {"order_type": "LIMIT", "price": 104.00, "synthetic": {"type": "plan", "hold_limits": True, "root": {"part": "together", "children": [
        {"quantity": {"share": 1}}, {"transaction_type": "BUY", "price": {"kind": "fixed", "price": 95.00}},
    ]}}},
)  # fmt: skip
"""An exit, which is judged when it is due; what closes the ten units that are held and no more; the same with an entry beside it."""


async def test_6_13_entries_that_come_due_on_a_locked_day_are_refused_and_a_position_may_be_closed(
    day_kind, autojump_clock
):
    """The half hour is fifty seconds here, and the market stands at the limit of the scheduled entry: one that is not reached would be held
    at ten, and refused when it is released, as the second entry here (row 36)."""
    day = bare(day_kind(start=at("2026-11-23T09:59:05")))
    with trio.fail_after(3600):
        async with day.market(), day.service(quotes=True, funds=True), trio.open_nursery() as nursery:
            loss = day.engine_context.loss
            watch = LossWatch(
                limit=LIMIT,
                funds=day.funds,
                published=loss,
                store=day.store,
                clock=day.clock,
                calendar=day.calendar,
                positions=lambda code: None,
            )
            await nursery.start(watch.run)
            await day.until(lambda: loss.value.loss == 0)
            await play_lockout(day, loss)
            nursery.cancel_scope.cancel()
    judge(day)


async def play_lockout(day, loss):
    share, other = Worked(day, AROUND_100), Worked(day, AROUND_250)
    await share.quote("99.00", "98.95", "99.00")
    await other.quote("250.00")
    scheduled = await share.send(order_type="LIMIT", price=99.00, synthetic={"type": "scheduled", "at_time": "10:00"})
    assert (scheduled.status, scheduled.body["outcome"]) == (202, "armed"), scheduled
    of_other = {"instrument_id": other.share.instrument_id, "order_type": "LIMIT", "price": 240.00}
    held = await share.send(**of_other, synthetic={"type": "virtual_limit"})
    assert held.status == 202, held
    other.trade(100, price="240.00")
    other.trade(-100, price="200.00")
    await share.hold(10, price="219.00")
    await day.until(lambda: loss.value.locked is not None, 30)
    assert day.clock.now() < at("2026-11-23T09:59:58")
    pnl = msgspec.json.decode(day.funds.value.body)["pnl"]
    assert (pnl["realized"], pnl["unrealized"]) == (-4000.00, -1200.00)
    await share.stands(scheduled, plan="armed", root="waiting")
    await until_moment(day, "10:00:01")
    await is_refused(share, scheduled)
    await other.quote("240.00", "239.95", "240.00")
    await is_refused(other, held)
    assert share.said() == []
    await until_moment(day, "10:00:15")
    entry = await share.send(order_type="LIMIT", price=99.00)
    assert (entry.status, entry.body["error"]) == (403, SENTENCE)
    for settings in NOT_SENT_AT_ONCE:
        for dry_run in (True, False):
            waiting = await share.send(order_type="LIMIT", price=95.00, synthetic=settings, dry_run=dry_run)
            assert (waiting.status, waiting.body["error"]) == (403, SENTENCE), settings
    kept = [await share.send(transaction_type="SELL", **body) for body in KEPT]
    assert [(one.status, one.body["outcome"]) for one in kept] == [(202, "armed")] * len(KEPT)
    closing = await share.send(transaction_type="SELL", order_type="LIMIT", price=101.00)
    assert (closing.status, closing.body["outcome"], closing.body["broker"]) == (200, "accepted", ALPHA)
    await until_moment(day, "10:00:25")
    assert share.said() == [f"PLACE {ALPHA} SELL 10 LIMIT 101.00 -> A1"]
    opened = {parent["parent_order_id"] for parent in (await open_parents(day.store))["parents"]}
    assert opened == {one.body["parent_id"] for one in (closing, *kept)}


async def is_refused(share, answer):
    parent = await share.until(answer, "rejected", seconds=1)
    root = await share.part(answer)
    assert (parent["status_message"], root["state"], root["status_message"]) == (SENTENCE, "rejected", SENTENCE)


# --- 6.16 --------------------------------------------------------------------------------------------------------------

DEARER, CAPPED, LOGGED_OUT = "fivepaisa", "fyers", "upstox"
"""beta (20 rupees an order in every segment, by its price list), delta and gamma."""
ORDER = {"order_type": "LIMIT", "quantity": 100, "price": 250.00}
PLACED = "BUY 100 LIMIT 250.00"
CAP_SENTENCE = f"{CAPPED} has been sent 900 order messages today, and the last 100 of its 1000 are kept for orders that close a position"
STATE_S = {"exchange": 0.77, "regulator": 0.03, "stamp": 0.75, "transaction_tax": 0.0, "dp": 0.0}
COSTS = {
    ALPHA: {"total": 10.54, "brokerage": 7.50, "gst": 1.49, **STATE_S},
    DEARER: {"total": 25.29, "brokerage": 20.00, "gst": 3.74, **STATE_S},
}


class FourBrokers(Day):
    """alpha asks 0.03 % and at most 20 rupees, by its price list."""

    def __init__(self):
        super().__init__(brokers=(ALPHA, DEARER, LOGGED_OUT, CAPPED))
        self.day_limits = True

    def settings(self):
        settings = super().settings()
        capped = attrs.evolve(settings.brokers[CAPPED], daily_messages=1000, exit_reserve=100)
        return attrs.evolve(settings, brokers={**settings.brokers, CAPPED: capped})

    async def has_sent(self, code, messages):
        """So many order messages went to a broker before the service starts."""
        now = self.clock.now()
        counts = BudgetCounts(
            dumped_at=now.timestamp(), minutes=(), day=f"{now:%Y-%m-%d}", day_orders=messages, day_calls=messages
        )
        await self.store.write(Set(keys.rate(code), encode_counts(counts)))


@pytest.fixture
async def choosing(autojump_clock):
    day = bare(FourBrokers())
    with trio.fail_after(3600):
        await day.has_sent(CAPPED, 900)
        async with day.market(), day.service(quotes=True, log_in=False):
            for code in (ALPHA, DEARER, CAPPED):
                await day.log_in(code)
            await day.until(lambda: day.status.value.running and all(map(day.has_read, (ALPHA, DEARER, CAPPED))))
            share = Worked(day, AROUND_250)
            await share.quote("250.00")
            yield share
    judge(day)


async def test_6_16_the_cheapest_broker_that_can_gets_it(choosing, autojump_clock):
    for code, cost in COSTS.items():
        dry = await choosing.send(**ORDER, broker=None if code == ALPHA else code, dry_run=True)
        assert (dry.status, dry.body["broker"], dry.body["estimated_cost"]) == (200, code, cost)
    answer = await choosing.send(**ORDER)
    await choosing.says(f"PLACE {ALPHA} {PLACED} -> A1")
    assert (answer.status, answer.body["broker"], answer.body["order_id"]) == (200, ALPHA, await choosing.rests("A1"))
    assert answer.body["skipped"] == [
        {"broker": CAPPED, "reason": CAP_SENTENCE}, {"broker": LOGGED_OUT, "reason": f"{LOGGED_OUT} has no login in Redis"},
    ]  # fmt: skip


async def test_6_16_the_last_messages_of_a_day_are_kept_for_closing(choosing, autojump_clock):
    entry = await choosing.send(**ORDER, broker=CAPPED)
    assert (entry.status, entry.body["error"]) == (429, CAP_SENTENCE)
    assert choosing.said() == []
    closing = await choosing.send(**ORDER, broker=CAPPED, synthetic={"type": "simple", "closes_position": True})
    assert (closing.status, closing.body["broker"]) == (200, CAPPED)
    await choosing.says(f"PLACE {CAPPED} {PLACED} -> A1")


async def test_6_16_a_stop_that_closes_by_its_type_alone_gets_none_of_the_last_messages(choosing, autojump_clock):
    sale = {"transaction_type": "SELL", "quantity": 100, "broker": CAPPED}
    trail = {"type": "trailing_stop", "trail_percent": 4, "stop_limit_offset": 1}
    by_type = await choosing.send(**sale, synthetic=trail)
    assert (by_type.status, by_type.body["error"]) == (429, CAP_SENTENCE)
    assert choosing.said() == []
    said = await choosing.send(**sale, synthetic={**trail, "closes_position": True})
    assert (said.status, said.body["broker"]) == (200, CAPPED)


async def test_6_16_an_order_that_its_broker_refuses_is_tried_at_no_other(choosing, autojump_clock):
    with choosing.refusing("LIMIT"):
        answer = await choosing.send(**ORDER)
    assert (answer.status, answer.body["outcome"], answer.body["broker"]) == (422, "rejected", ALPHA)
    await trio.sleep(5)
    assert choosing.said() == [f"PLACE {ALPHA} BUY 100 None 250.00 -> refused"]
