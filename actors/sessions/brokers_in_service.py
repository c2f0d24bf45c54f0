"""Builds the brokers in service from the settings: their access, limits and cadence, with the operator's overrides. Pure."""

import re
from collections.abc import Mapping

import attrs

from onebroker.brokers.broker import Access, Broker, Cadence, Endpoints, Registry, Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.transport.budget import Budget
from onebroker.brokers.transport.egress import ANY_EGRESS, Egress
from onebroker.config.sections import BrokerSettings, RateRow
from onebroker.config.settings import SettingsError

FLIGHT_SECONDS = 1.0
"""For this long after it left, a message without an answer may still reach its broker."""


@attrs.frozen(kw_only=True)
class InService:
    """One enabled broker of the settings."""

    broker: Broker
    """With the settings' cadence."""
    access: Access
    """Without a login."""
    order_windows: Windows
    call_windows: Windows
    kind_windows: Mapping[CallKind, Windows]
    exit_share: float
    exit_reserve: int | None
    egress: Egress = ANY_EGRESS

    def budget(self) -> Budget:
        """Return an empty budget with this broker's limits."""
        return Budget(
            self.order_windows,
            self.call_windows,
            kind_windows=self.kind_windows,
            exit_share=self.exit_share,
            exit_reserve=self.exit_reserve,
            flight_seconds=FLIGHT_SECONDS,
        )


def brokers_in_service(
    registry: Registry, settings: Mapping[str, BrokerSettings], *, exit_share: float, day_limits: bool
) -> dict[str, InService]:
    """Return the enabled brokers by code, in the registry's order. Without `day_limits` nothing is capped per day (the demo, whose brokers
    have no daily limits)."""
    return {
        code: _in_service(registry[code], settings[code], exit_share, day_limits)
        for code in registry
        if code in settings and settings[code].enabled
    }


def require_credentials(registry: Registry, settings: Mapping[str, BrokerSettings]) -> None:
    """Raise SettingsError that names the missing credentials of enabled brokers, and the algo ids that a broker cannot take."""
    enabled = {code: registry[code] for code in registry if code in settings and settings[code].enabled}
    missing = {code: broker.missing_credentials(settings[code].credentials) for code, broker in enabled.items()}
    lines = [f"brokers.{code} needs {', '.join(sorted(keys))}" for code, keys in missing.items() if keys]
    lines += [line for code, broker in enabled.items() for line in _wrong_algo_id(broker, settings[code].algo_id)]
    if lines:
        raise SettingsError(*lines)


def _wrong_algo_id(broker: Broker, given: str | None) -> list[str]:
    """Return the errors of the algo id in the settings, without quoting it."""
    path = f"brokers.{broker.code}.algo_id"
    if given is None:
        return []
    if broker.algo_field is None:
        return [f"{path} cannot be used: no documented field of {broker.name}'s order messages takes an algo id"]
    if re.fullmatch(broker.algo_field.pattern, given) is None:
        return [f"{path} must be {broker.algo_field.shape}, as {broker.name}'s {broker.algo_field.name} takes it"]
    return []


def _in_service(broker: Broker, settings: BrokerSettings, exit_share: float, day_limits: bool) -> InService:
    orders = _windows(broker.order_windows, settings.rate.orders)
    calls = _windows(broker.call_windows, settings.rate.calls)
    if settings.daily_messages is not None:
        orders = attrs.evolve(orders, day=settings.daily_messages)
    if not day_limits:
        orders, calls = attrs.evolve(orders, day=None), attrs.evolve(calls, day=None)
    return InService(
        broker=attrs.evolve(broker, cadence=_cadence(broker.cadence, settings)),
        access=Access(
            endpoints=_endpoints(broker, settings),
            credentials=settings.credentials,
            login=None,
            algo_id=settings.algo_id,
        ),
        order_windows=orders,
        call_windows=calls,
        kind_windows=broker.kind_windows,
        exit_share=exit_share,
        exit_reserve=settings.exit_reserve,
        egress=Egress(family=settings.address_family, source_address=settings.source_address),
    )


def _windows(own: Windows, row: RateRow) -> Windows:
    given = {name: value for name, value in attrs.asdict(row).items() if value is not None}
    return attrs.evolve(own, **given)


def _cadence(own: Cadence, settings: BrokerSettings) -> Cadence:
    given = {name: value for name, value in attrs.asdict(settings.cadence).items() if value is not None}
    return attrs.evolve(own, **given)


def _endpoints(broker: Broker, settings: BrokerSettings) -> Endpoints:
    """Return the addresses of the settings, or the broker's own. The settings give all or none of them (checked when they are read)."""
    if settings.rest_url is None:
        return broker.endpoints
    return Endpoints(
        rest_url=settings.rest_url,
        login_url=settings.login_url or settings.rest_url,
        stream_url=settings.stream_url or "",
        order_stream_url=settings.order_stream_url or "",
        instruments_url=settings.instruments_url or "",
        others=settings.others,
    )
