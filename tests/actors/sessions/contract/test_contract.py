"""The contract of every broker. Read `conftest.py` first.

The last test compares the table of docs/contract.md, broker by behaviour, with what this very run has proved;
`ONEBROKER_WRITE_CONTRACT=1 pytest tests/actors/sessions/contract` writes it. A run of part of the suite proves nothing about it.
"""

import inspect
import json
import math
import os
from collections import defaultdict
from decimal import Decimal
from functools import partial
from pathlib import Path

import attrs
import pytest
import trio

from onebroker.actors.sessions.messages import ExchangeRedirect, FetchQuotes, Watch
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.store import keys
from onebroker.brokers.broker import LoginKind
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, NotSendable, RefusalKind
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import SimStatus
from onebroker.config.sections import CadenceOverrides

pytestmark = pytest.mark.timeout(120)

PAGE = Path(__file__).resolve().parents[4] / "docs" / "contract.md"
BEGIN, END = "<!-- contract: begin -->\n", "<!-- contract: end -->\n"


def net_positions(at, rows):
    found = defaultdict(int)
    for row in rows:
        if row.view == "net" and row.quantity:
            found[at.day.snapshot.by_token(at.code, row.instrument_token), row.product] += row.quantity
    return dict(found)


# --- the instrument file, the login, the reads -----------------------------------------------------------------------


async def test_instrument_file(at, autojump_clock):
    async with at.day.service():
        listed = {contract.instrument_id: contract for contract in at.account.contracts()}
        named = {one.instrument_id: one for row in range(at.day.snapshot.count) for one in [at.day.snapshot.at(row)]}
        with at.proves("every instrument of its file is one that is listed"):
            assert set(named) <= set(listed), [named[one].identity for one in set(named) - set(listed)][:5]
        with at.proves("what is listed is in its file"):
            assert len(named) > 0.95 * len(listed), [listed[one].identity for one in set(listed) - set(named)][:5]
        with at.proves("lots and ticks are units and rupees"):
            for instrument_id, one in named.items():
                contract, listing = listed[instrument_id], one.listings[at.code]
                if listing.tick_size is not None and not contract.is_index:
                    assert listing.tick_size == pytest.approx(float(contract.tick_size)), contract.identity
                if listing.lot_size is not None and listing.contract_units is not None and not contract.is_index:
                    assert listing.lot_size == contract.lot_size, contract.identity
                if listing.freeze_quantity is not None and contract.freeze_quantity is not None:
                    assert listing.freeze_quantity == contract.freeze_quantity, contract.identity


async def test_login_and_reads(at, slices, autojump_clock):
    async with at.day.service():
        told = slices(at.day)
        with at.proves("a login is proved by a call that needs it"):
            assert at.view.live
        with at.proves("the profile is kept"):
            body = await at.day.store.get(keys.broker_profile(at.code))
            assert json.loads(body)
            # It is stored as it is, also with a key file.
            tokens = [token for token in at.view.access.login.tokens.values() if len(token) > 8 and "://" not in token]
            assert [token for token in tokens if token.encode() in body] == []
        await at.day.until(
            lambda: all(told.told[at.code, name] for name in ("orders", "trades", "positions", "holdings", "funds")),
            200,
        )
        assert at.view.read_errors == {}
        with at.proves("orders and trades are those of the account, of listed instruments"):
            orders, trades = told.last(at.code, "orders").rows, told.last(at.code, "trades").rows
            assert {row.order_id for row in orders} == {order.order_id for order in at.account.orders()}
            assert traded(trades) == traded(at.account.fills())
            assert {row.instrument_token for row in (*orders, *trades)} <= set(at.day.snapshot.listings(at.code))
        with at.proves("positions are those of the account, in units"):
            wanted = {(one.instrument_id, str(one.product)): one.quantity for one in at.account.positions()}
            wanted = {key: quantity for key, quantity in wanted.items() if quantity}
            assert net_positions(at, told.last(at.code, "positions").rows) == wanted
        with at.proves("holdings are those of the account, in units"):
            isins = {one.instrument_id: at.account.contract(one.instrument_id).isin for one in at.account.holdings()}
            wanted = {isins[one.instrument_id]: one.total_quantity for one in at.account.holdings()}
            found = defaultdict(int)
            for row in told.last(at.code, "holdings").rows:
                instrument = at.day.snapshot.instrument(at.day.snapshot.by_token(at.code, row.instrument_token) or "")
                contract = at.account.contract(instrument.instrument_id) if instrument is not None else None
                found[row.isin or (contract.isin if contract is not None else None)] += (
                    row.settled_quantity + row.t1_quantity + row.margin_quantity
                )
            assert dict(found) == wanted
        with at.proves("funds are those of the account, in rupees"):
            answers = await at.drive(at.broker.portfolio.fund_requests(at.access, at.day.clock.now()))
            available = at.broker.portfolio.parse_funds(answers).available_balance  # at this very moment: marks move
            assert available == pytest.approx(float(at.account.funds().available), abs=0.02)


def traded(fills):
    """Return order_id -> quantity: some brokers' trade books join an order's fills at one price."""
    found = defaultdict(int)
    for fill in fills:
        found[fill.order_id] += fill.quantity
    return found


async def test_stored_login(at, autojump_clock):
    async with at.day.service():
        first = at.access.login
        logins = at.day.simulator.gateways[at.code].dialect.session()
    assert logins is not None
    async with at.day.service(log_in=False):
        with at.proves("a restart goes on with the stored login"):
            await at.day.until(lambda: at.view.live, 60)
            assert at.access.login == first


async def test_refused_login(at, world, autojump_clock):
    at.day.settings = spoilt(at.day.settings, at.code)
    if at.day.settings().brokers[at.code].credentials is None:
        raise AssertionError
    async with at.day.service(log_in=False):
        unattended = at.broker.login_kind is LoginKind.UNATTENDED
        with at.proves("a refused login says why and is not tried again and again"):
            if not unattended:
                with pytest.raises((BrokerRefusal, BadAnswer, ValueError)):
                    await at.day.sessions[at.code].address.ask(
                        lambda reply: ExchangeRedirect(redirect="http://127.0.0.1/?nothing=1", reply=reply), 10
                    )
            await at.day.until(lambda: at.view.login is LoginState.NEEDED, 120)
            tried = world.calls.logins(at.code)
            assert at.view.trouble
            assert max(tried.values(), default=0) <= 1 + unattended  # whose one-time code may have been to blame
            await trio.sleep(600)
            assert at.view.login is LoginState.NEEDED
            assert world.calls.logins(at.code) == tried


def spoilt(settings, code):
    """Return `settings` with every secret of the broker but its TOTP seed changed in its last character."""

    def changed():
        whole = settings()
        own = whole.brokers[code]
        secrets = {
            name: value if name in ("totp_secret", "redirect_url") else value[:-1] + ("1" if value[-1] != "1" else "2")
            for name, value in own.credentials.items()
        }
        return attrs.evolve(whole, brokers={code: attrs.evolve(own, credentials=type(own.credentials)(secrets))})

    return changed


async def test_dead_session(at, world, autojump_clock):
    async with at.day.service():
        await trio.sleep(60)
        before, since = at.access.login, at.day.clock.monotonic()
        at.day.simulator.fault(at.code, FaultKind.EXPIRE_SESSION)
        with at.proves("a dead session is found out by a read"):
            await at.day.until(lambda: not at.view.live or at.access.login != before, 200)
        with at.proves("it is repaired in the way of its kind of login"):
            if at.broker.login_kind is LoginKind.UNATTENDED:
                await at.day.until(lambda: at.view.live, 120)
            else:
                await at.day.until(lambda: at.view.live or at.view.login is LoginState.NEEDED, 120)
                if not at.view.live:
                    await at.day.log_in(at.code)
                    await at.day.until(lambda: at.view.live, 60)
            assert at.access.login != before
            await at.day.until(lambda: at.view.read_errors == {}, 300)
        with at.proves("repaired by one login it streams and trades again"):
            await at.day.until(lambda: at.order_stream is None or at.order_stream.connected, 200)
            await trio.sleep(60)
            assert set(world.calls.logins(at.code, since).values()) == {1}
            assert (await at.place(at.ticket(at.cheap()))).outcome == "accepted"


async def test_dead_session_at_an_order(at, autojump_clock):
    async with at.day.service():
        share, before = at.cheap(), at.access.login
        ticket = at.ticket(share)
        orders = len(at.account.orders())
        answer = await at.place(ticket, first=lambda: at.day.simulator.fault(at.code, FaultKind.EXPIRE_SESSION))
        with at.proves("an order on a dead session is a clear no, and nothing was placed"):
            assert answer.outcome == "rejected", answer
            assert answer.session_dead
            assert len(at.account.orders()) == orders
        with at.proves("it has the session repaired"):
            await at.day.until(lambda: not at.view.live or at.access.login != before, 60)


async def test_reads_under_faults(at, slices, autojump_clock):
    async with at.day.service():
        told = slices(at.day)
        every = at.broker.cadence.funds
        await at.day.until(lambda: told.told[at.code, "funds"], 200)
        for kind, behaviour, shown in (
            (FaultKind.REFUSAL_IN_200, "a refusal inside a 200 is no data", True),
            (FaultKind.GARBAGE_BODY, "garbage is no data", True),
            (FaultKind.HTTP_500, "a broker whose systems fail grows old, its data stay", False),
        ):
            at.day.simulator.fault(at.code, kind)
            since = at.day.clock.monotonic()
            with at.proves(behaviour):
                await at.day.until(lambda: "funds" in at.view.read_errors, 3 * every + 30)
                await trio.sleep(1)
                errors = [one.error for one in told.since(at.code, "funds", since)]
                assert any(errors) is shown, errors
                assert at.view.live
            at.day.simulator.faults.heal(at.code)
            with at.proves(f"{behaviour}: afterwards it is read again"):
                await at.day.until(lambda: at.view.read_errors == {}, 3 * every + 130)
                await at.day.until(lambda: told.last(at.code, "funds").error is None, 3 * every + 30)


async def test_rate_limit(at, autojump_clock):
    async with at.day.service():
        said = at.dialect.rate_limited()
        with at.proves("its answer to too many calls is known for what it is"):
            answer = at.broker.orders.parse_order_answer(said)
            assert answer.rate_limited
            assert answer.outcome != "accepted"
            assert not answer.session_dead
            with pytest.raises(BrokerRefusal) as refused:
                at.broker.portfolio.parse_funds([said])
            assert refused.value.kind is RefusalKind.RATE_LIMITED


# --- orders ------------------------------------------------------------------------------------------------------------


async def test_life_of_an_order(at, slices, autojump_clock):
    async with at.day.service():
        told = slices(at.day)
        share = at.cheap()
        ticket = at.ticket(share)
        answer = await at.place(ticket)
        with at.proves("an accepted order has the broker's order id"):
            assert answer.outcome == "accepted", answer
            assert at.sim(answer.order_id) is not None
            assert len(at.account.orders()) == 1 + len(
                [o for o in at.account.orders() if o.order_id != answer.order_id]
            )
        with at.proves("a resting order is OPEN, with its terms, in units and rupees"):
            await at.until_status(answer.order_id, "OPEN")
            row = at.orders[answer.order_id]
            assert (row.quantity, row.filled_quantity, row.transaction_type) == (10, 0, "BUY")
            assert (row.order_type, row.product, row.validity) == ("LIMIT", "CNC", "DAY")
            assert row.price == pytest.approx(float(ticket.price))
            assert at.day.snapshot.by_token(at.code, row.instrument_token) == share.instrument_id
        with at.proves("our token comes back with the order"):
            await at.day.until(lambda: at.orders[answer.order_id].tag is not None, 120)
            assert at.orders[answer.order_id].tag == ticket.token
        for field, behaviour, value in (
            ("price", "its price can be changed", at.priced(share, -2)),
            ("quantity", "its quantity can be changed", 15),
        ):
            if field not in at.capabilities.modifiable:
                at.not_offered(behaviour, "not offered")
                continue
            with at.proves(behaviour):
                await trio.sleep(1)
                changed = await at.modify(at.orders[answer.order_id], share, **{field: value})
                assert changed.outcome == "accepted", changed
                assert getattr(at.sim(answer.order_id), field) == value
                await until_field(at, answer.order_id, field, value)
        at.set_price(share, at.priced(share, -4))
        with at.proves("a filled order is COMPLETE, with its average price"):
            await at.until_status(answer.order_id, "COMPLETE", seconds=120)
            sim = at.sim(answer.order_id)
            await at.day.until(lambda: at.orders[answer.order_id].average_price, 120)
            row = at.orders[answer.order_id]
            assert (row.filled_quantity, row.pending_quantity) == (sim.quantity, 0)
            assert row.average_price == pytest.approx(float(sim.average_price), abs=0.01)
        with at.proves("its trades are in the trade book"):

            def bought():
                rows = told.last(at.code, "trades").rows or ()
                return sum(one.quantity for one in rows if one.order_id == answer.order_id)

            await at.day.until(lambda: told.told[at.code, "trades"] and bought() == sim.quantity, 120)
        with at.proves("its shares are in the positions"):

            def held():
                rows = told.last(at.code, "positions").rows or ()
                return net_positions(at, rows).get((share.instrument_id, "CNC"))

            await at.day.until(lambda: held() == sim.quantity, 120)
        with at.proves("a finished order cannot be cancelled: a clear no"):
            late = await at.cancel(at.orders[answer.order_id])
            assert late.outcome == "rejected", late
            assert at.sim(answer.order_id).status is SimStatus.COMPLETE


async def until_field(at, order_id, field, value):
    await at.day.until(lambda: getattr(at.orders[order_id], field) == pytest.approx(float(value)), 120)


async def test_cancel(at, autojump_clock):
    async with at.day.service():
        row = await at.rest(at.cheap())
        with at.proves("a resting order can be cancelled"):
            answer = await at.cancel(row)
            assert answer.outcome == "accepted", answer
            assert at.sim(row.order_id).status is SimStatus.CANCELLED
            await at.until_status(row.order_id, "CANCELLED", seconds=120)
            assert at.orders[row.order_id].cancelled_quantity == 10


async def test_partial_fill(at, autojump_clock):
    async with at.day.service():
        share = min(
            (at.cheap(n) for n in range(8)),
            key=lambda one: at.market(one).sell[0].quantity * at.market(one).sell[0].price,
        )
        at.set_price(share, at.market(share).last_price)  # which holds it
        best = at.market(share).sell[0]
        answer = await at.place(at.ticket(share, price=best.price, quantity=3 * best.quantity))
        at.set_price(share, at.priced(share, 2))  # away from what is left
        sim = at.sim(answer.order_id)
        assert 0 < sim.filled_quantity < sim.quantity, "the market of this test"
        with at.proves("a part-filled order is OPEN with what has filled"):
            await at.day.until(
                lambda: (
                    answer.order_id in at.orders and at.orders[answer.order_id].filled_quantity == sim.filled_quantity
                ),
                120,
            )
            row = at.orders[answer.order_id]
            assert row.status == "OPEN"
            assert row.pending_quantity == sim.quantity - sim.filled_quantity
        gone = await at.cancel(row)
        assert gone.outcome == "accepted", gone
        with at.proves("cancelled after a part fill it keeps what has filled"):
            await at.until_status(answer.order_id, "CANCELLED", seconds=120)
            row = at.orders[answer.order_id]
            assert row.filled_quantity == sim.filled_quantity
            assert row.cancelled_quantity == sim.quantity - sim.filled_quantity


async def test_order_types(at, autojump_clock):
    async with at.day.service():
        offered = at.capabilities.order_types["equity"]
        for n, (order_type, terms) in enumerate(
            {
                "MARKET": {},
                "SL": {"trigger_price": 2, "price": 3},
                "SL-M": {"trigger_price": 2},
            }.items()
        ):
            behaviour = f"{order_type} orders"
            if order_type not in offered:
                at.not_offered(behaviour, "not offered")
                continue
            share = at.cheap(n)
            prices = {name: at.priced(share, percent) for name, percent in terms.items()}
            with at.proves(behaviour):
                answer = await at.place(at.ticket(share, order_type=order_type, **prices))
                assert answer.outcome == "accepted", answer
                sim = at.sim(answer.order_id)
                assert (sim.order_type, sim.trigger_price) == (order_type, prices.get("trigger_price"))
                await at.day.until(lambda: answer.order_id in at.orders, 120)  # noqa: B023
                row = at.orders[answer.order_id]
                assert row.order_type == order_type
                if order_type == "MARKET":
                    await at.until_status(answer.order_id, "COMPLETE", seconds=120)
                else:
                    assert sim.status is SimStatus.TRIGGER_PENDING
                    assert row.trigger_price == pytest.approx(float(prices["trigger_price"]))
        if "IOC" in at.capabilities.validities:
            with at.proves("IOC orders"):
                answer = await at.place(at.ticket(at.cheap(4), validity="IOC"))
                assert at.sim(answer.order_id).validity == "IOC", answer
                await at.until_status(answer.order_id, "CANCELLED", "EXPIRED", seconds=120)
        else:
            at.not_offered("IOC orders", "not offered")


async def test_after_market_order(at, autojump_clock):
    at.at_hour(17, 30)
    async with at.day.service():
        if not at.capabilities.after_market:
            at.not_offered("after-market orders", "not offered")
            return
        share = at.cheap()
        with at.proves("after-market orders"):
            answer = await at.place(at.ticket(share, after_market=True))
            assert answer.outcome == "accepted", answer
            assert at.sim(answer.order_id).status is SimStatus.AFTER_MARKET
            await at.day.until(lambda: answer.order_id in at.orders, 900)
            assert at.orders[answer.order_id].status in ("OPEN", "PENDING")


@pytest.mark.parametrize(
    ("segment", "behaviour"),
    [
        ("nse_equity_index_futures", "index futures, in units"),
        ("nse_equity_options", "stock options, in units"),
        ("mcx_commodity_futures", "commodity futures, in units"),
        ("nse_currency_futures", "currency futures, in units"),
    ],
)
async def test_derivatives(at, segment, behaviour, autojump_clock):
    at.again("zerodha", number=400)  # whose contract sizes are known: brokers that speak lots follow what others say
    async with at.day.service():
        offered = segment in at.capabilities.segments
        contracts = at.day.listed(segment)
        if not offered or not contracts:
            at.not_offered(behaviour, "not offered")
            return
        contract = next(one for one in contracts if at.market(one).last_price > 5)
        units = at.account.contract(contract.instrument_id).lot_size
        kind = "commodity" if segment.startswith("mcx") else "currency" if "currency" in segment else "equity"
        product = "NRML" if "NRML" in at.capabilities.products[kind] else "MIS"
        with at.proves(behaviour):
            row = await at.rest(contract, quantity=units * 2, product=product)
            sim = at.sim(row.order_id)
            assert sim.new.instrument_id == contract.instrument_id
            assert (sim.quantity, row.quantity) == (units * 2, units * 2)
            listing = contract.listings[at.code]
            if (listing.contract_units or 1) > 1:
                with pytest.raises(NotSendable):
                    at.broker.orders.place_request(
                        at.access, at.ticket(contract, quantity=units + 1, product=product), at.day.clock.now()
                    )


# --- orders in trouble -------------------------------------------------------------------------------------------------


async def test_unknown_outcome(at, autojump_clock):
    async with at.day.service():
        share = at.cheap()
        before = len(at.account.orders())
        at.day.simulator.fault(at.code, FaultKind.DROP_AFTER_ACCEPT, count=1)
        ticket = at.ticket(share)
        answer = await at.place(ticket)
        with at.proves("an order whose answer was cut off is unknown, and was sent once"):
            assert answer.outcome == "unknown", answer
            assert len(at.account.orders()) == before + 1
        (order,) = [one for one in at.account.orders() if one.new.tag == ticket.token]
        with at.proves("the book shows what became of it, by our token"):
            await at.day.until(
                lambda: any(row.tag == ticket.token and row.order_id == order.order_id for row in at.orders.values()),
                120,
            )


async def test_orders_under_faults(at, autojump_clock):
    async with at.day.service():
        for n, (kind, behaviour, outcomes) in enumerate(
            (
                (FaultKind.REFUSE_CONNECTIONS, "an order that found no connection is rejected", ("rejected",)),
                (FaultKind.HTTP_500, "a server error leaves an order unknown", ("unknown",)),
                (FaultKind.GARBAGE_BODY, "a garbled answer leaves an order unknown", ("unknown",)),
                (FaultKind.REFUSAL_IN_200, "a refusal inside a 200 is no acceptance", ("rejected", "unknown")),
            )
        ):
            ticket = at.ticket(at.cheap(n))
            answer = await at.place(ticket, first=partial(at.day.simulator.fault, at.code, kind))
            at.day.simulator.faults.heal(at.code)
            with at.proves(behaviour):
                assert answer.outcome in outcomes, (kind, answer)
                placed = [one for one in at.account.orders() if one.new.tag == ticket.token]
                assert len(placed) <= (0 if answer.outcome == "rejected" else 1)
            await at.day.until(lambda: at.view.live, 120)


async def test_rejections(at, autojump_clock):
    async with at.day.service():
        row = await at.rest(at.cheap(1))
        at.day.simulator.fault(at.code, FaultKind.REJECT_CANCELS)
        with at.proves("a refused cancel is a clear no"):
            answer = await at.cancel(row)
            assert answer.outcome == "rejected", answer
            assert answer.status_message
            assert at.sim(row.order_id).status is SimStatus.OPEN
        at.day.simulator.faults.heal(at.code)
        at.day.simulator.fault(at.code, FaultKind.REJECT_ORDERS)
        with at.proves("a rejected order is REJECTED, with the broker's words"):
            answer = await at.place(at.ticket(at.cheap()))
            if answer.outcome == "rejected":
                assert answer.status_message
            else:
                assert answer.outcome == "accepted", answer
                await at.until_status(answer.order_id, "REJECTED", seconds=120)
                await at.day.until(lambda: at.orders[answer.order_id].status_message, 120)


def rarely_read(settings, code):
    """Return `settings` with the broker's books read every ten minutes: what is seen earlier came by the stream."""

    def changed():
        whole = settings()
        own = attrs.evolve(whole.brokers[code], cadence=CadenceOverrides(orders=600, trades=600, positions=600))
        return attrs.evolve(whole, brokers={code: own})

    return changed


async def test_order_stream(at, autojump_clock):
    at.day.settings = rarely_read(at.day.settings, at.code)
    async with at.day.service():
        behaviours = ("by the order stream a fill is seen at once, read or not", "a fill told twice counts once")
        if at.order_stream is None:
            for behaviour in behaviours:
                at.not_offered(behaviour, "no order stream")
            return
        await at.day.until(lambda: at.order_stream.connected, 120)
        share = at.cheap()
        row = await at.rest(share)
        at.day.simulator.fault(at.code, FaultKind.DUPLICATE_FILL_EVENTS)
        at.set_price(share, at.priced(share, -4))
        with at.proves(behaviours[0]):
            await at.until_status(row.order_id, "COMPLETE", seconds=5)
        with at.proves(behaviours[1]):
            await trio.sleep(3)
            assert at.orders[row.order_id].filled_quantity == 10
            assert at.view.contradictions == 0


# --- market data -------------------------------------------------------------------------------------------------------


async def test_market_stream(at, listen, autojump_clock):
    at.again(number=400)
    async with at.day.service(), at.day.market():
        heard = listen(at.day, at.code)
        shares = [at.cheap(n) for n in range(3)]
        futures = at.day.listed("nse_equity_index_futures")[:1]
        indices = at.day.listed("nse_equity_indices")[:1]
        watched = [*shares, *futures, *indices]
        await at.day.sessions[at.code].address.tell(Watch(listings=tuple(one.listings[at.code] for one in watched)))
        with at.proves("what is watched ticks, in rupees"):
            await heard.until([*shares, *futures])
            moved = at.priced(shares[0], 1)
            at.set_price(shares[0], moved)
            await at.day.until(lambda: heard.last(shares[0]).last_price == pytest.approx(float(moved)), 10)
        if indices:
            with at.proves("indices tick"):
                await heard.until(indices)
                market = at.market(indices[0])
                assert heard.last(indices[0]).last_price == pytest.approx(float(market.last_price), rel=0.02)
        depths = [
            tick
            for _, tick in heard.ticks
            if tick.buy and tick.broker_token == shares[0].listings[at.code].broker_token
        ]
        if depths:
            with at.proves("depth comes with its levels in order"):
                buy, sell = depths[-1].buy, depths[-1].sell
                prices = [level.price for level in (*reversed(buy), *sell)]
                assert sell
                assert prices == sorted(prices)
                assert all(level.quantity > 0 for level in (*buy, *sell))
        else:
            at.not_offered("depth comes with its levels in order", "not streamed")
        with at.proves("a tick carries the day's open and volume"):
            assert heard.last(shares[0]).volume
            assert heard.last(shares[0]).open
        with at.proves("a dropped stream comes back with all that is watched"):
            at.day.simulator.fault(at.code, FaultKind.DROP_STREAM, count=1)
            since = at.day.clock.monotonic()
            await at.day.until(lambda: at.view.market_feed.reconnects >= 1, 60)
            at.set_price(shares[0], at.priced(shares[0], -1))
            await heard.until(shares, since=since + 2, seconds=90)
        with at.proves("a corrupt frame is counted, and the stream lives"):
            at.day.simulator.fault(at.code, FaultKind.CORRUPT_FRAME, count=2)
            at.set_price(shares[1], at.priced(shares[1], 1))
            await trio.sleep(3)
            since = at.day.clock.monotonic()
            at.set_price(shares[1], at.priced(shares[1], -1))
            await heard.until(shares[1:2], since=since)
        behaviour = "a stream that goes silent is opened again"
        if at.broker.feed.silence_seconds is None:
            at.not_offered(behaviour, "no heartbeat promised")
            return
        with at.proves(behaviour):
            at.day.simulator.fault(at.code, FaultKind.STALL_STREAM)
            before = at.view.market_feed.reconnects
            await trio.sleep(at.broker.feed.silence_seconds + 5)
            at.day.simulator.faults.heal(at.code)
            await at.day.until(lambda: at.view.market_feed.reconnects > before, 200)


async def test_quotes(at, autojump_clock):
    async with at.day.service():
        if at.broker.quotes is None:
            at.not_offered("REST quotes, each of the instrument that was asked for", "not offered")
            return
        shares = [at.cheap(n) for n in range(min(2, at.broker.quotes.most_per_call))]
        listings = tuple(share.listings[at.code] for share in shares)
        with at.proves("REST quotes, each of the instrument that was asked for"):
            found = await at.day.sessions[at.code].address.ask(
                lambda reply: FetchQuotes(listings=listings, reply=reply), 30
            )
            assert set(found) == {listing.broker_token for listing in listings}
            for share in shares:
                tick, market = found[share.listings[at.code].broker_token], at.market(share)
                assert tick.last_price == pytest.approx(float(market.last_price))
                if tick.previous_close is not None:
                    assert tick.previous_close == pytest.approx(float(market.previous_close), abs=0.011)


@pytest.mark.parametrize("interval", ["day", "1minute"])
async def test_candles(at, interval, autojump_clock):
    async with at.day.service():
        behaviour = {"day": "day candles", "1minute": "minute candles"}[interval]
        if at.broker.candles is None:
            at.not_offered(behaviour, "not offered")
            return
        share, today = at.cheap(), at.day.clock.today()
        first = today.replace(day=2) if interval == "day" else today.replace(day=20)
        requests = at.broker.candles.candle_requests(at.access, share.listings[at.code], interval, first, today)
        async with at.day.open_transport() as transport:
            answers = [await transport.send(one.leaving(at.day.clock.now()), 10) for one in requests]
        with at.proves(behaviour):
            candles = at.broker.candles.parse_candles(answers, share.listings[at.code])
            wanted = {
                start: close
                for start, _, _, _, close, *_ in at.account.candles(share.instrument_id, interval, first, today)
            }
            assert len(candles) > 3
            starts = [one.start for one in candles]
            assert starts == sorted(set(starts))
            known = [one for one in candles if one.start in wanted]
            assert len(known) >= 0.9 * len(candles)
            assert all(one.close == pytest.approx(wanted[one.start], abs=0.011) for one in known[:-1])
            assert all(Decimal(str(one.low)) <= Decimal(str(one.close)) <= Decimal(str(one.high)) for one in candles)


# --- the table -------------------------------------------------------------------------------------------------------


def table(cells, codes):
    """Return the Markdown table; behaviours in the order in which they were first proved."""
    behaviours = list(dict.fromkeys(behaviour for behaviour, _ in cells))
    reasons = {why for why in cells.values() if why != "yes"}
    marks = {why: f"–{number}" for number, why in enumerate(sorted(reasons), start=1)} | {"yes": "✓"}
    rows = [["Behaviour", *codes], ["---", *[":-:"] * len(codes)]]
    rows += [[one, *(marks[cells[one, code]] for code in codes)] for one in behaviours]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    notes = "; ".join(f"{mark} {why}" for why, mark in marks.items() if why != "yes")
    return "\n".join([*lines, "", f"✓ proved{'; ' + notes if notes else ''}.", ""])


def whole(request, proofs):
    """Tell whether every test of the suite ran for every broker, with all of its parameters."""
    written = [
        test
        for name, test in inspect.getmembers(request.module, inspect.isfunction)
        if name.startswith("test_") and test is not request.function
    ]
    return len(proofs.ran) == len(build_registry()) * sum(map(parameter_sets, written))


def parameter_sets(test):
    marks = getattr(test, "pytestmark", ())
    return math.prod(len(mark.args[1]) for mark in marks if mark.name == "parametrize")


def test_the_table_of_the_page_is_what_this_run_has_proved(request, proofs):
    if not whole(request, proofs):
        pytest.skip("only a part of the contract suite has run")
    assert proofs.unproved() == []
    assert len({behaviour for behaviour, _ in proofs.cells}) >= 40
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    written, _, after = rest.partition(END)
    assert rest, "the table's place is not in docs/contract.md"
    now = table(proofs.cells, tuple(build_registry()))
    if os.environ.get("ONEBROKER_WRITE_CONTRACT"):
        PAGE.write_text(f"{before}{BEGIN}{now}{END}{after}")
    else:
        assert written == now
