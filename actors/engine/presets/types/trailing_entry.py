"""trailing_entry: a stop entry that follows the market (order-engine 3.47; rules 2.7). It has the settings and the trail of a trailing stop, but it
closes nothing: it is no exit by its type."""

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.types import trailing_stop


def tree(settings: trailing_stop.Settings, body: Body, path: str) -> Part:
    return order(body, path, trailing_stop.trail(settings))


PRESET = attrs.evolve(
    trailing_stop.PRESET, name="trailing_entry", title="a stop entry that follows the market", tree=tree
)
