"""Closed lists of words. Made by generate.py from the service's documents; do not change it by hand.

At run time each is `str` (or `int`): a word of a newer service is no error."""

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    AccountField: TypeAlias = Literal[
        "available_balance",
        "day_pnl",
        "margin_cushion_percent",
        "margin_utilized",
        "realized_pnl",
        "total_balance",
        "unrealized_pnl",
    ]

    Adjusted: TypeAlias = Literal[0, 1]

    Anchor: TypeAlias = Literal["start", "zero"]

    AppliesTo: TypeAlias = Literal["both", "waiting", "working"]

    AtExpiry: TypeAlias = Literal["cancel", "marketable"]

    BareSegment: TypeAlias = Literal[
        "fixed_income",
        "fixed_income_indices",
        "equities",
        "equity_indices",
        "currencies",
        "currency_indices",
        "commodities",
        "commodity_indices",
        "mutual_funds",
        "exchange_traded_funds",
        "investment_trusts",
        "uncategorised",
        "fixed_income_futures",
        "fixed_income_index_futures",
        "equity_futures",
        "equity_index_futures",
        "currency_futures",
        "currency_index_futures",
        "commodity_futures",
        "commodity_index_futures",
        "fixed_income_options",
        "fixed_income_index_options",
        "equity_options",
        "equity_index_options",
        "currency_options",
        "currency_index_options",
        "commodity_options",
        "commodity_index_options",
    ]

    Channel: TypeAlias = Literal["orders", "parents"]

    ClosePositionsBodyProduct: TypeAlias = Literal[
        "CNC", "MIS", "NRML", "CO", "BO", "MTF", "delivery", "intraday", "carry", "cover", "bracket", "margin_trading"
    ]

    Columns: TypeAlias = Literal["close", "high", "low", "oi", "open", "price_factor", "time", "volume"]

    DayState: TypeAlias = Literal["closed", "trading", "unknown"]
    """What is known of one day of a market.

    `unknown`: The holidays of the year are not known. The day counts as a trading day, and it may be a holiday.
    """
    Direction: TypeAlias = Literal["above", "below"]

    Document: TypeAlias = Literal["funds", "holdings", "orders", "positions", "trades"]

    Event: TypeAlias = Literal["changed", "gone", "new"]

    Exchange: TypeAlias = Literal["nse", "bse", "mcx", "ncdex", "unknown"]

    ExchangeOrAll: TypeAlias = Literal["nse", "bse", "mcx", "ncdex", "unknown", "all"]

    ExitOrder: TypeAlias = Literal["limit", "stop"]

    ExposureHedgeOrderProduct: TypeAlias = Literal[
        "delivery", "intraday", "carry", "margin_trading", "cover", "bracket"
    ]

    FillBasis: TypeAlias = Literal["fill", "limit"]

    ForwardSource: TypeAlias = Literal["future", "parity"]

    GetPricesAdjusted: TypeAlias = Literal["yes", "no"]

    HaltMode: TypeAlias = Literal["nothing", "reduce_only"]
    """What a halt of trading lets pass.

    `reduce_only`: Exits, cancels, and orders that only reduce a position.

    `nothing`: Cancels only.
    """
    HedgeSide: TypeAlias = Literal["opposite", "same"]

    IdentityFields: TypeAlias = Literal["expiry_date", "option_type", "strike_price", "symbol", "underlying_symbol"]

    Interval: TypeAlias = Literal[
        "day",
        "1minute",
        "2minute",
        "3minute",
        "4minute",
        "5minute",
        "10minute",
        "15minute",
        "20minute",
        "25minute",
        "30minute",
        "45minute",
        "60minute",
        "120minute",
        "180minute",
        "240minute",
    ]

    Kind: TypeAlias = Literal["monthly", "weekly"]

    LastLoadKind: TypeAlias = Literal["candles", "factors", "ticks"]

    LegState: TypeAlias = Literal[
        "cancelled",
        "cancelling",
        "complete",
        "expired",
        "not_sent",
        "open",
        "pending",
        "rejected",
        "sending",
        "unknown",
    ]

    LoginState: TypeAlias = Literal["live", "login needed", "repairing", "starting"]
    """`login needed`: A person, or a corrected setting, is needed."""
    LtpSource: TypeAlias = Literal["broker", "cache"]

    Measure: TypeAlias = Literal["units", "value"]

    Mode: TypeAlias = Literal["depth", "ltp", "quote"]
    """How much of a quote is sent.

    `ltp`: The answer of `GET /api/instruments/ltp`, and whether the quote is stale.

    `quote`: The answer of `GET /api/instruments/quote`, without depth.

    `depth`: The whole answer of that route.
    """
    OnCrossing: TypeAlias = Literal["refuse", "rest"]

    OnEnd: TypeAlias = Literal["cancel", "close_filled", "marketable"]

    OptionType: TypeAlias = Literal["CE", "PE"]

    OrderExchange: TypeAlias = Literal["nse", "bse", "mcx", "ncdex"]

    OrderType: TypeAlias = Literal["LIMIT", "MARKET", "SL", "SL-M"]

    OrderValidity: TypeAlias = Literal["DAY", "IOC"]

    Outcome: TypeAlias = Literal["accepted", "armed", "partial", "rejected", "unknown"]
    """The result of one order message (rules 2.2.1); `armed` and `partial` come from the engine."""
    ParentState: TypeAlias = Literal[
        "armed",
        "cancelled",
        "cancelling",
        "completed",
        "expired",
        "failed",
        "halted",
        "received",
        "rejected",
        "working",
    ]

    Part: TypeAlias = Literal["order", "sequence", "together", "one_cancels_others"]

    PartState: TypeAlias = Literal[
        "cancelled",
        "cancelling",
        "completed",
        "expired",
        "failed",
        "held",
        "pending",
        "rejected",
        "sending",
        "waiting",
        "working",
    ]
    """`pending`: Not due.

    `waiting`: Due, but its condition is not true yet or a price is missing.

    `held`: In the virtual book.
    """
    PriceBasis: TypeAlias = Literal["adjusted", "as_served", "unadjusted"]

    PriceReferenceKind: TypeAlias = Literal["absolute", "last", "mid", "vwap", "bid_level", "offer_level", "marketable"]

    PricedBy: TypeAlias = Literal["last", "mid"]

    PricesSource: TypeAlias = Literal["cache", "database"]

    ProblemKind: TypeAlias = Literal[
        "actor",
        "alerts",
        "archive",
        "audit",
        "calendar",
        "candles",
        "catalogue",
        "charges",
        "clock",
        "connections",
        "crash",
        "data",
        "disk",
        "engine",
        "feed",
        "files",
        "halt",
        "login",
        "loss",
        "order_unknown",
        "position",
        "secrets",
        "store",
        "stranger",
        "taken_back",
        "trouble",
        "unprotected",
    ]
    """What a problem is about. Alerts and metrics are chosen by the kind. docs/health.md is made of the texts below the kinds.

    `login`: A broker has no login, or refuses orders from this address, or the morning's new login failed. A login that repairs itself is a problem after 3 s.

    Subject: empty, `address` or `morning`. Do: log in (`onebroker login CODE`), or correct the settings of the broker.

    `feed`: A market feed or an order feed is down for 2 s, sends unreadable frames, or is mute or silent. It is a problem only while a market of the broker is open.

    Subject: `market`, `orders` or a market such as `nse equity`. Do: wait, because feeds reconnect; then look at the broker's status page.

    `data`: A broker's read fails for 3 s, or its part of a document is older than its rule, or a whole document is. A broker without a login has only the problem `login`.

    Subject: the document. Do: wait, because reads are repeated; then look at the broker's status page.

    `store`: The store does not answer, or may remove orders when its memory is full, or the database of `store.database` does not answer.

    Subject: empty, `eviction` or `database`. Do: look at the store's process, its disk and its log.

    `secrets`: A broker's login or the access token is stored encrypted, and no key of the settings opens it. It counts as not there. A login that the service makes by itself is not stored then.

    Subject: the name of the stored value. Do: give the key file of before (docs/operations/secrets.md).

    `disk`: The disk of the data directory has less free than `history.disk_reserve_mb`, or ticks were not recorded in the last minute.

    Subject: empty or `ticks`. Do: free some space.

    `archive`: Ticks of days that are over could not be archived, or not be removed after their time. They stay in the history store, and the service tries again every quarter of an hour.

    Do: look at the place of `history.tick_archive`; `onebroker history archive` tries it.

    `files`: The process can open few more files.

    Do: raise the limit of open files; close connections that are not needed.

    `calendar`: The last year whose holidays are known ends within 30 days, or today is a day that the calendar does not know.

    Subject: the last known day, or `unknown day`. Do: import exchange documents with the next year's holidays.

    `actor`: A part of the service is down or restarting.

    Subject: the part. Do: nothing, unless it stays; then read the log.

    `crash`: A part of the service crashed within the last 10 minutes. It runs again, or it is tried again.

    Subject: the part. Do: read the log, and report the error.

    `audit`: The audit cannot be written, or has lost events.

    Subject: empty or `lost`. Do: look at the disk and the rights of the folder `audit`.

    `order_unknown`: For over a minute it is not known whether a broker has an order.

    Subject: the leg's id. Do: look for the order at the broker. It is never sent again.

    `unprotected`: Units of an open parent stand without their stop.

    Subject: the parent's id. Do: close the units, or place a stop.

    `trouble`: An open parent has another trouble: orders that nobody watches, or that are still to be cancelled, or that are waited for; an instrument that is not in the list.

    Subject: the parent's id. Do: look at the broker's order book.

    `stranger`: A broker has an order with a token of this engine that neither the engine nor the store knows.

    Subject: the order id. Do: look at the order at the broker. Nothing is done to it.

    `taken_back`: The exchange has annulled a trade of an order that is not the engine's, and units are held there. A plan that had ended because this order closed its units guards them no longer.

    Subject: the order id. Do: look at the position at the broker. It is a problem until nothing is held there, or the next broking day.

    `position`: For over 10 s a broker shows other units of a position than its own orders give.

    Subject: the instrument at the broker and the product. Do: look at the position at the broker.

    `halt`: Trading is halted by hand, or it is not known yet whether it is.

    Do: `onebroker resume`.

    `loss`: New orders are refused because of the daily loss limit, or because the day's loss is not known.

    Do: wait for the next 07:00, or for the brokers' figures.

    `engine`: The order engine does not take orders, or open orders do not act.

    Subject: empty or `orders`. Do: what the words name.

    `catalogue`: There is no list of instruments, or today's is missing, or its last build failed, or a broker's file is missing in it.

    Subject: empty, `build` or `files`. Do: `onebroker instruments sync`.

    `candles`: Day candles are overdue for more than an hour, not counting the time in which the market trades.

    Subject: the market. Do: what the words name.

    `clock`: The brokers' clocks differ from the clock of this machine by more than 2 s.

    Do: synchronise the clock of the machine (NTP).

    `charges`: The charges tables were last compared with their sources over a year ago.

    Do: give today's rates in the file of `[charges]`.

    `connections`: All connections for clients are in use.

    Do: close clients that are not needed.

    `alerts`: A receiver of alerts has taken no message for 5 minutes.

    Subject: the receiver's number and scheme. Do: look at its URL in `alerts.to`, then try it: `onebroker alerts test`.
    """
    Product: TypeAlias = Literal["CNC", "MIS", "NRML"]

    QuantityReferenceKind: TypeAlias = Literal["absolute", "add_to_position", "reduce_position", "liquidate_position"]

    QuoteField: TypeAlias = Literal[
        "average_price",
        "bid",
        "buy_quantity",
        "change_percent",
        "last_price",
        "last_quantity",
        "mid",
        "offer",
        "oi",
        "sell_quantity",
        "volume",
    ]

    Ratio: TypeAlias = Literal[1, 2]

    ReadStatus: TypeAlias = Literal["missing", "ok", "stale", "unreadable"]
    """The word in brokers[].status of a document (rules 1.2.5)."""
    Rounding: TypeAlias = Literal["nearest", "down", "up"]

    Rule: TypeAlias = Literal["cancel", "shrink", "trigger"]

    Segment: TypeAlias = Literal[
        "nse_fixed_income",
        "nse_fixed_income_indices",
        "nse_equities",
        "nse_equity_indices",
        "nse_currencies",
        "nse_currency_indices",
        "nse_commodities",
        "nse_commodity_indices",
        "nse_mutual_funds",
        "nse_exchange_traded_funds",
        "nse_investment_trusts",
        "nse_fixed_income_futures",
        "nse_fixed_income_index_futures",
        "nse_equity_futures",
        "nse_equity_index_futures",
        "nse_currency_futures",
        "nse_currency_index_futures",
        "nse_commodity_futures",
        "nse_commodity_index_futures",
        "nse_fixed_income_options",
        "nse_fixed_income_index_options",
        "nse_equity_options",
        "nse_equity_index_options",
        "nse_currency_options",
        "nse_currency_index_options",
        "nse_commodity_options",
        "nse_commodity_index_options",
        "bse_fixed_income",
        "bse_fixed_income_indices",
        "bse_equities",
        "bse_equity_indices",
        "bse_currencies",
        "bse_currency_indices",
        "bse_commodities",
        "bse_commodity_indices",
        "bse_mutual_funds",
        "bse_exchange_traded_funds",
        "bse_investment_trusts",
        "bse_fixed_income_futures",
        "bse_fixed_income_index_futures",
        "bse_equity_futures",
        "bse_equity_index_futures",
        "bse_currency_futures",
        "bse_currency_index_futures",
        "bse_commodity_futures",
        "bse_commodity_index_futures",
        "bse_fixed_income_options",
        "bse_fixed_income_index_options",
        "bse_equity_options",
        "bse_equity_index_options",
        "bse_currency_options",
        "bse_currency_index_options",
        "bse_commodity_options",
        "bse_commodity_index_options",
        "mcx_commodities",
        "mcx_commodity_indices",
        "mcx_commodity_futures",
        "mcx_commodity_index_futures",
        "mcx_commodity_options",
        "mcx_commodity_index_options",
        "ncdex_commodities",
        "ncdex_commodity_indices",
        "ncdex_commodity_futures",
        "ncdex_commodity_index_futures",
        "ncdex_commodity_options",
        "ncdex_commodity_index_options",
        "uncategorised",
    ]

    SegmentGiven: TypeAlias = Literal[
        "fixed_income",
        "fixed_income_indices",
        "equities",
        "equity_indices",
        "currencies",
        "currency_indices",
        "commodities",
        "commodity_indices",
        "mutual_funds",
        "exchange_traded_funds",
        "investment_trusts",
        "uncategorised",
        "fixed_income_futures",
        "fixed_income_index_futures",
        "equity_futures",
        "equity_index_futures",
        "currency_futures",
        "currency_index_futures",
        "commodity_futures",
        "commodity_index_futures",
        "fixed_income_options",
        "fixed_income_index_options",
        "equity_options",
        "equity_index_options",
        "currency_options",
        "currency_index_options",
        "commodity_options",
        "commodity_index_options",
        "nse_fixed_income",
        "nse_fixed_income_indices",
        "nse_equities",
        "nse_equity_indices",
        "nse_currencies",
        "nse_currency_indices",
        "nse_commodities",
        "nse_commodity_indices",
        "nse_mutual_funds",
        "nse_exchange_traded_funds",
        "nse_investment_trusts",
        "nse_fixed_income_futures",
        "nse_fixed_income_index_futures",
        "nse_equity_futures",
        "nse_equity_index_futures",
        "nse_currency_futures",
        "nse_currency_index_futures",
        "nse_commodity_futures",
        "nse_commodity_index_futures",
        "nse_fixed_income_options",
        "nse_fixed_income_index_options",
        "nse_equity_options",
        "nse_equity_index_options",
        "nse_currency_options",
        "nse_currency_index_options",
        "nse_commodity_options",
        "nse_commodity_index_options",
        "bse_fixed_income",
        "bse_fixed_income_indices",
        "bse_equities",
        "bse_equity_indices",
        "bse_currencies",
        "bse_currency_indices",
        "bse_commodities",
        "bse_commodity_indices",
        "bse_mutual_funds",
        "bse_exchange_traded_funds",
        "bse_investment_trusts",
        "bse_fixed_income_futures",
        "bse_fixed_income_index_futures",
        "bse_equity_futures",
        "bse_equity_index_futures",
        "bse_currency_futures",
        "bse_currency_index_futures",
        "bse_commodity_futures",
        "bse_commodity_index_futures",
        "bse_fixed_income_options",
        "bse_fixed_income_index_options",
        "bse_equity_options",
        "bse_equity_index_options",
        "bse_currency_options",
        "bse_currency_index_options",
        "bse_commodity_options",
        "bse_commodity_index_options",
        "mcx_commodities",
        "mcx_commodity_indices",
        "mcx_commodity_futures",
        "mcx_commodity_index_futures",
        "mcx_commodity_options",
        "mcx_commodity_index_options",
        "ncdex_commodities",
        "ncdex_commodity_indices",
        "ncdex_commodity_futures",
        "ncdex_commodity_index_futures",
        "ncdex_commodity_options",
        "ncdex_commodity_index_options",
    ]
    """A segment, with or without the prefix of its exchange."""
    SegmentOrAll: TypeAlias = Literal[
        "all",
        "fixed_income",
        "fixed_income_indices",
        "equities",
        "equity_indices",
        "currencies",
        "currency_indices",
        "commodities",
        "commodity_indices",
        "mutual_funds",
        "exchange_traded_funds",
        "investment_trusts",
        "uncategorised",
        "fixed_income_futures",
        "fixed_income_index_futures",
        "equity_futures",
        "equity_index_futures",
        "currency_futures",
        "currency_index_futures",
        "commodity_futures",
        "commodity_index_futures",
        "fixed_income_options",
        "fixed_income_index_options",
        "equity_options",
        "equity_index_options",
        "currency_options",
        "currency_index_options",
        "commodity_options",
        "commodity_index_options",
        "nse_fixed_income",
        "nse_fixed_income_indices",
        "nse_equities",
        "nse_equity_indices",
        "nse_currencies",
        "nse_currency_indices",
        "nse_commodities",
        "nse_commodity_indices",
        "nse_mutual_funds",
        "nse_exchange_traded_funds",
        "nse_investment_trusts",
        "nse_fixed_income_futures",
        "nse_fixed_income_index_futures",
        "nse_equity_futures",
        "nse_equity_index_futures",
        "nse_currency_futures",
        "nse_currency_index_futures",
        "nse_commodity_futures",
        "nse_commodity_index_futures",
        "nse_fixed_income_options",
        "nse_fixed_income_index_options",
        "nse_equity_options",
        "nse_equity_index_options",
        "nse_currency_options",
        "nse_currency_index_options",
        "nse_commodity_options",
        "nse_commodity_index_options",
        "bse_fixed_income",
        "bse_fixed_income_indices",
        "bse_equities",
        "bse_equity_indices",
        "bse_currencies",
        "bse_currency_indices",
        "bse_commodities",
        "bse_commodity_indices",
        "bse_mutual_funds",
        "bse_exchange_traded_funds",
        "bse_investment_trusts",
        "bse_fixed_income_futures",
        "bse_fixed_income_index_futures",
        "bse_equity_futures",
        "bse_equity_index_futures",
        "bse_currency_futures",
        "bse_currency_index_futures",
        "bse_commodity_futures",
        "bse_commodity_index_futures",
        "bse_fixed_income_options",
        "bse_fixed_income_index_options",
        "bse_equity_options",
        "bse_equity_index_options",
        "bse_currency_options",
        "bse_currency_index_options",
        "bse_commodity_options",
        "bse_commodity_index_options",
        "mcx_commodities",
        "mcx_commodity_indices",
        "mcx_commodity_futures",
        "mcx_commodity_index_futures",
        "mcx_commodity_options",
        "mcx_commodity_index_options",
        "ncdex_commodities",
        "ncdex_commodity_indices",
        "ncdex_commodity_futures",
        "ncdex_commodity_index_futures",
        "ncdex_commodity_options",
        "ncdex_commodity_index_options",
    ]
    """A segment, with or without the prefix of its exchange, or all."""
    SegmentOrdered: TypeAlias = Literal[
        "fixed_income",
        "equities",
        "currencies",
        "commodities",
        "mutual_funds",
        "exchange_traded_funds",
        "investment_trusts",
        "fixed_income_futures",
        "fixed_income_index_futures",
        "equity_futures",
        "equity_index_futures",
        "currency_futures",
        "currency_index_futures",
        "commodity_futures",
        "commodity_index_futures",
        "fixed_income_options",
        "fixed_income_index_options",
        "equity_options",
        "equity_index_options",
        "currency_options",
        "currency_index_options",
        "commodity_options",
        "commodity_index_options",
        "nse_fixed_income",
        "nse_equities",
        "nse_currencies",
        "nse_commodities",
        "nse_mutual_funds",
        "nse_exchange_traded_funds",
        "nse_investment_trusts",
        "nse_fixed_income_futures",
        "nse_fixed_income_index_futures",
        "nse_equity_futures",
        "nse_equity_index_futures",
        "nse_currency_futures",
        "nse_currency_index_futures",
        "nse_commodity_futures",
        "nse_commodity_index_futures",
        "nse_fixed_income_options",
        "nse_fixed_income_index_options",
        "nse_equity_options",
        "nse_equity_index_options",
        "nse_currency_options",
        "nse_currency_index_options",
        "nse_commodity_options",
        "nse_commodity_index_options",
        "bse_fixed_income",
        "bse_equities",
        "bse_currencies",
        "bse_commodities",
        "bse_mutual_funds",
        "bse_exchange_traded_funds",
        "bse_investment_trusts",
        "bse_fixed_income_futures",
        "bse_fixed_income_index_futures",
        "bse_equity_futures",
        "bse_equity_index_futures",
        "bse_currency_futures",
        "bse_currency_index_futures",
        "bse_commodity_futures",
        "bse_commodity_index_futures",
        "bse_fixed_income_options",
        "bse_fixed_income_index_options",
        "bse_equity_options",
        "bse_equity_index_options",
        "bse_currency_options",
        "bse_currency_index_options",
        "bse_commodity_options",
        "bse_commodity_index_options",
        "mcx_commodities",
        "mcx_commodity_futures",
        "mcx_commodity_index_futures",
        "mcx_commodity_options",
        "mcx_commodity_index_options",
        "ncdex_commodities",
        "ncdex_commodity_futures",
        "ncdex_commodity_index_futures",
        "ncdex_commodity_options",
        "ncdex_commodity_index_options",
    ]
    """A segment that takes orders, with or without the prefix of its exchange."""
    Shape: TypeAlias = Literal["future", "option", "security"]

    Side: TypeAlias = Literal["BUY", "SELL"]
    """transaction_type."""
    Since: TypeAlias = Literal["day", "placement"]

    Source: TypeAlias = Literal["candle", "quote"]

    Stage: TypeAlias = Literal["building", "fetching", "idle"]
    """The stage of a build.

    `building`: Work in the worker process, and after it putting the files in place.
    """
    StartThen: TypeAlias = Literal["done", "filled"]

    Status: TypeAlias = Literal["degraded", "ok"]

    StreamedParentEvent: TypeAlias = Literal["changed", "finished", "new"]

    SubscribedChannel: TypeAlias = Literal["documents", "orders", "parents", "quotes"]

    SyntheticType: TypeAlias = Literal["plan", "simple"]

    Touch: TypeAlias = Literal["mid", "opposite_touch", "own_touch"]

    Type: TypeAlias = Literal["document", "orders", "parents"]

    Unfilled: TypeAlias = Literal["keep", "cancel", "marketable"]

    Validity: TypeAlias = Literal["DAY", "GTC", "GTD", "GTT", "IOC"]
    """validity. DAY and IOC may be sent; the others are only received."""
    WatchField: TypeAlias = Literal["bid", "last_price", "offer"]


else:
    AccountField = str
    Adjusted = int
    Anchor = str
    AppliesTo = str
    AtExpiry = str
    BareSegment = str
    Channel = str
    ClosePositionsBodyProduct = str
    Columns = str
    DayState = str
    Direction = str
    Document = str
    Event = str
    Exchange = str
    ExchangeOrAll = str
    ExitOrder = str
    ExposureHedgeOrderProduct = str
    FillBasis = str
    ForwardSource = str
    GetPricesAdjusted = str
    HaltMode = str
    HedgeSide = str
    IdentityFields = str
    Interval = str
    Kind = str
    LastLoadKind = str
    LegState = str
    LoginState = str
    LtpSource = str
    Measure = str
    Mode = str
    OnCrossing = str
    OnEnd = str
    OptionType = str
    OrderExchange = str
    OrderType = str
    OrderValidity = str
    Outcome = str
    ParentState = str
    Part = str
    PartState = str
    PriceBasis = str
    PriceReferenceKind = str
    PricedBy = str
    PricesSource = str
    ProblemKind = str
    Product = str
    QuantityReferenceKind = str
    QuoteField = str
    Ratio = int
    ReadStatus = str
    Rounding = str
    Rule = str
    Segment = str
    SegmentGiven = str
    SegmentOrAll = str
    SegmentOrdered = str
    Shape = str
    Side = str
    Since = str
    Source = str
    Stage = str
    StartThen = str
    Status = str
    StreamedParentEvent = str
    SubscribedChannel = str
    SyntheticType = str
    Touch = str
    Type = str
    Unfilled = str
    Validity = str
    WatchField = str
