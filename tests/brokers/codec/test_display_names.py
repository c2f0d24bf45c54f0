"""Display names of the brokers and the codes they stand for, and how often their profiles are read."""

import attrs

from onebroker.brokers.codec.display_names import CODES_BY_DISPLAY_NAME, display_names
from onebroker.brokers.registry import build_registry

SLOW_PROFILES = {"icicidirect": 86_400.0, "kotakneo": None}
"""Seconds between profile reads where it is not a minute (architecture 13)."""


def test_there_are_ten_names_for_ten_codes_that_differ_by_more_than_case():
    assert len(CODES_BY_DISPLAY_NAME) == len(set(CODES_BY_DISPLAY_NAME.values())) == 10
    assert len({name.casefold() for name in CODES_BY_DISPLAY_NAME}) == 10


def test_every_broker_of_the_registry_has_the_name_of_the_map():
    for code, broker in build_registry().items():
        assert CODES_BY_DISPLAY_NAME.get(broker.name) == code


def test_an_eleventh_broker_brings_its_own_name_and_the_ten_stay():
    registry = build_registry()
    eleventh = attrs.evolve(next(iter(registry.values())), code="toy", name="Toy Broker")
    names = display_names({**registry, "toy": eleventh})
    assert names == {**CODES_BY_DISPLAY_NAME, "Toy Broker": "toy"}


def test_profiles_are_read_every_minute_but_for_two_brokers():
    for code, broker in build_registry().items():
        assert broker.profile_seconds == SLOW_PROFILES.get(code, 60.0), code
