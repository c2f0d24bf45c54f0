"""What is kept survives: the two journals behave alike, and an exchange continues from either."""

import pytest

from onebroker.brokers.simulator.exchange.journal import MemoryJournal, Row, SqliteJournal


@pytest.fixture(params=["memory", "sqlite"])
def reopen(request, tmp_path):
    """Return a function that closes the journal and opens what it left."""
    memory = MemoryJournal()
    opened = []

    def again():
        for journal in opened:
            journal.close()
        opened[:] = [memory if request.param == "memory" else SqliteJournal(tmp_path / "journal.sqlite3")]
        return opened[0]

    yield again
    for journal in opened:
        journal.close()


def test_rows_come_back_in_the_order_of_their_first_writing(reopen):
    journal = reopen()
    journal.write([Row("order", "b", b"1"), Row("order", "a", b"2"), Row("fill", "a", b"3")])
    journal.write([Row("order", "b", b"4")])
    for again in (lambda: journal, reopen):
        each = again()
        assert each.load("order") == [("b", b"4"), ("a", b"2")]
        assert each.load("fill") == [("a", b"3")]
        assert each.load("nothing") == []


def test_a_row_without_value_is_deleted(reopen):
    journal = reopen()
    journal.write([Row("order", "a", b"1"), Row("order", "b", b"2")])
    journal.write([Row("order", "a", None), Row("order", "c", None)])
    assert reopen().load("order") == [("b", b"2")]


def test_a_write_that_fails_half_way_leaves_nothing(tmp_path):
    journal = SqliteJournal(tmp_path / "journal.sqlite3")

    def rows():
        yield Row("order", "a", b"1")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        journal.write(rows())
    assert journal.load("order") == []
    journal.write([Row("order", "b", b"2")])
    assert journal.load("order") == [("b", b"2")]
    journal.close()


def test_an_exchange_continues_where_it_stopped(make_floor, reopen):
    floor = make_floor(journal=reopen())
    share, future = floor.contract(), floor.contract("equity_index_futures")
    last = floor.last(share)
    resting = floor.place(share, "BUY", 5, "LIMIT", price=last - 20 * share.tick_size)
    stop = floor.place(future, "BUY", None, "SL-M", trigger_price=floor.last(future) + 50)
    floor.place(share, "SELL", 5, product="MIS", broker="upstox")
    moved = last + 30 * share.tick_size
    floor.exchange.set_price(share.instrument_id, moved, 600)
    floor.exchange.tokens("upstox").set("token", "t-1")
    before = snapshot(floor)

    floor.journal = reopen()
    floor.restart()
    assert snapshot(floor) == before
    assert floor.last(share) == moved
    assert floor.exchange.tokens("upstox").get("token") == "t-1"
    assert floor.exchange.tokens("zerodha").get("token") is None

    floor.exchange.set_price(share.instrument_id, last - 30 * share.tick_size)
    floor.exchange.set_price(future.instrument_id, floor.last(future) + 60)
    assert floor.account().order(resting.order_id).status.value == "complete"
    assert floor.account().order(stop.order_id).status.value == "complete"


def snapshot(floor):
    accounts = [floor.account(code) for code in floor.exchange.brokers]
    return [
        (
            account.orders(), account.fills(), account.positions(), account.holdings(), account.funds(),
            [account.order_history(order.order_id) for order in account.orders()],
        )
        for account in accounts
    ] + [floor.exchange.all_orders(), floor.exchange.ledger.fills()]  # fmt: skip
