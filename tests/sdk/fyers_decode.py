"""Fyers' official SDK as a decoder, for one batch. Runs in the SDK's environment.

Reads `{"token", "source", "topics": {topic: symbol}, "connections": [[base64 frame, ...], ...], "texts": [...]}`. Writes `requests`
(the bytes the SDK sends), `decoded` (for every frame what its callbacks were given and the acknowledgements it wants to send, and
what it holds at the end) and `updates` (what the order socket's callbacks were given for each text).
"""

import base64
import json
import os
import sys

from fyers_apiv3.FyersWebsocket import data_ws, order_ws

OUT = sys.stdout
sys.stdout = sys.stderr
LOGS = os.getcwd()


def step(name, value):
    print(json.dumps({"step": name, "value": value}), file=OUT, flush=True)


def new_socket(line, heard):
    data_ws.FyersDataSocket._instance = None
    socket = data_ws.FyersDataSocket(
        access_token=line["token"], log_path=LOGS, on_message=heard.append, on_error=heard.append
    )
    socket.source = line["source"]
    socket.symbol_token = dict(line["topics"])
    return socket


def requests(line):
    socket = new_socket(line, [])
    socket.access_token_to_hsmtoken()
    topics = list(line["topics"])
    made = {
        "auth": socket._FyersDataSocket__access_token_msg(),
        "full": socket._FyersDataSocket__full_mode_msg(),
        "subscribe": socket._FyersDataSocket__subscription_msg(topics),
        "unsubscribe": socket._FyersDataSocket__unsubscription_msg(topics),
        "ack": socket._FyersDataSocket__ackowledgement_msg(77),
    }
    return {name: bytes(message).hex() for name, message in made.items()}


def connection(line, frames):
    heard = []
    socket = new_socket(line, heard)
    told = []
    for frame in frames:
        heard.clear()
        socket.message.clear()
        socket._FyersDataSocket__response_msg(base64.b64decode(frame))
        told.append({"heard": list(heard), "sent": [bytes(message).hex() for message in socket.message]})
    return {"frames": told, "held": socket.resp}


def updates(line):
    heard = []
    socket = order_ws.FyersOrderSocket(
        access_token=line["token"], log_path=LOGS, on_orders=heard.append, on_trades=heard.append,
        on_positions=heard.append, on_general=heard.append, on_error=heard.append,
    )  # fmt: skip
    told = []
    for text in line["texts"]:
        heard.clear()
        socket._FyersOrderSocket__on_message(text)
        told.append(list(heard))
    return told


def main():
    line = json.loads(sys.stdin.readline())
    step("requests", requests(line))
    step("decoded", [connection(line, frames) for frames in line["connections"]])
    step("updates", updates(line))


main()
