"""Logins in the store: sealed with the newest key, read whatever they were stored with, and kept when their key is away."""

from datetime import datetime

import attrs
import pytest

from onebroker.actors.sessions.stored_logins import StoredLogins, encode_login
from onebroker.actors.store.keys import broker_login
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.sealing import Seal, new_key
from onebroker.brokers.broker import Login
from onebroker.config.clock import IST, Clock

pytestmark = pytest.mark.unit

LOGIN = Login(tokens={"t": "very-secret"}, user_id="U1", logged_in_at=1.0, expires_at=2.0)
KEY = broker_login("dhan")
OLD, NEW = new_key(), new_key()


@pytest.fixture
def store():
    return MemoryStore(Clock.starting_at(datetime(2026, 11, 23, 10, 0, tzinfo=IST)))


def logins(store, *keys):
    return StoredLogins(store, Seal(keys))


async def test_a_login_is_stored_sealed_and_read_back(store):
    sealed = logins(store, OLD)
    await store.write(sealed.written("dhan", LOGIN))
    assert b"very-secret" not in await store.get(KEY)
    assert await sealed.read("dhan") == LOGIN
    assert await sealed.read("zerodha") is None
    assert not sealed.is_locked("dhan")


async def test_without_keys_a_login_is_stored_as_before(store):
    plain = logins(store)
    await store.write(plain.written("dhan", LOGIN))
    assert await store.get(KEY) == encode_login(LOGIN)
    assert await plain.read("dhan") == LOGIN


@pytest.mark.parametrize("before", [(), (OLD,)], ids=["plain", "older key"])
async def test_a_login_of_before_is_written_anew_with_the_newest_key(store, before):
    await store.write(logins(store, *before).written("dhan", LOGIN))
    first = await store.get(KEY)
    assert await logins(store, NEW, OLD).read("dhan") == LOGIN
    again = await store.get(KEY)
    assert again != first
    assert await logins(store, NEW).read("dhan") == LOGIN
    assert await store.get(KEY) == again, "a login with the newest key stays as it is"


@pytest.mark.parametrize("keys", [(), (NEW,)], ids=["no key", "another key"])
async def test_a_login_whose_key_is_away_counts_as_not_there_and_stays(store, keys):
    await store.write(logins(store, OLD).written("dhan", LOGIN))
    first = await store.get(KEY)
    locked = logins(store, *keys)
    assert await locked.read("dhan") is None
    assert locked.is_locked("dhan")
    assert await store.get(KEY) == first
    with pytest.raises(ValueError, match=r"is encrypted and cannot be opened.*onebroker login dhan --other-account"):
        await locked.last("dhan")
    assert await logins(store, OLD).last("dhan") == LOGIN


async def test_a_login_that_is_written_anew_is_no_longer_locked(store):
    await store.write(logins(store, OLD).written("dhan", LOGIN))
    now = logins(store, NEW)
    assert await now.read("dhan") is None
    other = attrs.evolve(LOGIN, user_id="U2")
    await store.write(now.written("dhan", other))
    assert not now.is_locked("dhan")
    assert await now.last("dhan") == other
