"""The list of instruments loses a share in which plans are open: it is told at the parent, in the health and as an event, until it is back."""

import attrs
import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState, Found
from onebroker.config.events import ParentTrouble, ParentTroubleOver
from onebroker.http.health_parts import order_problems
from tests.support.trading import Trading


class Without:
    """A list of instruments without a share."""

    def __init__(self, snapshot, instrument_id):
        self._snapshot = snapshot
        self._gone = instrument_id

    def __getattr__(self, name):
        return getattr(self._snapshot, name)

    def instrument(self, instrument_id):
        return None if instrument_id == self._gone else self._snapshot.instrument(instrument_id)

    instrument_once = instrument

    def by_token(self, broker, token):
        found = self._snapshot.by_token(broker, token)
        return None if found == self._gone else found


class Once:
    """The file of instruments that are no longer listed."""

    count = 1

    def __init__(self, instrument, day):
        self._found = Found(instrument=attrs.evolve(instrument, listings={}), mapping_date=day)

    def find(self, instrument_id):
        return self._found if instrument_id == self._found.instrument.instrument_id else None


@pytest.fixture
async def trading(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            yield Trading(day)


def publish(trading, *, listed):
    day, share = trading.day, trading.share
    latest = day.snapshot if listed else Without(day.snapshot, share.instrument_id)
    unlisted = {} if listed else {"unlisted": Once(share, day.clock.today())}
    day.catalogue.set(CatalogueState(latest=latest, published_today=True, reason="", **unlisted))


@pytest.mark.parametrize(
    "plan",
    [
        {"type": "hidden_stop", "trigger_price": -2},
        {"type": "trailing_stop", "trail_percent": 1, "stop_limit_offset": 1},
        {"type": "gtt", "trigger_price": -4, "limit_price": -5, "valid_days": 30},
    ],
    ids=lambda plan: plan["type"],
)
async def test_a_plan_whose_share_the_list_has_lost_says_so_until_it_is_back(plan, trading, autojump_clock):
    await trading.move(0)
    await trading.send(quantity=100, broker="zerodha")
    await trio.sleep(10)
    synthetic = {name: trading.at(value) if name.endswith("_price") else value for name, value in plan.items()}
    answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=synthetic)
    assert answer.status in (200, 202), answer
    await trio.sleep(5)
    sentence = f"{trading.share.identity.symbol} is not in today's list of instruments"

    publish(trading, listed=False)
    await trio.sleep(5)
    rows = [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]
    assert sentence in rows
    parent = await trading.parent(answer)
    assert sentence in parent["status_message"]
    assert sentence in [part["status_message"] for part in parent["parameters"]["parts"].values()]
    told = [event for event in trading.day.heard if isinstance(event, ParentTrouble)]
    assert sentence in [event.words for event in told]

    publish(trading, listed=True)
    await trio.sleep(5)
    rows = [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]
    assert sentence not in rows
    assert sentence not in ((await trading.parent(answer))["status_message"] or "")
    assert sentence in [event.words for event in trading.day.heard if isinstance(event, ParentTroubleOver)]
