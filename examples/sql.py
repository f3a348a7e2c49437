"""SQL from a question: a validator lets the database check the query, and the model reads what the database says.

The model is scripted; for a real one, use `sk.load("Qwen/Qwen3-0.6B")`. Prints:

    the database rejects: no such column: created
    select message from records where day = '2026-11-20' and level = 'error'
    [('disk full',)]
    refused: there is no table of users
"""

from __future__ import annotations

import sqlite3

from pydantic import BaseModel, Field

import structkit as sk
from structkit.testing import ScriptedModel

SCHEMA = "create table records (day text, level text, message text)"
REPLIES = [
    '{"query": "select message from records where created > 0", "explanation": ""}',
    '{"query": "select message from records where day = \'2026-11-20\' and level = \'error\'", "explanation": ""}',
    '{"error": "there is no table of users"}',
]


class Query(BaseModel):
    """SQL for the request."""

    query: str = Field(pattern="^select ", examples=["select * from records where level = 'error'"])
    explanation: str = Field("", description="Explanation of the query")


class InvalidRequest(BaseModel):
    """The request does not contain enough information for SQL."""

    error: str


def explain(context: sk.Context[sqlite3.Connection], value: Query | InvalidRequest) -> None:
    """Let the database check the query."""
    if isinstance(value, Query):
        try:
            context.deps.execute(f"explain {value.query}")
        except sqlite3.Error as error:
            print(f"the database rejects: {error}")
            raise sk.Retry(f"invalid query: {error}") from error


agent = sk.Agent(
    ScriptedModel(REPLIES),
    output_type=Query | InvalidRequest,
    deps_type=sqlite3.Connection,
    instructions=f"Write SQL for the request of the user.\n\nSchema:\n{SCHEMA}",
    validate=explain,
)


def main() -> None:
    database = sqlite3.connect(":memory:")
    database.execute(SCHEMA)
    database.execute("insert into records values ('2026-11-20', 'error', 'disk full')")
    for request in ("The errors of yesterday", "The names of all users"):
        value = agent.run(request, deps=database).value
        if isinstance(value, Query):
            print(value.query)
            print(database.execute(value.query).fetchall())
        else:
            print(f"refused: {value.error}")
    database.close()


if __name__ == "__main__":
    main()
