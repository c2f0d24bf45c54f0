"""What the book keeps, and for how long."""

from onebroker.actors.quotes import book as book_module
from onebroker.actors.quotes.book import QuoteBook

ORDER = ("zerodha", "upstox")


def filled(world, count):
    book = QuoteBook(ORDER)
    for number in range(count):
        book.take(f"i{number}", "zerodha", world.tick(100.0), 1000.0 + number)
        book.keep_fetched(f"i{number}", world.quote(1000.0 + number))
    return book


def test_what_is_too_old_is_forgotten(world):
    book = filled(world, 5)
    assert set(book.forget_live(1002.0, ())) == {"i0", "i1"}
    assert set(book.forget_fetched(1003.0)) == {"i0", "i1", "i2"}
    assert list(book) == ["i2", "i3", "i4"]
    assert book.fetched("i2") is None
    assert book.fetched("i3") is not None


def test_an_instrument_is_as_old_as_its_newest_quote(world):
    book = filled(world, 1)
    book.take("i0", "upstox", world.tick(100.0), 5000.0)
    assert book.forget_live(4000.0, ()) == []


def test_beyond_the_most_that_is_kept_the_oldest_go_except_what_a_feed_carries(world, monkeypatch):
    monkeypatch.setattr(book_module, "MOST_KEPT", 3)
    book = filled(world, 6)
    assert set(book.forget_live(0.0, {"i0"})) == {"i1", "i2", "i3"}
    assert set(book) == {"i0", "i4", "i5"}
    assert set(book.forget_fetched(0.0)) == {"i0", "i1", "i2"}


def test_what_ticked_and_what_was_marked_stale_are_told_apart_and_once(world):
    book = filled(world, 2)
    assert book.drain_changed() == ({"i0", "i1"}, set())
    book.mark_stale(["i1", "nothing"], lambda one, quote: True, 2000.0)
    book.mark_stale(["i1"], lambda one, quote: True, 3000.0)
    assert book.live("i1").stale_since == 2000.0
    assert book.drain_changed() == (set(), {"i1"})
    assert book.drain_changed() == (set(), set())
    book.take("i1", "zerodha", world.tick(101.0), 4000.0)
    assert book.live("i1").stale_since is None
