"""Functions as output types and inside types: the arguments object is generated and parsed to a `Call`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import cast

from typing_extensions import TypeForm

from structkit.errors import SchemaError
from structkit.functions.call import Call
from structkit.functions.signature import Signature, read_signature
from structkit.limits import Limits
from structkit.rejected import Rejected
from structkit.schema.algebra.string_oracle import UNDECIDED, StringOracle
from structkit.schema.markers.json_style import JsonStyle
from structkit.schema.python.calls import FunctionForm, arguments_type
from structkit.schema.python.output import OutputType

__all__ = ["FunctionOutput", "function_form"]


class FunctionOutput(OutputType[object]):
    """The arguments of a function as an `OutputType`; its instances are `Call` objects.

    A pydantic type of the function itself would call the function during validation.

    Attributes:
        signature: The function.
    """

    def __init__(self, arguments: OutputType[object], signature: Signature) -> None:
        super().__init__(arguments._adapter, signature.name, arguments.document)
        self.signature = signature
        self.full_json_schema = arguments.full_json_schema

    @classmethod
    def read(
        cls,
        signature: Signature,
        *,
        policy: JsonStyle = JsonStyle(),  # noqa: B008
        limits: Limits = Limits(),  # noqa: B008
        oracle: StringOracle = UNDECIDED,
    ) -> FunctionOutput:
        """Create an output type from a signature. Parameters with a default are optional.

        Args:
            signature: The function.
            policy: The JSON style of the call.
            limits: Bounds on the size of the schema.
            oracle: Decides questions about patterns of names.

        Raises:
            SchemaError: The type of a parameter cannot be parsed from JSON; the error names the parameter.
            LimitExceeded: The types are too large or too deep.

        >>> from structkit.functions.signature import read_signature
        >>> def add(a: int, b: int = 1) -> int:
        ...     return a + b
        >>> FunctionOutput.read(read_signature(add)).parse('{"a": 2}')
        Call(add(a=2, b=1))
        """
        try:
            read = OutputType.of(
                _arguments_of(signature, signature.description),
                policy=policy,
                limits=limits,
                oracle=oracle,
                read_function=function_form,
            )
        except SchemaError as error:
            raise _with_parameter(signature, error, limits) from error
        return cls(read, signature)

    def serialize(
        self, value: object, *, exclude_unset: bool = False, context: object = None
    ) -> Iterator[tuple[object, object] | Rejected]:
        """Yield the arguments of a call or of a dict as JSON values, each after its `Call`."""
        for form in super().serialize(_given_arguments(value), exclude_unset=exclude_unset, context=context):
            if isinstance(form, Rejected):
                yield form
                continue
            _, dump = form
            call = self.parse(json.dumps(dump), context)
            if not isinstance(call, Rejected):
                yield call, dump

    def parse(self, text: str, context: object = None) -> Call[object] | Rejected:
        """Return the call that a JSON text represents, or why the types of the parameters reject the text."""
        written = super().parse(text, context)
        if isinstance(written, Rejected):
            return written
        arguments = self.signature.arguments(written if isinstance(written, dict) else {})
        return Call(self.signature.function, self.signature.name, arguments)


def function_form(function: Callable[..., object]) -> FunctionForm:
    """Return the form of a function inside a type: its values are `Call` objects.

    Raises:
        SchemaError: The signature cannot be read; see `read_signature`.
    """
    signature = read_signature(function)

    def call(values: dict[str, object]) -> Call[object]:
        return Call(function, signature.name, signature.arguments(values))

    # The description has the name: a union of functions shows the model only their arguments.
    described = f"Call {signature.name}. {signature.description}".strip()
    return FunctionForm(_arguments_of(signature, described), call, _given_arguments)


def _given_arguments(value: object) -> object:
    return dict(value.arguments) if isinstance(value, Call) else value


def _arguments_of(signature: Signature, description: str) -> TypeForm[object]:
    parameters = {
        each.name: (each.annotation, each.required, each.description) for each in signature.parameters
    }
    return arguments_type(signature.name, parameters, description)


def _with_parameter(signature: Signature, error: SchemaError, limits: Limits) -> SchemaError:
    """Return the error with the name of the first parameter whose type is invalid."""
    for each in signature.parameters:
        try:
            OutputType.of(
                cast("TypeForm[object]", each.annotation), limits=limits, read_function=function_form
            )
        except SchemaError as found:
            inner = (found.place or "$").removeprefix("$")
            return SchemaError(found.message, place=f"{signature.name}({each.name}){inner}")
    return SchemaError(error.message, place=f"{signature.name}(){(error.place or '$').removeprefix('$')}")
