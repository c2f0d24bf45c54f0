"""Prices that a caller computed in doubles: every order type makes of them the plan of the exact ticks (order-engine 3.0, N11).

A third of all multiples of 0.05 are off by the last digit of a double, so a check of the written decimals looks like chance to a caller.
"""

import math

import pytest

from onebroker.actors.engine.intake.place_body import check_body, with_instrument
from onebroker.actors.engine.presets.registry import PRESETS
from tests.actors.engine.plan.strategies import INDEX, OPTION, SHARE, World
from tests.support.every_case import every_case
from tests.support.type_examples import examples


def off(value, towards):
    """Return the JSON value with every float in it moved by the last digit of a double, twice."""
    match value:
        case float():
            return math.nextafter(math.nextafter(value, towards), towards)
        case dict():
            return {name: off(inner, towards) for name, inner in value.items()}
        case list():
            return [off(inner, towards) for inner in value]
    return value


def order_of(preset, shift=lambda value: value):
    example = examples(lambda percent: 100.1 + percent, INDEX.instrument_id, lambda _: "10:30:00")[preset.name]
    instrument, units = (OPTION, 50) if example.instrument == "option" else (SHARE, 10)
    fields = {
        "instrument_id": instrument.instrument_id, "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET",
        "quantity": units, **example.body, "synthetic": {"type": preset.name, **example.settings},
    }  # fmt: skip
    sent = {name: shift(value) for name, value in fields.items() if value is not None}
    world = World()
    return with_instrument(check_body(sent, brokers=world.brokers), sent, instrument, world)


@pytest.mark.parametrize("towards", [0.0, math.inf])
@every_case("preset", [preset for name, preset in PRESETS.items() if name != "opening_auction"])
def test_a_type_takes_the_prices_that_are_meant(preset, towards):
    meant, computed = order_of(preset), order_of(preset, lambda value: off(value, towards))
    assert computed.plan == meant.plan
    assert (computed.price, computed.trigger_price) == (meant.price, meant.trigger_price)
    assert computed.parameters == meant.parameters
    assert computed.sent == meant.sent
