"""Builds the index behind `find`: the words of all names, and which names have each word. polars throughout, so a thread can build it.

A *name* is a security, or all contracts of one underlying in one segment. Names are numbered by rank: those with derivatives first, then cash
before derivatives, then by exchange and length. So the first names of a word are its best ones.

Everything is kept in flat arrays (`compact_columns`). Words are numbered in alphabetical order, so the words with a beginning are a range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from onebroker.actors.catalogue.arrow_cells import HeldTexts
from onebroker.actors.catalogue.compact_columns import held_numbers, held_texts
from onebroker.actors.catalogue.finder.query import STOP_WORDS
from onebroker.brokers.listings.index_names import CONTRACT_NAMES
from onebroker.config.instruments import EXCHANGES, SEGMENTS, Shape, prefixed_segment
from onebroker.config.late_modules import pl

HEAD = 7
"""Typos are looked for in this many first characters of a word; the rest is compared afterwards."""
SHORTEST_TYPO, SHORTEST_TWO_TYPOS = 3, 5
"""Characters that a word needs for one typo, and for two."""
LONGEST_BEGINNING, MANY = 3, 2_000
"""A beginning of up to so many characters with more words than MANY has its best words listed."""
BEST = 250
_HASH_MASK = 0xFFFF_FFFF
_LONGEST_GRAMMED = 24
"""Characters of a word that count for its trigrams."""


@attrs.frozen(kw_only=True)
class Index:
    """The arrays. Name, word and row are numbers."""

    row: memoryview
    """Name -> its first row in the catalogue's file."""
    segment: memoryview
    """Name -> place of its stored segment in `segments`."""
    segments: tuple[tuple[str, str], ...]
    """(exchange, stored segment)."""
    length: memoryview
    """Name -> characters of its symbol."""
    name_words: memoryview
    """The words of all names, one name after the other: first the symbol, its other spellings, then parts and company."""
    first_word: memoryview
    """Name -> place of its first word; one more for the end."""
    symbols: memoryview
    """Name -> how many of its words are its whole symbol."""
    words: HeldTexts
    """Word -> its text, sorted."""
    postings: memoryview
    """The names of all words, one word after the other, best first."""
    first_posting: memoryview
    """Word -> place of its first name; one more for the end."""
    typos: tuple[memoryview, memoryview]
    """Hashes of words with up to two characters left out, rising, and their words."""
    trigrams: tuple[memoryview, memoryview]
    """Hashes of three characters in a row, rising, and their words."""
    beginnings: Mapping[str, Sequence[int]]
    """Beginning with very many words -> the best of them."""

    @property
    def name_count(self) -> int:
        return len(self.row)

    @property
    def word_count(self) -> int:
        return len(self.first_posting) - 1

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        views = (
            self.row, self.segment, self.length, self.name_words, self.first_word, self.symbols, self.words.offsets,
            self.words.content, self.postings, self.first_posting, *self.typos, *self.trigrams,
        )  # fmt: skip
        return sum(view.nbytes for view in views) + sum(8 * len(best) for best in self.beginnings.values())


def hashes(texts: Sequence[str]) -> list[int]:
    """Return the hashes under which the index keeps texts; equal only within one process."""
    return [value & _HASH_MASK for value in pl.Series(texts, dtype=pl.String).hash().to_list()]


def build_index(frame: pl.DataFrame) -> Index:
    """Return the index of a catalogue file's frame (INSTRUMENT_COLUMNS, in the order of the file)."""
    names = _ranked(_names(frame))
    listed = _listed_words(names)
    texts = listed.select("word").unique().sort("word").with_row_index("number")
    numbered = listed.join(texts, on="word", how="left", maintain_order="left").select("name", pl.col("number"))
    postings = numbered.unique().sort("number", "name")
    words = texts["word"]
    weights = postings.group_by("number", maintain_order=True).agg(pl.col("name").first())["name"]
    return Index(
        row=_held(names["start"]),
        segment=_held(names["place"]),
        segments=tuple((exchange, prefixed_segment(exchange, bare)) for exchange in EXCHANGES for bare in SEGMENTS),
        length=_held(names["name"].str.len_chars()),
        name_words=_held(numbered["number"]),
        first_word=_held(_firsts(numbered["name"], names.height)),
        symbols=_held(1 + names["alias"].is_not_null().cast(pl.UInt32)),
        words=held_texts(words),
        postings=_held(postings["name"]),
        first_posting=_held(_firsts(postings["number"], words.len())),
        typos=_pairs(_left_out(words)),
        trigrams=_pairs(_trigrams(words)),
        beginnings=_beginnings(words, weights),
    )


def _held(column: pl.Series) -> memoryview:
    return held_numbers(column.cast(pl.UInt32))


def _firsts(groups: pl.Series, count: int) -> pl.Series:
    """Return for each group (0 to `count` - 1, rising, none empty) the place of its first item, and the end."""
    starts = groups.to_frame("group").with_row_index("place").group_by("group", maintain_order=True).first()["place"]
    if starts.len() != count:
        raise ValueError("a name without words, or a word without names")
    return starts.cast(pl.UInt32).append(pl.Series([groups.len()], dtype=pl.UInt32))


def _names(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the names: exchange, segment, name, derivative, company, start (the first row)."""
    named = frame.select(
        "exchange", "segment", "name", derivative=pl.col("shape") != Shape.SECURITY.value,
        title=pl.coalesce("symbol", "underlying_symbol"),
    )  # fmt: skip
    columns = ["exchange", "segment", "title"]
    begins = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in columns)
    firsts = named.with_row_index("start").filter(begins | (pl.col("start") == 0))
    return firsts.rename({"name": "company"}).rename({"title": "name"})


def _ranked(names: pl.DataFrame) -> pl.DataFrame:
    """Return the names by rank, with the columns alias, company and place."""
    names = _with_aliases(names)
    underlyings = names.filter("derivative").select("exchange", name="name").unique()
    has = underlyings.with_columns(contracts=pl.lit(True))
    names = (
        names.join(has, on=["exchange", "name"], how="left")
        .join(
            has.rename({"name": "alias", "contracts": "alias_contracts"}),
            on=["exchange", "alias"],
            how="left",
        )
        .with_columns(plain=~(pl.col("contracts").fill_null(False) | pl.col("alias_contracts").fill_null(False)))
    )
    names = _with_companies(names)
    order = {exchange.value: number for number, exchange in enumerate(EXCHANGES)}
    places = {
        prefixed_segment(exchange, bare): number
        for number, (exchange, bare) in enumerate((exchange, bare) for exchange in EXCHANGES for bare in SEGMENTS)
        if not (bare == "uncategorised" and exchange != "unknown")
    }
    return names.with_columns(
        rank=pl.col("exchange").replace_strict(order, default=len(order), return_dtype=pl.UInt32),
        place=pl.col("segment").replace_strict(places, default=0, return_dtype=pl.UInt32),
    ).sort("plain", "derivative", "rank", pl.col("name").str.len_chars(), "place", "name", "start")


def _with_aliases(names: pl.DataFrame) -> pl.DataFrame:
    """Add `alias`: the name of an index' contracts (NIFTY of NIFTY 50)."""
    table = pl.DataFrame(
        [(exchange, name, alias) for exchange, known in CONTRACT_NAMES.items() for name, alias in known.items()],
        schema={"exchange": pl.String, "spelled": pl.String, "alias": pl.String},
        orient="row",
    )
    spelled = names.with_columns(
        spelled=pl.when(pl.col("segment").str.ends_with("_indices")).then(_letters(pl.col("name")))
    )
    return spelled.join(table, on=["exchange", "spelled"], how="left").with_columns(
        alias=pl.when(pl.col("alias") != pl.col("spelled")).then("alias")
    )


def _with_companies(names: pl.DataFrame) -> pl.DataFrame:
    """Give contracts the company name of the share, or the index, of their name; a contract's own name names the contract."""
    cash = names.filter(~pl.col("derivative"))
    told = pl.concat(
        [
            cash.filter(pl.col("segment").str.ends_with("_equities")).select("name", told="company"),
            cash.filter(pl.col("alias").is_not_null()).select(name="alias", told="name"),
        ]
    ).unique("name", keep="first", maintain_order=True)
    return names.join(told, on="name", how="left").with_columns(
        company=pl.when("derivative").then("told").otherwise("company")
    )


def _letters(column: pl.Expr) -> pl.Expr:
    """Return a name in upper case without blanks and signs; a name of signs alone as it is."""
    plain = column.str.to_uppercase().str.replace_all(r"[^\p{L}\p{N}]+", "")
    return pl.when(plain == "").then(column).otherwise(plain)


def _split(column: pl.Expr) -> pl.Expr:
    return column.fill_null("").str.to_uppercase().str.replace_all("['.]", "").str.extract_all(r"[\p{L}\p{N}]+")


def _listed_words(names: pl.DataFrame) -> pl.DataFrame:
    """Return the words of each name, in the order of names: name, word."""
    spelled = names.select(
        whole=_letters(pl.col("name")),
        alias=pl.col("alias"),
        parts=_split(pl.col("name")),
        company=_split(pl.col("company")).list.eval(pl.element().filter(~pl.element().is_in(STOP_WORDS))),
    ).with_row_index("name")
    lists = spelled.select(
        "name",
        word=pl.concat_list(pl.concat_list("whole", "alias").list.drop_nulls(), "parts", "company").list.unique(
            maintain_order=True
        ),
    )
    return lists.explode("word").filter(pl.col("word").str.len_chars() > 0)


def _left_out(words: pl.Series) -> pl.DataFrame:
    """Return hash and word of every word's beginning with none, one or two characters left out."""
    numbered = words.to_frame("word").with_row_index("number")
    length = pl.col("word").str.len_chars()
    heads = numbered.filter(length >= SHORTEST_TYPO).select(
        "number", head=pl.col("word").str.slice(0, HEAD), two=length >= SHORTEST_TWO_TYPOS
    )
    head, size = pl.col("head"), pl.col("head").str.len_chars()
    found = [heads.select("number", hash=_hash(head))]
    for first in range(HEAD):
        without = pl.concat_str(head.str.slice(0, first), head.str.slice(first + 1))
        found.append(heads.filter(size > first).select("number", hash=_hash(without)))
        for second in range(first + 1, HEAD):
            twice = pl.concat_str(
                head.str.slice(0, first), head.str.slice(first + 1, second - first - 1), head.str.slice(second + 1)
            )
            found.append(heads.filter(pl.col("two") & (size > second)).select("number", hash=_hash(twice)))
    return pl.concat(found)


def _trigrams(words: pl.Series) -> pl.DataFrame:
    """Return hash and word of every three characters in a row."""
    numbered = words.to_frame("word").with_row_index("number")
    length = pl.col("word").str.len_chars()
    found = [
        numbered.filter(length >= start + 3).select("number", hash=_hash(pl.col("word").str.slice(start, 3)))
        for start in range(_LONGEST_GRAMMED - 2)
    ]
    return pl.concat(found)


def _hash(text: pl.Expr) -> pl.Expr:
    return (text.hash() & pl.lit(_HASH_MASK, pl.UInt64)).cast(pl.UInt32)


def _pairs(found: pl.DataFrame) -> tuple[memoryview, memoryview]:
    ordered = found.select(pl.col("hash"), pl.col("number").cast(pl.UInt32)).unique().sort("hash", "number")
    return held_numbers(ordered["hash"]), held_numbers(ordered["number"])


def _beginnings(words: pl.Series, weights: pl.Series) -> dict[str, Sequence[int]]:
    """Return the best words of each short beginning that has very many of them."""
    ranked = pl.DataFrame({"word": words, "weight": weights}).with_row_index("number").sort("weight", "number")
    found: dict[str, Sequence[int]] = {}
    for size in range(1, LONGEST_BEGINNING + 1):
        grouped = (
            ranked.filter(pl.col("word").str.len_chars() >= size)
            .group_by(pl.col("word").str.slice(0, size).alias("beginning"), maintain_order=True)
            .agg(pl.col("number").head(BEST), pl.len().alias("count"))
            .filter(pl.col("count") > MANY)
        )
        found.update(zip(grouped["beginning"].to_list(), grouped["number"].to_list(), strict=True))
    return found
