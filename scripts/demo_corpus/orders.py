"""Orders and reviews: texts in which values depend on each other, or with a list inside an object."""

from __future__ import annotations

from demo_corpus.example import Example
from demo_corpus.frames import LEADS, TAILS, fill, sentences
from demo_corpus.opinions import BAD, GLAD, GOOD, MEH, REVIEW, SORRY, SOSO, opinion
from demo_corpus.shapes import DATE, INTEGER, NUMBER, STRING, Array, Nullable, Object, Scalar, Shape, enum
from demo_corpus.values import SlotValue, Source

ORDERS = [
    "{items} for {customer}, to be sent to {street}, {city}.",
    "{customer} orders {items}. Send to {street}, {city}.",
    "{customer} would like {items}, delivered to {street} in {city}.",
    "Please send {items} to {customer}, {street}, {city}.",
    "Order from {customer}: {items}.",
    "{customer} bought {items} on {date}.",
    "{items} for {customer}.",
    "{items}, please. {customer}, {street}, {city}",
    "I want to order {items}. My name is {customer}, I live at {street}, {city}.",
    "New order {code}: {items} for {customer}.",
    "On {date} {customer} ordered {items}.",
    "Hello, this is {customer} from {city}. I need {items}.",
    "Ship {items} to {street}, {city}. The customer is {customer}.",
    "{items} to {street}, {city}, for {customer}, total {total}.",
    "{customer} ({email}) ordered {items}.",
    "Order {code} on {date}: {items}. Ship to {customer}, {street}, {city}.",
    "Customer {customer}, {items}, {street}, {city}.",
    "We sold {items} to {customer}.",
    "{customer} paid {total} for {items}.",
    "Can you send me {items}? {customer}, {street}, {city}",
    "{items} were ordered by {customer} on {date}.",
    "For {customer} in {city}: {items}.",
    "{customer} asked for {items}; the address is {street}, {city}.",
    "{code} | {customer} | {items} | {total}",
    "I'd like {items} please, to {street}, {city}. Thanks, {customer}",
    "Delivery for {customer}, {street}, {city}: {items}.",
    "Dear shop, please send {items} to {street}, {city}. Yours, {customer}",
    "{items} go to {customer} at {street}, {city}.",
]
PLURAL_WORDS = ["copies of", "pieces of", "boxes of", "packs of", "units of", "bottles of"]
FIELDS = {
    "customer": "customer customer name client buyer customer_name ordered_by",
    "code": "code order_id number order_number id reference",
    "date": "date order_date ordered_on day",
    "email": "email customer_email mail",
    "total": "total total_price amount sum",
    "street": "street street address address_line",
    "city": "city town place",
}


def order(source: Source, heldout_sentences: bool = False) -> Example:
    """Return an order: a customer, some items with quantities and prices, often an address."""
    priced = source.chance(0.5)
    rows = [item(source, priced) for _ in range(source.rng.choice([1, 1, 2, 2, 3]))]
    texts = [text for text, _ in rows]
    items = (
        texts[0]
        if len(texts) == 1
        else ", ".join(texts[:-1]) + source.pick([" and ", " and ", ", "]) + texts[-1]
    )
    values = {
        "items": SlotValue(items, None),
        "customer": copy(source.name()),
        "street": copy(source.street()),
        "city": copy(source.city()),
        "code": copy(source.code()),
        "email": copy(source.email()),
        "date": source.day(),
        "total": source.price(500),
    }
    sentence = source.pick(sentences(ORDERS, heldout_sentences))
    if len(rows) == 1 and priced and "for {customer}" in sentence and source.chance(0.6):
        values["items"] = SlotValue(str(rows[0][1]["text"]), None)
        values["each"] = SlotValue(str(rows[0][1]["each"]), None)
        sentence = sentence.replace("for {customer}", "for {customer}, {each} each")
    text = source.pick(LEADS) + capital(fill(sentence, values, source)) + source.pick(TAILS)
    mentioned = [name for name in FIELDS if "{" + name + "}" in sentence]
    shape, answer = order_type(source, mentioned, values, [row for _, row in rows], priced)
    return Example(text, shape, answer)


def copy(text: str) -> SlotValue:
    return SlotValue(text, text)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def item(source: Source, priced: bool) -> tuple[str, dict[str, object]]:
    """Return one line of an order: its text, and its title, quantity and price."""
    thing = source.title() if source.chance(0.5) else source.product()
    count = source.rng.choice([1, 1, 2, 3, source.rng.randint(1, 40)])
    price = source.price(80)
    number = (
        str(count)
        if source.chance(0.6)
        else source.pick(
            [
                str(count),
                ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"][count]
                if count <= 10
                else str(count),
            ]
        )
    )
    if count == 1:
        text = source.pick(
            ["a {}", "one {}", "1 {}", "one copy of {}", "a copy of {}", "1 x {}", "the {}"]
        ).format(thing)
    else:
        text = source.pick(
            [
                f"{number} {source.pick(PLURAL_WORDS)} {thing}",
                f"{number} {thing}",
                f"{number} x {thing}",
                f"{number}x {thing}",
                f"{number} copies of {thing}",
                f"{number} times {thing}",
            ]
        )
    unpriced = text
    if priced:
        text += source.pick(
            [", {} each", " at {}", " at {} each", " for {} each", " ({})", ", {}", " ({} each)"]
        ).format(price.text)
    return text, {
        "title": thing,
        "quantity": count,
        "price": price.value if priced else None,
        "text": unpriced,
        "each": price.text,
    }


def order_type(
    source: Source,
    mentioned: list[str],
    values: dict[str, SlotValue],
    rows: list[dict[str, object]],
    priced: bool,
) -> tuple[Object, object]:
    """Return the type of an order, with some of its fields, its items as a list and the address, and the answer."""
    rng = source.rng
    item_keys = {
        "title": source.pick("title title product name item book article description".split()),
        "quantity": source.pick("quantity quantity count amount number copies qty".split()),
        "price": source.pick("price price unit_price cost price_each".split()),
    }
    parts = ["title", "quantity", "price"] if priced or rng.random() < 0.25 else ["title", "quantity"]
    if rng.random() < 0.15:
        parts.remove("quantity")
    shapes: dict[str, Shape] = {
        "title": STRING,
        "quantity": source.rng.choice([INTEGER, INTEGER, Scalar("integer (at least 1)")]),
        "price": NUMBER if priced else Nullable(NUMBER),
    }
    line = Object(
        source.pick(["Item", "Line", "OrderItem", "Product", "Book"]),
        tuple((item_keys[part], shapes[part], "") for part in parts),
    )
    lines: list[object] = [{item_keys[part]: row[part] for part in parts} for row in rows]
    if parts == ["title"] and rng.random() < 0.5:
        lines, line = [row["title"] for row in rows], STRING  # type: ignore[assignment]
    if rng.random() < 0.1:
        return Array(line), lines  # type: ignore[return-value]

    fields: dict[str, tuple[Shape, object]] = {}
    for name in (["customer"] if rng.random() < 0.85 or mentioned == ["customer"] else []) + [
        each
        for each in FIELDS
        if each not in ("customer", "street", "city")
        and ((each in mentioned and rng.random() < 0.6) or rng.random() < 0.06)
    ]:
        known = name in mentioned
        shape = {"date": DATE, "total": NUMBER}.get(name, STRING)
        fields[source.pick(FIELDS[name].split())] = (
            shape if known and rng.random() < 0.85 else Nullable(shape),
            values[name].value if known else None,
        )
    fields[source.pick("items items items products lines order_items books articles".split())] = (
        Array(line),
        lines,
    )
    add_address(source, mentioned, values, fields)
    keys = list(fields)
    if rng.random() < 0.3:
        rng.shuffle(keys)
    name = source.pick(["Order", "Order", "Order", "Purchase", "BookOrder", "Sale", "Cart", "Request"])
    return Object(name, tuple((key, fields[key][0], "") for key in keys)), {
        key: fields[key][1] for key in keys
    }


def add_address(
    source: Source,
    mentioned: list[str],
    values: dict[str, SlotValue],
    fields: dict[str, tuple[Shape, object]],
) -> None:
    """Add the address as an object, as two fields, or not at all; it is null if the text has none."""
    known = [name for name in ("street", "city") if name in mentioned]
    if not known and source.chance(0.7):
        return
    roll = source.rng.random()
    keys = {name: source.pick(FIELDS[name].split()) for name in ("street", "city")}
    if roll < 0.65:
        shape: Shape = Object(
            "Address",
            tuple(
                (keys[name], STRING if name in known or not known else Nullable(STRING), "") for name in keys
            ),
        )
        inside = {keys[name]: values[name].value if name in known else None for name in keys}
        key = source.pick(
            "address address address shipping_address ship_to delivery_address destination".split()
        )
        fields[key] = (shape if known and source.chance(0.8) else Nullable(shape), inside if known else None)
    elif roll < 0.9:
        for name in keys:
            if name in known:
                fields.setdefault(keys[name], (STRING, values[name].value))


def review(source: Source, heldout_sentences: bool = False) -> Example:
    """Return a review with its mood, its stars (mentioned, or implied by the mood) and its recommendation."""
    rng = source.rng
    mood = source.pick(["positive", "negative", "neutral"])
    makers = {"positive": opinion(GOOD, GLAD), "negative": opinion(BAD, SORRY), "neutral": opinion(SOSO, MEH)}
    values = {name: slot.make(source) for name, slot in REVIEW.slots.items()}
    values["sentiment"] = SlotValue(makers[mood](source), mood)
    number = rng.choice({"positive": [4, 5, 5], "negative": [1, 1, 2], "neutral": [3]}[mood])
    mentions_stars = source.chance(0.45)
    sentence = source.pick(sentences(REVIEW.sentences, heldout_sentences))
    stars = stars_text(source, number)
    text = fill(sentence, values, source)
    if mentions_stars:
        text = source.pick(
            [
                f"{text} {stars}.",
                f"{stars}. {text}",
                f"{text} I give it {stars}.",
                f"{text} ({stars})",
                f"{capital(stars)}! {text}",
                f"{text} Only {stars}." if mood == "negative" else f"{text} {stars}!",
            ]
        )
    guess = {"positive": 5, "negative": 1, "neutral": 3}[mood]
    mentioned = [name for name in REVIEW.slots if "{" + name + "}" in sentence]
    fields: dict[str, tuple[Shape, object]] = {}
    for name in mentioned:
        if name == "sentiment" or rng.random() < 0.7:
            slot = REVIEW.slots[name]
            fields[source.pick(slot.keys.split())] = (
                slot.shape_for(source),
                values[name].value,
            )
    if mentions_stars or source.chance(0.3):
        nullable = not mentions_stars and source.chance(0.5)
        shape: Shape = source.rng.choice([INTEGER, Scalar("integer (1 to 5)"), Scalar("integer (1 to 5)")])
        fields[source.pick("stars stars rating score".split())] = (
            Nullable(shape) if nullable else shape,
            number if mentions_stars else None if nullable else guess,
        )
    missing = source.pick(["author", "date", "price", "product"])
    if missing not in mentioned and source.chance(0.25):
        slot = REVIEW.slots[missing]
        fields[source.pick(slot.keys.split())] = (Nullable(slot.shape_for(source)), None)
    lead = source.pick(LEADS)
    if source.chance(0.1):
        options = ["positive", "negative", "neutral"]
        rng.shuffle(options)
        return Example(lead + text, enum(options), mood)
    keys = list(fields)
    if source.chance(0.5):
        rng.shuffle(keys)
    name = source.pick(REVIEW.names.split())
    return Example(
        lead + text,
        Object(name, tuple((key, fields[key][0], "") for key in keys)),
        {key: fields[key][1] for key in keys},
    )


def stars_text(source: Source, number: int) -> str:
    word = ["one", "two", "three", "four", "five"][number - 1]
    plural = "s" if number > 1 else ""
    return source.pick(
        [
            f"{number} star{plural}",
            f"{word} star{plural}",
            f"{number}/5",
            f"{number} out of 5",
            f"{word} out of five",
            f"{number} of 5 stars",
        ]
    )
