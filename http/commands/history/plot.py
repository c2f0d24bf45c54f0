"""`onebroker history plot`: draws an instrument's candles, which it reads from the running service as any client does."""

import argparse
import sys
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlencode

import msgspec

from onebroker.config.settings import Settings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.history.chart import chart
from onebroker.http.history import query
from onebroker.http.instruments import instrument_names

ASK_SECONDS = 60.0
ASKED = (*instrument_names.PARAMETERS, *query.RANGE_PARAMETERS)


def run(parsed: argparse.Namespace) -> int:
    asked = {
        parameter.name: text for parameter in ASKED if (text := getattr(parsed, f"ask_{parameter.name}")) is not None
    }
    settings = read_settings(parsed.config)
    scheme = "http" if settings.service.tls_certificate is None else "https"
    url = parsed.url or f"{scheme}://{settings.service.host}:{settings.service.port}"
    answer = _call(f"{url}/api/instruments/prices?{urlencode(asked)}", {"access-token": _token(url, settings)})
    if not answer["candles"]:
        raise CommandFailed(f"nothing is stored from {answer['from']} to {answer['to']}", WRONG_USE)
    try:
        parsed.output.write_text(chart(answer), encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{parsed.output} cannot be written: {error.strerror}", WRONG_USE) from None
    sys.stdout.write(f"{len(answer['candles'])} candles: {parsed.output}\n")
    return DONE


def _token(url: str, settings: Settings) -> str:
    """Return the access token. All clients share one token, so this ends no other client's session."""
    key, secret = settings.service.api_key, settings.service.api_secret
    if key is None or secret is None:
        raise CommandFailed("the settings hold no api_key and api_secret of the service", WRONG_USE)
    headers = {"api-key": key.reveal(), "api-secret": secret.reveal()}
    return str(_call(f"{url}/api/session/connect", headers, method="POST")["access-token"])


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the headers hold the secret and must reach only the intended address."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
"""Uses no proxy of the environment: the proxy would receive the secret, even for an address of this machine."""


def _call(url: str, headers: dict[str, str], method: str = "GET") -> dict[str, Any]:
    request = urllib.request.Request(url, headers=headers, method=method)  # the person's own address
    try:
        with _OPENER.open(request, timeout=ASK_SECONDS) as response:
            return _object(response.read())
    except urllib.error.HTTPError as error:
        raise CommandFailed(_sentence(error), WRONG_USE if error.code < 500 else NOTHING_REACHABLE) from None
    except (OSError, ValueError) as error:
        raise CommandFailed(f"the service does not answer: {error}", NOTHING_REACHABLE) from None


def _object(body: bytes) -> dict[str, Any]:
    return msgspec.json.decode(body, type=dict[str, Any])


def _sentence(error: urllib.error.HTTPError) -> str:
    with error:
        try:
            return str(_object(error.read())["error"])
        except (ValueError, KeyError, OSError):
            return f"the service answered {error.code}"
