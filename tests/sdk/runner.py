"""Run a driver of an official SDK inside the SDK's own environment: `python runner.py DRIVER.py` (style 12).

This file runs in that environment, never in ours. Before the driver starts it closes every way out of the machine: a
connection to anything but loopback, and a look-up of any other name, is refused. A driver reads one JSON line (what the
test hands it) on standard input and writes one JSON line per step; `conftest.py` starts it and reads the lines.
"""

import ipaddress
import runpy
import socket
import sys

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_sendto = socket.socket.sendto
_getaddrinfo = socket.getaddrinfo


class LeavesTheMachine(OSError):
    """An SDK tried to talk to something that is not this machine."""


def _is_loopback(host):
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check(address):
    if isinstance(address, tuple) and not _is_loopback(address[0]):
        raise LeavesTheMachine(f"refused to connect to {address[0]}")


def _guarded_connect(self, address):
    _check(address)
    return _connect(self, address)


def _guarded_connect_ex(self, address):
    _check(address)
    return _connect_ex(self, address)


def _guarded_sendto(self, data, *rest):
    _check(rest[-1])
    return _sendto(self, data, *rest)


def _guarded_getaddrinfo(host, *arguments, **options):
    if not _is_loopback(host):
        raise LeavesTheMachine(f"refused to look up {host}")
    return _getaddrinfo(host, *arguments, **options)


def main():
    socket.socket.connect = _guarded_connect
    socket.socket.connect_ex = _guarded_connect_ex
    socket.socket.sendto = _guarded_sendto
    socket.getaddrinfo = _guarded_getaddrinfo
    driver = sys.argv[1]
    sys.argv = [driver]
    runpy.run_path(driver, run_name="__main__")


if __name__ == "__main__":
    main()
