"""Books that come late, and answers that lack a row, at every broker: as a broker's client reads them."""

import pytest
import trio

from onebroker.actors.sessions.pollers import codec_calls
from onebroker.brokers.simulator.dialects.dialect import Averages
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.odd_rows import without_averages
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.support.ledger_judge import TEN
from tests.support.ten_accounts import Ten, drive, snapshot

BOOKS = {
    "positions": FaultKind.PARTIAL_POSITIONS,
    "holdings": FaultKind.PARTIAL_HOLDINGS,
    "orders": FaultKind.PARTIAL_ORDERS,
    "trades": FaultKind.PARTIAL_TRADES,
}


@pytest.fixture
def catalogue():
    return snapshot()


@pytest.fixture
async def ten(catalogue):
    ten = Ten()
    await ten.log_in()
    return ten


def share_of(ten):
    """Return an NSE share that every broker lists and nobody has."""
    accounts = [ten.exchange.account(code) for code in TEN]
    had = {row.instrument_id for account in accounts for row in (*account.holdings(), *account.positions())}
    return next(
        each
        for each in ten.exchange.contracts()
        if each.bare == "equities" and each.identity.exchange == "nse" and each.instrument_id not in had
    )


def buy(ten, share, quantity=3, product=Product.CNC):
    """Buy at every broker, and let another order rest there."""
    low = ten.exchange.market(share.instrument_id).lower_circuit
    for code in TEN:
        for kind, price in ((OrderType.MARKET, None), (OrderType.LIMIT, low)):
            ten.exchange.account(code).place(
                NewOrder(
                    instrument_id=share.instrument_id,
                    side=Side.BUY,
                    product=product,
                    order_type=kind,
                    validity=Validity.DAY,
                    quantity=quantity,
                    price=price,
                )
            )


def units(ten, catalogue, share, rows):
    """Return broker -> net units of a share in the rows of positions."""
    found = dict.fromkeys(TEN, 0)
    for code in TEN:
        for row in rows[code]:
            if row.view == "net" and catalogue.by_token(code, row.instrument_token) == share.instrument_id:
                found[code] += row.quantity
    return found


async def test_late_positions_come_after_the_order_book_at_every_broker(autojump_clock, ten, catalogue):
    share = share_of(ten)
    for place, code in enumerate(TEN):
        ten.simulator.fault(code, FaultKind.LATE_POSITIONS, delay_seconds=0.5 + place)
    buy(ten, share)
    for seconds in range(11):
        positions = await ten.rows(catalogue, "positions")
        orders = await ten.rows(catalogue, "orders")
        assert units(ten, catalogue, share, positions) == {
            code: 3 if seconds > place + 0.5 else 0 for place, code in enumerate(TEN)
        }
        if not seconds:
            for code in TEN:
                filled = [row for row in orders[code] if row.filled_quantity == 3]
                assert [catalogue.by_token(code, row.instrument_token) for row in filled] == [share.instrument_id], code
        await trio.sleep(1)


@pytest.mark.parametrize("resource", BOOKS)
async def test_one_answer_lacks_a_row_and_the_next_is_whole_at_every_broker(autojump_clock, ten, catalogue, resource):
    share = share_of(ten)
    buy(ten, share)
    whole = await ten.rows(catalogue, resource)
    ten.simulator.fault("all", BOOKS[resource])
    struck = await ten.rows(catalogue, resource)
    ten.simulator.faults.heal()
    for code in TEN:
        if resource == "trades" and code == "groww":  # its trades are answered for one order each
            continue
        kept, missing = keys(struck[code]), keys(whole[code])
        assert kept < missing, code
        assert len({key[0] for key in missing - kept}) == 1, code
    assert {code: keys(rows) for code, rows in (await ten.rows(catalogue, resource)).items()} == {
        code: keys(rows) for code, rows in whole.items()
    }


def keys(rows):
    """Return what tells the rows of a book apart; the first part names the instrument."""
    return {
        (row.instrument_token, *(str(getattr(row, name, "")) for name in ("product", "view", "order_id", "trade_id")))
        for row in rows
    }


async def test_a_row_of_one_instrument_is_left_out_as_often_as_it_was_told(autojump_clock, ten, catalogue):
    share = share_of(ten)
    buy(ten, share)
    ten.simulator.fault("all", FaultKind.PARTIAL_POSITIONS, instrument_id="nothing")
    for code in TEN:
        ten.simulator.fault(code, FaultKind.PARTIAL_POSITIONS, count=2, instrument_id=share.instrument_id)
    seen = [units(ten, catalogue, share, await ten.rows(catalogue, "positions")) for _ in range(3)]
    assert seen == [dict.fromkeys(TEN, 0), dict.fromkeys(TEN, 0), dict.fromkeys(TEN, 3)]


async def bodies(ten, catalogue, resource):
    """Return broker -> the raw answers to a read."""
    found = {}
    for code, service in ten.services.items():
        requests, _ = codec_calls(service.broker)[resource]
        answers, _ = await drive(requests(ten.access[code], ten.clock.now()), ten.transport, ten.clock)
        found[code] = [answer.body for answer in answers]
    return found


@pytest.mark.parametrize("resource", ["orders", "positions"])
async def test_averages_are_null_at_every_broker_and_come_back(autojump_clock, ten, catalogue, resource):
    share = share_of(ten)
    buy(ten, share)
    ten.simulator.fault("all", FaultKind.NO_AVERAGE)
    struck = await bodies(ten, catalogue, resource)
    ten.simulator.faults.heal()
    whole = await bodies(ten, catalogue, resource)
    for code in TEN:
        if (code, resource) == ("kotakneo", "positions"):  # its positions have no averages
            assert struck[code] == whole[code]
            continue
        averages = ten.simulator.gateways[code].dialect.averages
        assert [without_averages(averages, body) for body in whole[code]] != whole[code]
        assert any(b"null" in body for body in struck[code]), code
        assert [without_averages(averages, body) for body in struck[code]] == struck[code]
    await trio.sleep(2)
    trades = await bodies(ten, catalogue, "trades")
    ten.simulator.fault("all", FaultKind.NO_AVERAGE)
    await trio.sleep(2)
    struck = await bodies(ten, catalogue, "trades")
    for code in ("zerodha", "upstox", "kotakneo"):
        assert struck[code][0] == trades[code][0], code  # Kotak reads the orders beside it


def test_only_rows_of_json_are_touched():
    averages = Averages(products=("product",), fields=("average_price",))
    for body in (b"", b"<html>", b"{broken", b'{"average_price": 1}', b'[{"product": "CNC"}]'):
        assert without_averages(averages, body) == body
    row = b'{"product":"CNC","average_price":1}'
    assert without_averages(averages, row) == b'{"product":"CNC","average_price":null}'


async def test_one_answer_with_absurd_units_and_then_the_right_ones(autojump_clock, ten, catalogue):
    share = share_of(ten)
    buy(ten, share)
    for code in TEN:
        ten.simulator.fault(code, FaultKind.ODD_QUANTITY, count=1, instrument_id=share.instrument_id)
    seen = [units(ten, catalogue, share, await ten.rows(catalogue, "positions")) for _ in range(2)]
    assert seen == [dict.fromkeys(TEN, 300), dict.fromkeys(TEN, 3)]


async def test_one_answer_with_an_absurd_cost_and_one_with_absurd_funds(autojump_clock, ten, catalogue):
    share = share_of(ten)
    buy(ten, share)
    kite, access = ten.services["zerodha"].broker.portfolio, ten.access["zerodha"]

    async def read():
        rows = (await ten.rows(catalogue, "positions"))["zerodha"]
        cost = next(
            row.average_price
            for row in rows
            if row.view == "net" and catalogue.by_token("zerodha", row.instrument_token) == share.instrument_id
        )
        answers, _ = await drive(kite.fund_requests(access, ten.clock.now()), ten.transport, ten.clock)
        return cost, kite.parse_funds(answers).available_balance

    plain = await read()
    ten.simulator.fault("zerodha", FaultKind.ODD_VALUE, count=1, instrument_id=share.instrument_id)
    ten.simulator.fault("zerodha", FaultKind.ODD_FUNDS, count=1)
    odd = await read()
    assert odd[0] == pytest.approx(100 * plain[0])
    assert odd[1] < plain[1] / 2
    assert await read() == plain


async def test_an_unlisted_instrument_is_missing_in_the_files_and_nowhere_else(autojump_clock, ten, catalogue):
    share = share_of(ten)
    buy(ten, share)
    for code in TEN:
        ten.simulator.fault(code, FaultKind.UNLISTED, instrument_id=share.instrument_id)
    fresh = await ten.catalogue()
    assert fresh.instrument(share.instrument_id) is None
    assert fresh.count == catalogue.count - 1
    assert units(ten, catalogue, share, await ten.rows(catalogue, "positions")) == dict.fromkeys(TEN, 3)
    ten.simulator.faults.heal("groww")
    fresh = await ten.catalogue()
    assert set(fresh.instrument(share.instrument_id).listings) == {"groww"}
