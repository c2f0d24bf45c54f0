"""The charges in force: the built-in tables, with the `[charges]` file's rows in place of the built-in rows of the same
keys.

The file is TOML with `[[statutory]]`, `[[brokerage]]` and `[[dp]]` rows. It may also hold `gst_percent`, `farm_goods`,
`farm_regulator_percent`, `untaxed_funds` and `checked` (docs/charges.md). A row replaces all built-in rows of its key;
everything that the file does not name stays.
"""

import tomllib
from collections.abc import Collection, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import attrs

from onebroker.config.charges.brokerage import BROKERAGE, DP
from onebroker.config.charges.rows import (
    FARM_REGULATOR_PERCENT,
    GST_PERCENT,
    OLD_AFTER_DAYS,
    BrokerageRow,
    Charges,
    DpRow,
    StatutoryRow,
    Table,
)
from onebroker.config.charges.statutory import CHECKED, FARM_GOODS, STATUTORY, UNTAXED_FUNDS
from onebroker.config.converters import StructureError, structure, unknown_key
from onebroker.config.settings import SettingsError


@attrs.frozen(kw_only=True)
class _File:
    statutory: tuple[StatutoryRow, ...] = ()
    brokerage: tuple[BrokerageRow, ...] = ()
    dp: tuple[DpRow, ...] = ()
    farm_goods: tuple[str, ...] = FARM_GOODS
    untaxed_funds: tuple[str, ...] = UNTAXED_FUNDS
    farm_regulator_percent: Decimal = FARM_REGULATOR_PERCENT
    gst_percent: Decimal = GST_PERCENT
    checked: date = CHECKED


def built_in_charges() -> Charges:
    """Return the tables that come with onebroker."""
    return _with(_File())


def load_charges(path: Path | None, *, brokers: Collection[str]) -> Charges:
    """Return the built-in tables with the rows of the file at `path` (None = no file); `brokers` are the known codes.

    Raises SettingsError for an unreadable file, an unknown key or broker, or a wrong value. Each line begins with the
    file and names the key.
    """
    if path is None:
        return built_in_charges()
    try:
        text = path.read_text("utf-8")
        file = structure(_File, tomllib.loads(text), "")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}") from None
    except StructureError as error:
        raise SettingsError(*(f"{path}: {line}" for line in error.lines)) from None
    if unknown := [f"{path}: {line}" for line in _unknown_brokers(file, brokers)]:
        raise SettingsError(*unknown)
    return _with(file)


def age_warning(charges: Charges, day: date) -> str | None:
    """Return a warning sentence when the tables were not compared with their sources for over a year; else None."""
    if charges.age_days(day) <= OLD_AFTER_DAYS:
        return None
    return (
        f"the charges tables were last compared with their sources on {charges.checked}: costs, and the broker that is chosen by "
        "them, may be wrong; put today's rates and `checked` into the file that [charges] names (docs/charges.md)"
    )


def _unknown_brokers(file: _File, brokers: Collection[str]) -> Iterator[str]:
    given = {"brokerage": [row.broker for row in file.brokerage], "dp": [row.broker for row in file.dp]}
    for name, codes in given.items():
        for place, code in enumerate(codes):
            if code not in brokers:
                yield unknown_key(f"{name}[{place}].broker", code, brokers)


def _with(file: _File) -> Charges:
    return Charges(
        statutory=Table(STATUTORY).replaced_by(file.statutory),
        brokerage=Table(BROKERAGE).replaced_by(file.brokerage),
        dp=Table(DP).replaced_by(file.dp),
        farm_goods=tuple(word.upper() for word in file.farm_goods),
        untaxed_funds=tuple(word.upper() for word in file.untaxed_funds),
        farm_regulator_percent=file.farm_regulator_percent,
        gst_percent=file.gst_percent,
        checked=file.checked,
    )
