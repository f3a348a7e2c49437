"""Frames: a kind of text (a person, a booking) with its slots, their possible keys, and its sentences.

A frame generates any number of exercises: slots are filled, one or more sentences mention some of them, and a generated
type requests some of them under some of their keys, in any order, nested or flat. A requested slot that the text does
not mention is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from demo_corpus.example import Example
from demo_corpus.shapes import INTEGER, STRING, Array, Nullable, Object, Scalar, Shape, enum
from demo_corpus.values import SlotValue, Source, article

SLOT = re.compile(r"\{(\w+)\}")
PRONOUNS = [("he", "his", "him"), ("she", "her", "her"), ("they", "their", "them")]
GROUPS = ["details", "info", "data", "facts", "more", "extra"]
LEADS = [
    "",
    "",
    "",
    "",
    "",
    "",
    "Extract: ",
    "Please read this. ",
    "Text: ",
    "Note: ",
    "Hello! ",
    "From my notes: ",
    "FYI, ",
    "Extract the facts: ",
    "Get the data from this: ",
    "Read: ",
    "Here it is: ",
    "Message: ",
    "Dear all, ",
    "Hi, ",
]
TAILS = [
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    " Thanks!",
    " That is all.",
    " Please confirm.",
    " Thank you.",
    " Best regards.",
    " More soon.",
    " It was a busy day.",
    " The weather was fine.",
    " Call me if anything is unclear.",
    " See you soon.",
]


@dataclass(frozen=True)
class Slot:
    """A slot of a text: its possible keys (the most common first), its shape and a generator of values."""

    keys: str
    shape: Shape | Callable[[Source], Shape]
    make: Callable[[Source], SlotValue]
    comments: tuple[str, ...] = ()
    pool: Callable[[Source], str] | None = None  # other values of the kind, for an enum

    def shape_for(self, source: Source) -> Shape:
        return self.shape(source) if callable(self.shape) else self.shape


@dataclass(frozen=True)
class Frame:
    """A kind of text. `sentences` have more than one slot, `parts` add one slot each."""

    names: str
    slots: dict[str, Slot]
    sentences: list[str]
    parts: list[str] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=dict)
    plural: str = "items"


@dataclass
class Record:
    """One filled frame: its text, and the values of its slots."""

    text: str
    mentioned: list[str]
    values: dict[str, SlotValue]


def sentences(options: list[str], heldout: bool) -> list[str]:
    """Return the sentences that training excludes (every eighth), or the others.

    >>> sentences(list("abcdefghij"), heldout=True)
    ['h']
    """
    return [each for index, each in enumerate(options) if (index % 8 == 7) == heldout]


def words(keys: str) -> list[str]:
    return keys.split()


def tell(frame: Frame, source: Source, heldout: bool, short: bool = False) -> Record:
    """Fill a frame and render its text: one sentence with more than one slot, then some with one slot each."""
    parts = sentences(frame.parts, heldout)
    chosen = [source.pick(sentences(frame.sentences, heldout))]
    covered = {base(slot) for slot in SLOT.findall(chosen[0])}
    for part in source.rng.sample(parts, len(parts)):
        slots = {base(slot) for slot in SLOT.findall(part)} & set(frame.slots)
        if not short and not slots & covered and source.chance(0.3) and len(chosen) < 4:
            chosen.append(part)
            covered |= slots
    values = {slot: frame.slots[slot].make(source) for slot in frame.slots}
    text = fill(" ".join(chosen), values, source)
    return Record(text, [slot for slot in frame.slots if slot in covered], values)


def base(slot: str) -> str:
    return slot.removeprefix("a_")


def fill(sentence: str, values: dict[str, SlotValue], source: Source) -> str:
    """Insert the values' spellings into a sentence; `{a_job}` takes an article, `{He}` is a pronoun."""
    he, his, him = source.rng.choice(PRONOUNS)
    fixed = {"he": he, "He": he.title(), "his": his, "His": his.title(), "him": him}

    def one(match: re.Match[str]) -> str:
        slot = match.group(1)
        if slot in fixed:
            return fixed[slot]
        return article(values[base(slot)].text) if slot.startswith("a_") else values[slot].text

    return SLOT.sub(one, sentence)


@dataclass
class Ask:
    """One field of a generated type: its key, its slot and its shape."""

    key: str
    slot: str
    shape: Shape
    comment: str


def ask(frame: Frame, source: Source, records: list[Record]) -> list[Ask]:
    """Return fields for slots that every record has, and for some that one record lacks; the latter may be null."""
    rng = source.rng
    always = [slot for slot in frame.slots if all(slot in record.mentioned for record in records)]
    others = [slot for slot in frame.slots if slot not in always]
    every = rng.random() < 0.55 or len(always) < 2
    chosen = list(always) if every else rng.sample(always, rng.randint(1, len(always)))
    if others and rng.random() < 0.4:
        chosen += rng.sample(others, min(len(others), rng.choice([1, 1, 2])))
    chosen = chosen[:7]
    if rng.random() < 0.5:
        rng.shuffle(chosen)
    else:
        chosen.sort(key=list(frame.slots).index)
    style, used, asks = rng.random(), set(), []
    for slot in chosen:
        key = key_of(frame.slots[slot], source, style)
        if key in used:
            continue
        used.add(key)
        shape, comment = shape_of(frame.slots[slot], source, records, slot)
        null = slot not in always
        asks.append(Ask(key, slot, Nullable(shape) if null or rng.random() < 0.2 else shape, comment))
    return asks


def key_of(slot: Slot, source: Source, style: float) -> str:
    """Return a key: mostly the most common one; one type uses one style."""
    options = words(slot.keys)
    key = options[0] if source.chance(0.5) else source.pick(options)
    if style < 0.08 and "_" in key:
        first, *rest = key.split("_")
        return first + "".join(part.title() for part in rest)
    return key.title() if style > 0.97 else key


def shape_of(slot: Slot, source: Source, records: list[Record], name: str) -> tuple[Shape, str]:
    """Return the shape of a slot, sometimes narrowed to an enum or by bounds, sometimes with a comment."""
    shape = slot.shape_for(source)
    values = [record.values[name].value for record in records if name in record.mentioned]
    comment = source.pick(slot.comments) if slot.comments and source.chance(0.15) else ""
    if slot.pool and values and source.chance(0.12):
        options = list(
            dict.fromkeys(
                [str(value) for value in values]
                + [slot.pool(source) for _ in range(source.rng.randint(1, 3))]
            )
        )
        source.rng.shuffle(options)
        return enum(options), comment
    if shape == INTEGER and values and source.chance(0.15):
        return Scalar(
            source.pick(
                [
                    "integer (at least 0)",
                    "integer (at least 0)",
                    "integer (0 to 1000000)",
                    "integer (at least -10)",
                ]
            )
        ), comment
    return shape, comment


def nest(
    asks: list[Ask], frame: Frame, source: Source, name: str
) -> tuple[Object, Callable[[Record], dict[str, object]]]:
    """Return the object of some fields, possibly with a nested object, and the answer for a record."""
    groups: dict[str, list[Ask]] = {}
    if len(asks) >= 3 and source.chance(0.2):
        key, slots = source.rng.choice([*frame.groups.items(), ("", "")])
        inner = [each for each in asks if each.slot in slots.split()]
        if not inner or len(inner) == len(asks):
            key, inner = "", source.rng.sample(asks, 2)
        key = key or source.pick(GROUPS)
        if key not in {each.key for each in asks}:
            groups[key] = inner
    inside = {id(each): key for key, members in groups.items() for each in members}
    fields: dict[str, tuple[str, Shape, str]] = {}
    for each in asks:
        group = inside.get(id(each))
        if group is None:
            fields[each.key] = (each.key, each.shape, each.comment)
        else:
            members = tuple((one.key, one.shape, one.comment) for one in groups[group])
            fields.setdefault(group, (group, Object(group.title(), members), ""))
    order = list(fields)

    def answer(record: Record) -> dict[str, object]:
        def value(each: Ask) -> object:
            return record.values[each.slot].value if each.slot in record.mentioned else None

        by_key = {each.key: each for each in asks if id(each) not in inside}
        return {
            key: {one.key: value(one) for one in groups[key]} if key in groups else value(by_key[key])
            for key in order
        }

    return Object(name, tuple(fields.values())), answer


def exercise(frame: Frame, source: Source, heldout_sentences: bool = False) -> Example:
    """Return one exercise of a frame: mostly one record, sometimes a list of records or a single value."""
    roll = source.rng.random()
    if roll < 0.18:
        return several(frame, source, heldout_sentences)
    record = tell(frame, source, heldout_sentences)
    name = source.pick(words(frame.names)) if source.chance(0.8) else source.type_name()
    if roll < 0.23:
        return single(frame, source, record)
    shape, answer = nest(ask(frame, source, [record]), frame, source, name)
    return Example(source.pick(LEADS) + record.text + source.pick(TAILS), shape, answer(record))


def several(frame: Frame, source: Source, heldout_sentences: bool) -> Example:
    """Return two or three records in one text, as an array or as the only field of an object."""
    count = source.rng.choice([1, 2, 2, 2, 3])
    records = [tell(frame, source, heldout_sentences, short=True) for _ in range(count)]
    asks = ask(frame, source, records)[:4]
    name = source.pick(words(frame.names))
    item, answer = nest(asks, frame, source, name)
    text = source.pick(LEADS) + source.pick([" ", " ", "\n", "\n- "]).join(record.text for record in records)
    answers = [answer(record) for record in records]
    if source.chance(0.6):
        return Example(text, Array(item), answers)
    key = source.pick([frame.plural, frame.plural, "items", "list", "entries", "all"])
    holder = source.pick(["List", "Collection", "Batch", "Group", frame.plural.title()])
    return Example(text, Object(holder, ((key, Array(item), ""),)), {key: answers})


def single(frame: Frame, source: Source, record: Record) -> Example:
    """Return a single value, requested in words."""
    slot = source.pick(record.mentioned)
    key = source.pick(words(frame.slots[slot].keys)).replace("_", " ")
    question = source.pick(
        ["What is the {}? ", "Give the {}. ", "Extract the {}: ", "Find the {} in this text: ", "{}? "]
    ).format(key)
    shape, _ = shape_of(frame.slots[slot], source, [record], slot)
    value = record.values[slot].value
    if shape == STRING and source.chance(0.3):
        return Example(question + record.text, Array(STRING), [value])
    return Example(question + record.text, shape, value)
