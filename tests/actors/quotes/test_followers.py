"""Hearing of changes without a queue."""

import trio
import trio.testing

from onebroker.actors.quotes.followers import Followers
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.tick_backlog import MOST_UNREAD
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


async def test_what_was_replaced_before_it_was_read_is_kept_in_its_order(autojump_clock):
    followers = Followers()
    with followers.open(["a", "b"]) as follower, followers.open(["a"]) as other:
        for price in (1, 3, 2):
            followers.changed("a", quote(price))
        assert [one.tick.last_price for one in follower.unread("a")] == [1, 3, 2]
        follower.forget("a")
        assert (list(follower.unread("a")), list(follower.unread("b")), len(other.unread("a"))) == ([], [], 3)


async def test_a_quote_that_stays_is_not_kept_again(autojump_clock):
    """A tick of a broker whose quote does not go first changes nothing, nor does one that was fetched."""
    followers, first = Followers(), quote(1)
    with followers.open(["a"]) as follower:
        followers.changed("a", first)
        followers.changed("a", first)
        follower.forget("a")
        followers.changed("a", first)
        followers.changed("a")
        assert list(follower.unread("a")) == []
        assert tuple(await anext(follower)) == ("a",)


async def test_of_more_than_can_be_kept_the_first_lowest_highest_and_newest_stay(autojump_clock):
    followers, prices = Followers(), [100, 90, 110, *([100] * 300), 101]
    with followers.open(["a"]) as follower:
        for price in prices:
            followers.changed("a", quote(price))
            assert len(follower.unread("a")) <= MOST_UNREAD
        kept = [one.tick.last_price for one in follower.unread("a")]
        assert (kept[:3], kept[-1]) == ([100, 90, 110], 101)


async def test_what_is_no_longer_followed_is_not_kept(autojump_clock):
    followers = Followers()
    with followers.open(["a"]) as follower:
        followers.changed("a", quote(1))
        follower.follow(["b"])
        follower.follow(["a"])
        assert list(follower.unread("a")) == []
