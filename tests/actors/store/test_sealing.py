"""Sealing of stored secrets: what is sealed shows nothing, keys are changed one after the other, and a value without its key is told once."""

import logging
import subprocess
import sys

import pytest

from onebroker.actors.store.sealing import Seal, SealLocked, new_key

NAME = "broker:login:dhan"
BODY = b'{"tokens":{"access_token":"very-secret"}}'
OLD, NEW = new_key(), new_key()

pytestmark = pytest.mark.unit


def test_a_sealed_value_shows_nothing_and_is_opened_by_its_key():
    seal = Seal([OLD])
    stored = seal.seal(NAME, BODY)
    assert b"very-secret" not in stored
    assert seal.open(NAME, stored) == BODY
    assert seal.seal(NAME, BODY) != stored
    assert seal.is_newest(stored)


def test_without_keys_values_are_stored_as_they_are():
    seal = Seal()
    assert seal.seal(NAME, BODY) == BODY
    assert seal.open(NAME, BODY) == BODY
    assert seal.is_newest(BODY)


def test_a_plain_value_is_read_with_keys_and_is_not_the_newest_form():
    seal = Seal([OLD])
    assert seal.open(NAME, BODY) == BODY
    assert not seal.is_newest(BODY)
    assert seal.locked == {}


def test_all_keys_open_and_the_first_seals():
    stored = Seal([OLD]).seal(NAME, BODY)
    both = Seal([NEW, OLD])
    assert both.open(NAME, stored) == BODY
    assert not both.is_newest(stored)
    again = both.seal(NAME, BODY)
    assert both.is_newest(again)
    assert Seal([NEW]).open(NAME, again) == BODY


@pytest.mark.parametrize(
    ("keys", "why"), [([], "there is no key in the settings"), ([NEW], "no key of the settings opens it")]
)
def test_a_value_without_its_key_is_told_once_until_it_is_written_anew(keys, why, caplog):
    stored = Seal([OLD]).seal(NAME, BODY)
    seal = Seal(keys)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with pytest.raises(SealLocked, match=why):
                seal.open(NAME, stored)
    assert seal.locked == {NAME: why}
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{NAME} is stored encrypted, and {why}: it counts as not there; "
        "give the key file of before as secrets.key_file and start again"
    )
    seal.seal(NAME, BODY)
    assert seal.locked == {}


def with_another_letter(stored):
    """The letters are of chance: this one may be any."""
    return stored[:60] + (b"B" if stored[60:61] == b"A" else b"A") + stored[61:]


@pytest.mark.parametrize("change", [lambda it: it[:-1], with_another_letter, lambda it: it[:7]])
def test_a_value_that_was_changed_is_not_opened(change):
    stored = Seal([OLD]).seal(NAME, BODY)
    assert change(stored) != stored
    with pytest.raises(SealLocked):
        Seal([OLD]).open(NAME, change(stored))


def test_a_text_that_is_no_key_is_refused():
    with pytest.raises(ValueError, match="Fernet key"):
        Seal(["short"])


def test_a_service_without_keys_does_not_import_the_encryption():
    script = (
        "import sys; from onebroker.actors.store.sealing import Seal; s = Seal(); s.open('n', s.seal('n', b'x'));"
        " print('cryptography.fernet' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
