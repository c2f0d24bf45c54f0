"""Kite's official SDK as a decoder: base64 frames in, its ticks out, times as epoch seconds. Runs in the SDK's environment."""

import base64
import datetime
import json
import sys

from kiteconnect import KiteTicker


def plain(value):
    return value.timestamp() if isinstance(value, datetime.datetime) else str(value)


def main():
    line = json.loads(sys.stdin.readline())
    ticker = KiteTicker("key", "token")
    for number, frame in enumerate(line["frames"]):
        ticks = ticker._parse_binary(base64.b64decode(frame))
        print(json.dumps({"step": str(number), "value": ticks}, default=plain), flush=True)


main()
