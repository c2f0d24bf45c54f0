"""Kotak Neo's official SDK as a decoder: base64 frames in, its messages out. Runs in the SDK's environment."""

import base64
import json
import struct
import sys

from neo_api_client.websocket.feed.protocol import decode_packet, split_batch


def messages(frame, dividers):
    for packet in split_batch(frame):
        try:
            message = decode_packet(packet, dividers)
        except (struct.error, ValueError) as error:
            yield {"type": "error", "error": type(error).__name__}
        else:
            if message is not None:
                yield message.model_dump()


def main():
    line = json.loads(sys.stdin.readline())
    dividers = {int(number): divider for number, divider in line["dividers"].items()}
    for number, frame in enumerate(line["frames"]):
        print(json.dumps({"step": str(number), "value": list(messages(base64.b64decode(frame), dividers))}), flush=True)


main()
