"""`onebroker alive`: asks `GET /health` of the service that the settings describe, over the network as a client does. For health checks of containers.

Exit code 0 when the service answers, 4 when it does not.
"""

import argparse
import ipaddress
import ssl
import sys
from http.client import HTTPConnection, HTTPException, HTTPSConnection

from onebroker.config.sections import ServiceSettings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write

PATH = "/health"


def run(parsed: argparse.Namespace) -> int:
    service = read_settings(parsed.config).service
    if service.port == 0:
        raise CommandFailed("service.port is 0, so the port of the running service is not known", WRONG_USE)
    where = f"{service.host}:{service.port}"
    connection = _connection(service, parsed.seconds)
    try:
        connection.request("GET", PATH)
        status = connection.getresponse().status
    except (OSError, HTTPException) as error:
        raise CommandFailed(f"{where} does not answer: {error}", NOTHING_REACHABLE) from None
    finally:
        connection.close()
    if status != 200:
        raise CommandFailed(f"{where} answers {PATH} with {status}", NOTHING_REACHABLE)
    write(sys.stdout, [f"{where} answers"])
    return DONE


def _connection(service: ServiceSettings, seconds: float) -> HTTPConnection:
    host = _reached_by(service.host)
    if service.tls_key is None:
        return HTTPConnection(host, service.port, timeout=seconds)
    # The certificate names the service's public name, and this call sends nothing that is secret: it is not verified.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return HTTPSConnection(host, service.port, timeout=seconds, context=context)


def _reached_by(host: str) -> str:
    """Return an address at which this machine reaches a listener at `host`; a listener at all addresses is reached by the loopback."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return host
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "::1"
    return str(address)
