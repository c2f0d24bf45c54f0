"""The ten brokers as the exchange sees them: clients, order numbers, listed contracts, and limits on calls. Tables."""

from collections.abc import Callable, Mapping
from datetime import date

import attrs

from onebroker.brokers.simulator.world.model import Contract

DAY_SECONDS = 86_400


@attrs.frozen
class Limit:
    """At most `count` calls in any window of `seconds`. Counts order messages only, or all calls."""

    seconds: int
    count: int
    orders_only: bool = True

    @property
    def daily(self) -> bool:
        return self.seconds >= DAY_SECONDS


@attrs.frozen(kw_only=True)
class BrokerTraits:
    client_id: str
    client_name: str
    order_number: Callable[[date, int], str]
    """(day, running number of the day) -> order id in the broker's style."""
    limits: tuple[Limit, ...]
    exchanges: frozenset[str] = frozenset({"nse", "bse", "mcx"})
    currency: bool = True
    intraday: bool = True
    """Whether the broker's API takes intraday orders. If not, its account begins with a purchase for delivery instead of an intraday position,
    because nobody could close the latter."""

    reserves_shares: bool = True
    """Whether a resting sale of delivery shares blocks these shares for other sales. No page in docs/brokers says that a broker does otherwise."""
    want_of_shares_in_book: bool = False
    """Whether a sale beyond the free shares gets its id and comes back REJECTED. If not, the message that places it is refused."""
    want_of_shares: str = "RMS:Rule: Check holdings including BTST for entity account-{client} across exchange across segment across product"
    """The refusal of a sale beyond the free shares. No page in docs/brokers has these words. The form is that of Zerodha's recorded refusal
    for want of margin (`RMS:Margin Exceeds, ... for entity account-...`), the name of the rule is that of risk systems in general use."""

    def no_shares(self) -> str:
        """Return the refusal of a sale beyond the free shares, for this client."""
        return self.want_of_shares.format(client=self.client_id)

    def lists(self, contract: Contract) -> bool:
        """Tell whether the broker offers a contract at all."""
        return contract.identity.exchange in self.exchanges and (self.currency or contract.calendar != "currency")


def _dated(digits: int, series: int) -> Callable[[date, int], str]:
    """YYMMDD and a running number of `digits` places that begins with `series`. No two brokers share an order id."""
    return lambda day, number: f"{day:%y%m%d}{series}{number:0{digits - 1}d}"


def _counted(start: int) -> Callable[[date, int], str]:
    """A bare number that grows by a million a day."""
    return lambda day, number: str(start + day.toordinal() % 1000 * 1_000_000 + number)


def _orders(*pairs: tuple[int, int]) -> tuple[Limit, ...]:
    return tuple(Limit(seconds, count) for seconds, count in pairs)


def _calls(*pairs: tuple[int, int]) -> tuple[Limit, ...]:
    return tuple(Limit(seconds, count, orders_only=False) for seconds, count in pairs)


_WITH_NCDEX = frozenset({"nse", "bse", "mcx", "ncdex"})

BROKERS: Mapping[str, BrokerTraits] = {
    "zerodha": BrokerTraits(
        client_id="AB1234", client_name="Asha Verma", order_number=_dated(9, 1),
        limits=_orders((1, 10), (60, 200), (DAY_SECONDS, 3000)),
    ),
    "upstox": BrokerTraits(
        client_id="3KCBR5", client_name="Asha Verma", order_number=_dated(9, 2),
        limits=_orders((1, 10), (60, 500), (1800, 2000)), want_of_shares_in_book=True,
    ),
    "dhan": BrokerTraits(
        client_id="1100003626", client_name="Asha Verma", order_number=lambda day, n: f"1{day:%y%m%d}{n:06d}",
        limits=_orders((1, 10), (60, 250), (3600, 1000), (DAY_SECONDS, 7000)), want_of_shares_in_book=True,
    ),
    "angelone": BrokerTraits(
        client_id="A123456", client_name="ASHA VERMA", order_number=_dated(9, 3), exchanges=_WITH_NCDEX,
        limits=_orders((1, 9), (60, 500), (3600, 1000)),
    ),
    "fyers": BrokerTraits(
        client_id="XA00330", client_name="ASHA VERMA", order_number=_dated(8, 1), limits=_calls((1, 10), (60, 200)),
    ),
    "kotakneo": BrokerTraits(
        client_id="YAB12", client_name="ASHA VERMA", order_number=_dated(9, 4), limits=_calls((1, 10), (60, 300)),
        want_of_shares_in_book=True,
    ),
    "icicidirect": BrokerTraits(
        client_id="ASHAV123", client_name="ASHA VERMA", order_number=lambda day, n: f"{day:%Y%m%d}N3{n:08d}",
        limits=(*_orders((1, 5)), *_calls((60, 100), (DAY_SECONDS, 5000))), intraday=False,
    ),
    "fivepaisa": BrokerTraits(
        client_id="52345678", client_name="ASHA VERMA", order_number=_counted(600_000_000),
        limits=_orders((1, 5), (60, 50)),
    ),
    "groww": BrokerTraits(
        client_id="5283914607", client_name="Asha Verma", order_number=lambda day, n: f"GMK{day:%y%m%d}{n:010d}",
        currency=False, limits=_orders((1, 10), (60, 250)), want_of_shares_in_book=True,
    ),
    "shoonya": BrokerTraits(
        client_id="FA12345", client_name="ASHA VERMA", order_number=_dated(8, 2), exchanges=_WITH_NCDEX,
        limits=_orders((1, 10), (60, 200)), want_of_shares_in_book=True,
        want_of_shares="Check holdings including BTST",
    ),
}  # fmt: skip
"""Order and call limits as in architecture 13; the others' lists as the brokers' pages say (docs/brokers/).

A refusal of the risk system comes in the order book after an accepted message at upstox, dhan, groww (docs/brokers/<code>.md, section 3), kotakneo and
shoonya (the lists of traps at the end of their pages). At zerodha it is a HoldingException, at fyers code -99, at fivepaisa body.Status 1, at icicidirect
an Error in a 200 (section 3 of each page); angelone's page says nothing, so the message is refused there with a blank code.
"""
