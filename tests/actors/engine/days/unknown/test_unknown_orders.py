"""Orders of unknown outcome over the whole way (order-engine 2.2 rows 12 to 13c, 2.4 fingerprint, 2.5 K14, K15), judged on the
exchange's ledger."""

from decimal import Decimal as D

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.orders.parent_records import LegState, decode_parent, encode_parent
from onebroker.actors.engine.orders.part_state import PartState
from onebroker.actors.engine.plan.parts import FromFill
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, SetAdd
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.days.plans.test_plan_orders import stop, traded
from tests.actors.engine.plan.trees import oco, order, together
from tests.support.mortal import mortal

STOP = "root.each_fill.children.0"
AFTER_ALL = "an order taken as not sent appeared at zerodha after all"


@pytest.fixture
async def zerodha(day, autojump_clock):
    """A day with one broker, which cannot be asked for an order by our token."""
    with trio.fail_after(86_400):
        day.__init__(brokers=("zerodha",))
        async with day.market():
            yield day


async def parent_of(day, answer):
    """The parent as it is stored, its legs in the order of the parts."""
    parent = await stored_parent(day.store, answer.body["parent_id"])
    return {**parent, "legs": sorted(parent["legs"], key=lambda leg: leg["part"])}


async def until_leg(day, answer, state, number=0, seconds=200):
    with trio.fail_after(seconds):
        while (await parent_of(day, answer))["legs"][number]["state"] != state:
            await trio.sleep(0.1)
    return await parent_of(day, answer)


async def rewritten(day, answer, change):
    """Change the stored parent, as an earlier life of the service may have left it."""
    parent_id = answer.body["parent_id"]
    record = change(decode_parent(await day.store.get(keys.parent(parent_id))))
    await day.store.commit(Set(keys.parent(parent_id), encode_parent(record)), SetAdd(keys.OPEN_PARENTS, parent_id))


def lost(record, number, *, part_state=None):
    """The record with one leg taken as not sent, and its part ended for that."""
    legs = sorted(record.legs, key=lambda leg: leg.part)
    leg = attrs.evolve(legs[number], state=LegState.NOT_SENT, order_id=None, filled_quantity=0)
    record = record.with_leg(leg)
    if part_state is None:
        return record
    part = attrs.evolve(record.parts[leg.part], own=part_state, state=part_state, status_message="never shown")
    return attrs.evolve(record, parts={**record.parts, leg.part: part})


def bracket(trading):
    exits = oco(
        "root.each_fill",
        order(STOP, "SELL", FromFill(), stop(trading, -4, -5), is_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), Fixed(trading.at(3)), is_exit=True),
    )
    return order(quantity=100, price=Fixed(trading.at(1)), each_fill=exits)


# --- there after all (row 13c) --------------------------------------------------------------------------------------------


async def test_a_stop_of_an_open_plan_that_is_there_after_all_goes_on_and_is_kept_at_what_is_open(
    zerodha, autojump_clock
):
    async with traded(zerodha) as trading:
        answer = await trading.place(bracket(trading))
        await trading.until_messages(3)
        await until_leg(zerodha, answer, "pending", 1)
        await trio.sleep(5)
    await rewritten(zerodha, answer, lambda record: lost(record, 1, part_state=PartState.REJECTED))
    async with traded(zerodha) as trading:
        parent = await until_leg(zerodha, answer, "pending", 1)
        assert parent["status_message"] == AFTER_ALL
        await trio.sleep(5)
        parent = await parent_of(zerodha, answer)
        assert (parent["state"], parent["parameters"]["parts"][STOP]["state"]) == ("working", "working")
        await trading.move(4)  # the target fills
        await trading.until(answer, "completed")
        parent = await parent_of(zerodha, answer)
        assert [leg["filled_quantity"] for leg in parent["legs"]] == [100, 0, 100]
        assert parent["status_message"] == AFTER_ALL
        assert [verb for verb, *_ in trading.messages()] == ["place", "place", "place", "cancel"]


async def test_an_entry_of_an_open_plan_that_is_there_after_all_is_cancelled_at_once(zerodha, autojump_clock):
    async with traded(zerodha) as trading:
        root = together(
            "root",
            order("root.children.0", quantity=10, price=Fixed(trading.at(-3))),
            order("root.children.1", quantity=20, price=Fixed(trading.at(-2))),
        )
        answer = await trading.place(root)
        await trading.until_messages(2)
        await trio.sleep(5)
    await rewritten(zerodha, answer, lambda record: lost(record, 0, part_state=PartState.REJECTED))
    async with traded(zerodha) as trading:
        parent = await until_leg(zerodha, answer, "cancelled")
        assert parent["status_message"] == AFTER_ALL
        await trio.sleep(30)
        parent = await parent_of(zerodha, answer)
        assert [leg["state"] for leg in parent["legs"]] == ["cancelled", "open"]
        assert [verb for verb, *_ in trading.messages()] == ["place", "place", "cancel"]


@pytest.mark.parametrize(("state", "verbs"), [("cancelled", ["place"]), ("halted", ["place", "cancel"])])
async def test_under_a_parent_that_a_caller_ended_nothing_is_sent_for_it_and_after_a_flatten_it_is_cancelled(
    zerodha, state, verbs, autojump_clock
):
    async with traded(zerodha) as trading:
        answer = await trading.place(order(quantity=10, price=Fixed(trading.at(-3))))
        await trio.sleep(5)
    await rewritten(zerodha, answer, lambda record: attrs.evolve(lost(record, 0), state=state))
    async with traded(zerodha) as trading:
        parent = await until_leg(zerodha, answer, "open" if state == "cancelled" else "cancelled")
        await trio.sleep(60)
        parent = await parent_of(zerodha, answer)
        assert (parent["state"], parent["status_message"]) == (state, AFTER_ALL)
        assert [verb for verb, *_ in trading.messages()] == verbs


async def test_what_a_late_order_filled_before_it_could_be_cancelled_is_written(zerodha, autojump_clock):
    async with traded(zerodha) as trading:
        answer = await trading.place(order(quantity=10, price=Fixed(trading.at(1))))
        await trading.until(answer, "completed")
    ended = {"state": "rejected", "status_message": "the broker never showed this order"}
    await rewritten(zerodha, answer, lambda record: attrs.evolve(lost(record, 0), **ended))
    async with traded(zerodha) as trading:
        parent = await until_leg(zerodha, answer, "complete")
        assert (parent["legs"][0]["filled_quantity"], parent["status_message"]) == (10, AFTER_ALL)
        assert [verb for verb, *_ in trading.messages()] == ["place"]


# --- told by what it is (fingerprint, row 13b) ----------------------------------------------------------------------------


class WithoutTags:
    """A broker's book codec that never says what was sent in the tag field."""

    def __init__(self, books):
        self._books = books

    def parse_orders(self, responses, listings):
        rows = self._books.parse_orders(responses, listings)
        return [msgspec.structs.replace(row, tag=None) for row in rows]

    def __getattr__(self, name):
        return getattr(self._books, name)


@pytest.fixture
def silent(zerodha):
    """Zerodha, giving no tag back and telling nothing by its stream; orders are slow to come into its book."""
    broker = zerodha.registry["zerodha"]
    zerodha.registry = {"zerodha": attrs.evolve(broker, books=WithoutTags(broker.books))}
    zerodha.simulator.fault("all", FaultKind.STALL_STREAM, seconds=80_000)
    return zerodha


async def cut_off(day, *, intent_id="i-1", **more):
    """Place an order whose answer is lost; it rests at the broker."""
    day.simulator.faults.add("all", FaultKind.DROP_AFTER_ACCEPT, seconds=None, count=1)
    share = day.equity()
    tick = D(repr(share.tick_size))
    price = more.pop("price", (day.exchange.market(share.instrument_id).open * D("0.9") / tick).quantize(D(1)) * tick)
    answer = await day.place(day.body(share, price=price, **more), intent_id=intent_id)
    assert (answer.status, answer.body["outcome"]) == (504, "unknown")
    return answer


async def placed_by_hand(day, **more):
    """Place an order like those of `cut_off` as the account's holder would, without a tag."""
    share, handle = day.equity(), day.sessions["zerodha"]
    request = handle.broker.orders.place_request(handle.view.value.access, ticket(day, share, **more), day.clock.now())
    async with day.open_transport() as transport:
        answer = handle.broker.orders.parse_order_answer(await transport.send(request, 5))
    assert answer.order_id is not None
    return answer.order_id


def ticket(day, share, **more):
    from onebroker.brokers.broker import OrderTicket

    tick = D(repr(share.tick_size))
    price = (day.exchange.market(share.instrument_id).open * D("0.9") / tick).quantize(D(1)) * tick
    fields = {
        "transaction_type": "BUY", "product": "CNC", "order_type": "LIMIT", "validity": "DAY", "quantity": 10,
        "price": price, **more,
    }  # fmt: skip
    return OrderTicket(listing=share.listings["zerodha"], segment=share.identity.segment, **fields)


async def test_at_a_broker_that_gives_no_tag_back_an_unknown_order_is_found_by_what_it_is(silent, autojump_clock):
    async with silent.service():
        answer = await cut_off(silent)
        parent = await until_leg(silent, answer, "open")
        assert parent["legs"][0]["order_id"] == silent.messages("place")[0]["order_id"]
        assert (await silent.cancel(parent["legs"][0]["order_id"])).status == 200
        await until_leg(silent, answer, "cancelled")
        assert len(silent.messages("place")) == 1


async def test_two_unknown_orders_alike_share_what_the_book_shows_in_order_of_time(silent, autojump_clock):
    async with silent.service():
        silent.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=20, count=None, delay_seconds=20)
        first = await cut_off(silent)
        await trio.sleep(2)
        second = await cut_off(silent, intent_id="i-2")
        for answer, message in zip((first, second), silent.messages("place"), strict=True):
            parent = await until_leg(silent, answer, "open")
            assert parent["legs"][0]["order_id"] == message["order_id"]
        assert len(silent.messages("place")) == 2


async def test_more_orders_than_could_be_it_leave_it_unknown_to_the_end_and_nothing_is_touched(silent, autojump_clock):
    async with silent.service():
        silent.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=10, count=None, delay_seconds=10)
        answer = await cut_off(silent)
        await placed_by_hand(silent)
        with trio.fail_after(200):
            while (await stored_parent(silent.store, answer.body["parent_id"]))["state"] != "failed":
                await trio.sleep(0.1)
        parent = await stored_parent(silent.store, answer.body["parent_id"])
        assert parent["status_message"] == "the broker shows more than one order that could be this one"
        assert (parent["legs"][0]["state"], parent["legs"][0]["order_id"]) == ("unknown", None)
        assert len(silent.ledger()["messages"]) == 2
    async with silent.service(log_in=False):
        await trio.sleep(100)
        assert (await parent_of(silent, answer))["legs"][0]["state"] == "unknown"
        assert len(silent.ledger()["messages"]) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"quantity": 11},
        {"product": "MIS"},
        {"transaction_type": "SELL", "product": "MIS"},
        {"token": "byhand"},
        {"earlier": True},
    ],
)
async def test_an_order_that_differs_is_not_taken_for_it(silent, other, autojump_clock):
    async with silent.service():
        earlier = "earlier" in other
        if "token" in other:  # the broker shows the tags of others
            silent.sessions["zerodha"].broker.books.parse_orders = silent.registry["zerodha"].books._books.parse_orders
        if earlier:
            await placed_by_hand(silent)
            await trio.sleep(5)
        silent.simulator.fault("all", FaultKind.HTTP_500, seconds=1)
        share = silent.equity()
        answer = await silent.place(silent.body(share, price=ticket(silent, share).price))
        assert answer.body["outcome"] == "unknown"
        await trio.sleep(2)
        if not earlier:
            await placed_by_hand(silent, **other)
        parent = await until_leg(silent, answer, "not_sent")
        assert parent["status_message"] == "the broker never showed this order"


async def test_once_the_broker_has_shown_a_token_nothing_is_told_by_what_it_is_any_more(zerodha, autojump_clock):
    async with zerodha.service():
        share = zerodha.equity()
        price = ticket(zerodha, share).price
        assert (await zerodha.place(zerodha.body(share, price=price))).status == 200
        await trio.sleep(5)
    assert await zerodha.store.members(keys.TAGGING) == {"zerodha"}
    async with zerodha.service(log_in=False):
        await zerodha.until(lambda: zerodha.status.value.running)
        assert zerodha.legs.tagging == {"zerodha"}


# --- asked for by its token (row 13) --------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["upstox", "dhan", "fyers", "groww", "fivepaisa"])
async def test_a_broker_that_can_be_asked_by_token_is_asked_before_an_order_is_taken_as_not_sent(
    day, code, autojump_clock
):
    with trio.fail_after(86_400):
        day.__init__(brokers=(code,))
        async with day.market(), day.service():
            day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=600, count=None, delay_seconds=300)
            day.simulator.fault("all", FaultKind.STALL_STREAM, seconds=600)
            answer = await cut_off(day, product="MIS")
            await trio.sleep(250)
            leg = (await parent_of(day, answer))["legs"][0]
            assert leg["state"] == "unknown"
            placed = day.messages("place")
            assert leg["order_id"] in (placed[0]["order_id"], None)
            assert (leg["order_id"] is None) is (code == "fivepaisa")
            parent = await until_leg(day, answer, "open")
            assert parent["legs"][0]["order_id"] == placed[0]["order_id"]
            assert len(day.ledger()["messages"]) == 1


@pytest.mark.parametrize("code", ["upstox", "dhan", "fyers", "groww", "fivepaisa"])
async def test_where_it_says_that_there_is_none_the_order_was_not_sent(day, code, autojump_clock):
    with trio.fail_after(86_400):
        day.__init__(brokers=(code,))
        async with day.market(), day.service():
            await trio.sleep(60)  # the calls of the start have left the broker's windows
            day.simulator.fault("all", FaultKind.HTTP_500, seconds=2)
            share = day.equity()
            answer = await day.place(day.body(share, price=ticket_price(day, share), product="MIS"))
            assert answer.body["outcome"] == "unknown"
            parent = await until_leg(day, answer, "not_sent")
            assert parent["state"] == "rejected"
            assert day.messages("place") == []


def ticket_price(day, share):
    tick = D(repr(share.tick_size))
    return (day.exchange.market(share.instrument_id).open * D("0.9") / tick).quantize(D(1)) * tick


# --- a restart on a later day (K15), or in the middle (K14) ----------------------------------------------------------------------------------------


async def test_entries_that_had_not_left_when_the_caller_stopped_waiting_are_not_sent_and_the_parent_says_so(
    zerodha, autojump_clock
):
    with mortal(zerodha, None) as life:
        async with trio.open_nursery() as nursery:

            async def serve():
                async with traded(zerodha) as trading:
                    life.count()
                    life.death = "leg 2 before"
                    await trading.place(
                        together(
                            "root",
                            order("root.children.0", quantity=10, price=Fixed(trading.at(-3))),
                            order("root.children.1", quantity=20, price=Fixed(trading.at(-2))),
                        )
                    )

            nursery.start_soon(serve)
            await life.dead.wait()
            nursery.cancel_scope.cancel()
    await trio.sleep(10)
    async with traded(zerodha):
        await trio.sleep(100)
        (parent_id,) = {key for key in sorted(zerodha.store.keys()) if key.startswith("orders:parent:")}
        parent = await stored_parent(zerodha.store, parent_id.removeprefix("orders:parent:"))
        said = "the service was restarted before this order was answered, so 1 of its entries were not sent"
        assert parent["status_message"] == said
        assert len(parent["legs"]) == 1
        assert len(zerodha.messages("place")) <= 1


async def test_a_plan_says_what_is_not_known_of_an_order_of_an_earlier_day_and_its_other_parts_go_on(
    zerodha, autojump_clock
):
    async with traded(zerodha) as trading:
        root = together(
            "root",
            order("root.children.0", quantity=10, price=Fixed(trading.at(-3))),
            order("root.children.1", quantity=20, price=Fixed(trading.at(-2))),
        )
        answer = await trading.place(root)
        await trading.until_messages(2)
        await trio.sleep(5)

    def of_friday(record):
        legs = sorted(record.legs, key=lambda leg: leg.part)
        changes = {"session_day": "2026-11-20", "order_id": "of friday", "token": "ob" + "0" * 12}
        return record.with_leg(attrs.evolve(legs[0], **changes))

    await rewritten(zerodha, answer, of_friday)
    async with traded(zerodha) as trading:
        await until_leg(zerodha, answer, "expired")
        await trio.sleep(10)
        parent = await parent_of(zerodha, answer)
        assert parent["status_message"].startswith("what filled after 2026-11-23T10:")
        assert parent["status_message"].endswith(" is not known")
        assert (parent["state"], [leg["state"] for leg in parent["legs"]]) == ("working", ["expired", "open"])
        assert [verb for verb, *_ in trading.messages()] == ["place", "place"]
