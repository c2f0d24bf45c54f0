"""The messages of market feed v3, built from a field table instead of generated code. Shared by feed and simulator.

Source: documentation page "Market Data Feed V3" and the field numbers of upstox-python-sdk 2.30.0, the page not re-read by us.
Rows: field name, number, type; a type in capitals is a message or enum of this file, `*` marks repeated fields, `map` a map
from text. Fields of one oneof stand under its name in ONEOFS.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

PACKAGE = "onebroker.upstox.feed"

_Field = descriptor_pb2.FieldDescriptorProto

_SCALARS = {
    "double": _Field.TYPE_DOUBLE,
    "int64": _Field.TYPE_INT64,
    "text": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
}

ENUMS: dict[str, tuple[str, ...]] = {
    "Type": ("initial_feed", "live_feed", "market_info"),
    "RequestMode": ("ltpc", "full_d5", "option_greeks", "full_d30"),
    "MarketStatus": (
        "PRE_OPEN_START", "PRE_OPEN_END", "NORMAL_OPEN", "NORMAL_CLOSE", "CLOSING_START", "CLOSING_END",
    ),
}  # fmt: skip
"""Enum -> its names; the number is the position."""

MESSAGES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "LTPC": (("ltp", 1, "double"), ("ltt", 2, "int64"), ("ltq", 3, "int64"), ("cp", 4, "double"), ("iep", 5, "DoubleValue")),
    "Quote": (("bidQ", 1, "int64"), ("bidP", 2, "double"), ("askQ", 3, "int64"), ("askP", 4, "double")),
    "MarketLevel": (("bidAskQuote", 1, "Quote*"),),
    "OHLC": (
        ("interval", 1, "text"), ("open", 2, "double"), ("high", 3, "double"), ("low", 4, "double"),
        ("close", 5, "double"), ("vol", 6, "int64"), ("ts", 7, "int64"),
    ),
    "MarketOHLC": (("ohlc", 1, "OHLC*"),),
    "OptionGreeks": (
        ("delta", 1, "double"), ("theta", 2, "double"), ("gamma", 3, "double"), ("vega", 4, "double"), ("rho", 5, "double"),
    ),
    "MarketFullFeed": (
        ("ltpc", 1, "LTPC"), ("marketLevel", 2, "MarketLevel"), ("optionGreeks", 3, "OptionGreeks"),
        ("marketOHLC", 4, "MarketOHLC"), ("atp", 5, "double"), ("vtt", 6, "int64"), ("oi", 7, "double"),
        ("iv", 8, "double"), ("tbq", 9, "double"), ("tsq", 10, "double"), ("iep", 11, "double"), ("rp", 12, "double"),
        ("ieq", 13, "int64"), ("iiqTotal", 14, "int64"), ("iiqM", 15, "int64"), ("casEligible", 16, "bool"),
    ),
    "IndexFullFeed": (("ltpc", 1, "LTPC"), ("marketOHLC", 2, "MarketOHLC")),
    "FullFeed": (("marketFF", 1, "MarketFullFeed"), ("indexFF", 2, "IndexFullFeed")),
    "FirstLevelWithGreeks": (
        ("ltpc", 1, "LTPC"), ("firstDepth", 2, "Quote"), ("optionGreeks", 3, "OptionGreeks"), ("vtt", 4, "int64"),
        ("oi", 5, "double"), ("iv", 6, "double"),
    ),
    "Feed": (
        ("ltpc", 1, "LTPC"), ("fullFeed", 2, "FullFeed"), ("firstLevelWithGreeks", 3, "FirstLevelWithGreeks"),
        ("requestMode", 4, "RequestMode"),
    ),
    "StatusInfo": (("status", 1, "text"), ("updatedTime", 2, "int64")),
    "MarketInfo": (
        ("segmentStatus", 1, "map MarketStatus"), ("casMarketStatus", 2, "map StatusInfo"),
        ("preOpenSessionStatus", 3, "map StatusInfo"),
    ),
    "FeedResponse": (
        ("type", 1, "Type"), ("feeds", 2, "map Feed"), ("currentTs", 3, "int64"), ("marketInfo", 4, "MarketInfo"),
    ),
}  # fmt: skip

ONEOFS: dict[str, dict[str, tuple[str, ...]]] = {
    "FullFeed": {"FullFeedUnion": ("marketFF", "indexFF")},
    "Feed": {"FeedUnion": ("ltpc", "fullFeed", "firstLevelWithGreeks")},
}


def _set_type(field: _Field, kind: str) -> None:
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    elif kind in ENUMS:
        field.type, field.type_name = _Field.TYPE_ENUM, f".{PACKAGE}.{kind}"
    elif kind == "DoubleValue":
        field.type, field.type_name = _Field.TYPE_MESSAGE, ".google.protobuf.DoubleValue"
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{PACKAGE}.{kind}"


def _add_map(message: descriptor_pb2.DescriptorProto, field: _Field, kind: str) -> None:
    """Make `field` a map from text to `kind`: on the wire a repeated pair, as the protobuf encoding guide defines it."""
    pair = message.nested_type.add(name=f"{field.name[0].upper()}{field.name[1:]}Entry")
    pair.options.map_entry = True
    pair.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
    _set_type(pair.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), kind)
    field.label, field.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{message.name}.{pair.name}"


def _file() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="onebroker/upstox_feed.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=["google/protobuf/wrappers.proto"],
    )
    for name, words in ENUMS.items():
        enum = file.enum_type.add(name=name)
        for number, word in enumerate(words):
            enum.value.add(name=word, number=number)
    for name, rows in MESSAGES.items():
        message = file.message_type.add(name=name)
        unions = ONEOFS.get(name, {})
        message.oneof_decl.extend(descriptor_pb2.OneofDescriptorProto(name=union) for union in unions)
        places = {member: place for place, members in enumerate(unions.values()) for member in members}
        for field_name, number, kind in rows:
            field = message.field.add(name=field_name, number=number, label=_Field.LABEL_OPTIONAL)
            if kind.startswith("map "):
                _add_map(message, field, kind.removeprefix("map "))
                continue
            if kind.endswith("*"):
                field.label = _Field.LABEL_REPEATED
            _set_type(field, kind.removesuffix("*"))
            if field_name in places:
                field.oneof_index = places[field_name]
    return file


def _feed_response() -> Any:
    # A pool of our own: other packages in the process may register messages of the same file.
    pool = descriptor_pool.DescriptorPool()
    wrappers = descriptor_pb2.FileDescriptorProto()
    wrappers_pb2.DESCRIPTOR.CopyToProto(wrappers)
    pool.Add(wrappers)
    pool.Add(_file())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.FeedResponse"))


FeedResponse: Any = _feed_response()
"""The message class of one frame: `FeedResponse.FromString(frame)`, `FeedResponse(...).SerializeToString()`."""
