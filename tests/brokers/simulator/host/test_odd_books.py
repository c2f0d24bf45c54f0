"""Books that come late, and answers that lack a row, at every broker: as a broker's client reads them."""

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.support.ledger_judge import TEN
from tests.support.ten_accounts import Ten, snapshot

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
