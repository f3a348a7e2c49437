"""Values: names, places, things, numbers and dates, each with the spelling of the text and the value of the answer.

A checksum assigns every string that is copied from the text to one of two halves: training excludes one in ten
(`Source.split == "heldout"` draws only from these).
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from demo_corpus.words import (
    ACCENTED,
    CITIES,
    DOMAINS,
    FAMILY,
    GIVEN,
    JOBS,
    MONTHS,
    NOUNS,
    PRODUCTS,
    STREETS,
    TITLE_HEADS,
    TITLE_TAILS,
    WEEKDAYS,
)

TYPE_NAMES = [
    "Record",
    "Data",
    "Item",
    "Facts",
    "Info",
    "Details",
    "Thing",
    "Entry",
    "Result",
    "Answer",
    "Output",
    "Model",
]
ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
TENS = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
ONSETS = (
    "b c d f g h j k l m n p r s t v w z br ch cl cr dr fl gr kl kr pl pr qu sh sk sl st str th tr".split()
)
VOWELS = "a e i o u a e i o a e ai ea ou io ee".split()
CODAS = ["", "", "", "", "", "", "", "n", "r", "s", "l", "k", "t", "m", "x", "nd", "rt", "sk", "ng", "ck"]


@dataclass(frozen=True)
class SlotValue:
    """A value: its spelling in the text and its form in the answer."""

    text: str
    value: object


def is_heldout(text: str) -> bool:
    """Whether training excludes a copied string (one in ten, by checksum)."""
    return zlib.crc32(text.encode()) % 10 == 0


class Source:
    """A seeded source of values of one split, `train` or `heldout`."""

    def __init__(self, seed: int, split: str = "train") -> None:
        self.rng = random.Random(seed)
        self.split = split

    def own(self, make: Callable[[], str]) -> str:
        """Return a string of this split: generated until its checksum matches (at most 200 times)."""
        text = make()
        for _ in range(200):
            if is_heldout(text) == (self.split == "heldout"):
                break
            text = make()
        return text

    def pick(self, options: Sequence[str]) -> str:
        return self.rng.choice(options)

    def pick_int(self, options: tuple[int, ...]) -> int:
        return self.rng.choice(options)

    def type_name(self) -> str:
        """Return a generic name for a type: `Record`, `Zorple`."""
        return self.pick(TYPE_NAMES) if self.chance(0.6) else self.word(1, 2).title()

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def word(self, low: int = 1, high: int = 3) -> str:
        """Return an invented word of `low` to `high` syllables."""
        rng = self.rng
        count = rng.randint(low, high)
        return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(count))

    def nonsense(self) -> str:
        return self.own(lambda: self.word(1, 3))

    def code(self) -> str:
        def make() -> str:
            letters = "".join(
                self.rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(self.rng.randint(1, 3))
            )
            digits = str(self.rng.randint(1, 99999))
            return letters + self.pick(["-", "", "-"]) + digits

        return self.own(make)

    def given(self) -> str:
        if self.chance(0.5):
            return self.pick(GIVEN)
        return (self.pick(ACCENTED) if self.chance(0.15) else "").title() + self.word(1, 2).title()

    def family(self) -> str:
        if self.chance(0.5):
            return self.pick(FAMILY)
        return self.word(1, 3).title()

    def name(self) -> str:
        """Return the name of a person: one to three parts, some with a particle, a hyphen or an apostrophe."""

        def make() -> str:
            roll = self.rng.random()
            if roll < 0.15:
                return self.given()
            if roll < 0.80:
                return f"{self.given()} {self.family()}"
            if roll < 0.86:
                return f"{self.given()} {self.pick(['de', 'van', 'von', 'al', 'da', 'del', 'bin', 'le'])} {self.family()}"
            if roll < 0.90:
                return f"{self.given()} {self.family()}-{self.family()}"
            if roll < 0.93:
                return f"{self.given()} O'{self.family()}"
            return f"{self.given()} {self.given()} {self.family()}"

        return self.own(make)

    def city(self) -> str:
        return self.own(lambda: self.pick(CITIES) if self.chance(0.6) else self.place())

    def place(self) -> str:
        ends = ["", "", "ton", "ville", "burg", "ford", "stad", "port"]
        prefix = self.pick(["New ", "San ", "Port ", "Saint ", "Upper "]) if self.chance(0.1) else ""
        return prefix + self.word(1, 2).title() + self.pick(ends)

    def street(self) -> str:
        def make() -> str:
            number = str(self.rng.randint(1, 240))
            stem = self.pick(STREETS) if self.chance(0.4) else self.word(1, 3).title()
            roll = self.rng.random()
            if roll < 0.4:
                return f"{number} {stem} {self.pick(['Street', 'Road', 'Avenue', 'Lane', 'Drive', 'Close', 'Square'])}"
            if roll < 0.6:
                return f"{stem}{self.pick(['straße', 'strasse', 'weg', 'gata', 'straat', 'gasse'])} {number}"
            lead = self.pick(
                ["Rua", "Rua das", "Rua do", "Via", "Calle", "Avenida", "Rue de", "Rue", "Plaza", "Piazza"]
            )
            return f"{lead} {stem} {number}"

        return self.own(make)

    def job(self) -> str:
        return self.own(
            lambda: self.pick(JOBS) if self.chance(0.85) else self.word(2, 3) + self.pick(["er", "ist", "or"])
        )

    def product(self) -> str:
        def make() -> str:
            thing = self.pick(PRODUCTS) if self.chance(0.75) else self.word(1, 3)
            roll = self.rng.random()
            return f"{self.pick(NOUNS)} {thing}" if roll < 0.15 else thing

        return self.own(make)

    def title(self) -> str:
        """Return the title of a book, a film or a talk."""

        def make() -> str:
            roll = self.rng.random()
            if roll < 0.3:
                return self.pick(TITLE_HEADS)
            if roll < 0.55:
                return f"{self.pick(TITLE_HEADS)} {self.pick(['of', 'and', 'in', 'for', 'without'])} {self.pick(TITLE_TAILS)}"
            if roll < 0.75:
                return f"The {self.word(1, 2).title()} {self.pick(TITLE_TAILS)}"
            return " ".join(self.word(1, 2).title() for _ in range(self.rng.randint(1, 2)))

        return self.own(make)

    def company(self) -> str:
        def make() -> str:
            stem = self.family() if self.chance(0.5) else self.word(1, 3).title()
            return stem + self.pick(
                ["", "", " Ltd", " Inc", " GmbH", " Group", " & Sons", " Labs", " Partners", " Systems"]
            )

        return self.own(make)

    def email(self) -> str:
        def make() -> str:
            user = self.word(1, 2) if self.chance(0.5) else self.pick(GIVEN).lower()
            if self.chance(0.4):
                user += self.pick([".", "_", "."]) + self.word(1, 2)
            if self.chance(0.15):
                user += str(self.rng.randint(1, 99))
            host = (
                self.pick(DOMAINS)
                if self.chance(0.4)
                else self.word(1, 2) + self.pick([".com", ".org", ".net", ".io", ".eu"])
            )
            return f"{user}@{host}"

        return self.own(make)

    def phone(self) -> str:
        def digits(count: int) -> str:
            return "".join(self.rng.choice("0123456789") for _ in range(count))

        return self.own(
            lambda: self.pick(
                [
                    f"+{self.rng.randint(1, 99)} {digits(3)} {digits(3)} {digits(3)}",
                    f"0{digits(3)} {digits(6)}",
                    f"{digits(3)}-{digits(4)}",
                    f"({digits(3)}) {digits(3)}-{digits(4)}",
                    f"+{self.rng.randint(1, 99)}{digits(9)}",
                ]
            )
        )

    def integer(self, low: int, high: int, words: float = 0.15) -> SlotValue:
        """Return an integer; integers up to a hundred are sometimes written in words."""
        number = self.rng.randint(low, high)
        if number <= 100 and self.chance(words if number > 12 else words * 2):
            return SlotValue(spell(number), number)
        if number >= 1000 and self.chance(0.3):
            return SlotValue(f"{number:,}", number)
        return SlotValue(str(number), number)

    def price(self, high: int = 200) -> SlotValue:
        """Return an amount of money, with or without a currency and cents."""
        rng = self.rng
        if self.chance(0.3):
            units = rng.randint(1, high)
            return SlotValue(self.money(str(units)), float(units))
        cents = rng.choice([50, 99, 25, 95, rng.randint(1, 99)])
        units = rng.randint(0 if cents > 40 else 1, high)
        return SlotValue(self.money(f"{units}.{cents:02d}"), round(units + cents / 100, 2))

    def money(self, digits: str) -> str:
        return self.pick(
            ["{}", "{}", "${}", "€{}", "£{}", "{} euros", "{} dollars", "{} EUR", "{} USD"]
        ).format(digits)

    def decimal(self, low: float, high: float) -> SlotValue:
        number = round(self.rng.uniform(low, high), self.rng.choice([1, 1, 2]))
        return SlotValue(str(number), number)

    def day(self) -> SlotValue:
        """Return a date in one of a dozen spellings; in ISO format in the answer."""
        rng = self.rng
        when = date(2020, 1, 1) + timedelta(days=rng.randrange(365 * 11))
        month = MONTHS[when.month - 1]
        suffix = "th" if 11 <= when.day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(when.day % 10, "th")
        d, y = when.day, when.year
        spellings = [
            f"{d} {month} {y}",
            f"{d} {month} {y}",
            f"{month} {d}, {y}",
            f"{month} {d}{suffix}, {y}",
            f"{d}{suffix} {month} {y}",
            f"{d} {month[:3]} {y}",
            f"{month[:3]} {d}, {y}",
            f"the {d}{suffix} of {month} {y}",
            when.isoformat(),
            when.isoformat(),
            f"{d:02d}.{when.month:02d}.{y}",
            f"{WEEKDAYS[when.weekday()]}, {d} {month} {y}",
            f"{d} {month}, {y}",
        ]
        return SlotValue(rng.choice(spellings), when.isoformat())

    def clock(self) -> SlotValue:
        """Return a time of day; HH:MM:SS in the answer."""
        hour, minute = self.rng.randint(0, 23), self.rng.choice([0, 0, 30, 15, 45, self.rng.randint(0, 59)])
        value = f"{hour:02d}:{minute:02d}:00"
        half = "am" if hour < 12 else "pm"
        twelve = hour % 12 or 12
        spellings = [f"{hour:02d}:{minute:02d}", f"{hour:02d}:{minute:02d}", f"{hour}:{minute:02d}"]
        if minute == 0:
            spellings += [f"{twelve} {half}", f"{twelve}{half}"]
        else:
            spellings += [f"{twelve}:{minute:02d} {half}"]
        if hour == 12 and minute == 0:
            spellings += ["noon", "noon"]
        return SlotValue(self.rng.choice(spellings), value)


def spell(number: int) -> str:
    """Return a number up to a hundred in words.

    >>> spell(34)
    'thirty-four'
    """
    if number == 100:
        return "a hundred"
    if number < 20:
        return ONES[number]
    return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")


def article(noun: str) -> str:
    """Return a noun with its indefinite article.

    >>> article("architect")
    'an architect'
    """
    return ("an " if noun[:1].lower() in "aeiou" else "a ") + noun
