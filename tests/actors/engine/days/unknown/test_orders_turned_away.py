"""Messages of a running plan that their broker turns away (a dead token, too many calls, an address it does not know): nothing of them was
looked at, so they go again when the reason has passed, and meanwhile what is open without a stop is said. Judged on the exchange's ledger."""

import contextlib

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.plan.price_kinds import Trail
from onebroker.brokers.requests import WireResponse
from tests.actors.engine.days.changes.test_cancels_go_on import killed_while_a_bracket_is_cancelled
from tests.actors.engine.days.plans.test_exits_never_give_up import exits, hidden_stop, is_over, is_said, problems
from tests.actors.engine.days.plans.test_plan_orders import stop, traded
from tests.actors.engine.days.unknown.test_unknown_orders import bracket
from tests.actors.engine.plan.trees import order


def kite(status, message, error_type):
    body = {"status": "error", "message": message, "data": None, "error_type": error_type}
    return WireResponse(status=status, body=msgspec.json.encode(body))


DEAD = kite(403, "Incorrect `api_key` or `access_token`.", "TokenException")
MANY = kite(429, "Too many requests", "NetworkException")
ADDRESS = kite(403, "No IPs configured for this app. Add allowed IPs on the developer console.", "PermissionException")
FUNDS = kite(400, "Insufficient funds.", "MarginException")
IN_DOUBT = kite(400, "Request timed out, too many requests", "OrderException")
ORDER_METHODS = frozenset({"POST", "PUT", "DELETE"})


@attrs.define
class Door:
    """What zerodha answers to order messages of some methods instead of working them."""

    answer: WireResponse
    methods: frozenset[str]
    left: float
    asked_at: list[float] = attrs.field(factory=list)
    """Monotonic seconds of those that it turned away."""


@contextlib.contextmanager
def turning_away(day, answer, *methods, times=float("inf")):
    dialect = day.simulator.gateways["zerodha"].dialect
    handle = dialect.handle
    door = Door(answer, frozenset(methods) or ORDER_METHODS, times)

    def work(request):
        if request.method in door.methods and request.path.startswith("/orders") and door.left > 0:
            door.left -= 1
            door.asked_at.append(day.clock.monotonic())
            return door.answer
        return handle(request)

    dialect.handle = work
    try:
        yield door
    finally:
        dialect.handle = handle


async def turned_away(day, door, times):
    await day.until(lambda: len(door.asked_at) >= times, 60)


# --- exits ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [DEAD, MANY, ADDRESS], ids=["dead", "many", "address"])
async def test_an_exit_that_its_broker_turns_away_once_goes_again_and_is_said(market, answer, autojump_clock):
    async with traded(market) as trading:
        placed = await hidden_stop(trading)
        with turning_away(market, answer, times=1) as door:
            trading.moved(-3)
            await is_said(trading, placed)
            await trading.until(placed, "completed")
        assert len(door.asked_at) == 1
        await is_over(trading, placed)
        await trio.sleep(120)
        assert [m[:3] for m in trading.messages()] == [("place", "BUY", 100), ("place", "SELL", 100)]
        assert [leg["filled_quantity"] for leg in (await trading.parent(placed))["legs"]] == [100]


async def test_an_exit_that_finds_out_that_the_token_is_dead_goes_after_the_login(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        await trio.sleep(2)
        dialect = market.simulator.gateways["zerodha"].dialect
        handle = dialect.handle
        found_out = []

        def work(request):
            if request.method == "POST" and request.path.startswith("/orders") and not found_out:
                found_out.append(request)
                dialect.expire_session()
            return handle(request)

        dialect.handle = work
        trading.moved(-3)
        await is_said(trading, answer)
        await trio.sleep(300)
        assert (len(found_out), (await trading.parent(answer))["state"]) == (1, "working")
        assert [m[1] for m in trading.messages()] == ["BUY"]
        await market.log_in("zerodha")
        await trading.until(answer, "completed", seconds=20)
        assert [m[:3] for m in trading.messages()] == [("place", "BUY", 100), ("place", "SELL", 100)]


async def test_a_restart_meanwhile_goes_on_trying(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        with turning_away(market, MANY, "POST"):
            trading.moved(-3)
            await is_said(trading, answer)
    async with traded(market, log_in=False) as trading:
        trading.moved(-3)
        await trading.until(answer, "completed", seconds=300)
        assert [m[:3] for m in trading.messages()] == [("place", "BUY", 100), ("place", "SELL", 100)]


async def test_no_trail_of_attempts_is_left_and_none_hurries(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        with turning_away(market, DEAD, "POST") as door:  # of a token that the profile call finds alive
            trading.moved(-3)
            await is_said(trading, answer)
            await trio.sleep(120)
            assert len((await trading.parent(answer))["legs"]) == 1
        waits = [after - before for before, after in zip(door.asked_at, door.asked_at[1:], strict=False)]
        assert [round(one) >= least for one, least in zip(waits, (1, 2, 4, 8, 15, 15), strict=False)] == [True] * 6
        assert len(door.asked_at) <= 12
        await trading.until(answer, "completed")


async def test_an_unregistered_address_is_asked_slowly_and_at_once_when_it_takes_an_order_again(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        with turning_away(market, ADDRESS, "POST") as door:
            trading.moved(-3)
            await is_said(trading, answer)
            await trio.sleep(290)
            assert 4 <= len(door.asked_at) <= 6
        asked = len(door.asked_at)
        await trio.sleep(2)
        assert (await trading.parent(answer))["state"] == "working"
        other = await trading.send(quantity=1, broker="zerodha")
        assert other.body["outcome"] == "accepted"
        await trading.until(answer, "completed", seconds=10)
        assert len(door.asked_at) == asked


@pytest.mark.parametrize("answer", [FUNDS, IN_DOUBT], ids=["funds", "in doubt"])
async def test_a_refusal_of_the_order_itself_and_an_unclear_one_stay_final(market, answer, autojump_clock):
    async with traded(market) as trading:
        placed = await hidden_stop(trading)
        with turning_away(market, answer, "POST", times=1) as door:
            trading.moved(-3)
            parent = await trading.until(placed, "rejected")
            await trio.sleep(300)
        assert (len(door.asked_at), len(parent["legs"])) == (1, 1)
        assert [m[1] for m in trading.messages()] == ["BUY"]


@pytest.mark.parametrize("answer", [DEAD, MANY, ADDRESS], ids=["dead", "many", "address"])
async def test_a_callers_own_order_is_told_to_his_face_and_not_sent_again(market, answer, autojump_clock):
    async with traded(market) as trading:
        with turning_away(market, answer, "POST", times=1) as door:
            simple = await trading.send(quantity=5, broker="zerodha", closes_position=True)
        assert (simple.status, simple.body["outcome"]) == (422, "rejected")
        await trio.sleep(60)
        exit = order("root", "SELL", 5, stop(trading, -4, -5), broker="zerodha", is_exit=True)
        with turning_away(market, answer, "POST", times=1) as door:
            alone = await trading.place(exit, intent_id="p-3")
        assert (alone.status, alone.body["outcome"]) == (422, "rejected")
        await trio.sleep(120)
        assert (trading.messages(), problems(trading), len(door.asked_at)) == ([], [], 1)


# --- cancels and changes ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [DEAD, MANY, ADDRESS], ids=["dead", "many", "address"])
async def test_the_cancel_of_a_sibling_goes_until_it_is_taken(market, answer, autojump_clock):
    async with traded(market) as trading:
        placed = await trading.place(bracket(trading), broker="zerodha")
        await trading.until_messages(3)
        await trio.sleep(5)
        with turning_away(market, answer, "DELETE") as door:
            trading.moved(4)
            await trio.sleep(65)
            assert exits(trading) == [("LIMIT", "complete", 100), ("SL", "trigger_pending", 0)]
            assert (2 if answer is ADDRESS else 10) <= len(door.asked_at) <= 20
        await trading.until(placed, "completed", seconds=80)
        assert exits(trading) == [("LIMIT", "complete", 100), ("SL", "cancelled", 0)]
        assert [m[0] for m in trading.messages()] == ["place"] * 3 + ["cancel"]


@pytest.mark.parametrize("answer", [DEAD, MANY, ADDRESS], ids=["dead", "many", "address"])
async def test_the_move_of_a_stop_goes_again(market, answer, autojump_clock):
    async with traded(market) as trading:
        points, offset = trading.snap(trading.start / 100), trading.snap(trading.start / 20)
        root = order(side="SELL", quantity=10, price=Trail(points=points, limit_offset=offset))
        await trading.place(root, broker="zerodha")
        await trio.sleep(5)
        with turning_away(market, answer, "PUT", times=1 if answer is ADDRESS else 3) as door:
            trading.moved(2)
            await turned_away(market, door, 1)
            assert [m[0] for m in trading.messages()] == ["place"]
            await trio.sleep(65)
        assert [m[0] for m in trading.messages()] == ["place", "modify"]
        own = {m["order_id"] for m in market.ledger()["messages"]}
        (resting,) = [one for one in market.ledger()["orders"] if one["order_id"] in own]
        assert trading.snap(trading.at(2) - points) == trading.snap(type(points)(str(resting["trigger_price"])))


async def test_a_parent_found_cancelling_cancels_until_it_is_taken(day, autojump_clock):
    async with day.market():
        answer = await killed_while_a_bracket_is_cancelled(day)
        assert answer.body["broker"] == "zerodha"
        with turning_away(day, MANY, "DELETE", times=4) as door:
            async with traded(day, log_in=False) as trading:
                await trading.until(answer, "cancelled", seconds=180)
        assert len(door.asked_at) == 4
        assert [m[0] for m in trading.messages()] == ["place"] * 3 + ["cancel"] * 2


@pytest.mark.parametrize("answer", [DEAD, MANY], ids=["dead", "many"])
async def test_a_callers_cancel_of_a_whole_parent_goes_too_when_it_is_taken(market, answer, autojump_clock):
    async with traded(market) as trading:
        placed = await trading.place(bracket(trading), broker="zerodha")
        await trading.until_messages(3)
        await trio.sleep(5)
        with turning_away(market, answer, "DELETE", times=4) as door:
            done = await market.stop(placed.body["parent_id"])
            assert (done.status, done.body["state"]) == (207, "cancelling")
            await trading.until(placed, "cancelled", seconds=180)
        assert len(door.asked_at) == 4
        assert [m[0] for m in trading.messages()] == ["place"] * 3 + ["cancel"] * 2
