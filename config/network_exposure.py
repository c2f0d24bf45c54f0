"""Settings that `serve` refuses because strangers could reach the service: a secret that can be guessed, or a token
that crosses a network unencrypted."""

import ipaddress

from onebroker.config.sections import ServiceSettings

LEAST_SECRET = 16
"""Least number of characters of the API secret."""


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach `host`, a name or an address."""
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def exposures(service: ServiceSettings) -> list[str]:
    """Return one line for each setting that is not allowed in a service over real accounts."""
    lines = []
    if service.api_secret is not None and 0 < len(service.api_secret.reveal()) < LEAST_SECRET:
        lines.append(
            f"service.api_secret must have at least {LEAST_SECRET} characters: "
            "python3 -c 'import secrets; print(secrets.token_urlsafe(32))' makes a good one"
        )
    if service.tls_key is None and not service.plain_text and not is_loopback(service.host):
        lines.append(
            f"service.host = {service.host} is reached from other machines, and the token would cross the network in clear: "
            "set service.tls_certificate and service.tls_key, or service.plain_text = true where a proxy in front has TLS"
        )
    return lines
