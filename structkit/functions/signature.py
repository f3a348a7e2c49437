"""Signatures of functions: parameters, annotations and descriptions from the docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, singledispatchmethod
from types import SimpleNamespace, UnionType
from typing import Annotated, Any, TypeGuard, Union, cast, get_args, get_origin

from typing_extensions import NotRequired, ReadOnly, Required, get_type_hints, is_typeddict

from structkit.errors import SchemaError
from structkit.functions.docstring import read_docstring
from structkit.schema.python.calls import is_field

__all__ = ["Parameter", "Signature", "is_function", "read_signature", "reject_callable_object"]

_KINDS = {
    inspect.Parameter.VAR_POSITIONAL: "takes any number of arguments; replace it with a list, or decorate it with "
    "functools.wraps(f)",
    inspect.Parameter.VAR_KEYWORD: "takes arguments of any name; replace it with a dict or with named parameters",
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only, but arguments have names; remove the `/`, or wrap it",
}


_NAMES_OF_CONTEXTS = frozenset({"context", "ctx", "run_context", "runtime", "wrapper"})
"""Usual names of a parameter that an agent supplies."""

_OTHER_AGENTS = frozenset({"agents", "langchain", "langgraph", "pydantic_ai"})
_OTHER_CONTEXTS = frozenset({"RunContext", "RunContextWrapper", "ToolContext", "ToolRuntime"})
"""Packages of agents, and what they call the context of a tool."""

OMITTED = object()
"""The default of a parameter whose argument is left out of the call."""

_TYPING = {"typing", "typing_extensions"}
"""Modules whose types are callable objects, such as `list[int]`."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter whose argument is generated.

    Attributes:
        name: The name of the parameter.
        annotation: Its type.
        required: Whether it has no default.
        default: Its default; `None` if `required`, and `OMITTED` for an optional key of an `Unpack` of a `TypedDict`.
        description: The description of its pydantic `Field`, or else a string in its `Annotated`, or else that in the
            docstring.
    """

    name: str
    annotation: object
    required: bool
    default: object
    description: str | None


@dataclass(frozen=True, slots=True)
class Signature:
    """The signature of a function.

    Attributes:
        function: The function.
        name: Its name.
        description: The text of its docstring before the first section.
        parameters: The parameters whose arguments are generated.
        context_type: The annotation of the first parameter if the caller supplies its argument.
        context_name: The name of that parameter if it is keyword-only.
    """

    function: Callable[..., object]
    name: str
    description: str
    parameters: tuple[Parameter, ...]
    context_type: object = None
    context_name: str | None = None

    def arguments(self, values: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of a call: the given values, and the defaults of the other parameters."""
        found = {each.name: values.get(each.name, each.default) for each in self.parameters}
        return {name: value for name, value in found.items() if value is not OMITTED}


def is_function(given: object) -> TypeGuard[Callable[..., object]]:
    """Return whether an object is a function or method, or a `functools.partial` of one.

    >>> is_function(len), is_function(int)
    (True, False)
    """
    return inspect.isroutine(given) or (isinstance(given, partial) and is_function(given.func))


def reject_callable_object(given: object) -> None:
    """Reject an instance of a class with `__call__`, which is neither a type nor a function.

    Raises:
        SchemaError: The object is such an instance; the error names the remedy.
    """
    inner = given.func if isinstance(given, partial) else given
    kind = type(inner)
    if isinstance(inner, type) or kind.__module__ in _TYPING or hasattr(kind, "__get_pydantic_core_schema__"):
        return
    if inspect.isfunction(getattr(kind, "__call__", None)):  # noqa: B004 (slots in C are those of types)
        name = kind.__name__
        raise SchemaError(
            f"an object of {name} can be called, but is neither a type nor a function; give its method, as in "
            f"{name.lower()}.__call__, or write a def that calls it",
            place=name,
        )


def read_signature(
    function: Callable[..., object], *, name: str | None = None, given: type | None = None
) -> Signature:
    """Read the signature of a function.

    Args:
        function: A function, a method of an instance, or a `functools.partial`.
        name: A name to use instead of its own.
        given: A class; the caller supplies the first parameter if it is annotated with this class.

    Raises:
        SchemaError: A parameter has no annotation, an unresolvable one, or is positional-only or variadic; or the
            function has no name, or was made by `functools.singledispatch`. The error names function and parameter.

    >>> def add(a: int, b: int = 1) -> int:
    ...     '''Add two numbers.
    ...
    ...     Args:
    ...         a: The first.
    ...     '''
    ...     return a + b
    >>> found = read_signature(add)
    >>> found.description, [(each.name, each.required, each.description) for each in found.parameters]
    ('Add two numbers.', [('a', True, 'The first.'), ('b', False, None)])
    """
    inner = _unwrapped(function)
    called = name or str(getattr(inner, "__name__", "<function>"))
    if called.startswith("<"):
        raise SchemaError(
            f"a {called.strip('<>')} has no name for a model to call it by; write a def", place=called
        )
    if _is_dispatching(inner):
        raise SchemaError(
            f"{called} is dispatched by the type of its first argument and cannot be called with names alone; write a "
            "def with a union as the type of its parameter that calls it",
            place=called,
        )
    parameters = list(_parameters(function, called))
    hints = _hints(inner, parameters, called)
    first = _without_annotated(hints.get(parameters[0].name)) if parameters else None
    is_given = given is not None and (first is given or get_origin(first) is given)
    docstring = read_docstring(inspect.getdoc(inner))
    return Signature(
        function,
        called,
        docstring.description,
        tuple(
            found
            for each in parameters[1 if is_given else 0 :]
            for found in (
                _unpacked(hints.get(each.name), called, docstring.parameters)
                or [_parameter(each, hints, called, docstring.parameters)]
            )
        ),
        first if is_given else None,
        parameters[0].name if is_given and parameters[0].kind is inspect.Parameter.KEYWORD_ONLY else None,
    )


def _unwrapped(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, partial):
        function = function.func
    return function


def _is_dispatching(function: Callable[..., object]) -> bool:
    """Return whether a function was made by `functools.singledispatch` or `singledispatchmethod`."""
    if hasattr(function, "dispatch") and hasattr(function, "registry"):
        return True
    return isinstance(getattr(getattr(function, "register", None), "__self__", None), singledispatchmethod)


def _parameters(function: Callable[..., object], called: str) -> list[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise SchemaError(
            f"Python does not know the parameters of {called}; wrap it in a def", place=called
        ) from error
    bound: Mapping[str, object] = function.keywords if isinstance(function, partial) else {}
    return [each for name, each in parameters.items() if name not in bound]


def _hints(
    function: Callable[..., object], parameters: list[inspect.Parameter], name: str
) -> dict[str, object]:
    """Return the resolved annotations of the parameters; the return annotation is not resolved."""
    inner = inspect.unwrap(getattr(function, "__func__", function))
    local = _closure(inner)
    known: dict[str, Any] = getattr(inner, "__globals__", {})
    written = {each.name: each.annotation for each in parameters if each.annotation is not each.empty}
    return _resolved(SimpleNamespace(__annotations__=written), name, known, local or None)


def _resolved(
    annotated: Any, name: str, known: dict[str, Any] | None = None, local: dict[str, Any] | None = None
) -> dict[str, object]:
    """Return the resolved annotations of an object."""
    try:
        return dict(get_type_hints(annotated, known, local, include_extras=True))
    except (NameError, TypeError, SyntaxError, AttributeError) as error:
        raise SchemaError(
            f"an annotation of {name} cannot be resolved: {error}; define the type at the top of its module",
            place=name,
        ) from error


def _closure(function: Callable[..., object]) -> dict[str, object]:
    """Return the variables of enclosing functions that already have a value."""
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    seen: dict[str, object] = {}
    for name, cell in zip(names, getattr(function, "__closure__", None) or (), strict=False):
        with suppress(ValueError):  # an empty cell: a tool may refer to its agent, which is created later
            seen[name] = cell.cell_contents
    return seen


def _parameter(
    parameter: inspect.Parameter,
    hints: Mapping[str, object],
    function_name: str,
    described: Mapping[str, str],
) -> Parameter:
    name, place = parameter.name, f"{function_name}({parameter.name})"
    _check_parameter(parameter, hints, function_name, place)
    annotation: Any = _iterable_as_list(hints[name], f"the parameter {name} of {function_name}", place)
    metadata = getattr(annotation, "__metadata__", ())
    fields = filter(is_field, (*metadata, parameter.default))
    written = [
        *filter(None, [described.get(name)]),
        *[text for text in metadata if isinstance(text, str)][:1],  # as for LangChain and the Agents SDK
        *(field.description for field in fields if field.description),
    ]
    description = written[-1] if written else None
    if is_field(parameter.default):  # pydantic fills in the default of the field
        return Parameter(name, Annotated[annotation, parameter.default], True, None, description)
    required = parameter.default is inspect.Parameter.empty
    default = None if required else parameter.default
    return Parameter(name, annotation, required, default, description)


def _check_parameter(
    parameter: inspect.Parameter, hints: Mapping[str, object], function_name: str, place: str
) -> None:
    """Raise `SchemaError` for a parameter that a call cannot pass."""
    name = parameter.name
    if parameter.kind in _KINDS:
        raise SchemaError(f"the parameter {name} of {function_name} {_KINDS[parameter.kind]}", place=place)
    if name == "self" and name not in hints:
        raise SchemaError(f"{function_name} is the method of a class; give that of an instance", place=place)
    if name not in hints:
        kind = "structkit.Context[object]" if name in _NAMES_OF_CONTEXTS else "str"
        raise SchemaError(
            f"the parameter {name} of {function_name} has no annotation; write its type, such as {name}: {kind}",
            place=place,
        )
    outer = get_origin(hints[name]) or hints[name]
    module, kind = (str(getattr(outer, each, "")) for each in ("__module__", "__name__"))
    if module.partition(".")[0] in _OTHER_AGENTS and kind in _OTHER_CONTEXTS:
        raise SchemaError(
            f"the parameter {name} of {function_name} is the {kind} of another library; write "
            f"structkit.Context, as in {name}: structkit.Context[object]",
            place=place,
        )
    reason = _unwritable_reason(hints[name])
    if reason is not None:
        is_union = get_origin(_without_annotated(hints[name])) in (Union, UnionType)
        raise SchemaError(
            f"the parameter {name} of {function_name} {reason}; "
            f"{'annotate it with this type alone, as' if is_union else 'make it'} the first parameter of a tool",
            place=place,
        )


def _unpacked(annotation: object, function_name: str, described: Mapping[str, str]) -> list[Parameter]:
    """Return the keys of a `TypedDict` that `**arguments: Unpack[...]` takes; nothing for other annotations."""
    keys: Any = next(iter(get_args(annotation)), None)
    origin = get_origin(annotation)  # of typing, or of typing_extensions
    if getattr(origin, "_name", None) != "Unpack" or not is_typeddict(keys):
        return []
    found = []
    for name, hint in _resolved(keys, function_name).items():
        required = name in keys.__required_keys__
        while (qualifier := cast("object", get_origin(hint))) in (NotRequired, ReadOnly, Required):
            required = required if qualifier is ReadOnly else qualifier is Required
            hint = get_args(hint)[0]
        parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        read = _parameter(parameter, {name: hint}, function_name, described)
        found.append(replace(read, required=required, default=None if required else OMITTED))
    return found


def _without_annotated(annotation: Any) -> Any:
    """Return the type inside `Annotated`."""
    return _without_annotated(annotation.__origin__) if get_origin(annotation) is Annotated else annotation


def _unwritable_reason(annotation: Any) -> str | None:
    """Return why a type, or a member of a union, cannot be generated; `None` if it can."""
    kind = _without_annotated(annotation)
    if get_origin(kind) in (Union, UnionType):
        return next(filter(None, map(_unwritable_reason, get_args(kind))), None)
    reason = getattr(get_origin(kind) or kind, "unwritable_reason", None)
    return reason if isinstance(reason, str) else None


def _iterable_as_list(annotation: Any, what: str, path: str) -> Any:
    """Replace `Iterable` by `list`: pydantic validates an `Iterable` lazily and yields its items only once."""
    origin, parts = get_origin(annotation) or annotation, get_args(annotation)
    if origin is Iterable:
        return list[parts[0]] if parts else list  # type: ignore[valid-type]
    if origin is Generator:
        raise SchemaError(f"{what} is a generator, which no value is read as; take a list", place=path)
    if origin is Annotated:
        arguments = (_iterable_as_list(parts[0], what, path), *annotation.__metadata__)
        of: Any = Annotated
        return of[arguments]
    if origin in (Union, UnionType):
        return Union[tuple(_iterable_as_list(each, what, path) for each in parts)]  # noqa: UP007
    return annotation
