"""ICICI Direct's official SDK as a decoder: text frames through its Socket.IO library and its parser. Runs in the SDK's
environment.

Reads `{"frames": [text]}`; writes one step a frame: `{"event", "value"}`, or null where library or parser cannot read
it. Times come as the epoch seconds they stand for.
"""

import datetime
import importlib
import importlib.util
import io
import json
import os
import sys
import zipfile

import engineio.packet
import socketio.packet


def parser():
    """Import the SDK with a security master of nothing, and without its files in our way."""
    with zipfile.ZipFile("master.zip", "w") as archive:
        archive.writestr("NSEScripMaster.txt", "")
    home = os.path.dirname(importlib.util.find_spec("breeze_connect").origin)
    sys.path.insert(1, home)
    config = importlib.import_module("config")
    sys.path.remove(home)
    config.SECURITY_MASTER_URL = f"file://{os.getcwd()}/master.zip"
    from breeze_connect.breeze_connect import BreezeConnect

    return BreezeConnect(api_key="key")


def epoch(written):
    return datetime.datetime.strptime(written, "%c").timestamp()  # noqa: DTZ007 - the host's time is India's


def plain(told):
    return {name: epoch(value) if name in ("ltt", "time") else value for name, value in told.items()}


def read(breeze, frame):
    try:
        packet = engineio.packet.Packet(encoded_packet=frame)
        if packet.packet_type != engineio.packet.MESSAGE:
            return {"event": f"engine {packet.packet_type}", "value": packet.data}
        message = socketio.packet.Packet(encoded_packet=packet.data)
        if message.packet_type != socketio.packet.EVENT:
            return {"event": f"socket {message.packet_type}", "value": message.data}
        name, argument = message.data
        return {"event": name, "value": plain(breeze.parse_data(argument))}
    except Exception:  # noqa: BLE001 - whatever it raises, it cannot read the frame
        return None


def main():
    line = json.loads(sys.stdin.readline())
    out, sys.stdout = sys.stdout, io.StringIO()  # the SDK prints
    breeze = parser()
    for number, frame in enumerate(line["frames"]):
        out.write(json.dumps({"step": str(number), "value": read(breeze, frame)}) + "\n")
    out.flush()


main()
