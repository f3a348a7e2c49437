"""Functions of users: whether they take the context is read from their signature."""

from __future__ import annotations

import inspect
from itertools import product
from typing import Any

import pytest

import structkit as sk
from structkit.agent.prompt.callback import read_callback

PARAMETERS = [
    ", ".join([*names[:required], *(f"{name}=0" for name in names[required : required + optional]), *rest])
    for names in (["a", "b", "c", "d"],)
    for required, optional in product(range(4), range(2))
    for rest in ([], ["*more"], ["*", "k=0"], ["*", "k"], ["**others"])
]


@pytest.mark.parametrize("arguments", [(), ("messages",)])
def test_a_function_takes_the_context_if_its_required_arguments_are_more(arguments: tuple[str, ...]) -> None:
    """It is accepted if it can be called with what it then receives."""
    refused = 0
    for parameters in PARAMETERS:
        function: Any = eval(f"lambda {parameters}: None")
        signature = inspect.signature(function)
        required = [
            each.name
            for each in signature.parameters.values()
            if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        ]
        takes_context = len(required) > len(arguments)
        try:
            signature.bind(*range(len(arguments) + takes_context))
        except TypeError:
            refused += 1
            with pytest.raises(TypeError) as error:
                read_callback(function, "here", arguments, object)
            wanted = "(context, messages) or of (messages)" if arguments else "(context) or of ()"
            takes = ", ".join(required) or "no argument"
            assert str(error.value) == f"here (<lambda>) takes {takes}; write a function of {wanted}"
        else:
            found = read_callback(function, "here", arguments, object)
            assert (found.function, found.location, found.takes_context) == (
                function,
                "here (<lambda>)",
                takes_context,
            )
    assert 5 < refused < len(PARAMETERS) - 5


def test_an_annotation_says_that_the_context_is_taken() -> None:
    def of_context(context: sk.Context[int] = None) -> str:
        return ""

    def unknown(context: Missing) -> str:  # noqa: F821
        return ""

    found = read_callback(of_context, "here", (), int)
    assert found.takes_context and found.deps_type is int
    assert read_callback(unknown, "here", (), int).takes_context
    assert not read_callback(dict, "here", (), int).takes_context
    with pytest.raises(sk.AgentError):
        read_callback(of_context, "here", (), str)
