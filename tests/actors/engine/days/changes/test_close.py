"""Closing within limits (rules 2.10.6; order-engine 5.7), judged on the exchange's ledger: what lies within is gone, what lies outside is as
before."""

import attrs
import pytest
import trio

from onebroker.actors.engine.orders.parent_records import decode_parent
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.store import keys
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.changes.test_flatten import ANSWER, bought, emptied, held, net, open_orders
from tests.actors.engine.days.plans.test_plan_orders import held_bracket, traded
from tests.actors.engine.plan.trees import oco, order, together
from tests.support.day import Day
from tests.support.engine_orders import placed_elsewhere, resting, ticks
from tests.support.order_document import order_document

BROKERS = ("kotakneo", "upstox", "zerodha")


async def three_brokers(story):
    with trio.fail_after(86_400):
        day = Day(brokers=BROKERS)
        async with day.market(), day.service():
            await emptied(day)
            await story(day)


async def at_all(day, number=1, product="MIS", quantity=20):
    for code in BROKERS:
        name = f"b-{code}-{number}-{product}"
        share = await bought(day, code, number=number, intent_id=name, quantity=quantity, product=product)
    return share


async def test_one_call_closes_an_instrument_at_every_broker_and_leaves_the_rest(autojump_clock):
    async def story(day):
        share = await at_all(day)
        other = await bought(day, "zerodha", number=2, intent_id="other")
        await bought(day, "upstox", number=1, intent_id="delivery", product="CNC")
        _, within = await placed_elsewhere(day, "kotakneo", number=1, product="MIS")
        _, outside = await placed_elsewhere(day, "kotakneo", number=2)
        await day.until(lambda: within in day.sessions["kotakneo"].view.value.orders)
        before, sent = held(day), len(day.messages("place"))
        dry = await day.close(instrument_id=share.instrument_id, product="intraday", dry_run=True)
        assert dry.status == 200
        assert [(one["broker"], one["close_quantity"]) for one in dry.body["would_close"]] == [
            (code, 20) for code in BROKERS
        ]
        assert [one["order_id"] for one in dry.body["would_cancel"]] == [within]
        assert (held(day), len(day.messages("place"))) == (before, sent)
        answer = await day.close(instrument_id=share.instrument_id, product="intraday")
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        assert list(answer.body) == ["closes", *ANSWER]
        assert [(one["broker"], one["transaction_type"]) for one in answer.body["closed"]] == [
            (code, "SELL") for code in BROKERS
        ]
        assert held(day) == {
            ("zerodha", other.instrument_id, "MIS"): 20,
            ("upstox", share.instrument_id, "CNC"): 20,
        }
        assert [one["order_id"] for one in open_orders(day)] == [outside]
        assert len(day.messages("place")) - sent == 3

    await three_brokers(story)


async def test_a_brokers_orders_and_positions_alone_are_closed(autojump_clock):
    async def story(day):
        share = await at_all(day)
        _, here = await placed_elsewhere(day, "upstox", number=3)
        _, there = await placed_elsewhere(day, "zerodha", number=3)
        await day.until(lambda: here in day.sessions["upstox"].view.value.orders)
        answer = await day.close(broker="upstox")
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        assert answer.body["closes"] == {"broker": "upstox", "instrument_id": None, "product": None, "tag": None}
        assert [one["order_id"] for one in answer.body["cancelled"]] == [here]
        assert held(day) == {(code, share.instrument_id, "MIS"): 20 for code in ("kotakneo", "zerodha")}
        assert [one["order_id"] for one in open_orders(day)] == [there]

    await three_brokers(story)


async def test_parents_within_are_halted_and_the_others_go_on(autojump_clock):
    async def story(day):
        share, within, *_ = await resting(day, number=1, intent_id="r-1")
        _, outside, *_ = await resting(day, number=2, intent_id="r-2")
        answer = await day.close(instrument_id=share.instrument_id)
        assert (answer.status, answer.body["halted"]) == (200, {"halted_parents": 1, "partly": []}), answer.body
        assert (await stored_parent(day.store, within))["state"] == "halted"
        assert (await stored_parent(day.store, outside))["state"] == "working"
        assert len(open_orders(day)) == 1

    await three_brokers(story)


async def test_a_parent_that_also_works_elsewhere_is_not_halted_and_knows_that_its_order_was_cancelled(autojump_clock):
    async def story(day):
        first, second = day.equity(1), day.equity(2)
        root = together(
            "root",
            order("root.children.0", "BUY", 20, Fixed(ticks(day, first, -3)), of=first.instrument_id),
            order("root.children.1", "BUY", 20, Fixed(ticks(day, second, -3)), of=second.instrument_id),
        )
        body = day.body(first, product="MIS", quantity=20, price=ticks(day, first, -3), plan=root)
        placed = await day.place(body, intent_id="two")
        parent_id = placed.body["parent_id"]
        await day.until(lambda: len(open_orders(day)) == 2)
        answer = await day.close(instrument_id=first.instrument_id)
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        assert answer.body["halted"] == {"halted_parents": 0, "partly": [parent_id]}
        await trio.sleep(5)
        (left,) = open_orders(day)
        assert left["instrument_id"] == second.instrument_id
        parent = await stored_parent(day.store, parent_id)
        assert (parent["state"], sorted(leg["state"] for leg in parent["legs"])) == ("working", ["cancelled", "open"])
        legs = decode_parent(await day.store.get(keys.parent(parent_id)) or b"").legs
        assert [leg.cancel_reason for leg in legs if leg.state == "cancelled"] == ["caller"]

    await three_brokers(story)


async def test_exits_that_wait_for_a_closed_position_end_in_a_parent_that_goes_on(day, autojump_clock):
    async with day.market(), traded(day) as trading:
        await emptied(day)
        other = day.equity(9)
        bracket = held_bracket(trading, entry=1)
        entry = attrs.evolve(
            bracket,
            path="root.children.0",
            hold=False,
            each_fill=oco(
                "root.children.0.each_fill",
                *(
                    attrs.evolve(exit_, path=f"root.children.0.each_fill.children.{number}")
                    for number, exit_ in enumerate(bracket.each_fill.children)
                ),
            ),
        )
        away = order("root.children.1", "BUY", 20, Fixed(ticks(day, other, -3)), of=other.instrument_id)
        tree = attrs.evolve(together("root", trading.on_share(entry), away))
        body = day.body(trading.share, product="MIS", price=trading.at(1), plan=tree, quantity=100)
        parent_id = (await day.place(body, intent_id="p")).body["parent_id"]
        code = None

        def protected():
            nonlocal code
            codes = [key[0] for key, units in held(day).items() if units == 100]
            code = codes[0] if codes else None
            return code and net(day, code, trading.share) == 100 and len(open_orders(day)) == 2

        await day.until(protected)
        answer = await day.close(instrument_id=trading.share.instrument_id)
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        assert answer.body["halted"] == {"halted_parents": 0, "partly": [parent_id]}
        await trading.move(5)
        await trio.sleep(30)
        assert held(day) == {}
        (left,) = open_orders(day)
        assert left["instrument_id"] == other.instrument_id
        parent = await stored_parent(day.store, parent_id)
        parts = parent["parameters"]["parts"]
        assert (parent["state"], parent["status_message"]) == ("working", None), "it guards nothing there any more"
        assert {parts[f"root.children.0.each_fill.children.{number}"]["state"] for number in (0, 1)} == {"cancelled"}


async def test_of_a_shared_position_a_tag_closes_its_own_units(autojump_clock):
    async def story(day):
        share = day.equity(1)
        for tag, quantity in (("momentum", 30), ("carry1", 20)):
            body = day.body(share, product="MIS", quantity=quantity, broker="zerodha", price=ticks(day, share, 2))
            assert (await day.place(attrs.evolve(body, tag=tag), intent_id=tag)).status == 200
        rest = day.body(share, product="MIS", quantity=5, broker="upstox", price=ticks(day, share, -3))
        for tag in ("momentum", "carry1"):
            assert (await day.place(attrs.evolve(rest, tag=tag), intent_id=f"rest-{tag}")).status == 200
        await day.until(lambda: net(day, "zerodha", share) == 50 and len(open_orders(day)) == 2)
        answer = await day.close(tag="momentum")
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        assert [(one["broker"], one["quantity"], one["close_quantity"]) for one in answer.body["closed"]] == [
            ("zerodha", 50, 30)
        ]
        assert held(day) == {("zerodha", share.instrument_id, "MIS"): 20}
        assert len(open_orders(day)) == 1
        again = await day.close(tag="momentum")
        assert again.body["closed"] == []
        assert (again.status, held(day)) == (200, {("zerodha", share.instrument_id, "MIS"): 20})

    await three_brokers(story)


async def test_a_close_by_the_instrument_takes_the_units_of_every_tag(autojump_clock):
    async def story(day):
        share = day.equity(1)
        body = day.body(share, product="MIS", quantity=30, broker="zerodha", price=ticks(day, share, 2))
        assert (await day.place(attrs.evolve(body, tag="momentum"), intent_id="m")).status == 200
        await day.until(lambda: net(day, "zerodha", share) == 30)
        await trio.sleep(2)
        assert (await day.close(instrument_id=share.instrument_id)).body["flat"]
        await trio.sleep(2)
        assert (await day.place(attrs.evolve(body, tag="carry1"), intent_id="c")).status == 200
        await day.until(lambda: net(day, "zerodha", share) == 30)
        answer = await day.close(tag="momentum")
        assert (answer.body["closed"], held(day)) == ([], {("zerodha", share.instrument_id, "MIS"): 30})

    await three_brokers(story)


async def test_an_unknown_instrument_is_404_and_nothing_is_sent(autojump_clock):
    async def story(day):
        sent = len(day.messages("place"))
        for dry_run in (True, False):
            answer = await day.close(instrument_id="00000000-0000-0000-0000-00000000000a", dry_run=dry_run)
            assert answer.status == 404
            assert "is mapped on" in answer.body["error"]
        assert len(day.messages("place")) == sent

    await three_brokers(story)


async def test_a_broker_outside_the_limits_that_cannot_be_read_does_not_matter(autojump_clock):
    async def story(day):
        share = await at_all(day)
        day.simulator.faults.add("kotakneo", FaultKind.REFUSE_CONNECTIONS, seconds=600)
        await trio.sleep(70)
        answer = await day.close(broker="zerodha", instrument_id=share.instrument_id)
        assert (answer.status, answer.body["brokers_not_read"]) == (200, [])

    await three_brokers(story)


# --- sales out of the holdings --------------------------------------------------------------------------------------------


async def sold_out_of_the_holdings(day, code="zerodha"):
    """Sell five held shares at a broker, and wait until its position row shows it."""
    listed = {share.isin: share for share in day.listed("nse_equities") if code in share.listings}
    holdings = day.sessions[code].view.value.holdings
    share = next(listed[row.isin] for row in holdings if row.isin in listed and row.settled_quantity >= 10)
    body = day.body(share, product="CNC", transaction_type="SELL", quantity=5, broker=code, price=ticks(day, share, -2))
    assert (await day.place(body, intent_id="sale")).status == 200
    await day.until(lambda: net(day, code, share, "CNC") == -5)
    return share


async def test_a_sale_out_of_the_holdings_is_marked_and_left_when_it_is_asked_for(autojump_clock):
    async def story(day):
        share = await sold_out_of_the_holdings(day)
        bought_ = await bought(day, "upstox", number=2, intent_id="b")
        row = next(row for row in day.sessions["zerodha"].view.value.positions if row.quantity == -5)
        assert row.covered_by_holdings
        dry = await day.flatten(dry_run=True)
        assert [(one["broker"], one.get("covered_by_holdings")) for one in dry.body["would_close"]] == [
            ("upstox", None), ("zerodha", True),
        ]  # fmt: skip
        dry = await day.flatten(dry_run=True, skip_covered=True)
        assert [one["broker"] for one in dry.body["would_close"]] == ["upstox"]
        within = await day.close(broker="zerodha", skip_covered=True)
        assert (within.status, within.body["flat"], within.body["closed"]) == (200, True, [])
        answer = await day.flatten(skip_covered=True)
        assert (answer.status, answer.body["flat"]) == (200, True), answer.body
        assert held(day) == {("zerodha", share.instrument_id, "CNC"): -5}
        assert bought_.instrument_id in {one["instrument_id"] for one in day.ledger()["orders"]}

    await three_brokers(story)


async def test_a_flatten_buys_it_back_as_the_rules_say(autojump_clock):
    async def story(day):
        await sold_out_of_the_holdings(day)
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"], held(day)) == (200, True, {})
        assert [one["covered_by_holdings"] for one in answer.body["closed"]] == [True]

    await three_brokers(story)


@pytest.mark.parametrize("kind", ["part", "candidate"])
async def test_a_close_takes_the_units_of_a_part_with_a_tag_of_its_own(market, kind, autojump_clock):
    """The body has none, or another: the answer said that all was flat, and closed nothing."""
    async with traded(market) as trading, order_document(market) as rows:
        fixed = {"kind": "fixed", "price": trading.at(1)}
        own = {"type": "plan", "root": {"transaction_type": "BUY", "tag": "aa", "price": fixed}}
        if kind == "candidate":
            candidate = {"order_type": "LIMIT", "price": trading.at(1), "quantity": 10, "tag": "aa"}
            own = {"type": "basket", "candidates": [candidate]}
        await trading.send(quantity=10, broker="zerodha", tag="bb", synthetic=own)
        await market.until(lambda: net(trading.day, "zerodha", trading.share) == 10, 20)
        await trio.sleep(10)
        assert {row.tag for row in rows().values() if row.engine_parent_id} == {"aa"}
        assert (await market.close(tag="bb")).body["closed"] == []
        answer = await market.close(tag="aa")
        assert (net(trading.day, "zerodha", trading.share), answer.body["flat"]) == (0, True), answer.body


@pytest.mark.parametrize("level", ["-4.2", "3.1"])
@pytest.mark.parametrize("body_tag", ["e", "body"])
async def test_a_close_by_the_tag_of_an_entry_ends_its_exits_whatever_their_tag(
    market, body_tag, level, autojump_clock
):
    """15 units of another tag lie in the same position: no exit stays for them. A target that has sold a part has sold the entry's units."""
    async with traded(market) as trading:
        share = trading.share

        def exit_at(percent, units, limit=None):
            price = {"kind": "fixed", "price": trading.at(percent)}
            if limit is not None:
                price = {"kind": "native_stop", "trigger_price": trading.at(percent), "limit_price": trading.at(limit)}
            return {"transaction_type": "SELL", "tag": "x", "price": price, "quantity": units}

        children = [exit_at(-4, 40, -8), exit_at(2, 20), exit_at(3, 20)]
        exits = {"part": "one_cancels_others", "rule": "shrink", "children": children}
        root = {"part": "order", "each_fill": exits} | ({} if body_tag == "e" else {"tag": "e"})
        body = {"quantity": 40, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(1), "tag": body_tag}
        answer = await trading.send(**body, synthetic={"type": "plan", "root": root, "hold_limits": False})
        await trading.send(quantity=15, broker="zerodha", tag="o")
        await trio.sleep(15)
        await trading.move("2.1")
        await market.until(lambda: net(market, "zerodha", share) == 35, 20)
        await trio.sleep(10)
        closed = await market.close(tag="e")
        assert (closed.status, closed.body["flat"]) == (200, True)
        await trio.sleep(20)
        await trading.move(level)
        await trio.sleep(20)
        assert net(market, "zerodha", share) == 15
        assert (await trading.parent(answer))["state"] == "halted"
