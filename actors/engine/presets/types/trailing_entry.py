"""trailing_entry: a stop entry that follows the market (order-engine 3.47; rules 2.7). It has the settings and plan of a trailing stop."""

import attrs

from onebroker.actors.engine.presets.types import trailing_stop

PRESET = attrs.evolve(trailing_stop.PRESET, name="trailing_entry", title="a stop entry that follows the market")
