"""Extract a person with LlamaIndex and the demo model.

Prints:

    Person(name='Ana Souza', age=34, job='nurse')
    {"name":"Peter Novak","age":52,"job":null}
"""

from __future__ import annotations

from llama_index.core.prompts import PromptTemplate
from pydantic import BaseModel

import structkit as sk
from examples.llama_index.llm import StructkitLLM


class Person(BaseModel):
    name: str
    age: int
    job: str | None = None


def main() -> None:
    llm = StructkitLLM(model=sk.load(), options={"max_tokens": 60})
    print(
        repr(
            llm.structured_predict(
                Person, PromptTemplate("{text}"), text="Ana Souza, 34, works as a nurse in Porto."
            )
        )
    )
    print(llm.as_structured_llm(Person).complete("Peter Novak is 52."))


if __name__ == "__main__":
    main()
