"""`GET /api/instruments/option_chain`: the options of one expiry with quotes, volatilities, greeks and totals (docs/option-chain.md)."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.chain.documents import Chain
from onebroker.config.messages import instruments as sentences
from onebroker.http import render
from onebroker.http.answers.chain import EXAMPLE
from onebroker.http.instruments import chain_names, mapping_date
from onebroker.http.route import Answer, Route, failure
from onebroker.http.services import Services


async def option_chain(request: Request, services: Services) -> Response:
    name = chain_names.read_chain(request.args)
    chain = await services.required_instruments().required_chains().chain(name)
    response = render.json_answer(chain)
    response.headers["X-Mapping-Date"] = chain.mapping_date
    return response


ROUTES = (
    Route(
        method="GET",
        path="/api/instruments/option_chain",
        handler=option_chain,
        tag="quotes",
        operation_id="get_option_chain",
        summary="An option chain: quotes, implied volatilities, greeks, totals",
        parameters=chain_names.PARAMETERS,
        answers=(
            Answer(
                status=200,
                doc="From stored quotes; no broker is asked, and the feeds carry the strikes while they are asked for. A null has its reason "
                "in `missing`. Header `X-Mapping-Date` says which mapping answered",
                type=Chain,
                example=EXAMPLE,
            ),
            failure(400, chain_names.REFUSED, "underlying_symbol is required"),
            failure(404, sentences.no_options("<underlying_symbol>", "<exchange>", "<expiry_date>", "<date>")),
            mapping_date.NEVER_MAPPED,
        ),
    ),
)
