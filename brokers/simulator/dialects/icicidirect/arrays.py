"""ICICI Direct's stream arrays, made from the exchange's truth: quotes, depth, MCX's single array, and order messages."""

from decimal import Decimal

from onebroker.brokers.simulator.dialects.facts import day_change, percent
from onebroker.brokers.simulator.dialects.icicidirect.envelope import day_text, figure
from onebroker.brokers.simulator.dialects.icicidirect.naming import Name
from onebroker.brokers.simulator.dialects.icicidirect.rows import status_word
from onebroker.brokers.simulator.world.model import Market, SimOrder, SimStatus
from onebroker.config.vocabulary import Side

_LETTERS = {
    "Queued": "Q", "Ordered": "O", "Partially Executed": "P", "Executed": "E", "Rejected": "J", "Expired": "X",
    "Partially Executed And Expired": "B", "Partially Executed And Cancelled": "D", "Cancelled": "C",
}  # fmt: skip
_CRORE = Decimal(10_000_000)
_PAISE = Decimal("0.01")


def quote_array(name: Name, market: Market) -> list[object]:
    """Return the array of a quote room."""
    room, token = name.room.split("!")
    head: list[object] = [f"{room}.1!{token}"]
    if name.exchange == "MCX":
        return head + _commodity(market)
    change = float(percent(day_change(market), market.previous_close, _PAISE))
    head += [float(market.open), float(market.last_price), float(market.high), float(market.low), change]
    index = name.contract.is_index
    bid, offer = ((levels[0] if levels else None) for levels in (market.buy, market.sell))
    book: list[object] = [None] * 6 if index else [
        float(bid.price) if bid else 0, bid.quantity if bid else 0, float(offer.price) if offer else 0,
        offer.quantity if offer else 0, market.last_quantity, float(market.average_price),
    ]  # fmt: skip
    if name.expiry is not None:
        book += [market.oi, None]
    totals: list[object] = (
        [None] * 4 if index else [market.volume, market.buy_quantity, market.sell_quantity, _traded_value(market)]
    )
    circuit: list[object] = [None, None] if index else [float(market.lower_circuit), float(market.upper_circuit)]
    trend = "+" if market.last_price >= market.previous_close else "-"
    return [*head, *book, *totals, trend, *circuit, int(market.last_trade_time), float(market.previous_close)]


def depth_array(name: Name, market: Market) -> list[object]:
    """Return the array of a depth room. It always has five levels, with zeros where there is no level."""
    room, token = name.room.split("!")
    levels = []
    for place in range(5):
        bid, offer = (side[place] if place < len(side) else None for side in (market.buy, market.sell))
        left = [float(bid.price), bid.quantity, bid.orders] if bid else [0, 0, 0]
        right = [float(offer.price), offer.quantity, offer.orders] if offer else [0, 0, 0]
        if room == "1":
            levels.append([*left[:2], *right[:2]])
        elif room == "8":
            levels.append([*left, *right])
        else:
            levels.append([*left, "", *right, ""])
    return [f"{room}.2!{token}", int(market.exchange_time), levels]


def _commodity(market: Market) -> list[object]:
    head: list[object] = [
        0, 0, 0, market.volume, float(market.last_price), market.last_quantity, int(market.last_trade_time),
        float(market.average_price), market.buy_quantity, market.sell_quantity, "", float(market.previous_close),
        float(market.open), float(market.high), float(market.low), 0, market.oi, 0, 0.0, 0.0,
        float(market.volume * market.average_price),
    ]  # fmt: skip
    for bid, offer in zip(market.buy, market.sell, strict=False):
        head.append(
            [bid.quantity, float(bid.price), bid.orders, 0, offer.quantity, float(offer.price), offer.orders, 0]
        )
    return head


def _traded_value(market: Market) -> str:
    return f"{market.volume * market.average_price / _CRORE:.2f}C"


def order_array(order: SimOrder, name: Name, client_id: str, sequence: int) -> list[str]:
    """Return an order message of 47 texts, whose layout depends on the kind of market."""
    now = order.updated_at
    letter = _LETTERS[status_word(order)]
    flow = "B" if order.new.side is Side.BUY else "S"
    limit = "S" if order.order_type.takes_trigger else "L"
    validity = {"DAY": "T", "IOC": "I"}[order.validity.value]
    cancelled, expired = order.cancelled_quantity, 0
    if order.status is SimStatus.EXPIRED:
        cancelled, expired = 0, cancelled
    kind = "4" if name.expiry is None else "6"
    head = [
        "1", "", client_id, "", "249", "5", str(sequence), f"{now:%d-%m-%Y}", f"{now:%H:%M:%S}", "Intraday Calls", "N",
        kind, "8500000000", name.exchange,
    ]  # fmt: skip
    average = figure(order.average_price)
    if name.expiry is None:
        return head + _cash_tail(order, name, (flow, limit, validity, letter), cancelled, expired, average)
    right = {"Call": "C", "Put": "P"}.get(name.right or "", "*")
    expiry = day_text(name.expiry)
    return [
        *head, name.stock_code, name.kind[0].upper(), right, "E", str(int(name.strike * 100)), expiry, expiry, flow, limit,
        validity, figure(order.price), letter, order.order_id, str(order.quantity), str(order.filled_quantity),
        str(cancelled), str(expired), figure(order.trigger_price), "N", "25", "WEB", "N", day_text(order.placed_at.date()), "0", "0.00",
        average, "0", "N", "N", "Y", "N", "N", "",
    ]  # fmt: skip


def _cash_tail(
    order: SimOrder, name: Name, letters: tuple[str, str, str, str], cancelled: int, expired: int, average: str
) -> list[str]:
    flow, limit, validity, letter = letters
    day = day_text(order.placed_at.date())
    return [
        name.stock_code, flow, limit, validity, figure(order.price), "C", letter, day, day, order.order_id,
        str(order.quantity), str(order.pending_quantity), str(order.filled_quantity), str(cancelled), str(expired),
        str(order.disclosed_quantity), figure(order.trigger_price), "N", "0.00", "25", "WEB", name.exchange, "2026001", "Cash",
        "N", "", day, "", average, "N", "N", "0", "",
    ]  # fmt: skip
