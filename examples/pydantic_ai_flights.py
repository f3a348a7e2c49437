"""A pydantic-ai program on a structkit model: a flight search with two agents, shared limits and a choice of the user.

The search agent calls a second agent in a tool, and its output validator asks again until the flight fits the request.
The model is scripted; for a real one, call `structkit.load("Qwen/Qwen3-0.6B")`. Install `structkit-llm[pydantic-ai]`.

Prints:

    the validator refuses SFO-AK123
    found SFO-AK456 for $180
    seat 6A
    a search with one request is stopped
    no flight to Paris
"""

import asyncio
import datetime
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, RunContext, RunUsage, UsageLimitExceeded, UsageLimits

from structkit.integrations.pydantic_ai import StructkitModel
from structkit.testing import ScriptedModel

WEB_PAGE = """
1. Flight SFO-AK123, $350, San Francisco (SFO) to Anchorage (ANC), January 10, 2027
2. Flight SFO-AK456, $180, San Francisco (SFO) to Anchorage (ANC), January 11, 2027
"""

CHEAP = '{"flight_number": "SFO-AK456", "price": 180, "origin": "SFO", "destination": "ANC", "date": "2027-01-11"}'
DEAR = '{"flight_number": "SFO-AK123", "price": 350, "origin": "SFO", "destination": "ANC", "date": "2027-01-10"}'
NOT_FOUND = '{"name": "final_result_NoFlightFound", "arguments": {"reason": "no flight to Paris"}}'
SEARCH = '{"name": "extract_flights", "arguments": {}}'


def final(details: str) -> str:
    """The call of the output tool for flight details."""
    return f'{{"name": "final_result_FlightDetails", "arguments": {details}}}'


class FlightDetails(BaseModel):
    flight_number: str
    price: int
    origin: Annotated[str, Field(pattern="^[A-Z]{3}$", description="Three-letter airport code")]
    destination: Annotated[str, Field(pattern="^[A-Z]{3}$", description="Three-letter airport code")]
    date: datetime.date


class NoFlightFound(BaseModel):
    """There is no flight that fits."""

    reason: str


class SeatPreference(BaseModel):
    row: Annotated[int, Field(ge=1, le=30)]
    seat: Literal["A", "B", "C", "D", "E", "F"]


@dataclass
class Deps:
    web_page: str
    destination: str
    date: datetime.date


search_agent = Agent(
    deps_type=Deps,
    output_type=[FlightDetails, NoFlightFound],
    retries=2,
    instructions="Find the cheapest flight for the user on the given date.",
)
extraction_agent = Agent(output_type=list[FlightDetails], instructions="Extract all flights from the page.")
seat_agent = Agent(
    output_type=SeatPreference,
    instructions="Extract the preferred seat. A and F are window seats; row 6 has extra leg room.",
)


@search_agent.tool
async def extract_flights(context: RunContext[Deps]) -> list[FlightDetails]:
    """The flights of the page."""
    result = await extraction_agent.run(context.deps.web_page, usage=context.usage)
    return result.output


@search_agent.output_validator
async def check_flight(
    context: RunContext[Deps], output: FlightDetails | NoFlightFound
) -> FlightDetails | NoFlightFound:
    """Compare the flight with the request."""
    if isinstance(output, FlightDetails) and output.date != context.deps.date:
        print(f"the validator refuses {output.flight_number}")
        raise ModelRetry(f"the flight must be on {context.deps.date}")
    return output


async def main() -> None:
    usage = RunUsage()
    deps = Deps(web_page=WEB_PAGE, destination="ANC", date=datetime.date(2027, 1, 11))
    searcher = StructkitModel(ScriptedModel([SEARCH, final(DEAR), final(CHEAP), SEARCH, NOT_FOUND]))
    extractor = StructkitModel(ScriptedModel([f'{{"response": [{DEAR}, {CHEAP}]}}'] * 2))
    seats = StructkitModel(ScriptedModel(['{"row": 6, "seat": "A"}']))
    with (
        search_agent.override(model=searcher),
        extraction_agent.override(model=extractor),
        seat_agent.override(model=seats),
    ):
        limits = UsageLimits(request_limit=8)
        prompt = f"A flight from SFO to {deps.destination} on {deps.date}."
        found = (await search_agent.run(prompt, deps=deps, usage=usage, usage_limits=limits)).output
        if isinstance(found, FlightDetails):
            print(f"found {found.flight_number} for ${found.price}")
            answer = "A window seat with leg room, please."
            seat = (await seat_agent.run(answer, usage=usage, usage_limits=limits)).output
            print(f"seat {seat.row}{seat.seat}")
        try:
            await search_agent.run(prompt, deps=deps, usage_limits=UsageLimits(request_limit=1))
        except UsageLimitExceeded:
            print("a search with one request is stopped")
        missing = (await search_agent.run("A flight to Paris.", deps=deps)).output
        if isinstance(missing, NoFlightFound):
            print(missing.reason)


if __name__ == "__main__":
    asyncio.run(main())
