"""`GET /api/instruments/expiries`: the expiries of an underlying's futures and options, with their numbers of contracts."""

from typing import Literal

import msgspec
from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.contract_list import ContractList, Contracts
from onebroker.config.instruments import EXCHANGES, Shape
from onebroker.config.messages import instruments as sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.instruments import chain_names, instrument_names, mapping_date
from onebroker.http.instruments.chain_names import EXCHANGE, UNDERLYING
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services

SEGMENT = Parameter(
    name="segment", place="query", doc="Only this segment, with or without its prefix; all segments when not given."
)


class ExpiryRow(msgspec.Struct, frozen=True, kw_only=True):
    """One expiry of one segment."""

    expiry_date: str
    segment: str
    kind: Literal["weekly", "monthly"]
    """`monthly`: the last listed expiry of its month among the underlying's futures and options."""
    contracts: int
    strikes: int | None
    """Different strikes; None for futures."""


class ExpiriesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    mapping_date: str
    exchange: str
    underlying_symbol: str
    futures: list[ExpiryRow]
    options: list[ExpiryRow]


async def expiries(request: Request, services: Services) -> Response:
    underlying = parse.required_text(request.args, UNDERLYING).upper()
    exchange, segment = chain_names.read_market(request.args, SEGMENT)
    snapshot = instrument_names.mapped(services.required_instruments().catalogue.value.latest)
    listed = [one for one in snapshot.contracts.of(exchange, underlying) if segment in (None, one.segment)]
    if not listed:
        raise Refusal(404, sentences.no_contracts(underlying, exchange, snapshot.mapping_date))
    answer = ExpiriesAnswer(
        mapping_date=snapshot.mapping_date.isoformat(),
        exchange=exchange,
        underlying_symbol=underlying,
        futures=_rows(listed, Shape.FUTURE, snapshot.contracts),
        options=_rows(listed, Shape.OPTION, snapshot.contracts),
    )
    return mapping_date.dated(render.json_answer(answer), snapshot)


def _rows(listed: list[Contracts], shape: Shape, contracts: ContractList) -> list[ExpiryRow]:
    monthly = contracts.monthly(listed[0].exchange, listed[0].underlying_symbol)
    rows = [
        ExpiryRow(
            expiry_date=expiry.day,
            segment=one.segment,
            kind="monthly" if expiry.day in monthly else "weekly",
            contracts=expiry.count,
            strikes=len(contracts.strikes(expiry)) if shape is Shape.OPTION else None,
        )
        for one in listed
        if one.shape is shape
        for expiry in one.expiries
    ]
    return sorted(rows, key=lambda row: (row.expiry_date, row.segment))


ROUTES = (
    Route(
        method="GET",
        path="/api/instruments/expiries",
        handler=expiries,
        tag="instruments",
        operation_id="get_expiries",
        summary="The expiries of an underlying's futures and options",
        parameters=(UNDERLYING, EXCHANGE, SEGMENT),
        answers=(
            Answer(
                status=200,
                doc="Nearest first, of the latest mapping. `monthly` is the last listed expiry of a month, `weekly` any other",
                type=ExpiriesAnswer,
                example={
                    "mapping_date": "2026-11-20",
                    "exchange": "nse",
                    "underlying_symbol": "NIFTY",
                    "futures": [
                        {"expiry_date": "2026-11-24", "segment": "nse_equity_index_futures", "kind": "monthly",
                         "contracts": 1, "strikes": None},
                    ],
                    "options": [
                        {"expiry_date": "2026-11-24", "segment": "nse_equity_index_options", "kind": "monthly",
                         "contracts": 212, "strikes": 106},
                    ],
                },
            ),
            failure(
                400,
                f"{shared.is_required('underlying_symbol')}; {shared.is_required('exchange')}; "
                f"{sentences.exchange_unknown(EXCHANGES)}; {sentences.segment_unknown('<segment>', '<exchange>')}",
                shared.is_required("underlying_symbol"),
            ),
            failure(404, sentences.no_contracts("<underlying_symbol>", "<exchange>", "<date>")),
            mapping_date.NEVER_MAPPED,
        ),
    ),
)  # fmt: skip
