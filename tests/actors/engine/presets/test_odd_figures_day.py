"""One odd figure never acts (order-engine 1.6): a broker's row or a feed's tick is wrong once, and right again; judged on the exchange's ledger."""

import contextlib
from contextlib import contextmanager

import msgspec
import pytest
import trio

from onebroker.actors.quotes.tick_fold import Quote
from onebroker.config.vocabulary import Product
from tests.actors.engine.presets.test_exits_position_days import holding
from tests.support.trading import Trading


@contextmanager
def odd(monkeypatch, trading, code, parser, change, *, reads=1):
    """Let so many reads of a broker come out odd; yields the list of the odd ones."""
    portfolio = trading.day.sessions[code].broker.portfolio
    parse, done = getattr(portfolio, parser), []

    def read(*given):
        found = parse(*given)
        if len(done) >= reads:
            return found
        done.append(trading.day.clock.monotonic())
        return change(found)

    with monkeypatch.context() as patched:
        patched.setattr(portfolio, parser, read)
        yield done


def lost(rows):
    """A result of minus half a million, however the broker tells it."""
    return [msgspec.structs.replace(row, realized=-500_000.0, unrealized=0.0) for row in rows]


@pytest.mark.parametrize("since", ["placement", "day"])
async def test_a_strategy_stop_does_not_fire_by_one_odd_read(trading, autojump_clock, monkeypatch, since):
    settings = {
        "type": "strategy_stop",
        "instrument_ids": [trading.share.instrument_id],
        "max_loss": 100,
        "since": since,
    }
    await holding(trading, "BUY", 10, "zerodha")
    answer = await trading.send(quantity=None, synthetic=settings)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    await trio.sleep(20)
    with odd(monkeypatch, trading, "zerodha", "parse_positions", lost) as reads:
        await trading.day.until(lambda: reads, 120)
        await trio.sleep(30)
    assert len(trading.messages()) == 1
    await trading.move(-3)
    await trading.until(answer, "completed")
    assert trading.messages()[1:] == [("place", "SELL", 10, "LIMIT")]


@contextmanager
def hides_flat_rows(monkeypatch, trading, code):
    """The broker leaves a position out once it is flat, as some do."""
    portfolio = trading.day.sessions[code].broker.portfolio
    parse = portfolio.parse_positions
    with monkeypatch.context() as patched:
        patched.setattr(portfolio, "parse_positions", lambda *given: [row for row in parse(*given) if row.quantity])
        yield


@pytest.mark.parametrize("since", ["placement", "day"])
@pytest.mark.parametrize("hides", [True, False])
async def test_a_leg_that_is_closed_by_hand_takes_its_gain_not_out_of_a_joint_result(
    trading, autojump_clock, monkeypatch, since, hides
):
    """The broker shows its row no more. Nobody has lost what went out of the sum. A loss of the other leg counts in full."""
    other = Trading(trading.day, 1)
    await other.move(0)
    with hides_flat_rows(monkeypatch, trading, "zerodha") if hides else contextlib.nullcontext():
        await holding(trading, "BUY", 100, "zerodha")
        await trading.send(instrument_id=other.share.instrument_id, quantity=10, broker="zerodha")
        await trio.sleep(10)
        await trading.move(2)
        await trio.sleep(20)
        both = [trading.share.instrument_id, other.share.instrument_id]
        settings = {"type": "strategy_stop", "instrument_ids": both, "max_loss": 50, "since": since}
        answer = await trading.send(quantity=None, synthetic=settings)
        assert (answer.status, answer.body["outcome"]) == (202, "armed")
        await trio.sleep(20)
        trading.day.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await trio.sleep(60)
        assert (await trading.parent(answer))["state"] == "armed"
        await other.move(-3)  # 10 units: more than the 50, less than the gain of the day
        if since == "placement":
            await trading.until(answer, "completed")
        else:
            await trio.sleep(60)
            assert (await trading.parent(answer))["state"] == "armed"


async def test_a_figure_that_two_reads_show_fires_without_a_quote_that_explains_it(
    trading, autojump_clock, monkeypatch
):
    settings = {"type": "strategy_stop", "instrument_ids": [trading.share.instrument_id], "max_loss": 100}
    await holding(trading, "BUY", 10, "zerodha")
    answer = await trading.send(quantity=None, synthetic=settings)
    await trio.sleep(20)
    with odd(monkeypatch, trading, "zerodha", "parse_positions", lost, reads=10**6) as reads:
        await trading.until(answer, "completed", seconds=60)
    assert len(reads) >= 2
    assert trading.messages()[1:] == [("place", "SELL", 10, "LIMIT")]


async def test_an_odd_read_at_the_start_is_no_base_and_no_figure(trading, autojump_clock, monkeypatch):
    settings = {
        "type": "strategy_stop",
        "instrument_ids": [trading.share.instrument_id],
        "target_profit": 100_000,
        "max_loss": 100,
    }
    await holding(trading, "BUY", 10, "zerodha")
    with odd(monkeypatch, trading, "zerodha", "parse_positions", lost) as reads:
        await trading.day.until(lambda: reads, 120)
        for since in ("day", "placement"):
            answer = await trading.send(quantity=None, synthetic={**settings, "since": since})
            assert answer.status == 202, answer
        await trio.sleep(40)
    assert len(trading.messages()) == 1


async def test_a_condition_on_the_account_does_not_fire_by_one_odd_read(day, autojump_clock, monkeypatch):
    condition = {
        "type": "account_conditional",
        "watch_field": "day_pnl",
        "trigger_level": -100_000,
        "trigger_direction": "below",
    }
    async with day.market(), day.service(quotes=True, funds=True):
        trading = Trading(day)
        await trading.move(0)
        await day.until(lambda: day.funds.value is not None and day.funds.value.usable_brokers, 120)
        answer = await trading.send(synthetic=condition)
        assert answer.status == 202, answer
        await trio.sleep(20)
        with odd(monkeypatch, trading, "zerodha", "parse_funds", loss) as reads:
            await day.until(lambda: reads, 300)
            await trio.sleep(90)
        assert trading.messages() == []
        with odd(monkeypatch, trading, "zerodha", "parse_funds", loss, reads=10**6):
            await day.until(trading.messages, 300)


def loss(row):
    return msgspec.structs.replace(row, realized=-500_000.0, unrealized=0.0)


async def test_an_exposure_is_not_hedged_by_one_odd_read(trading, autojump_clock, monkeypatch):
    await holding(trading, "BUY", 10, "zerodha")
    settings = {
        "type": "exposure_hedge", "exposure_instruments": [{"instrument_id": trading.share.instrument_id}], "measure": "units",
        "band": 20, "check_seconds": 5,
    }  # fmt: skip
    answer = await trading.send(quantity=None, synthetic=settings)
    assert answer.status == 202, answer
    await trio.sleep(20)
    fold = lambda rows: [msgspec.structs.replace(row, quantity=(row.quantity or 0) * 100) for row in rows]  # noqa: E731
    with odd(monkeypatch, trading, "zerodha", "parse_positions", fold) as reads:
        await trading.day.until(lambda: reads, 120)
        await trio.sleep(60)
    assert len(trading.messages()) == 1


async def test_a_participation_sends_nothing_for_a_feed_that_begins_anew(trading, autojump_clock, monkeypatch):
    own = {"type": "participation", "participation_percent": 1}
    answer = await trading.send(quantity=100_000, synthetic=own)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    start = trading.day.engine_context.quotes.usable_quote(trading.share.instrument_id).tick.volume
    await trio.sleep(30)
    book = trading.day.engine_context.quotes
    usable, odd_ticks = book.usable_quote, []

    def quote_of(instrument_id: str) -> Quote | None:
        found = usable(instrument_id)
        if found is None or found.tick.volume is None:
            return found
        if not odd_ticks:
            odd_ticks.append(found)
        if found is odd_ticks[0]:
            return msgspec.structs.replace(found, tick=msgspec.structs.replace(found.tick, volume=0))
        return found

    before = usable(trading.share.instrument_id).tick.volume
    with monkeypatch.context() as patched:
        patched.setattr(type(book), "usable_quote", lambda _, instrument_id: quote_of(instrument_id))
        await trio.sleep(60)
    assert odd_ticks
    after = usable(trading.share.instrument_id).tick.volume
    sent = sum(quantity for verb, _, quantity, _ in trading.messages() if verb == "place")
    assert sent < before // 100
    assert sent <= (after - start) // 100
