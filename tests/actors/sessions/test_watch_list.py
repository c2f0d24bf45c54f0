"""The watch list: spread over connections, moved no more than needed."""

import trio
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.sessions.watch_list import WatchList
from onebroker.brokers.records import Listing


def listing(number):
    return Listing(broker_token=str(number), tradingsymbol=f"S{number}", exchange="NSE", lot_size=1, tick_size=0.05)


def share(watch, socket):
    return {one.broker_token for one in watch.difference(socket, {}).subscribe}


wanted = st.lists(st.sets(st.integers(0, 14)), min_size=1, max_size=6)


@given(wanted, st.integers(1, 3), st.integers(1, 5))
def test_each_wanted_instrument_is_on_exactly_one_connection_as_far_as_there_is_room(steps, sockets, per_socket):
    watch = WatchList(sockets, per_socket)
    before = [set() for _ in range(sockets)]
    for step in steps:
        watch.want(tuple(map(listing, sorted(step))))
        shares = [share(watch, socket) for socket in range(sockets)]
        asked = {str(number) for number in step}
        assert all(len(one) <= per_socket for one in shares)
        placed = [token for one in shares for token in one]
        assert len(placed) == len(set(placed)) == min(len(asked), sockets * per_socket)
        assert set(placed) <= asked
        assert watch.dropped == len(asked) - len(placed)
        for old, new in zip(before, shares, strict=True):
            assert old & asked <= new  # what stays wanted stays where it was
        before = shares


def test_a_connection_is_told_only_what_it_lacks_and_what_it_has_too_much():
    watch = WatchList(1, 10)
    watch.want((listing(1), listing(2)))
    difference = watch.difference(0, {"2": listing(2), "3": listing(3)})
    assert [one.broker_token for one in difference.subscribe] == ["1"]
    assert [one.broker_token for one in difference.unsubscribe] == ["3"]


async def test_a_change_between_looking_and_waiting_is_not_missed(autojump_clock):
    watch = WatchList(1, 10)
    version = watch.version
    watch.want((listing(1),))
    with trio.fail_after(1):
        assert await watch.wait_newer(version) == watch.version
    with trio.move_on_after(5) as scope:
        await watch.wait_newer(watch.version)
    assert scope.cancelled_caught
