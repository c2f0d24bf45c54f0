"""Places orders through Zerodha's official SDK and reports how long each call took. Runs in the SDK's environment, by `tests/sdk/runner.py`.

Reads one JSON line: the simulator's line with `orders` added. Writes one line with the milliseconds of each whole call, and of the time from its
beginning until its first bytes leave.
"""

import json
import socket
import sys
import time

from kiteconnect import KiteConnect

PACE_SECONDS = 0.15
WARM_UP_ORDERS = 5


def main():
    line = json.loads(sys.stdin.readline())
    kite = KiteConnect(line["credentials"]["api_key"], root=line["rest_url"])
    session = kite.generate_session(line["session"]["request_token"], line["credentials"]["api_secret"])
    kite.set_access_token(session["access_token"])
    share = next(row for row in kite.instruments("NSE") if row["segment"] == "NSE" and "-" not in row["tradingsymbol"])
    last = kite.ltp(f"NSE:{share['tradingsymbol']}")[f"NSE:{share['tradingsymbol']}"]["last_price"]
    tick = share["tick_size"]
    order = {
        "variety": "regular", "exchange": "NSE", "tradingsymbol": share["tradingsymbol"], "transaction_type": "BUY", "quantity": 1,
        "product": "CNC", "order_type": "LIMIT", "price": round(round(last * 0.97 / tick) * tick, 2), "validity": "DAY", "tag": "bench",
    }  # fmt: skip
    left = []
    send, sendall = socket.socket.send, socket.socket.sendall
    socket.socket.send = lambda own, *given: (left.append(time.perf_counter()), send(own, *given))[1]
    socket.socket.sendall = lambda own, *given: (left.append(time.perf_counter()), sendall(own, *given))[1]
    whole, preparing = [], []
    for _ in range(WARM_UP_ORDERS + line["orders"]):
        left.clear()
        began = time.perf_counter()
        kite.place_order(**order)
        whole.append((time.perf_counter() - began) * 1000)
        preparing.append((left[0] - began) * 1000)
        time.sleep(PACE_SECONDS)
    print(json.dumps({"whole": whole[WARM_UP_ORDERS:], "preparing": preparing[WARM_UP_ORDERS:]}), flush=True)


main()
