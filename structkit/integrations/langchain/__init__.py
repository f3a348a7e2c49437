"""A structkit model as a chat model of LangChain: each reply is valid text, calls of tools, or a value of a schema.

Install the extra `langchain`.

>>> from pydantic import BaseModel
>>> from structkit.integrations.langchain import ChatStructkit
>>> from structkit.testing import ScriptedModel
>>> class Person(BaseModel):
...     name: str
...     age: int
>>> chat = ChatStructkit(model=ScriptedModel(['{"name": "Ana", "age": 34}']))
>>> chat.with_structured_output(Person).invoke("Ana is 34.")
Person(name='Ana', age=34)
"""

from __future__ import annotations

from structkit.errors import MissingExtra

try:
    import langchain_core  # noqa: F401
except ImportError as error:
    raise MissingExtra("langchain", "structkit.integrations.langchain needs", "langchain-core") from error

from structkit.integrations.langchain.model import ChatStructkit

__all__ = ["ChatStructkit"]
