"""Groww's official parsers, for one batch: protobuf payloads, nats-py's protocol parser, nkeys and the checksum of the login.

Runs in the SDK's environment. Reads `{"market": [[feed type, JSON view]], "orders": [JSON view], "payloads": [[feed type, base64]],
"flow": [base64 pieces], "seed": hex, "nonce": text, "secret": text, "stamp": text}`; writes steps `market`, `orders` (base64
payloads made by the SDK's classes), `read` (its dictionaries of the payloads; null where it cannot read one), `heard` (what
nats-py hears in the flow), `key`, `signature` and `checksum`.
"""

import asyncio
import base64
import json
import sys

import nacl.signing
import nkeys
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from growwapi import GrowwAPI
from growwapi.groww.proto import stock_orders_socket_response_pb2, stocks_socket_response_pb2
from growwapi.groww.proto.proto_parser import get_data_dict
from nats.protocol.parser import Parser


def step(name, value):
    print(json.dumps({"step": name, "value": value}), flush=True)


def encoded(view, kind):
    return base64.b64encode(json_format.ParseDict(view, kind()).SerializeToString()).decode()


def read(feed_type, payload):
    try:
        return get_data_dict(base64.b64decode(payload), feed_type)
    except (DecodeError, UnicodeDecodeError):
        return None


class Heard:
    """Takes nats-py's calls."""

    def __init__(self):
        self.calls = []

    async def _process_msg(self, sid, subject, reply, data, hdr):
        self.calls.append(["message", subject.decode(), str(sid), base64.b64encode(data).decode()])

    async def _process_ping(self):
        self.calls.append(["ping"])

    async def _process_pong(self):
        self.calls.append(["pong"])

    async def _process_info(self, info):
        self.calls.append(["info", info])

    async def _process_err(self, text):
        self.calls.append(["error", text.strip("'")])


async def heard(pieces):
    client = Heard()
    parser = Parser(client)
    for piece in pieces:
        await parser.parse(base64.b64decode(piece))
    return client.calls


def main():
    line = json.loads(sys.stdin.readline())
    market, orders = stocks_socket_response_pb2, stock_orders_socket_response_pb2
    step("market", [encoded(view, market.StocksSocketResponseProtoDto) for _, view in line["market"]])
    step("orders", [encoded(view, orders.OrderDetailsBroadCastDto) for view in line["orders"]])
    step("read", [read(*each) for each in line["payloads"]])
    step("heard", asyncio.run(heard(line["flow"])))
    seed = bytes.fromhex(line["seed"])
    pair = nkeys.KeyPair(keys=nacl.signing.SigningKey(seed), seed=nkeys.encode_seed(seed, nkeys.PREFIX_BYTE_USER))
    step("key", pair.public_key.decode())
    step("signature", base64.b64encode(pair.sign(line["nonce"].encode())).decode())
    step("checksum", GrowwAPI._generate_checksum(line["secret"], line["stamp"]))


main()
