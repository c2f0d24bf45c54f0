"""5paisa's server over the real exchange: what is listed, quotes and candles."""

import gzip
from datetime import date, timedelta

import attrs
import pytest

from onebroker.brokers.fivepaisa import candles, quotes
from onebroker.brokers.requests import BrokerRefusal, RefusalKind


def test_the_file_comes_gzipped_to_whom_takes_it_so_and_by_segment(broker):
    url = broker.bare.endpoints.instruments_url
    packed = broker.dialect.handle(broker.request("GET", url, {"Accept-Encoding": "gzip"}))
    plain = broker.dialect.handle(broker.request("GET", url))
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    for word in ("all", "nse_eq", "mcx_fo"):
        part = broker.dialect.handle(broker.request("GET", url.replace("All", word)))
        assert part.body.splitlines()[0].startswith(b"Exch,ExchType,ScripCode")
    assert broker.dialect.handle(broker.request("GET", url.replace("All", "lse"))).status == 404


def test_quotes_are_those_of_the_market_and_too_many_come_back_empty(broker):
    names = [broker.listed("equities"), broker.listed("equity_index_futures"), broker.listed("currency_futures")]
    listings = broker.listings()
    asked = [listings[":".join(name.key)] for name in names]
    ticks = quotes.parse_quotes(broker.send(quotes.quote_request(broker.access, asked)), asked)
    for name, listing in zip(names, asked, strict=True):
        tick, market = ticks[listing.broker_token], broker.market(name)
        assert (tick.last_price, tick.volume) == (float(market.last_price), market.volume)
    many = list(listings.values())[:60]
    assert quotes.parse_quotes(broker.send(quotes.quote_request(broker.access, many)), many) == {}


def test_candles_come_under_a_live_token_for_half_a_year_at_most(broker):
    listing = broker.listings()[":".join(broker.listed("equities").key)]
    today = date(2026, 11, 23)
    calls = candles.candle_requests(broker.access, listing, "day", today - timedelta(days=30), today)
    assert len(candles.parse_candles([broker.send(one) for one in calls], listing)) > 10
    calls = candles.candle_requests(broker.access, listing, "15minute", today - timedelta(days=400), today)
    assert len(calls) == 3
    (whole,) = candles.candle_requests(broker.access, listing, "15minute", today, today)
    long = attrs.evolve(whole, url=whole.url.replace("from=2026", "from=2025"))
    with pytest.raises(BrokerRefusal, match="6 months"):
        candles.parse_candles([broker.send(long)], listing)
    broker.dialect.expire_session()
    with pytest.raises(BrokerRefusal) as dead:
        candles.parse_candles([broker.send(whole)], listing)
    assert dead.value.kind is RefusalKind.SESSION_DEAD
