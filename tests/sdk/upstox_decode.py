"""Upstox' official protobuf classes as a decoder and an encoder, for one batch. Runs in the SDK's environment.

Reads `{"messages": [JSON view of a frame], "frames": [base64]}`; writes step `encoded` (the messages as base64 frames) and
step `decoded` (the frames as JSON views).
"""

import base64
import json
import sys

from google.protobuf import json_format
from upstox_client.feeder.proto import MarketDataFeedV3_pb2


def main():
    line = json.loads(sys.stdin.readline())
    encoded = [
        json_format.ParseDict(message, MarketDataFeedV3_pb2.FeedResponse()).SerializeToString()
        for message in line["messages"]
    ]
    decoded = [
        json_format.MessageToDict(MarketDataFeedV3_pb2.FeedResponse.FromString(base64.b64decode(frame)))
        for frame in line["frames"]
    ]
    print(json.dumps({"step": "encoded", "value": [base64.b64encode(frame).decode() for frame in encoded]}), flush=True)
    print(json.dumps({"step": "decoded", "value": decoded}), flush=True)


main()
