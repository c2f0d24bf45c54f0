"""The async client's methods. Made by generate.py from the service's documents; do not change it by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from onebroker_client.values import N

if TYPE_CHECKING:
    from datetime import date

    from onebroker_client import answers
    from onebroker_client.requests import (
        CancelOrderBodyItem,
        CancelParentsBodyItem,
        InstrumentNamed,
        ModifyOrderBodyItem,
        PlaceOrderBodyItem,
        PriceReference,
        QuantityReference,
        SyntheticOrder,
    )
    from onebroker_client.values import Number
    from onebroker_client.words import (
        Adjusted,
        ClosePositionsBodyProduct,
        Exchange,
        ExchangeOrAll,
        GetPricesAdjusted,
        HaltMode,
        Interval,
        OptionType,
        OrderExchange,
        OrderType,
        OrderValidity,
        Product,
        SegmentGiven,
        SegmentOrAll,
        SegmentOrdered,
        Side,
    )


class AsyncMethods(Generic[N]):
    """One method for each route. Their errors: `onebroker_client.errors`."""

    async def _call(self, operation: str, arguments: dict[str, Any]) -> Any:
        """Send one request, by the rules of `onebroker_client.exchange`."""
        raise NotImplementedError

    async def get_welcome(self) -> answers.Welcome:
        """A welcome sentence."""
        answer: answers.Welcome = await self._call("get_welcome", {})
        return answer

    async def connect(self) -> answers.Session:
        """Open the day's session, or join the one that is open."""
        answer: answers.Session = await self._call("connect", {})
        return answer

    async def disconnect(self) -> answers.SessionEnded:
        """End the session, for every client."""
        answer: answers.SessionEnded = await self._call("disconnect", {})
        return answer

    async def get_session(self) -> answers.SessionStatus:
        """Whether the token is good, and until when."""
        answer: answers.SessionStatus = await self._call("get_session", {})
        return answer

    async def log_in_broker(self, *, code: str) -> answers.BrokerLogin:
        """The page at which a person logs in to a broker.

        code: Code of a broker in service, such as `zerodha`.
        """
        answer: answers.BrokerLogin = await self._call("log_in_broker", {"code": code})
        return answer

    async def take_login(self, *, code: str) -> str:
        """Where a broker sends a person back who has logged in.

        code: Code of a broker in service, such as `zerodha`.
        """
        answer: str = await self._call("take_login", {"code": code})
        return answer

    async def get_liveness(self) -> answers.Alive:
        """Whether the process answers."""
        answer: answers.Alive = await self._call("get_liveness", {})
        return answer

    async def get_health(self) -> answers.Health[N]:
        """What is wrong now, and the state of each part."""
        answer: answers.Health[N] = await self._call("get_health", {})
        return answer

    async def get_metrics(self) -> str:
        """Figures in the text form of Prometheus."""
        answer: str = await self._call("get_metrics", {})
        return answer

    async def get_user_details(self) -> answers.UserDocuments:
        """The imported user documents, and what each broker says of its account holder."""
        answer: answers.UserDocuments = await self._call("get_user_details", {})
        return answer

    async def get_broker_details(self) -> list[dict[str, Any]]:
        """The imported broker documents."""
        answer: list[dict[str, Any]] = await self._call("get_broker_details", {})
        return answer

    async def get_exchange_details(self) -> list[dict[str, Any]]:
        """The imported exchange documents: trading hours, holidays, special sessions."""
        answer: list[dict[str, Any]] = await self._call("get_exchange_details", {})
        return answer

    async def get_funds(self) -> answers.FundsDocument[N]:
        """Funds of all brokers, added up."""
        answer: answers.FundsDocument[N] = await self._call("get_funds", {})
        return answer

    async def get_holdings(self) -> answers.HoldingsDocument[N]:
        """Holdings of all brokers, one row a company."""
        answer: answers.HoldingsDocument[N] = await self._call("get_holdings", {})
        return answer

    async def get_positions(self) -> answers.PositionsDocument[N]:
        """Positions of all brokers, one row an instrument and product."""
        answer: answers.PositionsDocument[N] = await self._call("get_positions", {})
        return answer

    async def get_segments(self) -> answers.SegmentList:
        """Which segments hold instruments, and how many."""
        answer: answers.SegmentList = await self._call("get_segments", {})
        return answer

    async def get_master(
        self, *, exchange: ExchangeOrAll, segment: SegmentOrAll, date: date | str | None = None
    ) -> list[answers.InstrumentRecord[N]]:
        """All instruments, or those of an exchange or segment.

        exchange: One of nse, bse, mcx, ncdex, unknown, or all.
        segment: Segment of the exchange, with or without its prefix, or all.
        date: Answer from the latest mapping on or before this day; the latest when not given.
        """
        answer: list[answers.InstrumentRecord[N]] = await self._call(
            "get_master", {"exchange": exchange, "segment": segment, "date": date}
        )
        return answer

    async def search_instruments(
        self,
        *,
        exchange: Exchange,
        segment: SegmentGiven,
        query: str,
        limit: int | None = None,
        date: date | str | None = None,
    ) -> answers.Search[N]:
        """Instruments of one segment by part of their symbol or underlying.

        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        query: Part of a symbol, or of an underlying's symbol, in any case.
        limit: The most to answer; 50 when not given.
        date: Answer from the latest mapping on or before this day; the latest when not given.
        """
        answer: answers.Search[N] = await self._call(
            "search_instruments",
            {"exchange": exchange, "segment": segment, "query": query, "limit": limit, "date": date},
        )
        return answer

    async def get_details(
        self,
        *,
        instrument_id: str | None = None,
        exchange: Exchange | None = None,
        segment: SegmentGiven | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
        date: date | str | None = None,
    ) -> answers.Details[N]:
        """One instrument: how each broker names it.

        instrument_id: The instrument's UUID; when given, it is used alone.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security.
        underlying_symbol: For a future or an option.
        expiry_date: For a future or an option.
        strike_price: For an option, in rupees.
        option_type: For an option: CE or PE.
        date: Answer from the latest mapping on or before this day; the latest when not given.
        """
        answer: answers.Details[N] = await self._call(
            "get_details",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
                "date": date,
            },
        )
        return answer

    async def get_details_list(
        self, *, instruments: list[InstrumentNamed], date: date | str | None = None
    ) -> answers.DetailsResults[N]:
        """Several instruments: how each broker names it.

        instruments: Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.
        date: Answer from the latest mapping on or before this day; the latest when not given.
        """
        answer: answers.DetailsResults[N] = await self._call(
            "get_details_list", {"instruments": instruments, "date": date}
        )
        return answer

    async def get_additional_details(
        self,
        *,
        instrument_id: str | None = None,
        exchange: Exchange | None = None,
        segment: SegmentGiven | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
        date: date | str | None = None,
    ) -> answers.AdditionalDetails[N]:
        """One instrument: its details, and what each broker's file says besides.

        instrument_id: The instrument's UUID; when given, it is used alone.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security.
        underlying_symbol: For a future or an option.
        expiry_date: For a future or an option.
        strike_price: For an option, in rupees.
        option_type: For an option: CE or PE.
        date: Answer from the latest mapping on or before this day; the latest when not given.
        """
        answer: answers.AdditionalDetails[N] = await self._call(
            "get_additional_details",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
                "date": date,
            },
        )
        return answer

    async def get_additional_details_list(
        self, *, instruments: list[InstrumentNamed], date: date | str | None = None
    ) -> answers.AdditionalDetailsResults[N]:
        """Several instruments: its details, and what each broker's file says besides.

        instruments: Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.
        date: Answer from the latest mapping on or before this day; the latest when not given.
        """
        answer: answers.AdditionalDetailsResults[N] = await self._call(
            "get_additional_details_list", {"instruments": instruments, "date": date}
        )
        return answer

    async def find_instruments(self, *, q: str, limit: int | None = None) -> answers.FindAnswer[N]:
        """Instruments by words, over all segments and expiries.

        q: Words in any order and case: parts of a symbol or a company's name, an ISIN, a strike, CE or PE, an expiry (`dec`, `26dec`, `2026-12-31`, `weekly`, `monthly`, `next`), an exchange, a segment (`fut`, `opt`, `eq`, `index`, `etf`). Typos are forgiven in names. At most 100 characters and 12 words count.
        limit: The most to answer; 20 when not given.
        """
        answer: answers.FindAnswer[N] = await self._call("find_instruments", {"q": q, "limit": limit})
        return answer

    async def get_expiries(
        self, *, underlying_symbol: str, exchange: Exchange, segment: str | None = None
    ) -> answers.ExpiriesAnswer:
        """The expiries of an underlying's futures and options.

        underlying_symbol: Symbol of the underlying, such as NIFTY, in any case.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Only this segment, with or without its prefix; all segments when not given.
        """
        answer: answers.ExpiriesAnswer = await self._call(
            "get_expiries", {"underlying_symbol": underlying_symbol, "exchange": exchange, "segment": segment}
        )
        return answer

    async def get_option_chain(
        self,
        *,
        underlying_symbol: str,
        expiry_date: date | str,
        exchange: Exchange,
        strikes: int | None = None,
        segment: str | None = None,
    ) -> answers.Chain[N]:
        """An option chain: quotes, implied volatilities, greeks, totals.

        underlying_symbol: Symbol of the underlying, such as NIFTY, in any case.
        expiry_date: Expiry of the options.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        strikes: The most strikes, those nearest to the money; 20 when not given.
        segment: Segment of the options, with or without its prefix. Needed only where several segments have options of this expiry.
        """
        answer: answers.Chain[N] = await self._call(
            "get_option_chain",
            {
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "exchange": exchange,
                "strikes": strikes,
                "segment": segment,
            },
        )
        return answer

    async def get_ltp(
        self,
        *,
        instrument_id: str | None = None,
        exchange: Exchange | None = None,
        segment: SegmentGiven | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
    ) -> answers.Ltp[N]:
        """One instrument: its last price.

        instrument_id: The instrument's UUID; when given, it is used alone.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security.
        underlying_symbol: For a future or an option.
        expiry_date: For a future or an option.
        strike_price: For an option, in rupees.
        option_type: For an option: CE or PE.
        """
        answer: answers.Ltp[N] = await self._call(
            "get_ltp",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
            },
        )
        return answer

    async def get_ltp_list(self, *, instruments: list[InstrumentNamed]) -> answers.LtpResults[N]:
        """Several instruments: its last price.

        instruments: Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.
        """
        answer: answers.LtpResults[N] = await self._call("get_ltp_list", {"instruments": instruments})
        return answer

    async def get_ohlc(
        self,
        *,
        instrument_id: str | None = None,
        exchange: Exchange | None = None,
        segment: SegmentGiven | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
    ) -> answers.Ohlc[N]:
        """One instrument: the day's open, high and low, the last price as close, and the volume.

        instrument_id: The instrument's UUID; when given, it is used alone.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security.
        underlying_symbol: For a future or an option.
        expiry_date: For a future or an option.
        strike_price: For an option, in rupees.
        option_type: For an option: CE or PE.
        """
        answer: answers.Ohlc[N] = await self._call(
            "get_ohlc",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
            },
        )
        return answer

    async def get_ohlc_list(self, *, instruments: list[InstrumentNamed]) -> answers.OhlcResults[N]:
        """Several instruments: the day's open, high and low, the last price as close, and the volume.

        instruments: Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.
        """
        answer: answers.OhlcResults[N] = await self._call("get_ohlc_list", {"instruments": instruments})
        return answer

    async def get_quote(
        self,
        *,
        instrument_id: str | None = None,
        exchange: Exchange | None = None,
        segment: SegmentGiven | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
    ) -> answers.Quote[N]:
        """One instrument: its whole quote, with depth.

        instrument_id: The instrument's UUID; when given, it is used alone.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security.
        underlying_symbol: For a future or an option.
        expiry_date: For a future or an option.
        strike_price: For an option, in rupees.
        option_type: For an option: CE or PE.
        """
        answer: answers.Quote[N] = await self._call(
            "get_quote",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
            },
        )
        return answer

    async def get_quote_list(self, *, instruments: list[InstrumentNamed]) -> answers.QuoteResults[N]:
        """Several instruments: its whole quote, with depth.

        instruments: Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.
        """
        answer: answers.QuoteResults[N] = await self._call("get_quote_list", {"instruments": instruments})
        return answer

    async def get_prices(
        self,
        *,
        interval: Interval,
        instrument_id: str | None = None,
        exchange: Exchange | None = None,
        segment: SegmentGiven | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
        from_: date | str | None = None,
        to: date | str | None = None,
        days: int | None = None,
        adjusted: bool | Adjusted | GetPricesAdjusted | None = None,
        known_as_of: date | str | None = None,
    ) -> answers.Prices[N]:
        """Candles of one instrument.

        instrument_id: The instrument's UUID; when given, it is used alone.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security.
        underlying_symbol: For a future or an option.
        expiry_date: For a future or an option.
        strike_price: For an option, in rupees.
        option_type: For an option: CE or PE.
        interval: One of day, 1minute, 2minute, 3minute, 4minute, 5minute, 10minute, 15minute, 20minute, 25minute, 30minute, 45minute, 60minute, 120minute, 180minute, 240minute.
        from_: First India calendar day; with `to`, or give `days`.
        to: Last India calendar day, included.
        days: Instead of from and to: today back so many days, both ends included.
        adjusted: Whether equities, exchange traded funds and investment trusts are adjusted for corporate actions; true when absent.
        known_as_of: Only adjustment factors with an ex-date on or before this day apply; ignored unless the basis is adjusted.
        """
        answer: answers.Prices[N] = await self._call(
            "get_prices",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
                "interval": interval,
                "from_": from_,
                "to": to,
                "days": days,
                "adjusted": adjusted,
                "known_as_of": known_as_of,
            },
        )
        return answer

    async def get_prices_list(
        self,
        *,
        instruments: list[InstrumentNamed],
        interval: Interval,
        from_: date | str | None = None,
        to: date | str | None = None,
        days: int | str | None = None,
        adjusted: bool | Adjusted | str | None = None,
        known_as_of: date | str | None = None,
    ) -> answers.PricesResults[N]:
        """Candles of several instruments.

        instruments: Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.
        interval: One of day, 1minute, 2minute, 3minute, 4minute, 5minute, 10minute, 15minute, 20minute, 25minute, 30minute, 45minute, 60minute, 120minute, 180minute, 240minute.
        from_: First India calendar day; with `to`, or give `days`.
        to: Last India calendar day, included.
        days: Instead of from and to: today back so many days, both ends included.
        adjusted: Whether equities, exchange traded funds and investment trusts are adjusted for corporate actions; true when absent.
        known_as_of: Only adjustment factors with an ex-date on or before this day apply; ignored unless the basis is adjusted.
        """
        answer: answers.PricesResults[N] = await self._call(
            "get_prices_list",
            {
                "instruments": instruments,
                "interval": interval,
                "from_": from_,
                "to": to,
                "days": days,
                "adjusted": adjusted,
                "known_as_of": known_as_of,
            },
        )
        return answer

    async def get_ticks(
        self,
        *,
        start: str,
        end: str,
        instrument_id: str | None = None,
        exchange: Exchange | None = None,
        segment: SegmentGiven | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
        adjusted: bool | Adjusted | GetPricesAdjusted | None = None,
    ) -> list[answers.Tick[N]]:
        """Ticks of one instrument.

        instrument_id: The instrument's UUID; when given, it is used alone.
        exchange: One of nse, bse, mcx, ncdex, unknown.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security.
        underlying_symbol: For a future or an option.
        expiry_date: For a future or an option.
        strike_price: For an option, in rupees.
        option_type: For an option: CE or PE.
        start: First instant, included; India time without an offset.
        end: First instant that is not included.
        adjusted: Whether equities, exchange traded funds and investment trusts are adjusted for corporate actions; true when absent.
        """
        answer: list[answers.Tick[N]] = await self._call(
            "get_ticks",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
                "start": start,
                "end": end,
                "adjusted": adjusted,
            },
        )
        return answer

    async def get_ticks_list(
        self, *, instruments: list[InstrumentNamed], start: str, end: str, adjusted: bool | Adjusted | str | None = None
    ) -> answers.TicksResults[N]:
        """Ticks of several instruments.

        instruments: Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.
        start: First instant, included; India time without an offset.
        end: First instant that is not included.
        adjusted: Whether equities, exchange traded funds and investment trusts are adjusted for corporate actions; true when absent.
        """
        answer: answers.TicksResults[N] = await self._call(
            "get_ticks_list", {"instruments": instruments, "start": start, "end": end, "adjusted": adjusted}
        )
        return answer

    async def get_orders(
        self,
        *,
        order_id: str | None = None,
        parent_id: str | None = None,
        intent_id: str | None = None,
        broker: str | None = None,
        status: str | None = None,
        limit: int | None = None,
        cursor: int | None = None,
    ) -> answers.OrderBook[N]:
        """Today's orders at every broker.

        order_id: Broker order ids: repeatable, or a comma list.
        parent_id: The engine parent that placed the order.
        intent_id: The intent that the order came from.
        broker: Broker code.
        status: `open` for everything not finished, or one status such as COMPLETE.
        limit: Most entries to answer; all when absent.
        cursor: Matching entries to skip: `page.next_cursor`. Default 0.
        """
        answer: answers.OrderBook[N] = await self._call(
            "get_orders",
            {
                "order_id": order_id,
                "parent_id": parent_id,
                "intent_id": intent_id,
                "broker": broker,
                "status": status,
                "limit": limit,
                "cursor": cursor,
            },
        )
        return answer

    async def get_trades(
        self,
        *,
        order_id: str | None = None,
        parent_id: str | None = None,
        intent_id: str | None = None,
        broker: str | None = None,
        limit: int | None = None,
        cursor: int | None = None,
    ) -> answers.TradeBook[N]:
        """Today's trades at every broker.

        order_id: Broker order ids: repeatable, or a comma list.
        parent_id: The engine parent that placed the order.
        intent_id: The intent that the order came from.
        broker: Broker code.
        limit: Most entries to answer; all when absent.
        cursor: Matching entries to skip: `page.next_cursor`. Default 0.
        """
        answer: answers.TradeBook[N] = await self._call(
            "get_trades",
            {
                "order_id": order_id,
                "parent_id": parent_id,
                "intent_id": intent_id,
                "broker": broker,
                "limit": limit,
                "cursor": cursor,
            },
        )
        return answer

    @overload
    async def place_order(
        self,
        *,
        instrument_id: str | None = None,
        exchange: OrderExchange | None = None,
        segment: SegmentOrdered | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
        transaction_type: Side | None = None,
        product: Product | None = None,
        order_type: OrderType | None = None,
        validity: OrderValidity | None = None,
        quantity: int | None = None,
        disclosed_quantity: int | None = None,
        price: Number | None = None,
        trigger_price: Number | None = None,
        price_reference: PriceReference | None = None,
        quantity_reference: QuantityReference | None = None,
        after_market: bool | None = None,
        tag: str | None = None,
        broker: str | None = None,
        synthetic: SyntheticOrder | None = None,
    ) -> answers.Placed[N]: ...
    @overload
    async def place_order(
        self,
        *,
        dry_run: bool,
        instrument_id: str | None = None,
        exchange: OrderExchange | None = None,
        segment: SegmentOrdered | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
        transaction_type: Side | None = None,
        product: Product | None = None,
        order_type: OrderType | None = None,
        validity: OrderValidity | None = None,
        quantity: int | None = None,
        disclosed_quantity: int | None = None,
        price: Number | None = None,
        trigger_price: Number | None = None,
        price_reference: PriceReference | None = None,
        quantity_reference: QuantityReference | None = None,
        after_market: bool | None = None,
        tag: str | None = None,
        broker: str | None = None,
        synthetic: SyntheticOrder | None = None,
    ) -> answers.Placed[N] | answers.PlaceDryRun[N] | answers.PlanDryRun[N]: ...
    @overload
    async def place_order(
        self, *, orders: list[PlaceOrderBodyItem], dry_run: bool | None = None
    ) -> answers.PlaceResults[N]: ...
    async def place_order(
        self,
        *,
        instrument_id: str | None = None,
        exchange: OrderExchange | None = None,
        segment: SegmentOrdered | None = None,
        symbol: str | None = None,
        underlying_symbol: str | None = None,
        expiry_date: date | str | None = None,
        strike_price: Number | None = None,
        option_type: OptionType | None = None,
        transaction_type: Side | None = None,
        product: Product | None = None,
        order_type: OrderType | None = None,
        validity: OrderValidity | None = None,
        quantity: int | None = None,
        disclosed_quantity: int | None = None,
        price: Number | None = None,
        trigger_price: Number | None = None,
        price_reference: PriceReference | None = None,
        quantity_reference: QuantityReference | None = None,
        after_market: bool | None = None,
        dry_run: bool | None = None,
        tag: str | None = None,
        broker: str | None = None,
        synthetic: SyntheticOrder | None = None,
        orders: list[PlaceOrderBodyItem] | None = None,
    ) -> answers.Placed[N] | answers.PlaceDryRun[N] | answers.PlanDryRun[N] | answers.PlaceResults[N]:
        """Place one order, or a list.

        instrument_id: UUID of the instrument; or name it by exchange, segment and identity fields.
        exchange: nse, bse, mcx or ncdex.
        segment: Segment of the exchange, with or without its prefix.
        symbol: For a security segment.
        underlying_symbol: For a future or option segment.
        expiry_date: For a future or option segment.
        strike_price: For an option segment, in rupees.
        option_type: For an option segment: CE or PE.
        transaction_type: BUY or SELL. This, product and order_type are required but for basket, oca and plan.
        product: CNC, MIS or NRML.
        order_type: MARKET, LIMIT, SL or SL-M.
        validity: DAY (default) or IOC.
        quantity: Units, at least 1, whole lots; required unless quantity_reference, the position or the parts give it.
        disclosed_quantity: Units, at most quantity.
        price: Rupees; for LIMIT and SL, whole ticks; not needed with price_reference.
        trigger_price: Rupees; for SL and SL-M, whole ticks.
        price_reference: In the place of a price, worked out from the live quote just before the order is built. Offsets are towards filling.
        quantity_reference: What the quantity is measured by; reduce_position and liquidate_position send the side that closes the position.
        after_market: Send outside market hours.
        dry_run: Build the broker's request and send nothing.
        tag: 1 to 20 letters and digits; comes back in the order book.
        broker: Broker code to use instead of the service's choice.
        synthetic: The type of the order with its settings (docs/order-types.md). Without it an order is simple, but a MARKET order runs as a marketable_limit while that mode is on.
        orders: Orders as in the single form, without dry_run; at most place_list_maximum (500). Each is answered by itself, in this order.
        """
        answer: (
            answers.Placed[N] | answers.PlaceDryRun[N] | answers.PlanDryRun[N] | answers.PlaceResults[N]
        ) = await self._call(
            "place_order",
            {
                "instrument_id": instrument_id,
                "exchange": exchange,
                "segment": segment,
                "symbol": symbol,
                "underlying_symbol": underlying_symbol,
                "expiry_date": expiry_date,
                "strike_price": strike_price,
                "option_type": option_type,
                "transaction_type": transaction_type,
                "product": product,
                "order_type": order_type,
                "validity": validity,
                "quantity": quantity,
                "disclosed_quantity": disclosed_quantity,
                "price": price,
                "trigger_price": trigger_price,
                "price_reference": price_reference,
                "quantity_reference": quantity_reference,
                "after_market": after_market,
                "dry_run": dry_run,
                "tag": tag,
                "broker": broker,
                "synthetic": synthetic,
                "orders": orders,
            },
        )
        return answer

    async def get_intent(self, *, intent_id: str) -> answers.KeptAnswer[N] | answers.WaitingIntent:
        """The engine's answer to one order.

        intent_id: UUID, from the answer of place.
        """
        answer: answers.KeptAnswer[N] | answers.WaitingIntent = await self._call("get_intent", {"intent_id": intent_id})
        return answer

    @overload
    async def modify_order(
        self,
        *,
        order_id: str | int | None = None,
        broker: str | None = None,
        parent_id: str | None = None,
        part: str | None = None,
        price: Number | None = None,
        trigger_price: Number | None = None,
        quantity: int | None = None,
        order_type: OrderType | None = None,
        validity: OrderValidity | None = None,
        disclosed_quantity: int | None = None,
        dry_run: bool | None = None,
    ) -> answers.Modified[N] | answers.PartModified[N]: ...
    @overload
    async def modify_order(
        self, *, orders: list[ModifyOrderBodyItem], dry_run: bool | None = None
    ) -> answers.ModifyResults[N]: ...
    async def modify_order(
        self,
        *,
        order_id: str | int | None = None,
        broker: str | None = None,
        parent_id: str | None = None,
        part: str | None = None,
        price: Number | None = None,
        trigger_price: Number | None = None,
        quantity: int | None = None,
        order_type: OrderType | None = None,
        validity: OrderValidity | None = None,
        disclosed_quantity: int | None = None,
        dry_run: bool | None = None,
        orders: list[ModifyOrderBodyItem] | None = None,
    ) -> answers.Modified[N] | answers.PartModified[N] | answers.ModifyResults[N]:
        """Change open orders at the brokers that hold them.

        order_id: The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer.
        broker: Broker code; needed only when two brokers hold the id.
        parent_id: UUID, in place of order_id: its one held order.
        part: With parent_id: a part that has sent nothing yet.
        price: Rupees, whole ticks.
        trigger_price: Rupees, whole ticks.
        quantity: New total in units, whole lots, not below what has filled.
        order_type: MARKET, LIMIT, SL or SL-M; not of synthetic orders.
        validity: DAY or IOC; not of synthetic orders.
        disclosed_quantity: Units, at most quantity; not of synthetic orders.
        dry_run: Build the broker's request and send nothing.
        orders: Each with what the single form takes.
        """
        answer: answers.Modified[N] | answers.PartModified[N] | answers.ModifyResults[N] = await self._call(
            "modify_order",
            {
                "order_id": order_id,
                "broker": broker,
                "parent_id": parent_id,
                "part": part,
                "price": price,
                "trigger_price": trigger_price,
                "quantity": quantity,
                "order_type": order_type,
                "validity": validity,
                "disclosed_quantity": disclosed_quantity,
                "dry_run": dry_run,
                "orders": orders,
            },
        )
        return answer

    @overload
    async def cancel_order(
        self,
        *,
        order_id: str | int | None = None,
        broker: str | None = None,
        parent_id: str | None = None,
        part: str | None = None,
        dry_run: bool | None = None,
    ) -> answers.Cancelled[N] | answers.ParentCancelled | answers.PartCancelled | answers.StopDryRun[N]: ...
    @overload
    async def cancel_order(
        self, *, orders: list[CancelOrderBodyItem], dry_run: bool | None = None
    ) -> answers.CancelResults[N]: ...
    async def cancel_order(
        self,
        *,
        order_id: str | int | None = None,
        broker: str | None = None,
        parent_id: str | None = None,
        part: str | None = None,
        dry_run: bool | None = None,
        orders: list[CancelOrderBodyItem] | None = None,
    ) -> (
        answers.Cancelled[N]
        | answers.ParentCancelled
        | answers.PartCancelled
        | answers.StopDryRun[N]
        | answers.CancelResults[N]
    ):
        """Cancel orders by the broker's own id, parents, or parts of plans.

        order_id: The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer.
        broker: Broker code; needed only when two brokers hold the id.
        parent_id: UUID, in place of order_id: the whole parent.
        part: With parent_id: the path of one part of the plan.
        dry_run: Send nothing; with parent_id list the resting legs.
        orders: Each named as in the single form; they may be mixed.
        """
        answer: (
            answers.Cancelled[N]
            | answers.ParentCancelled
            | answers.PartCancelled
            | answers.StopDryRun[N]
            | answers.CancelResults[N]
        ) = await self._call(
            "cancel_order",
            {
                "order_id": order_id,
                "broker": broker,
                "parent_id": parent_id,
                "part": part,
                "dry_run": dry_run,
                "orders": orders,
            },
        )
        return answer

    @overload
    async def get_parents(self) -> answers.OpenParents[N]: ...
    @overload
    async def get_parents(self, *, parent_id: str) -> answers.Parent[N]: ...
    async def get_parents(self, *, parent_id: str | None = None) -> answers.Parent[N] | answers.OpenParents[N]:
        """One parent of the order engine, or every unfinished one.

        parent_id: UUID; without it every unfinished parent.
        """
        answer: answers.Parent[N] | answers.OpenParents[N] = await self._call("get_parents", {"parent_id": parent_id})
        return answer

    @overload
    async def cancel_parents(
        self, *, parent_id: str | None = None, dry_run: bool | None = None
    ) -> answers.ParentCancelled | answers.StopDryRun[N]: ...
    @overload
    async def cancel_parents(
        self, *, parents: list[CancelParentsBodyItem], dry_run: bool | None = None
    ) -> answers.CancelResults[N]: ...
    async def cancel_parents(
        self,
        *,
        parent_id: str | None = None,
        dry_run: bool | None = None,
        parents: list[CancelParentsBodyItem] | None = None,
    ) -> answers.ParentCancelled | answers.StopDryRun[N] | answers.CancelResults[N]:
        """Cancel every resting leg of a parent and end it.

        parent_id: UUID of the parent.
        dry_run: List the resting legs and send nothing.
        parents: Objects, each with a parent_id.
        """
        answer: answers.ParentCancelled | answers.StopDryRun[N] | answers.CancelResults[N] = await self._call(
            "cancel_parents", {"parent_id": parent_id, "dry_run": dry_run, "parents": parents}
        )
        return answer

    async def get_ended_parents(
        self, *, on: str, limit: int | None = None, cursor: str | None = None
    ) -> answers.EndedParents[N]:
        """Parents of the order engine that ended on a day.

        on: YYYY-MM-DD: a broking day, from 07:00 to 07:00 India time. A parent is kept for 8 days.
        limit: Most parents of one answer; 50 when absent.
        cursor: The cursor of an earlier answer: parents that ended before those of that answer.
        """
        answer: answers.EndedParents[N] = await self._call(
            "get_ended_parents", {"on": on, "limit": limit, "cursor": cursor}
        )
        return answer

    async def flatten(
        self, *, confirm: Literal["FLATTEN"], skip_covered: bool | None = None, dry_run: bool | None = None
    ) -> answers.Flattened[N] | answers.FlattenDryRun[N]:
        """Cancel every order and close every position at every broker.

        confirm: Exactly FLATTEN.
        skip_covered: (ours) Leave delivery positions below zero as they are where the holdings cover them: they are sales out of the holdings.
        dry_run: List what would be cancelled and closed, and send nothing; any non-empty value counts.
        """
        answer: answers.Flattened[N] | answers.FlattenDryRun[N] = await self._call(
            "flatten", {"confirm": confirm, "skip_covered": skip_covered, "dry_run": dry_run}
        )
        return answer

    async def close_positions(
        self,
        *,
        confirm: Literal["CLOSE"],
        broker: str | None = None,
        instrument_id: str | None = None,
        product: ClosePositionsBodyProduct | None = None,
        tag: str | None = None,
        skip_covered: bool | None = None,
        dry_run: bool | None = None,
    ) -> answers.ClosedWithin[N] | answers.CloseDryRun[N]:
        """Cancel the orders and close the positions of a broker, an instrument, a product or a tag, at every broker that holds them.

        confirm: Exactly CLOSE.
        broker: Broker code. At least one limit is needed; all must match.
        instrument_id: The instrument, at every broker that lists it.
        product: An order's or a position's word, in any case.
        tag: Orders with this tag, and the units that today's orders with it opened.
        skip_covered: (ours) Leave delivery positions below zero as they are where the holdings cover them: they are sales out of the holdings.
        dry_run: List what would be cancelled and closed, and send nothing; any non-empty value counts.
        """
        answer: answers.ClosedWithin[N] | answers.CloseDryRun[N] = await self._call(
            "close_positions",
            {
                "confirm": confirm,
                "broker": broker,
                "instrument_id": instrument_id,
                "product": product,
                "tag": tag,
                "skip_covered": skip_covered,
                "dry_run": dry_run,
            },
        )
        return answer

    async def halt_trading(
        self, *, confirm: Literal["HALT"], reason: str, mode: HaltMode | None = None
    ) -> answers.Halted:
        """Halt trading: no entry leaves until a resume.

        confirm: Exactly HALT.
        mode: reduce_only (default): exits and cancels leave. nothing: only cancels leave.
        reason: 1 to 200 characters; refusals repeat it.
        """
        answer: answers.Halted = await self._call("halt_trading", {"confirm": confirm, "mode": mode, "reason": reason})
        return answer

    async def resume_trading(self) -> answers.Resumed:
        """Let trading go on after a halt."""
        answer: answers.Resumed = await self._call("resume_trading", {})
        return answer

    async def get_halt(self) -> answers.HaltState:
        """Whether trading is halted."""
        answer: answers.HaltState = await self._call("get_halt", {})
        return answer

    async def get_audit(
        self,
        *,
        from_: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        parent: str | None = None,
    ) -> answers.AuditPage:
        """The lines of the audit: what was asked, decided, sent, answered and filled.

        from_: YYYY-MM-DD or a moment, India time without an offset: lines from then on; absent: from the first line that is kept.
        cursor: The cursor of an earlier answer: lines after that answer.
        limit: Most lines of one answer; 200 when absent.
        parent: UUID: only lines of this parent, with its legs, and with the requests and intents that led to them.
        """
        answer: answers.AuditPage = await self._call(
            "get_audit", {"from_": from_, "cursor": cursor, "limit": limit, "parent": parent}
        )
        return answer

    async def try_alerts(self) -> answers.TriedReceivers:
        """Send a test message to every receiver of alerts."""
        answer: answers.TriedReceivers = await self._call("try_alerts", {})
        return answer

    async def get_dashboard(self) -> str:
        """The screen."""
        answer: str = await self._call("get_dashboard", {})
        return answer

    async def get_dashboard_file(self, *, name: str) -> str:
        """A script or a style of the screen.

        name: Name of a file of the screen, such as `app.js`.
        """
        answer: str = await self._call("get_dashboard_file", {"name": name})
        return answer

    async def get_openapi(self) -> answers.DescribedRoutes:
        """This API as an OpenAPI document."""
        answer: answers.DescribedRoutes = await self._call("get_openapi", {})
        return answer

    async def get_asyncapi(self) -> answers.DescribedStream:
        """The messages of the stream as an AsyncAPI document."""
        answer: answers.DescribedStream = await self._call("get_asyncapi", {})
        return answer

    async def get_docs(self) -> str:
        """This API as a page."""
        answer: str = await self._call("get_docs", {})
        return answer

    async def get_try_page(self) -> str:
        """A page that sends requests."""
        answer: str = await self._call("get_try_page", {})
        return answer

    async def get_try_start(self) -> str:
        """What starts Swagger UI."""
        answer: str = await self._call("get_try_start", {})
        return answer

    async def get_try_script(self) -> str:
        """Swagger UI."""
        answer: str = await self._call("get_try_script", {})
        return answer

    async def get_try_style(self) -> str:
        """The style of Swagger UI."""
        answer: str = await self._call("get_try_style", {})
        return answer
