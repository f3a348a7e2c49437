"""Nonsense words: `The zorple is bak.` The name of a field is its only meaning, and the text the only source of values.

With these texts, the model learns to copy and to look up names; the other kinds then add English only.
"""

from __future__ import annotations

from demo_corpus.example import Example
from demo_corpus.shapes import (
    BOOLEAN,
    DATE,
    INTEGER,
    NUMBER,
    STRING,
    TIME,
    Array,
    Nullable,
    Object,
    Shape,
    enum,
)
from demo_corpus.values import Source

FORMS = [
    "The {key} is {value}.",
    "{key}: {value}.",
    "Its {key} is {value}.",
    "With {value} as the {key}.",
    "We see {value} for the {key}.",
    "{value} is the {key}.",
    "The {key} was {value}.",
    "a {key} of {value},",
    "{key} = {value};",
    "the {key} ({value})",
    "My {key} is {value}.",
    "{key} - {value}",
    "They gave {value} as {key}.",
    "the {key} {value},",
    "{value} ({key})",
    "Her {key} will be {value}.",
    "For {key} write {value}.",
]
ITEM_KEYS = """name age city job price title quantity total amount color size weight date time code email phone street country
status category author rating brand model year month day score level type kind id number team party speed height width genre
language currency room floor gate seat platform host guest owner teacher student doctor patient species breed sender recipient
subject topic duration distance temperature capital population director artist album song course grade club position material
destination origin departure arrival balance account reason result method source target label tag state region zip""".split()


def key_name(source: Source) -> tuple[str, str]:
    """Return the key of a field and its name in the text."""
    roll = source.rng.random()
    if roll < 0.45:
        word = source.word(1, 3)
        return word, word
    if roll < 0.8:
        word = source.pick(ITEM_KEYS)
        return word, word
    first, second = (source.word(1, 2), source.pick(ITEM_KEYS))
    return f"{first}_{second}", f"{first} {second}"


def any_value(source: Source) -> tuple[str, object, Shape]:
    """Return the spelling of a value, the value and its shape."""
    roll = source.rng.random()
    if roll < 0.30:
        word = source.nonsense()
        return word, word, STRING
    if roll < 0.45:
        name = source.name()
        return name, name, STRING
    if roll < 0.55:
        text = source.own(lambda: " ".join(source.word(1, 2) for _ in range(source.rng.randint(2, 3))))
        return text, text, STRING
    if roll < 0.60:
        text = source.pick([source.code(), source.email(), source.phone()])
        return text, text, STRING
    if roll < 0.74:
        drawn = source.integer(0, source.pick_int((9, 99, 99, 999, 99999)))
        return drawn.text, drawn.value, INTEGER
    if roll < 0.80:
        drawn = source.decimal(0, 300)
        return drawn.text, drawn.value, NUMBER
    if roll < 0.85:
        drawn = source.day()
        return drawn.text, drawn.value, DATE
    if roll < 0.88:
        drawn = source.clock()
        return drawn.text, drawn.value, TIME
    if roll < 0.94:
        words = [source.word(1, 2) for _ in range(source.rng.randint(2, 4))]
        word = source.rng.choice(words)
        return word, word, enum(words)
    if roll < 0.97:
        value = source.chance(0.5)
        return ("yes" if value else "no"), value, BOOLEAN
    items = [source.nonsense() for _ in range(source.rng.randint(1, 3))]
    text = items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]
    return text, items, Array(STRING)


def facts(source: Source, longest: int = 5) -> Example:
    """Return some named facts in any order; the type requests some of them, and some that are missing."""
    rng = source.rng
    count = rng.randint(1, longest)
    rows: dict[str, tuple[str, str, object, Shape]] = {}
    while len(rows) < count:
        key, key_text = key_name(source)
        text, value, shape = any_value(source)
        rows[key] = (key_text, text, value, shape)
    style = rng.sample(FORMS, rng.randint(1, 3))
    text = " ".join(
        rng.choice(style).format(key=key_text, value=spelling) for key_text, spelling, _, _ in rows.values()
    )
    fields, answer = [], {}
    for key in rng.sample(list(rows), rng.randint(1, count)):
        shape = rows[key][3]
        fields.append((key, Nullable(shape) if rng.random() < 0.25 else shape, ""))
        answer[key] = rows[key][2]
    if rng.random() < 0.3:
        missing, _ = key_name(source)
        if missing not in rows:
            position = rng.randint(0, len(fields))
            fields.insert(position, (missing, Nullable(any_value(source)[2]), ""))
            answer = {key: answer.get(key) for key, _, _ in fields}
    name = source.type_name()
    return Example(text, Object(name, tuple(fields)), answer)


def quotation(source: Source) -> Example:
    """Return one string to copy, the shortest exercise."""
    text = source.own(lambda: " ".join(source.word(1, 3) for _ in range(source.rng.randint(1, 5))))
    if source.chance(0.5):
        text = text.title() if source.chance(0.5) else text.capitalize()
    key, key_text = key_name(source)
    sentence = source.pick(FORMS).format(key=key_text, value=text)
    name = source.type_name()
    if source.chance(0.2):
        return Example(sentence, STRING, text)
    return Example(sentence, Object(name, ((key, STRING, ""),)), {key: text})


def exercise(source: Source, longest: int = 5) -> Example:
    return quotation(source) if source.chance(0.25) else facts(source, longest)
