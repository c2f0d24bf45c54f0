"""Every broker's codec of instrument files, for mypy: a broker imports its own by name (`brokers/codec/late_instruments.py`)."""

from onebroker.brokers.angelone import instruments as angelone
from onebroker.brokers.broker import InstrumentCodec
from onebroker.brokers.dhan import instruments as dhan
from onebroker.brokers.fivepaisa import instruments as fivepaisa
from onebroker.brokers.fyers import instruments as fyers
from onebroker.brokers.groww import instruments as groww
from onebroker.brokers.icicidirect import instruments as icicidirect
from onebroker.brokers.kotakneo import instruments as kotakneo
from onebroker.brokers.shoonya import instruments as shoonya
from onebroker.brokers.upstox import instruments as upstox
from onebroker.brokers.zerodha import instruments as zerodha

INSTRUMENT_CODECS: dict[str, InstrumentCodec] = {
    "zerodha": zerodha,
    "upstox": upstox,
    "dhan": dhan,
    "angelone": angelone,
    "fyers": fyers,
    "kotakneo": kotakneo,
    "fivepaisa": fivepaisa,
    "groww": groww,
    "icicidirect": icicidirect,
    "shoonya": shoonya,
}
