"""Fyers' order socket: JSON text under raw names. Each frame has only the fields that apply. Pings are text."""

from collections.abc import Mapping

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.facts import rupees
from onebroker.brokers.simulator.dialects.fyers.naming import FyersNames, Name
from onebroker.brokers.simulator.dialects.fyers.rows import PRODUCTS, SIDES, STATUSES, TYPES, position_row, time_text
from onebroker.brokers.simulator.world.model import SimFill, SimOrder

KINDS = frozenset({"orders", "trades", "positions", "edis", "pricealerts", "login"})

_POSITION_NAMES = {
    "symbol": "symbol", "id": "id", "buyAvg": "buy_avg", "buyQty": "buy_qty", "buyVal": "buy_val", "sellAvg": "sell_avg",
    "sellQty": "sell_qty", "sellVal": "sell_val", "netAvg": "net_avg", "netQty": "net_qty", "side": "tran_side",
    "qty": "qty", "productType": "product_type", "realized_profit": "pl_realized", "rbiRefRate": "rbirefrate",
    "fyToken": "fy_token", "exchange": "exchange", "segment": "segment", "dayBuyQty": "day_buy_qty",
    "daySellQty": "day_sell_qty", "cfBuyQty": "cf_buy_qty", "cfSellQty": "cf_sell_qty", "qtyMulti_com": "qty_multiplier",
    "pl": "pl_total", "crossCurrency": "cross_curr_flag", "unrealized_profit": "pl_unrealized",
}  # fmt: skip
"""Name in the positions' answer -> the socket's name."""


class OrderSession:
    """One open socket. `kinds` are the kinds of update that the client asked for."""

    def __init__(self, account: AccountView, names: FyersNames, socket: Socket) -> None:
        self._account, self._names = account, names
        self.socket = socket
        self._kinds: set[str] = set()

    def received(self, message: bytes | str) -> None:
        if message in ("ping", b"ping"):
            self.socket.send("pong")
            return
        try:
            request = msgspec.json.decode(message, type=dict[str, object])
            kinds = set(msgspec.convert(request["SLIST"], list[str]))
            begins = {1: True, -1: False}[msgspec.convert(request["SUB_T"], int)]
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, KeyError, RecursionError):
            self._say({"s": "error", "code": -50, "message": "invalid input"})
            return
        if request.get("T") != "SUB_ORD" or not kinds <= KINDS:
            self._say({"s": "error", "code": -50, "message": "invalid input"})
            return
        self._kinds = self._kinds | kinds if begins else self._kinds - kinds
        word = "subscribed" if begins else "unsubscribed"
        self._say({"code": 1605, "message": f"Successfully {word}", "s": "ok"})

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Does nothing: prices are on the other socket."""

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        name = self._names.by_id[order.new.instrument_id]
        if "orders" in self._kinds:
            self._say({"orders": order_fields(order, name, self._account.client_id), "s": "ok"})
        if fill is not None and "trades" in self._kinds:
            self._say({"trades": trade_fields(fill, order, name, self._account.client_id), "s": "ok"})
        if fill is not None and "positions" in self._kinds:
            self._positions(name)

    def beat(self) -> None:
        """Does nothing: the client pings, and the server sends nothing on its own."""

    def _positions(self, name: Name) -> None:
        instrument_id = name.contract.instrument_id
        for position in self._account.positions():
            if position.instrument_id == instrument_id:
                row = position_row(position, name, self._account.market(instrument_id), 1)
                raw = {raw_name: row[rest_name] for rest_name, raw_name in _POSITION_NAMES.items()}
                self._say({"positions": raw, "s": "ok"})

    def _say(self, message: Mapping[str, object]) -> None:
        self.socket.send(msgspec.json.encode(message).decode())


def order_fields(order: SimOrder, name: Name, client_id: str) -> dict[str, object]:
    """Return an order under the socket's names, without the fields that do not apply to it yet."""
    units = name.units
    fields: dict[str, object] = {
        "client_id": client_id,
        "exchange": name.exchange,
        "fy_token": name.fy_token,
        "id": order.order_id,
        "instrument": name.exchange_type,
        "lot_size": name.contract.lot_size // units,
        "offline_flag": order.new.after_market,
        "oms_flag": "K:1",
        "ord_source": "ITS",
        "ord_status": 20,
        "ord_type": TYPES[order.order_type],
        "ordertag": f"1:{order.new.tag}" if order.new.tag else "2:Untagged",
        "org_ord_status": STATUSES[order.status],
        "precision": name.precision,
        "price_multiplier": 1,
        "product_type": PRODUCTS[order.new.product],
        "qty": order.quantity // units,
        "qty_multiplier": units,
        "qty_remaining": order.pending_quantity // units,
        "report_type": "New Ack",
        "segment": name.segment,
        "status_msg": "New Ack",
        "symbol": name.ticker,
        "tick_size": rupees(name.contract.tick_size),
        "time_epoch_oms": int(order.placed_at.timestamp()),
        "time_exch": "NA" if order.exchange_at is None else time_text(order.exchange_at),
        "time_oms": time_text(order.placed_at),
        "tran_side": SIDES[order.new.side],
        "update_time_epoch_oms": int(order.updated_at.timestamp()),
        "update_time_exch": "01-Jan-1970 05:30:00" if order.exchange_at is None else time_text(order.exchange_at),
        "validity": order.validity.value,
    }
    if order.price is not None:
        fields["price_limit"] = rupees(order.price)
    if order.trigger_price is not None:
        fields["price_stop"] = rupees(order.trigger_price)
    if order.exchange_order_id is not None:
        fields["id_exchange"] = order.exchange_order_id
    if order.filled_quantity or order.status.finished:
        fields |= {"qty_filled": order.filled_quantity // units, "price_traded": rupees(order.average_price)}
    if order.status_message:
        fields["oms_msg"] = order.status_message
    return fields


def trade_fields(fill: SimFill, order: SimOrder, name: Name, client_id: str) -> dict[str, object]:
    """Return a trade under the socket's names."""
    return {
        "id_fill": fill.trade_id,
        "id": fill.order_id,
        "qty_traded": fill.quantity // name.units,
        "price_traded": rupees(fill.price),
        "traded_val": rupees(fill.price * fill.quantity),
        "product_type": PRODUCTS[fill.product],
        "client_id": client_id,
        "id_exchange": fill.exchange_order_id,
        "ord_type": TYPES[order.order_type],
        "tran_side": SIDES[fill.side],
        "symbol": name.ticker,
        "fill_time": time_text(fill.at),
        "fy_token": name.fy_token,
        "exchange": name.exchange,
        "segment": name.segment,
        "ordertag": f"1:{order.new.tag}" if order.new.tag else "1:Untagged",
    }
