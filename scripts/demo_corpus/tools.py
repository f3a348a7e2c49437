"""Tools: the functions that requests can need, with their parameters and sample requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from demo_corpus.frames import Slot
from demo_corpus.life import EVENTS
from demo_corpus.makers import city, clock, day, integer, listed, person, plain
from demo_corpus.shapes import NUMBER, STRING
from demo_corpus.values import SlotValue, Source


@dataclass(frozen=True)
class Tool:
    """A function: its names, its parameters as slots, and requests for it."""

    names: str
    slots: dict[str, Slot]
    requests: list[str]


def text(keys: str, make: Callable[[Source], str]) -> Slot:
    return Slot(keys, STRING, plain(make))


def when(keys: str) -> Slot:
    return text(
        keys,
        lambda source: source.pick(
            [
                "today",
                "tomorrow",
                "tonight",
                "on Monday",
                "on Friday",
                "on Sunday",
                "this weekend",
                "next week",
                "on Tuesday",
                "on Saturday",
            ]
        ).removeprefix("on "),
    )


def sum_maker(source: Source) -> SlotValue:
    a, b = source.rng.randint(1, 999), source.rng.randint(1, 99)
    sign = source.pick(["+", "-", "*", "/"])
    expression = (
        f"{a} {sign} {b}"
        if source.chance(0.8)
        else f"{a} {sign} {b} {source.pick(['+', '-', '*'])} {source.rng.randint(1, 99)}"
    )
    return SlotValue(expression, expression)


def query(source: Source) -> str:
    make = source.pick(
        [
            "best {}",
            "cheap {}",
            "{} near me",
            "history of the {}",
            "how to repair a {}",
            "{} reviews",
            "{}",
            "where to buy a {}",
            "{} for children",
            "{} recipes",
        ]
    )
    return source.own(lambda: make.format(source.product() if source.chance(0.7) else source.word(1, 2)))


def message(source: Source) -> str:
    lines = [
        "I will be late",
        "the meeting is cancelled",
        "thank you for the book",
        "see you tomorrow",
        "the parcel has arrived",
        "dinner is ready",
        "please call me back",
        "happy birthday",
        "we need more {}",
        "I found the {}",
        "the {} is broken",
        "can you bring the {}",
        "I am at the station",
        "the {} has arrived",
        "do not forget the {}",
        "the {} is in the kitchen",
    ]
    return source.own(lambda: source.pick(lines).format(source.product()))


def title(source: Source) -> str:
    return source.own(
        lambda: (
            source.pick(
                [
                    *EVENTS,
                    "dentist",
                    "lunch",
                    "dinner",
                    "team meeting",
                    "call",
                    "haircut",
                    "doctor",
                    "interview",
                ]
            ).lower()
            if source.chance(0.7)
            else f"{source.pick(['lunch', 'call', 'meeting', 'dinner'])} with {source.given()}"
        )
    )


TOOLS = [
    Tool(
        "get_weather get_weather weather weather_forecast get_forecast check_weather",
        {
            "city": city("city city location place town"),
            "day": when("day day date when"),
            "unit": listed("unit units scale", ["celsius", "fahrenheit"]),
        },
        [
            "What is the weather in {city} {on_day}?",
            "Weather in {city}?",
            "What is the weather like in {city}?",
            "Will it rain in {city} {on_day}?",
            "How warm is it in {city}, in {unit}?",
            "Tell me the weather for {city} {on_day}.",
            "Do I need an umbrella in {city} {on_day}?",
            "Is it cold in {city} {on_day}?",
            "How is the weather {on_day} in {city}?",
            "Give me the forecast for {city}.",
            "Forecast for {city} {on_day} in {unit}, please.",
            "I am going to {city} {on_day}, will it be sunny?",
            "What's the temperature in {city}?",
            "Show the weather {on_day} in {city} in {unit}.",
            "Will it snow in {city}?",
            "What will the weather be in {city} {on_day}?",
        ],
    ),
    Tool(
        "create_event create_event add_event calendar add_to_calendar schedule schedule_meeting",
        {
            "title": text("title title event name summary what", title),
            "date": day("date date day when"),
            "time": clock("time time start start_time at"),
            "person": person("with attendee guest person"),
        },
        [
            "Put {title} on {date} at {time} in my calendar.",
            "Add {title} to my calendar on {date}.",
            "Schedule {title} for {date} at {time}.",
            "Create an event: {title}, {date}, {time}.",
            "Please plan {title} on {date}.",
            "New appointment {title} at {time} on {date}.",
            "Schedule {title} with {person} on {date}.",
            "Enter {title} on {date} at {time}.",
            "I have {title} on {date}, note it please.",
            "Book {title} for {date}, {time}, with {person}.",
            "Set up {title} with {person} at {time} on {date}.",
            "Make an appointment for {title} on {date}.",
        ],
    ),
    Tool(
        "calculate calculate calculator compute evaluate calc",
        {"expression": Slot("expression expression formula calculation input", STRING, sum_maker)},
        [
            "What is {expression}?",
            "Calculate {expression}.",
            "Compute {expression} for me.",
            "How much is {expression}?",
            "{expression} = ?",
            "Please work out {expression}.",
            "Tell me the result of {expression}.",
            "I need {expression}.",
            "Can you calculate {expression}?",
            "Evaluate {expression}",
            "{expression}?",
        ],
    ),
    Tool(
        "search search web_search search_web find lookup",
        {
            "query": text("query query q text terms question", query),
            "limit": integer("limit max_results count number", 1, 20),
        },
        [
            "Search for {query}.",
            "Find {query} on the web.",
            "Look up {query}.",
            "Search the web for {query}.",
            "Show me {limit} results for {query}.",
            "I want to find {query}.",
            "Google {query}",
            "Please search {query}.",
            "Find me {limit} pages about {query}.",
            "Look for {query} online.",
            "Can you search for {query}?",
        ],
    ),
    Tool(
        "send_email send_email email mail send_mail write_email",
        {
            "to": text("to to recipient address email", lambda s: s.email() if s.chance(0.6) else s.name()),
            "subject": text(
                "subject subject title topic",
                lambda s: s.own(lambda: s.product() if s.chance(0.5) else s.title()),
            ),
            "body": text("body body message text content", message),
        },
        [
            "Send an e-mail to {to} saying {body}.",
            "Write to {to} that {body}.",
            "Email {to}: {body}",
            "Mail {to} about the {subject}: {body}.",
            "Send {to} a mail with the subject {subject} and the text {body}.",
            "Tell {to} by e-mail that {body}.",
            "E-mail {to}, subject {subject}: {body}.",
            "Please send a mail to {to}: {body}.",
            "Write an e-mail to {to} with the subject {subject}.",
            "Let {to} know by mail that {body}.",
            "Write to {to} about the {subject}.",
            "Send {to} an e-mail about {subject}.",
            "Mail {to} about {subject}.",
            "Email {to} about the {subject}.",
        ],
    ),
    Tool(
        "send_message send_message text sms message",
        {"to": person("to recipient name contact"), "text": text("text message body content", message)},
        [
            "Text {to} that {text}.",
            "Send {to} a message: {text}.",
            "Message {to}: {text}",
            "Tell {to} that {text}.",
            "Send a text to {to} saying {text}.",
            "Let {to} know that {text}.",
        ],
    ),
    Tool(
        "set_alarm set_alarm alarm wake_up",
        {"time": clock("time time at when"), "label": text("label name title", title)},
        [
            "Wake me up at {time}.",
            "Set an alarm for {time}.",
            "Alarm at {time}, please.",
            "Set an alarm called {label} for {time}.",
            "I must get up at {time}.",
            "Please wake me at {time}.",
        ],
    ),
    Tool(
        "set_timer timer start_timer countdown",
        {"minutes": integer("minutes minutes duration length", 1, 90)},
        [
            "Set a timer for {minutes} minutes.",
            "Start a countdown of {minutes} minutes.",
            "Timer: {minutes} minutes.",
            "Remind me in {minutes} minutes.",
        ],
    ),
    Tool(
        "play_music play_music play play_song",
        {"song": text("song title track name", Source.title), "artist": person("artist artist singer by")},
        [
            "Play {song} by {artist}.",
            "Put on {song}.",
            "I want to hear {song} by {artist}.",
            "Play something by {artist}.",
            "Can you play {song}?",
        ],
    ),
    Tool(
        "book_table book_table reserve_table reservation",
        {
            "people": integer("people guests party_size", 1, 12),
            "time": clock("time time at"),
            "date": day("date day"),
        },
        [
            "Book a table for {people} at {time}.",
            "Reserve a table for {people} on {date} at {time}.",
            "We need a table for {people} on {date}.",
            "A table for {people}, {time}, please.",
        ],
    ),
    Tool(
        "translate translate translate_text",
        {
            "text": text("text text phrase sentence", message),
            "language": listed(
                "language target target_language to",
                ["French", "German", "Spanish", "Italian", "Portuguese", "Polish", "Turkish"],
            ),
        },
        [
            "Translate {text} into {language}.",
            "How do you say {text} in {language}?",
            "What is {text} in {language}?",
            "Say {text} in {language}.",
        ],
    ),
    Tool(
        "get_stock_price convert convert_currency exchange",
        {
            "amount": Slot("amount amount value", NUMBER, lambda s: s.decimal(1, 500)),
            "source": listed("from from_currency source", ["EUR", "USD", "GBP", "JPY"]),
            "target": listed("to to_currency target", ["CHF", "SEK", "NOK", "BRL"]),
        },
        [
            "Convert {amount} {source} to {target}.",
            "How much is {amount} {source} in {target}?",
            "Change {amount} {source} into {target}.",
        ],
    ),
    Tool(
        "turn_on light switch_light set_light lights_on",
        {
            "room": text(
                "room room place where",
                lambda s: s.own(
                    lambda: (
                        s.pick(
                            [
                                "kitchen",
                                "bedroom",
                                "bathroom",
                                "living room",
                                "hall",
                                "garage",
                                "garden",
                                "office",
                            ]
                        )
                        if s.chance(0.7)
                        else s.word(1, 2)
                    )
                ),
            ),
            "level": integer("level brightness percent", 1, 100),
        },
        [
            "Turn on the light in the {room}.",
            "Set the light in the {room} to {level} percent.",
            "Light in the {room}, please.",
            "Dim the {room} to {level}.",
        ],
    ),
    Tool(
        "find_route directions navigate route",
        {"start": city("start from_city origin from_place"), "end": city("end to_city destination to_place")},
        [
            "How do I get from {start} to {end}?",
            "Show me the way from {start} to {end}.",
            "Navigate to {end}.",
            "Route from {start} to {end}.",
            "I want to drive from {start} to {end}.",
        ],
    ),
]
