"""The support agent of a bank: dependencies, a typed output, and instructions that depend on the customer.

The model is scripted; for a real one, use `sk.load("Qwen/Qwen3-0.6B")`. Prints:

    Support(advice='Hello John, your balance is $123.45, pending included.', block_card=False, risk=1)
    calls: balance(include_pending=True) -> $123.45
    Support(advice='I am sorry, John. I am blocking your card now.', block_card=True, risk=8)
    calls: none
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel, Field

import structkit as sk
from structkit.testing import ScriptedModel

REPLIES = [
    '{"name": "balance", "arguments": {"include_pending": true}}',
    '{"advice": "Hello John, your balance is $123.45, pending included.", "block_card": false, "risk": 1}',
    '{"advice": "I am sorry, John. I am blocking your card now.", "block_card": true, "risk": 8}',
]


@dataclass
class Bank:
    """Stands for the database of a bank."""

    async def customer_name(self, customer_id: int) -> str:
        """Return the name of a customer."""
        return {123: "John"}[customer_id]

    async def balance(self, customer_id: int, include_pending: bool) -> float:
        """Return the balance of a customer."""
        return {123: 123.45 if include_pending else 100.0}[customer_id]


@dataclass
class Deps:
    """What the tools and the instructions of a run receive."""

    customer_id: int
    bank: Bank


class Support(BaseModel):
    advice: str = Field(description="Advice for the customer")
    block_card: bool = Field(description="Whether to block the card of the customer")
    risk: int = Field(description="Risk of the query", ge=0, le=10)


async def customer(context: sk.Context[Deps]) -> str:
    """Tell the model who asks."""
    name = await context.deps.bank.customer_name(context.deps.customer_id)
    return f"The name of the customer is {name}."


async def balance(context: sk.Context[Deps], include_pending: bool) -> str:
    """The current balance of the customer's account.

    Args:
        context: The dependencies of the run.
        include_pending: Whether to include pending transactions.
    """
    amount = await context.deps.bank.balance(context.deps.customer_id, include_pending)
    return f"${amount:.2f}"


agent = sk.Agent(
    ScriptedModel(REPLIES),
    tools=[balance],
    output_type=Support,
    deps_type=Deps,
    instructions=[
        "You are a support agent in our bank. Help the customer, and judge the risk of the query.",
        customer,
    ],
)


async def main() -> None:
    deps = Deps(customer_id=123, bank=Bank())
    for prompt in ("What is my balance?", "I just lost my card!"):
        result = await agent.arun(prompt, deps=deps)
        print(repr(result.value))
        calls = [
            f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"
            f" -> {call.tool_result}"
            for call in result.calls
        ]
        print(f"calls: {', '.join(calls) or 'none'}")


if __name__ == "__main__":
    asyncio.run(main())
