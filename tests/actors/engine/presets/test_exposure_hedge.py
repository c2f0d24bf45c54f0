"""exposure_hedge: its settings, and a day on which it brings an exposure back into its band (order-engine 3.15)."""

import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ParentTrouble, ParentTroubleOver
from onebroker.config.vocabulary import Side
from onebroker.http.health_parts import order_problems
from tests.actors.engine.plan.strategies import SHARE
from tests.support.every_case import every_case
from tests.support.trading import Trading
from tests.support.typed import accepted, refusal

WATCHED = {"instrument_id": SHARE.instrument_id}
GOOD = {"type": "exposure_hedge", "exposure_instruments": [WATCHED], "band": 1000}


@every_case(
    ("wrong", "sentence"),
    [
        ({"exposure_instruments": None}, "exposure_instruments must be a list of 1 to 50 items"),
        ({"exposure_instruments": []}, "exposure_instruments must be a list of 1 to 50 items"),
        ({"exposure_instruments": [5]}, "exposure_instruments.0 must be a JSON object"),
        ({"exposure_instruments": [{"weight": 1}]}, "exposure_instruments.0.instrument_id is required"),
        ({"exposure_instruments": [{**WATCHED, "weight": "1"}]}, "exposure_instruments.0.weight must be a number"),
        ({"measure": "lots"}, "measure must be one of value, units"),
        ({"product": "MIS"}, "product must be one of delivery, intraday, carry, margin_trading, cover, bracket"),
        ({"target_exposure": "5"}, "target_exposure must be a number"),
        ({"band": None}, "band is required"),
        ({"band": 0}, "band must be a number above zero"),
        ({"hedge_weight": 0}, "hedge_weight must be a number other than zero"),
        ({"check_seconds": 0.5}, "check_seconds must be a number from 1 to 3600"),
        ({"buffer_ticks": -1}, "buffer_ticks must be a whole number of at least 0"),
        ({"levels": 1}, "a exposure_hedge order takes no levels"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(wrong, sentence):
    assert refusal({**GOOD, **wrong}, quantity=None) == (400, sentence)


def test_what_is_left_out_is_shown_with_its_default():
    shown = accepted(GOOD, quantity=None).parameters
    defaults = {"measure": "value", "target_exposure": 0, "hedge_weight": 1, "check_seconds": 5, "buffer_ticks": 2}
    assert {name: shown[name] for name in defaults} == defaults


async def hedged(trading, **settings):
    """Hold 20 of the share, then hedge it with another one; returns the other and the answer."""
    held = await trading.send(quantity=20, broker="upstox")
    await trading.until(held, "completed")
    other = trading.day.equity(1)
    given = {
        "type": "exposure_hedge",
        "exposure_instruments": [{"instrument_id": trading.share.instrument_id}],
        **settings,
    }
    answer = await trading.send(instrument_id=other.instrument_id, quantity=None, synthetic=given)
    return other, answer


async def test_what_is_outside_its_band_is_hedged_once(trading, autojump_clock):
    other, answer = await hedged(trading, measure="units", band=5)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    await trading.until_messages(2)
    await trio.sleep(60)
    assert [(one["instrument_id"], one["side"], one["quantity"]) for one in trading.day.messages("place")] == [
        (trading.share.instrument_id, "BUY", 20), (other.instrument_id, "SELL", 20),
    ]  # fmt: skip
    more = await trading.send(quantity=4)
    await trading.until(more, "completed")
    await trio.sleep(30)
    assert len(trading.day.messages("place")) == 3, "4 more are within the band"
    stopped = await trading.day.stop(answer.body["parent_id"])
    assert (stopped.status, stopped.body["state"]) == (200, "cancelled")


async def test_without_the_positions_of_a_broker_it_is_refused(trading, autojump_clock):
    trading.day.simulator.faults.add("zerodha", FaultKind.HTTP_500, count=None, seconds=3600)
    await trading.day.until(lambda: "positions" in trading.day.sessions["zerodha"].view.value.read_errors, 300)
    _, answer = await hedged(trading, measure="units", band=5)
    assert (answer.status, answer.body["error"].split(" could")[0]) == (503, "the positions of zerodha"), answer


async def test_a_hedge_for_which_nobody_bids_is_one_trouble_until_it_leaves(trading, autojump_clock):
    day, other = trading.day, Trading(trading.day, 1)
    await other.move(0)
    day.simulator.empty_side(other.share.instrument_id, Side.BUY, 60)
    await hedged(trading, measure="units", band=5, check_seconds=2)
    await day.until(lambda: any(isinstance(event, ParentTrouble) for event in day.heard), 10)
    await trio.sleep(25)
    assert not any(isinstance(event, ParentTroubleOver) for event in day.heard)
    await trading.until_messages(2)
    await day.until(lambda: any(isinstance(event, ParentTroubleOver) for event in day.heard), 10)
    told = [type(event) for event in day.heard if isinstance(event, ParentTrouble | ParentTroubleOver)]
    assert told == [ParentTrouble, ParentTroubleOver]


async def test_while_the_positions_of_a_broker_cannot_be_read_it_is_told_that_nobody_hedges(trading, autojump_clock):
    _, answer = await hedged(trading, measure="units", band=5, check_seconds=2)
    await trading.until_messages(2)
    await trio.sleep(20)
    trading.day.simulator.faults.add("upstox", FaultKind.HTTP_500, count=None, seconds=3600)
    sentence = "what is due waits: the positions of upstox cannot be read, so the exposure is not known and not hedged"

    def problems():
        return [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]

    await trading.day.until(lambda: sentence in problems(), 30)
    assert (await trading.parent(answer))["status_message"] == sentence
    trading.day.simulator.faults.heal()
    await trading.day.until(lambda: not problems(), 60)
    assert len(trading.day.messages("place")) == 2
