"""Settings that name another instrument than the one that is traded (N18 of order-engine 3.0). Pure; raises Refusal 400, and 404 for an
instrument that is not mapped today."""

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.reading.reading_context import named_instrument
from onebroker.actors.engine.plan.reading.value_rules import uuid
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.settings import Reading, own_reading
from onebroker.config.messages import plan as texts
from onebroker.config.messages import presets_entries as entry_texts


@own_reading(uuid.accepts, required=True)
def watched_instrument(reading: Reading, name: str) -> str:
    """Read the id of an instrument that is only watched."""
    watched = named_instrument(reading.fields, name, reading.body.world)
    if watched.instrument_id == reading.body.instrument.instrument_id:
        raise reading.fields.refusal(texts.WATCHED_IS_TRADED)
    return watched.instrument_id


@own_reading(uuid.accepts, required=True)
def second_instrument(reading: Reading, name: str) -> str:
    """Read the id of an instrument that is traded together with the order's own."""
    second = named_instrument(reading.fields, name, reading.body.world)
    if second.instrument_id == reading.body.instrument.instrument_id:
        raise reading.fields.refusal(entry_texts.traded_itself(name))
    return second.instrument_id


def instrument_named(body: Body, instrument_id: str) -> Instrument:
    """Return the instrument that a setting names; it was mapped when the settings were read."""
    found = body.world.instrument(instrument_id)
    assert found is not None
    return found
