"""Dhan's order updates: a socket that waits for a login message, then sends one JSON alert for every change."""

import msgspec

from onebroker.brokers.simulator.dialects.dhan.login import INVALID, LoginDesk
from onebroker.brokers.simulator.dialects.dhan.naming import DhanNames, Name
from onebroker.brokers.simulator.dialects.dhan.rows import time_text
from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.facts import rupees
from onebroker.brokers.simulator.world.model import SimFill, SimOrder, SimStatus
from onebroker.config.vocabulary import OrderType, Product

LOGIN_CODE = 42
_STATUSES = {
    SimStatus.AFTER_MARKET: "TRANSIT",
    SimStatus.TRIGGER_PENDING: "PENDING",
    SimStatus.OPEN: "PENDING",
    SimStatus.COMPLETE: "Traded",
    SimStatus.CANCELLED: "CANCELLED",
    SimStatus.REJECTED: "REJECTED",
    SimStatus.EXPIRED: "EXPIRED",
}
_ORDER_TYPES = {OrderType.MARKET: "MKT", OrderType.LIMIT: "LMT", OrderType.SL: "SL", OrderType.SL_M: "SLM"}
_PRODUCTS = {Product.CNC: ("C", "CNC"), Product.MIS: ("I", "INTRADAY"), Product.NRML: ("M", "MARGIN")}


class OrderSession:
    """One open order socket."""

    def __init__(self, account: AccountView, names: DhanNames, socket: Socket, login: LoginDesk) -> None:
        self._account, self._names, self._login = account, names, login
        self.socket = socket
        self._open = False
        self._seen = {order.order_id for order in account.orders()}

    def received(self, message: bytes | str) -> None:
        """Take the login. A wrong login is answered with an error and ends the socket."""
        if self._open:
            return
        try:
            request = msgspec.json.decode(message, type=dict[str, object])
            login = msgspec.convert(request["LoginReq"], dict[str, object])
            good = login["MsgCode"] == LOGIN_CODE and request["UserType"] == "SELF" and bool(login["ClientId"])
            good = good and self._login.is_live(str(login["Token"]), str(login["ClientId"]))
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, RecursionError, UnicodeError):
            good = False
        if good:
            self._open = True
            return
        self.end()

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Does nothing: prices are on the other socket."""

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        if not self._open:
            return
        name = self._names.by_id[order.new.instrument_id]
        alert = order_alert(order, name, self._account.client_id)
        if order.order_id not in self._seen:
            self._seen.add(order.order_id)
            self._send(alert | _UNTOUCHED | {"remainingQuantity": alert["quantity"]})
        if fill is not None:
            alert |= {"status": "Traded", "tradedPrice": rupees(fill.price), "reasonDescription": "TRADE CONFIRMED"}
        self._send(alert)

    def beat(self) -> None:
        """Does nothing: between alerts there are only websocket pings, which the host sends."""

    def end(self) -> None:
        """Send that the login is invalid, and close."""
        refused = {"errorType": "Invalid_Authentication", "errorCode": "DH-901", "errorMessage": INVALID}
        self.socket.send(msgspec.json.encode(refused).decode())
        self.socket.close(1008, "")

    def _send(self, alert: dict[str, object]) -> None:
        self.socket.send(msgspec.json.encode({"Data": alert, "Type": "order_alert"}).decode())


_UNTOUCHED: dict[str, object] = {
    "status": "TRANSIT", "tradedQty": 0, "tradedPrice": 0.0, "avgTradedPrice": 0.0, "reasonDescription": "CONFIRMED",
    "exchOrderNo": "0", "exchOrderTime": "0001-01-01 00:00:00",
}  # fmt: skip
"""The fields of an order before the exchange has seen it."""


def order_alert(order: SimOrder, name: Name, client_id: str) -> dict[str, object]:
    """Return the `Data` of an alert. The keys are those of live captures."""
    units = name.units
    letter, product = _PRODUCTS[order.new.product]
    identity = name.contract.identity
    return {
        "exchange": name.exchange,
        "segment": name.part,
        "source": "P",
        "securityId": str(name.security_id),
        "clientId": client_id,
        "exchOrderNo": order.exchange_order_id or "0",
        "orderNo": order.order_id,
        "product": letter,
        "txnType": order.new.side.value[0],
        "orderType": _ORDER_TYPES[order.order_type],
        "validity": order.validity.value,
        "discQuantity": order.disclosed_quantity // units,
        "discQtyRem": order.disclosed_quantity // units,
        "remainingQuantity": (order.quantity - order.filled_quantity) // units,
        "quantity": order.quantity // units,
        "tradedQty": order.filled_quantity // units,
        "price": rupees(order.price),
        "triggerPrice": rupees(order.trigger_price),
        "tradedPrice": 0.0,
        "avgTradedPrice": rupees(order.average_price),
        "algoOrdNo": 0,
        "offMktFlag": "1" if order.new.after_market else "0",
        "orderDateTime": time_text(order.placed_at),
        "exchOrderTime": time_text(order.exchange_at),
        "lastUpdatedTime": time_text(order.updated_at),
        "remarks": "NR",
        "mktType": "NL",
        "reasonDescription": order.status_message or "CONFIRMED",
        "legNo": 1,
        "instrument": name.instrument,
        "symbol": name.tradingsymbol,
        "productName": product,
        "status": _STATUSES[order.status],
        "lotSize": name.contract.lot_size // units,
        "strikePrice": name.strike,
        "expiryDate": f"{name.expiry} 00:00:00" if name.expiry else "0001-01-01 00:00:00",
        "optType": identity.option_type or "XX",
        "displayName": name.display,
        "isin": name.contract.isin or "NA",
        "series": name.contract.series or "XX",
        "tickSize": float(name.contract.tick_size),
        "algoId": "0",
        "multiplier": 1,
        "correlationId": order.new.tag or "",
    }
