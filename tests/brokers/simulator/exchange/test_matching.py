"""Price-time priority of one book, against a naive reference."""

from hypothesis import given
from hypothesis import strategies as st

from onebroker.brokers.simulator.exchange.matching import Book, MakerLevel, Resting
from onebroker.config.vocabulary import Side

orders = st.lists(st.tuples(st.sampled_from(Side), st.integers(90, 110), st.integers(1, 50)), min_size=1, max_size=30)


def run(rows):
    """Feed orders one after another; return (trades, what rests) of the book and of a naive model."""
    book, resting, trades, expected = Book(), [], [], []
    for number, (side, ticks, quantity) in enumerate(rows):
        left = quantity
        for match in book.take(side, ticks, quantity):
            trades.append((match.resting[1], match.ticks, match.quantity))
            left -= match.quantity
        if left:
            book.add(Resting(("a", str(number)), side, ticks, left, number))
        left = quantity
        others = [row for row in resting if row[0] is not side and side.sign * (row[1] - ticks) <= 0]
        for row in sorted(others, key=lambda row: (side.sign * row[1], row[3])):
            units = min(left, row[2])
            if units:
                expected.append((str(row[3]), row[1], units))
                row[2] -= units
                left -= units
        resting = [row for row in resting if row[2]] + ([[side, ticks, left, number]] if left else [])
    return book, trades, expected, resting


@given(orders)
def test_trades_follow_price_then_time(rows):
    book, trades, expected, resting = run(rows)
    assert trades == expected
    left = {(each.side, each.ticks, each.quantity, each.priority) for each in book.resting()}
    assert left == {tuple(row) for row in resting}


@given(orders)
def test_a_book_never_stays_crossed(rows):
    book, *_ = run(rows)
    bid, ask = book.depth(Side.BUY, 1), book.depth(Side.SELL, 1)
    assert not bid or not ask or bid[0][0] < ask[0][0]


@given(orders, st.integers(80, 120), st.integers(1, 200))
def test_the_makers_new_quotes_trade_at_the_orders_prices_and_no_more_than_quoted(rows, middle, units):
    book, *_, resting = run(rows)
    buys = [MakerLevel(middle - 1 - n, units, 10_000) for n in range(5)]
    sells = [MakerLevel(middle + 1 + n, units, 10_000) for n in range(5)]
    before = {str(row[3]): row for row in resting}
    book.quote(buys, sells)
    matches = book.meet_maker()
    for match in matches:
        side, ticks, *_ = before[match.resting[1]]
        assert match.ticks == ticks
        assert side.sign * (ticks - middle) >= 1
    assert sum(match.quantity for match in matches) <= 10 * units
    bid, ask = book.depth(Side.BUY, 1), book.depth(Side.SELL, 1)
    assert not bid or not ask or bid[0][0] < ask[0][0]


def test_an_earlier_order_stands_before_the_maker_and_a_later_one_behind_it():
    book = Book()
    book.add(Resting(("a", "early"), Side.SELL, 100, 5, 1))
    book.quote([], [MakerLevel(100, 5, 2)])
    book.add(Resting(("b", "late"), Side.SELL, 100, 5, 3))
    assert [match.resting for match in book.take(Side.BUY, 100, 15)] == [("a", "early"), None, ("b", "late")]


def test_a_disclosed_quantity_shows_no_more_than_itself_and_trades_whole():
    book = Book()
    book.add(Resting(("a", "1"), Side.BUY, 100, 50, 1, shown=10))
    assert book.depth(Side.BUY, 5) == [(100, 10, 1)]
    assert sum(match.quantity for match in book.take(Side.SELL, 100, 80)) == 50
    assert not book.has_orders


def test_flow_at_the_last_price_reaches_only_orders_at_it_or_better():
    book = Book()
    book.add(Resting(("a", "far"), Side.BUY, 98, 5, 1))
    book.add(Resting(("a", "near"), Side.BUY, 100, 5, 2))
    assert [(match.resting[1], match.quantity) for match in book.flow(100, 3)] == [("near", 3)]
    assert book.flow(101, 3) == []
