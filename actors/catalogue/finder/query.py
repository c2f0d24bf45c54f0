"""Reads a query such as `nifty 25000 ce dec` into words, each with what it may mean besides a part of a name. Pure.

A word may mean several things: `bse` is an exchange and a share, `50` is a strike and a part of NIFTY 50, `26dec` is the 26th and the year
2026. All meanings are kept; the rows decide (`find.py`).
"""

import re
from collections.abc import Mapping
from datetime import date

import attrs

from onebroker.config.instruments import EXCHANGES, SEGMENT_SHAPES, SEGMENTS, Shape, strike_text

MOST_CHARACTERS = 100
MOST_WORDS = 12
"""Further words of a query are not read."""

STOP_WORDS = ("LIMITED", "LTD", "THE", "OF", "AND")
"""Words of companies' names that say nothing."""


@attrs.frozen(kw_only=True)
class ExpiryMeaning:
    """Which expiries a word may mean; None = says nothing about it."""

    day: int | None = None
    month: int | None = None
    year: int | None = None
    day_or_year: int | None = None
    """The number of `26dec`: the day, or the last two digits of the year."""
    monthly: bool | None = None
    """True: the last expiry of a month; False: any other expiry."""
    place: int | None = None
    """0 = the nearest of the expiries that the other words leave, 1 = the next, 2 = the third."""
    any_expiry: bool = False
    """The word is only `expiry`."""

    def allows(self, day: date, *, is_monthly: bool) -> bool:
        """Tell whether an expiry fits, its place left aside."""
        number = self.day_or_year
        return (
            self.day in (None, day.day)
            and self.month in (None, day.month)
            and self.year in (None, day.year)
            and self.monthly in (None, is_monthly)
            and (number is None or number in (day.day, day.year % 100))
        )


@attrs.frozen(kw_only=True)
class Word:
    """One word of a query."""

    text: str
    """Upper case, letters and digits only."""
    exchanges: frozenset[str] | None = None
    segments: frozenset[str] | None = None
    """Bare segments."""
    option_type: str | None = None
    """CE or PE."""
    strike: float | None = None
    """Rupees."""
    expiry: ExpiryMeaning | None = None

    @property
    def is_name(self) -> bool:
        """Whether the word can only be a part of a name."""
        return (self.exchanges, self.segments, self.option_type, self.strike, self.expiry) == (None,) * 5

    @property
    def strike_text(self) -> str:
        return "" if self.strike is None else strike_text(self.strike)


@attrs.frozen(kw_only=True)
class Query:
    words: tuple[Word, ...]
    isin: str | None = None
    """An ISIN or its beginning, when the query is nothing else."""


def _bare(*heads: str) -> frozenset[str]:
    return frozenset(name for name in SEGMENTS if any(name.startswith(head) for head in heads))


def _of_shape(*shapes: Shape) -> frozenset[str]:
    return frozenset(name for name, shape in SEGMENT_SHAPES.items() if shape in shapes)


_SHARES = frozenset({"equities", "equity_futures", "equity_options"})
_INDICES = frozenset(name for name in SEGMENTS if "_index" in name or "_indices" in name)
_DERIVATIVES = _of_shape(Shape.FUTURE, Shape.OPTION)

SEGMENT_WORDS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("EQ", "CASH"), _of_shape(Shape.SECURITY)),
    **dict.fromkeys(("EQUITY", "EQUITIES", "STOCK", "STOCKS", "SHARE", "SHARES"), _SHARES),
    **dict.fromkeys(("INDEX", "INDICES"), _INDICES),
    **dict.fromkeys(("ETF", "ETFS"), frozenset({"exchange_traded_funds"})),
    **dict.fromkeys(("MF", "MUTUAL", "FUND", "FUNDS"), frozenset({"mutual_funds", "exchange_traded_funds"})),
    **dict.fromkeys(("BOND", "BONDS", "GSEC", "DEBT"), _bare("fixed_income")),
    **dict.fromkeys(("REIT", "REITS", "INVIT", "INVITS", "TRUST"), frozenset({"investment_trusts"})),
    **dict.fromkeys(("CURRENCY", "CURRENCIES", "FOREX", "FX"), _bare("currenc")),
    **dict.fromkeys(("COMMODITY", "COMMODITIES"), _bare("commodit")),
    **dict.fromkeys(("FUT", "FUTS", "FUTURE", "FUTURES"), _of_shape(Shape.FUTURE)),
    **dict.fromkeys(("OPT", "OPTS", "OPTION", "OPTIONS"), _of_shape(Shape.OPTION)),
    **dict.fromkeys(("FNO", "FO", "DERIVATIVE", "DERIVATIVES"), _DERIVATIVES),
}
BROKER_MARKETS: Mapping[str, tuple[str, frozenset[str]]] = {
    "NFO": ("nse", _DERIVATIVES),
    "BFO": ("bse", _DERIVATIVES),
    "CDS": ("nse", _bare("currenc")),
    "BCD": ("bse", _bare("currenc")),
}
"""Brokers' words for markets -> exchange, bare segments."""
OPTION_TYPES = {"CE": "CE", "CALL": "CE", "CALLS": "CE", "PE": "PE", "PUT": "PE", "PUTS": "PE"}
_MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
)  # fmt: skip
MONTHS: Mapping[str, int] = {
    **{name: number for number, name in enumerate(_MONTHS, 1)},
    **{name[:3]: number for number, name in enumerate(_MONTHS, 1)},
    "SEPT": 9,
}
EXPIRY_WORDS: Mapping[str, ExpiryMeaning] = {
    **dict.fromkeys(("WEEKLY", "WEEK", "WK"), ExpiryMeaning(monthly=False)),
    **dict.fromkeys(("MONTHLY", "MONTH"), ExpiryMeaning(monthly=True)),
    **dict.fromkeys(("CURRENT", "THIS", "NEAR", "NEAREST"), ExpiryMeaning(place=0)),
    "NEXT": ExpiryMeaning(place=1),
    "FAR": ExpiryMeaning(place=2),
    **dict.fromkeys(("EXPIRY", "EXPIRIES"), ExpiryMeaning(any_expiry=True)),
}

_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_ISO = re.compile(r"([0-9]{4})[-/]([0-9]{1,2})[-/]([0-9]{1,2})")
_INDIAN = re.compile(r"([0-9]{1,2})[-/]([0-9]{1,2})[-/]([0-9]{4}|[0-9]{2})")
_DAY_MONTH = re.compile(rf"([0-9]{{1,2}})-?({_NAMES})-?([0-9]{{4}}|[0-9]{{2}})?")
_MONTH_NUMBER = re.compile(rf"({_NAMES})-?([0-9]{{4}}|[0-9]{{1,2}})")
_ISIN = re.compile(r"IN[A-Z0-9][A-Z0-9]{3,9}")
_PASTED = re.compile(
    rf"(?P<name>[A-Z][A-Z&-]*?)(?P<expiry>[0-9]{{1,2}}(?:{'|'.join(name[:3] for name in _MONTHS)}))?"
    r"(?P<strike>[0-9]+(?:\.[0-9]+)?)?(?P<kind>CE|PE|FUT)"
)
_STRIKE_TYPE = re.compile(r"([0-9]+(?:\.[0-9]+)?)(CE|PE)")


def read_query(text: str) -> Query:
    """Return the query of a caller's text."""
    whole = re.sub(r"(?<=[0-9]),(?=[0-9])", "", text.strip().upper())[:MOST_CHARACTERS]
    pieces = [piece for raw in re.split(r"[\s,;]+", whole) for piece in _pieces(raw)][:MOST_WORDS]
    has_month = any(_expiry(piece) is not None and piece.strip("0123456789-") for piece in pieces)
    words = tuple(word for piece in pieces if (word := _word(piece, has_month=has_month)).text)
    words = tuple(word for word in words if word.text not in STOP_WORDS) or words
    isin = pieces[0] if len(pieces) == 1 and _ISIN.fullmatch(pieces[0]) else None
    return Query(words=words, isin=isin)


def _pieces(raw: str) -> list[str]:
    """Split what was pasted: `NIFTY26DEC25000CE` names an underlying, an expiry, a strike and a type."""
    if joined := _STRIKE_TYPE.fullmatch(raw):
        return [joined[1], joined[2]]
    if raw[:1].isalpha() and (pasted := _PASTED.fullmatch(raw)) and (pasted["expiry"] or pasted["strike"]):
        return [part for part in (pasted["name"], pasted["expiry"], pasted["strike"], pasted["kind"]) if part]
    return [raw]


def _word(piece: str, *, has_month: bool) -> Word:
    text = "".join(character for character in piece if character.isalnum())
    expiry = _expiry(piece)
    strike = float(piece) if _NUMBER.fullmatch(piece) and len(piece) <= 12 else None
    if strike is not None and has_month and strike.is_integer():
        expiry = _part_of_date(int(strike))
    exchange, segments = BROKER_MARKETS.get(text, (None, SEGMENT_WORDS.get(text)))
    if exchange is None and text.lower() in EXCHANGES:
        exchange = text.lower()
    return Word(
        text=text,
        exchanges=None if exchange is None else frozenset({exchange}),
        segments=segments,
        option_type=OPTION_TYPES.get(text),
        strike=strike,
        expiry=expiry,
    )


def _part_of_date(number: int) -> ExpiryMeaning | None:
    """Return what a number beside a month may mean besides a strike."""
    if 1 <= number <= 31:
        return ExpiryMeaning(day_or_year=number)
    return ExpiryMeaning(year=number) if 2000 <= number <= 2099 else None


def _expiry(piece: str) -> ExpiryMeaning | None:
    """Return what a word says about the expiry; None where it says nothing."""
    if piece in EXPIRY_WORDS:
        return EXPIRY_WORDS[piece]
    if piece in MONTHS:
        return ExpiryMeaning(month=MONTHS[piece])
    if found := _ISO.fullmatch(piece):
        return ExpiryMeaning(year=int(found[1]), month=int(found[2]), day=int(found[3]))
    if found := _INDIAN.fullmatch(piece):
        return ExpiryMeaning(year=_year(found[3]), month=int(found[2]), day=int(found[1]))
    if found := _DAY_MONTH.fullmatch(piece):
        month = MONTHS[found[2]]
        if found[3] is None:
            return ExpiryMeaning(month=month, day_or_year=int(found[1]))
        return ExpiryMeaning(year=_year(found[3]), month=month, day=int(found[1]))
    if found := _MONTH_NUMBER.fullmatch(piece):
        month, number = MONTHS[found[1]], found[2]
        if len(number) == 4:
            return ExpiryMeaning(year=int(number), month=month)
        return ExpiryMeaning(month=month, day_or_year=int(number))
    return None


def _year(digits: str) -> int:
    return int(digits) if len(digits) == 4 else 2000 + int(digits)
