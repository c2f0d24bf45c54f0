"""Hearing of changes without a queue."""

import trio
import trio.testing

from onebroker.actors.quotes.followers import Followers


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
