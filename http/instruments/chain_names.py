"""Reads which option chain a request or a stream's message asks for."""

from collections.abc import Mapping

import attrs

from onebroker.actors.chain.contracts import ChainName
from onebroker.config.instruments import EXCHANGES
from onebroker.config.messages import instruments as sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import parse
from onebroker.http.instruments import instrument_names
from onebroker.http.route import Parameter

UNDERLYING = attrs.evolve(
    instrument_names.UNDERLYING, required=True, doc="Symbol of the underlying, such as NIFTY, in any case."
)
EXCHANGE = attrs.evolve(instrument_names.EXCHANGE, required=True)
EXPIRY = attrs.evolve(instrument_names.EXPIRY, required=True, doc="Expiry of the options.")
SEGMENT = Parameter(
    name="segment", place="query",
    doc="Segment of the options, with or without its prefix. Needed only where several segments have options of this expiry.",
)  # fmt: skip
MOST_STRIKES, USUAL_STRIKES = 200, 20
STRIKES = Parameter(
    name="strikes", place="query", kind="integer", minimum=1, maximum=MOST_STRIKES,
    doc=f"The most strikes, those nearest to the money; {USUAL_STRIKES} when not given.",
)  # fmt: skip
PARAMETERS = (UNDERLYING, EXPIRY, EXCHANGE, STRIKES, SEGMENT)


def read_chain(values: Mapping[str, str]) -> ChainName:
    """Return the chain that texts name; raises Refusal 400."""
    underlying = parse.required_text(values, UNDERLYING).upper()
    parse.required_text(values, EXPIRY)
    day = parse.day(values, EXPIRY)
    exchange, segment = read_market(values, SEGMENT)
    strikes = parse.whole_number(values, STRIKES)
    return ChainName(
        exchange=exchange,
        underlying_symbol=underlying,
        expiry_date="" if day is None else day.isoformat(),
        segment=segment,
        strikes=USUAL_STRIKES if strikes is None else strikes,
    )


def read_market(values: Mapping[str, str], segment: Parameter) -> tuple[str, str | None]:
    """Return the exchange and, when given, the stored segment; raises Refusal 400."""
    if parse.text(values, segment) is not None:
        return instrument_names.read_segment(values)
    exchange = parse.required_text(values, EXCHANGE)
    if exchange not in EXCHANGES:
        raise Refusal(400, sentences.exchange_unknown(EXCHANGES))
    return exchange, None


REFUSED = (
    f"{shared.is_required('underlying_symbol')}; {shared.is_required('expiry_date')}; {shared.must_be_date('expiry_date')}; "
    f"{shared.is_required('exchange')}; {sentences.exchange_unknown(EXCHANGES)}; "
    f"{sentences.segment_unknown('<segment>', '<exchange>')}; {shared.must_be_whole_number('strikes')}; "
    f"{shared.must_be_between('strikes', 1, MOST_STRIKES)}; {sentences.options_in_several_segments(['<segment>', '...'])}"
)
"""The sentences of a 400."""
