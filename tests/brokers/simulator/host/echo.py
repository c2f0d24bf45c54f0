"""A dialect in plain JSON, for tests of what lies around dialects; run as a script it is a simulator process with it.

POST /place /modify /cancel, GET /orders /order /fills /positions /funds /market /many; sockets at any path but `/closed` (403) and
`/elsewhere` (redirected). A socket's text message `watch <instrument_id>` asks for its prices; anything else is echoed.
"""

import json
import sys
from decimal import Decimal
from pathlib import Path

import msgspec
import trio

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.host.run import SimulatorOptions, run_simulator
from onebroker.brokers.simulator.world.model import NewOrder, SimRefusal
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock


def answer(document, status=200):
    return WireResponse(status=status, headers={"Content-Type": "application/json"}, body=msgspec.json.encode(document))


class EchoDialect:
    def __init__(self, account, tokens, clock, seed):
        self.code = account.code
        self.credentials = {"api_key": f"key-{seed}"}
        self._account, self._tokens, self._clock = account, tokens, clock
        self.expired = 0
        if tokens.get("token") is None:
            tokens.set("token", f"minted-{clock.epoch()}")

    def addresses(self, base):
        stream = base.replace("http", "ws") + "/stream"
        names = ("rest_url", "login_url", "instruments_url")
        return {
            **dict.fromkeys(names, base),
            "stream_url": stream,
            "order_stream_url": stream,
            "order_url": f"{base}/hft",
        }

    def session(self):
        return {"access_token": self._tokens.get("token")}

    def handle(self, request):
        body = json.loads(request.body) if request.body else {}
        try:
            return answer(getattr(self, "_" + request.path.strip("/"))(request, body))
        except SimRefusal as refusal:
            return answer({"refused": refusal.reason, "message": refusal.message}, 400)

    def open_socket(self, request, socket):
        if request.path == "/closed":
            return answer({"error": "closed"}, 403)
        if request.path == "/elsewhere":
            return WireResponse(status=302, headers={"Location": "/stream"})
        return EchoSocket(self._account, socket)

    def expire_session(self):
        self.expired += 1
        self._tokens.set("token", f"expired-{self.expired}")

    def refusal_in_200(self):
        return answer({"refused": "always"})

    def rate_limited(self):
        return answer({"error": "too many"}, 429)

    def _place(self, request, body):
        return self._account.place(msgspec.convert(body, NewOrder, strict=False))

    def _modify(self, request, body):
        order_id = body.pop("order_id")
        return self._account.modify(order_id, **{k: Decimal(v) if "price" in k else v for k, v in body.items()})

    def _cancel(self, request, body):
        return self._account.cancel(request.first("order_id"))

    def _order(self, request, body):
        return self._account.order(request.first("order_id"))

    def _orders(self, request, body):
        return self._account.orders()

    def _fills(self, request, body):
        return self._account.fills()

    def _positions(self, request, body):
        return self._account.positions()

    def _funds(self, request, body):
        return self._account.funds()

    def _market(self, request, body):
        return self._account.market(request.first("instrument_id"))

    def _base(self, request, body):
        return {"base": request.base, "query": request.query, "headers": request.headers}


class EchoSocket:
    def __init__(self, account, socket):
        self._account, self._socket, self._watched = account, socket, set()

    def received(self, message):
        if isinstance(message, str) and message.startswith("watch "):
            self._watched.add(message.removeprefix("watch "))
        elif message == "bye":
            self._socket.close(4000, "as you wish")
        elif message == "flood":
            for n in range(25_000):
                self._socket.send(str(n))
        else:
            self._socket.send(message)

    def markets_moved(self, instrument_ids):
        for instrument_id in sorted(self._watched & instrument_ids):
            self._socket.send(f"price {self._account.market(instrument_id).last_price}")

    def order_changed(self, order, fill):
        self._socket.send(f"order {order.order_id} {order.status} {'' if fill is None else fill.quantity}".strip())

    def beat(self):
        self._socket.send("beat")


build = EchoDialect


async def main(data_dir):
    options = SimulatorOptions(
        dialects={"zerodha": build, "upstox": build}, calendar=always_open(), clock=Clock(), instruments=100,
        data_dir=Path(data_dir), parent_pipe=sys.stdin.fileno(),
    )  # fmt: skip
    async with trio.open_nursery() as nursery:
        await nursery.start(lambda task_status: run_simulator(options, announce=say, task_status=task_status))
        print("ready", flush=True)


def say(document):
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
