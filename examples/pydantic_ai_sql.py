"""A pydantic-ai program on a structkit model: SQL from a question, with an output validator that runs `explain`.

The model is scripted; for a real one, call `structkit.load("Qwen/Qwen3-0.6B")`. Install `structkit-llm[pydantic-ai]`.

Prints:

    the database refuses: no such column: created
    select message from records where day = '2026-11-20' and level = 'error'
    [('disk full',)]
    refused: there is no table of users
"""

import asyncio
import sqlite3
from typing import Annotated, TypeAlias

from annotated_types import MinLen
from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, RunContext, format_as_xml

from structkit.integrations.pydantic_ai import StructkitModel
from structkit.testing import ScriptedModel

SCHEMA = "create table records (day text, level text, message text)"
EXAMPLES = [
    {"request": "show me all records", "response": "select * from records"},
    {"request": "show me errors", "response": "select * from records where level = 'error'"},
]


class Success(BaseModel):
    """SQL could be written."""

    sql_query: Annotated[str, MinLen(1)]
    explanation: str = Field("", description="Explanation of the query, in Markdown")


class InvalidRequest(BaseModel):
    """The request does not contain enough information for SQL."""

    error_message: str


Response: TypeAlias = Success | InvalidRequest


def call(name: str, arguments: str) -> str:
    """A call of an output tool."""
    return f'{{"name": "final_result_{name}", "arguments": {arguments}}}'


SCRIPT = [
    call("Success", '{"sql_query": "select message from records where created > 0"}'),
    call(
        "Success",
        "{\"sql_query\": \"select message from records where day = '2026-11-20' and level = 'error'\"}",
    ),
    call("InvalidRequest", '{"error_message": "there is no table of users"}'),
]

agent: Agent[sqlite3.Connection, Response] = Agent(
    StructkitModel(ScriptedModel(SCRIPT)),
    output_type=[Success, InvalidRequest],
    deps_type=sqlite3.Connection,
)


@agent.instructions
def instructions() -> str:
    """Describe the database."""
    return f"Write SQL for the request of the user.\n\nSchema:\n{SCHEMA}\n\n{format_as_xml(EXAMPLES)}"


@agent.output_validator
async def validate_sql(context: RunContext[sqlite3.Connection], output: Response) -> Response:
    """Let the database check the query."""
    if isinstance(output, InvalidRequest):
        return output
    if not output.sql_query.lower().startswith("select"):
        raise ModelRetry("write a SELECT query")
    try:
        context.deps.execute(f"explain {output.sql_query}")
    except sqlite3.Error as error:
        print(f"the database refuses: {error}")
        raise ModelRetry(f"invalid query: {error}") from error
    return output


async def main() -> None:
    database = sqlite3.connect(":memory:")
    database.execute(SCHEMA)
    database.execute("insert into records values ('2026-11-20', 'error', 'disk full')")
    for request in ("The errors of yesterday", "The names of all users"):
        output = (await agent.run(request, deps=database)).output
        if isinstance(output, Success):
            print(output.sql_query)
            print(database.execute(output.sql_query).fetchall())
        else:
            print(f"refused: {output.error_message}")
    database.close()


if __name__ == "__main__":
    asyncio.run(main())
