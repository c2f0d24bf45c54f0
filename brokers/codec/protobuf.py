"""Protobuf messages built from field tables instead of generated code. Shared by the brokers whose sockets use protobuf.

A table is message -> rows of (field name, number, type). A type is a scalar of `_SCALARS`, `DoubleValue` (the wrapper),
or the name of a message or enum of the same tables. A `*` after it marks a repeated field, `map KEY TYPE` a map (KEY text
or int32). Enums are name -> words in the order of their numbers, from 0. The fields of one oneof are listed under its
name in `oneofs`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

Fields = Sequence[tuple[str, int, str]]

_Field = descriptor_pb2.FieldDescriptorProto

_SCALARS = {
    "double": _Field.TYPE_DOUBLE,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "text": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
}
_MAP = "map "


@attrs.frozen(kw_only=True)
class Tables:
    """The messages of one file."""

    package: str
    messages: Mapping[str, Fields]
    enums: Mapping[str, Sequence[str]] = attrs.field(factory=dict)
    oneofs: Mapping[str, Mapping[str, Sequence[str]]] = attrs.field(factory=dict)
    """Message -> oneof -> its fields."""

    def message_class(self, name: str) -> Any:
        """Return the class of one message: `FromString(frame)`, `SerializeToString()`."""
        # Each call uses its own pool: other packages in the process may register messages of the same file.
        pool = descriptor_pool.DescriptorPool()
        wrappers = descriptor_pb2.FileDescriptorProto()
        wrappers_pb2.DESCRIPTOR.CopyToProto(wrappers)
        pool.Add(wrappers)
        pool.Add(self._file())
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{self.package}.{name}"))

    def _file(self) -> descriptor_pb2.FileDescriptorProto:
        file = descriptor_pb2.FileDescriptorProto(
            name=f"{self.package}.proto",
            package=self.package,
            syntax="proto3",
            dependency=["google/protobuf/wrappers.proto"],
        )
        for name, words in self.enums.items():
            enum = file.enum_type.add(name=name)
            for number, word in enumerate(words):
                enum.value.add(name=word, number=number)
        for name, rows in self.messages.items():
            self._add_message(file.message_type.add(name=name), rows)
        return file

    def _add_message(self, message: descriptor_pb2.DescriptorProto, rows: Fields) -> None:
        unions = self.oneofs.get(message.name, {})
        message.oneof_decl.extend(descriptor_pb2.OneofDescriptorProto(name=union) for union in unions)
        places = {member: place for place, members in enumerate(unions.values()) for member in members}
        for field_name, number, kind in rows:
            field = message.field.add(name=field_name, number=number, label=_Field.LABEL_OPTIONAL)
            if kind.startswith(_MAP):
                key, value = kind.removeprefix(_MAP).split(" ")
                self._add_map(message, field, key, value)
                continue
            if kind.endswith("*"):
                field.label = _Field.LABEL_REPEATED
            self._set_type(field, kind.removesuffix("*"))
            if field_name in places:
                field.oneof_index = places[field_name]

    def _set_type(self, field: _Field, kind: str) -> None:
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        elif kind in self.enums:
            field.type, field.type_name = _Field.TYPE_ENUM, f".{self.package}.{kind}"
        elif kind == "DoubleValue":
            field.type, field.type_name = _Field.TYPE_MESSAGE, ".google.protobuf.DoubleValue"
        else:
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{self.package}.{kind}"

    def _add_map(self, message: descriptor_pb2.DescriptorProto, field: _Field, key: str, kind: str) -> None:
        """Make `field` a map: on the wire a repeated pair, as the protobuf encoding guide defines it."""
        pair = message.nested_type.add(name=f"{field.name[0].upper()}{field.name[1:]}Entry")
        pair.options.map_entry = True
        self._set_type(pair.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL), key)
        self._set_type(pair.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL), kind)
        field.label, field.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
        field.type_name = f".{self.package}.{message.name}.{pair.name}"
