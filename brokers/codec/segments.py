"""Groups of segments that brokers offer together, for the tables of segments in their `broker.py`."""

from collections.abc import Iterable, Mapping

from onebroker.config.instruments import prefixed_segment

CASH = ("equities", "exchange_traded_funds", "investment_trusts", "fixed_income")
EQUITY = ("equity_futures", "equity_index_futures", "equity_options", "equity_index_options")
CURRENCY = ("currency_futures", "currency_options", "fixed_income_futures", "fixed_income_options")
COMMODITY = ("commodity_futures", "commodity_options", "commodity_index_futures", "commodity_index_options")


def offered(segments: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """Return the exchange-prefixed names (`nse_equities`) for a table exchange -> bare segments."""
    return frozenset(prefixed_segment(exchange, bare) for exchange, bares in segments.items() for bare in bares)
