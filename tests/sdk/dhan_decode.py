"""Dhan's official SDK as a decoder: base64 packets in, its dictionaries out, one for each packet. Runs in the SDK's environment.

A packet the SDK cannot read gives null, as does the disconnect packet, whose reason it prints.
"""

import base64
import contextlib
import io
import json
import struct
import sys

from dhanhq import DhanContext
from dhanhq.marketfeed import MarketFeed


def read(feed, packet):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            value = feed.process_data(packet)
        except struct.error:
            value = None
    return {"value": value, "printed": printed.getvalue().strip()}


def main():
    line = json.loads(sys.stdin.readline())
    feed = MarketFeed(DhanContext("1", "token"), [(1, "1333", 15)], "v2")
    for number, packet in enumerate(line["packets"]):
        print(json.dumps({"step": str(number), "value": read(feed, base64.b64decode(packet))}), flush=True)


main()
