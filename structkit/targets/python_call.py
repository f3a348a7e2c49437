"""The target `PythonCall`: a call in Python notation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, overload

from typing_extensions import Unpack

from structkit.arguments.names import names_arguments
from structkit.errors import SchemaError
from structkit.functions.call import Call
from structkit.functions.output import FunctionOutput
from structkit.functions.python_arguments import PythonArgumentsReader
from structkit.functions.signature import is_function, read_signature
from structkit.limits import Limits
from structkit.lowering.containers.notation import PYTHON, is_keyword
from structkit.lowering.lower import lower
from structkit.regex.merge import RuleMerger
from structkit.regex.nodes import LiteralText, Rules, choice, seq
from structkit.rejected import Rejected
from structkit.schema.algebra.string_oracle import StringOracle
from structkit.schema.markers.annotations import has_annotation
from structkit.schema.markers.json_style import JsonStyle
from structkit.schema.markers.quote import QUOTE_KEYWORD
from structkit.schema.view.describe import describe
from structkit.targets.base import RulesOptions, Target
from structkit.targets.python_quotes import with_single_quotes
from structkit.targets.specs import TextTarget, short_text

__all__ = ["PythonCall", "PythonCallTarget"]

R_co = TypeVar("R_co", covariant=True)


@names_arguments
@dataclass(frozen=True, init=False, repr=False)
class PythonCall(TextTarget[Call[R_co]]):
    r"""A call of one of some functions in Python notation, such as `add(a=1, b=2)`; the value is a `Call`.

    Arguments have their names and are literals; their texts are never evaluated. Parameters with a default can be left
    out. Strings are in double or single quotes, `"x"` or `'x'`, but those with a pattern or a format, and those that
    must be distinct, such as the keys of a dict, are in double quotes. In a `structkit.Grammar`, a hole with this
    target is a call inside other text.

    Attributes:
        functions: The functions.

    >>> import structkit as sk
    >>> def add(a: int, b: int = 1) -> int:
    ...     return a + b
    >>> call = sk.extract(sk.testing.ScriptedModel(["add(a=2, b=3)"]), "Two and three", sk.PythonCall(add))
    >>> call, call.call()
    (Call(add(a=2, b=3)), 5)
    """

    functions: tuple[Callable[..., object], ...]

    @overload
    def __init__(self, *functions: Callable[..., Awaitable[R_co]]) -> None: ...

    @overload
    def __init__(self, *functions: Callable[..., R_co]) -> None: ...

    def __init__(self, *functions: Callable[..., object]) -> None:
        """Create a target of calls.

        Args:
            *functions: Functions with annotated parameters.

        Raises:
            SchemaError: There is no function, two have the same name, or the signature of one cannot be read.
        """
        object.__setattr__(self, "functions", functions)
        _ = self.names

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        found: dict[str, None] = {}
        for function in self.functions:
            if not is_function(function):
                given: object = function
                remedy = "PythonCall(*functions)" if isinstance(given, (list, tuple)) else "PythonCall(f)"
                raise SchemaError(
                    f"PythonCall takes functions, not {short_text(repr(function))}; write {remedy}"
                )
            name = read_signature(function).name
            if not is_keyword(name):
                raise SchemaError(
                    f"the function name {name!r} is not a name in Python; use letters, digits and _",
                    place=name,
                )
            if name in found:
                raise SchemaError(f"two functions are named {name}; names must differ", place=name)
            found[name] = None
        if not found:
            raise SchemaError("PythonCall needs at least one function; write PythonCall(f)")
        return tuple(found)

    def __repr__(self) -> str:
        return f"PythonCall({', '.join(self.names)})"


@dataclass(frozen=True)
class PythonCallTarget(Target[Call[object]]):
    """A `PythonCall` whose functions are read.

    Attributes:
        spec: The target.
        outputs: The arguments of each function, by its name.
    """

    spec: PythonCall[object]
    outputs: Mapping[str, FunctionOutput]

    @classmethod
    def read(
        cls, spec: PythonCall[object], *, policy: JsonStyle, limits: Limits, oracle: StringOracle
    ) -> PythonCallTarget:
        """Read the parameters of the functions.

        Raises:
            SchemaError: The type of a parameter cannot be parsed from JSON.
            LimitExceeded: The types are too large or too deep.
        """
        outputs = [
            FunctionOutput.read(read_signature(function), policy=policy, limits=limits, oracle=oracle)
            for function in spec.functions
        ]
        return cls(spec, {output.name: output for output in outputs})

    @property
    def name(self) -> str:
        """The functions."""
        return short_text(repr(self.spec))

    def json_schema(self) -> dict[str, object]:
        """Return the schema of the text."""
        return {"type": "string"}

    @cached_property
    def has_quotes(self) -> bool:
        """Whether arguments are quotes."""
        return any(has_annotation(each.full_json_schema, QUOTE_KEYWORD) for each in self.outputs.values())

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        """Return the union of the calls."""
        merger = RuleMerger()
        calls = []
        for name, output in self.outputs.items():
            arguments = merger.add(f"{name}()", lower(output.document, notation=PYTHON, **style))
            calls.append(seq(LiteralText(f"{name}("), arguments, LiteralText(")")))
        return with_single_quotes(merger.rules(choice(calls)))

    def parse(self, text: str, context: object = None) -> Call[object] | Rejected:
        """Return the call that a text represents, or why the types of the parameters reject it."""
        name, _, rest = text.partition("(")
        reader = PythonArgumentsReader()
        end, arguments = reader.read(rest.encode())
        if name not in self.outputs or not reader.is_complete or rest.encode()[end:] != b")":
            error = ValueError(f"{short_text(repr(text))} is not a call of {', '.join(self.outputs)}")
            return Rejected((), str(error), error)
        return self.outputs[name].parse(arguments, context)

    @property
    def is_json(self) -> bool:
        """False."""
        return False

    def description(self) -> str:
        """Return the functions with the types of their arguments."""
        functions, definitions = [], []
        for name, output in self.outputs.items():
            first, *more = describe(output.document, name).split("\n")
            functions.append(f"{name}({first.removeprefix(f'{name} = ')})")
            definitions += more
        lines = [*functions, *dict.fromkeys(definitions)]
        return 'a call with its arguments by name, as in f(a=1, b="x"), of:\n' + "\n".join(lines)
