"""A pydantic-ai program on a structkit model: the support agent of a bank, with dependencies and dynamic instructions.

The model is scripted; for a real one, call `structkit.load("Qwen/Qwen3-0.6B")`. Install `structkit-llm[pydantic-ai]`.

Prints:

    support_advice='Hello John, your balance is $123.45, pending included.' block_card=False risk=1
    support_advice='I am sorry, John. I am blocking your card now.' block_card=True risk=8
"""

import asyncio
from dataclasses import dataclass

from pydantic import BaseModel, Field
from pydantic_ai import Agent, RunContext

from structkit.integrations.pydantic_ai import StructkitModel
from structkit.testing import ScriptedModel

SCRIPT = [
    '{"name": "customer_balance", "arguments": {"include_pending": true}}',
    '{"support_advice": "Hello John, your balance is $123.45, pending included.", "block_card": false, "risk": 1}',
    '{"support_advice": "I am sorry, John. I am blocking your card now.", "block_card": true, "risk": 8}',
]


@dataclass
class Bank:
    """Stands for the database of a bank."""

    async def customer_name(self, customer_id: int) -> str:
        """The name of a customer."""
        return {123: "John"}[customer_id]

    async def customer_balance(self, customer_id: int, include_pending: bool) -> float:
        """The balance of a customer."""
        return {123: 123.45 if include_pending else 100.0}[customer_id]


@dataclass
class SupportDeps:
    customer_id: int
    bank: Bank


class SupportOutput(BaseModel):
    support_advice: str = Field(description="Advice for the customer")
    block_card: bool = Field(description="Whether to block the card of the customer")
    risk: int = Field(description="Risk of the query, from 0 to 10", ge=0, le=10)


support_agent = Agent(
    StructkitModel(ScriptedModel(SCRIPT)),
    deps_type=SupportDeps,
    output_type=SupportOutput,
    instructions="You are a support agent in our bank. Help the customer, and judge the risk of the query.",
)


@support_agent.instructions
async def add_customer_name(context: RunContext[SupportDeps]) -> str:
    """Tell the model who asks."""
    name = await context.deps.bank.customer_name(context.deps.customer_id)
    return f"The name of the customer is {name!r}."


@support_agent.tool
async def customer_balance(context: RunContext[SupportDeps], include_pending: bool) -> str:
    """The current balance of the customer's account.

    Args:
        context: The dependencies of the run.
        include_pending: Whether to include pending transactions.
    """
    balance = await context.deps.bank.customer_balance(context.deps.customer_id, include_pending)
    return f"${balance:.2f}"


async def main() -> None:
    deps = SupportDeps(customer_id=123, bank=Bank())
    for prompt in ("What is my balance?", "I just lost my card!"):
        result = await support_agent.run(prompt, deps=deps)
        print(result.output)


if __name__ == "__main__":
    asyncio.run(main())
