"""Hearing of changes without a queue."""

import trio
import trio.testing

from onebroker.actors.quotes.followers import Followers
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.brokers.records import Tick


def quote(last_price, at=0.0):
    return Quote(broker="alpha", tick=Tick(broker_token="1", last_price=last_price), received_at=at)


async def test_a_follower_hears_of_each_change_once_however_often_it_changed(autojump_clock):
    followers = Followers()
    with trio.fail_after(60), followers.open(["a", "b"]) as follower:
        for _ in range(1000):
            followers.changed("b")
            followers.changed("a")
            followers.changed("c")
        assert tuple(await anext(follower)) == ("b", "a")
        with trio.move_on_after(5) as waited:
            await anext(follower)
        assert waited.cancelled_caught
        followers.changed("a")
        assert tuple(await anext(follower)) == ("a",)


async def test_a_waiting_follower_is_woken(autojump_clock, nursery):
    followers, heard = Followers(), []
    follower = followers.open(["a"])

    async def listen():
        heard.append(await anext(follower))

    with trio.fail_after(60):
        nursery.start_soon(listen)
        await trio.testing.wait_all_tasks_blocked()
        followers.changed("a")
        await trio.testing.wait_all_tasks_blocked()
    assert heard == [("a",)]


async def test_what_is_followed_by_several_stays_until_the_last_leaves(autojump_clock):
    followers = Followers()
    with trio.fail_after(60):
        one, other = followers.open(["a", "b"]), followers.open(["b"])
        assert set(followers) == {"a", "b"}
        one.close()
        one.close()
        assert set(followers) == {"b"}
        other.follow(["c"])
        assert set(followers) == {"c"}
        followers.changed("b")
        followers.changed("c")
        assert tuple(await anext(other)) == ("c",)
        other.close()
        assert len(followers) == 0


async def test_what_is_no_longer_followed_is_not_told_of(autojump_clock):
    followers = Followers()
    with trio.fail_after(60), followers.open(["a", "b"]) as follower:
        followers.changed("a")
        followers.changed("b")
        follower.follow(["b"])
        assert tuple(await anext(follower)) == ("b",)


class Heard:
    """Listens, and follows or leaves other instruments while it hears."""

    def __init__(self, followers):
        self.quotes = []
        self._followers = followers

    def note(self, instrument_id, quote):
        self.quotes.append(quote)
        self._followers.remove(instrument_id, self)


async def test_a_listener_hears_each_quote_at_once_and_may_leave_while_it_hears(autojump_clock):
    followers = Followers()
    first, second = Heard(followers), Heard(followers)
    followers.add("a", first)
    followers.add("a", second)
    followers.changed("a", quote(1))
    assert (len(first.quotes), len(second.quotes), list(followers)) == (1, 1, [])


async def test_a_quote_that_stays_is_not_told_again(autojump_clock):
    """A tick of a broker whose quote does not go first changes nothing, nor does one that was fetched."""
    followers, first, heard = Followers(), quote(1), []

    class Listener:
        def note(self, instrument_id, quote):
            heard.append(quote)

    followers.add("a", Listener())
    followers.changed("a", first)
    followers.changed("a", first)
    followers.changed("a")
    assert heard == [first, None, None]
