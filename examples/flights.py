"""A flight search: an agent in a tool of another agent, a validator with dependencies, and limits.

The model is scripted; for a real one, use `sk.load("Qwen/Qwen3-0.6B")`. Prints:

    the validator rejects SFO-AK123
    found SFO-AK456 for $180
    seat 6A
    the search stops after 1 tool call
    no flight to Paris
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field

import structkit as sk
from structkit.testing import ScriptedModel

WEB_PAGE = """
1. Flight SFO-AK123, $350, San Francisco (SFO) to Anchorage (ANC), January 10, 2027
2. Flight SFO-AK456, $180, San Francisco (SFO) to Anchorage (ANC), January 11, 2027
"""

CHEAP = '{"flight_number": "SFO-AK456", "price": 180, "origin": "SFO", "destination": "ANC", "date": "2027-01-11"}'
DEAR = '{"flight_number": "SFO-AK123", "price": 350, "origin": "SFO", "destination": "ANC", "date": "2027-01-10"}'
SEARCH = '{"name": "extract_flights", "arguments": {}}'
NOT_FOUND = '{"reason": "no flight to Paris"}'

Airport = Annotated[str, Field(pattern="^[A-Z]{3}$", description="Three-letter airport code")]


class Flight(BaseModel):
    flight_number: str
    price: int
    origin: Airport
    destination: Airport
    date: datetime.date


class NoFlight(BaseModel):
    """There is no flight that fits."""

    reason: str


class Seat(BaseModel):
    row: Annotated[int, Field(ge=1, le=30)]
    seat: Literal["A", "B", "C", "D", "E", "F"]


@dataclass
class Deps:
    web_page: str
    date: datetime.date


extractor = sk.Agent(
    ScriptedModel([f"[{DEAR}, {CHEAP}]"] * 2),
    output_type=list[Flight],
    instructions="Extract all flights from the page.",
)
seats = sk.Agent(
    ScriptedModel(['{"row": 6, "seat": "A"}']),
    output_type=Seat,
    instructions="Extract the preferred seat. A and F are window seats; row 6 has extra leg room.",
)


async def extract_flights(context: sk.Context[Deps]) -> list[Flight]:
    """The flights of the page."""
    limits = sk.UsageLimits(max_tokens=context.tokens_left, timeout=context.seconds_left)
    result = await extractor.arun(context.deps.web_page, usage_limits=limits)
    context.spend(result.usage)
    return result.value


def check_date(context: sk.Context[Deps], value: Flight | NoFlight) -> None:
    """Compare the flight with the request."""
    if isinstance(value, Flight) and value.date != context.deps.date:
        print(f"the validator rejects {value.flight_number}")
        raise sk.Retry(f"the flight must be on {context.deps.date}")


searcher = sk.Agent(
    ScriptedModel([SEARCH, DEAR, CHEAP, SEARCH, SEARCH, NOT_FOUND]),
    tools=[extract_flights],
    output_type=Flight | NoFlight,
    deps_type=Deps,
    instructions="Find the cheapest flight for the user on the given date.",
    validate=check_date,
    max_tokens=2_000,
)


def main() -> None:
    deps = Deps(WEB_PAGE, datetime.date(2027, 1, 11))
    prompt = f"A flight from SFO to ANC on {deps.date}."
    found = searcher.run(prompt, deps=deps)
    if isinstance(found.value, Flight):
        print(f"found {found.value.flight_number} for ${found.value.price}")
        seat = seats.run("A window seat with leg room, please.").value
        print(f"seat {seat.row}{seat.seat}")
    try:
        searcher.run(prompt, deps=deps, usage_limits=sk.UsageLimits(max_tool_calls=1))
    except sk.UsageLimitExceeded as error:
        print(f"the search stops after {sum(call.error is None for call in error.calls)} tool call")
    missing = searcher.run("A flight to Paris.", deps=deps).value
    if isinstance(missing, NoFlight):
        print(missing.reason)


if __name__ == "__main__":
    main()
