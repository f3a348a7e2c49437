"""Targets: the kinds of output that a user can request, with one interface.

A target is a Python type, a function, a JSON Schema as a dict, a `Regex`, a `Choice` or a `Grammar`. `read_target`
returns a `Target` for each: its language (`rules`), the value of a text (`parse`), its description in prompts
(`description`) and its name in messages (`name`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, TypeAlias, cast

from typing_extensions import TypeForm, Unpack

from structkit.error_notes import safe_str
from structkit.errors import UnsupportedKeyword
from structkit.functions.output import FunctionOutput, function_form
from structkit.functions.signature import Signature, is_function, read_signature, reject_callable_object
from structkit.grammar.read import GrammarSource
from structkit.grammar.syntax.gbnf import CONTROL
from structkit.grammar.syntax.holes import fill
from structkit.limits import Limits
from structkit.lowering.alternatives import alternation
from structkit.lowering.lower import lower
from structkit.lowering.strings.oracle import AutomatonOracle
from structkit.regex.nodes import EMPTY, LiteralText, Node, RuleRef, Rules
from structkit.regex.pattern.parse import parse as parse_pattern
from structkit.rejected import Rejected
from structkit.schema.ir.nodes import Document
from structkit.schema.json_schema.parse import parse_schema
from structkit.schema.json_schema.validate import check
from structkit.schema.markers.annotations import has_annotation
from structkit.schema.markers.json_style import JsonStyle, Whitespace
from structkit.schema.markers.max_tokens import field_token_limits
from structkit.schema.markers.quote import QUOTE_KEYWORD
from structkit.schema.product.tabulate import has_products
from structkit.schema.python.output import OutputType
from structkit.schema.python.validators import PartValidator
from structkit.schema.view.canonicalize import canonicalize
from structkit.schema.view.choices import Member, choices_at
from structkit.schema.view.describe import describe
from structkit.schema.view.optional import is_optional_at
from structkit.targets.base import RulesOptions, Target
from structkit.targets.grammar import Grammar
from structkit.targets.kinds import can_be_number, is_container
from structkit.targets.mistakes import reject_value
from structkit.targets.python_call import PythonCall, PythonCallTarget
from structkit.targets.rule_reader import RuleReader
from structkit.targets.specs import Choice, JsonSchema, Regex, TextTarget, short_text

__all__ = [
    "AnyTarget",
    "RulesOptions",
    "Target",
    "read_target",
    "spec_of",
    "with_products",
]

Function: TypeAlias = "Callable[..., object]"
AnyTarget: TypeAlias = (
    "TypeForm[object] | TextTarget[object] | Mapping[str, object] | Function | Target[object]"
)
"""Any input of `read_target`."""


def read_target(
    target: AnyTarget,
    *,
    policy: JsonStyle = JsonStyle(),  # noqa: B008
    limits: Limits = Limits(),  # noqa: B008
    notes: bool = True,
    listed: bool = False,
) -> Target[object]:
    """Parse a target.

    Args:
        target: A type that pydantic can describe, a function, a JSON Schema as a dict, a `Regex`, `Choice` or
            `Grammar`; or an already parsed type or target.
        policy: The JSON style of the call. It does not apply to a JSON Schema, which declares the required keys itself.
        limits: Bounds on the size of the schema.
        notes: Whether a JSON Schema keeps its titles, descriptions and examples, which only `Target.description` uses.
        listed: Whether all rules are to be listed, so that combinations of objects cannot have a rule for each state.

    Raises:
        SchemaError: The target is none of these, or an invalid schema.
        LimitExceeded: The schema is too large.

    >>> read_target(Choice(["yes", "no"])).parse("no")
    'no'
    >>> read_target(3)
    Traceback (most recent call last):
    structkit.errors.SchemaError: invalid target 3
      pass a type, a function, a JSON Schema as a dict, ...
    """
    if isinstance(target, (dict, Mapping)):  # `isinstance` is several times faster for a dict
        target = JsonSchema(target)
    oracle = AutomatonOracle(python=not isinstance(target, JsonSchema), limits=limits)
    if isinstance(target, JsonSchema):
        parse = partial(
            parse_schema,
            target.schema,
            limits=limits,
            oracle=oracle,
            closed=target.additional == "closed",
            strict=target.strict,
            resources=target.resources,
            notes=notes,
        )
        document = parse(products="never" if listed or policy.order == "any" else "many")
        if target.bounded_numbers:
            document = replace(document, bounded_numbers=True)
        return _SchemaTarget(target, document, parse)
    if isinstance(target, Target):
        return target
    if isinstance(target, Regex):
        return _RegexTarget(target)
    if isinstance(target, Choice):
        return _ChoiceTarget(target)
    if isinstance(target, Grammar):
        return _GrammarTarget(target, policy, limits)
    if isinstance(target, PythonCall):
        return PythonCallTarget.read(target, policy=policy, limits=limits, oracle=oracle)
    given: object = target
    if not isinstance(given, Signature):
        reject_value(given)
    if is_function(given):
        given = read_signature(given)
    if isinstance(given, Signature):
        return _TypeTarget(FunctionOutput.read(given, policy=policy, limits=limits, oracle=oracle))
    if isinstance(given, OutputType):
        return _TypeTarget(given)
    reject_callable_object(given)
    form = cast("TypeForm[object]", given)
    return _TypeTarget(
        OutputType.of(form, policy=policy, limits=limits, oracle=oracle, read_function=function_form)
    )


def spec_of(target: AnyTarget) -> Regex | Choice[object] | Grammar[object] | JsonSchema | None:
    """Return the `Regex`, `Choice`, `Grammar` or `JsonSchema` of a target, parsed or not; `None` for a Python type.

    >>> spec_of({"type": "integer"})
    JsonSchema(schema={'type': 'integer'}, additional='open', strict=True, resources={}, bounded_numbers=False)
    """
    if isinstance(target, (_SchemaTarget, _ChoiceTarget, _GrammarTarget, _RegexTarget)):
        return target.spec
    if isinstance(target, Mapping):
        return JsonSchema(target)
    return target if isinstance(target, (Regex, Choice, Grammar, JsonSchema)) else None


def with_products(target: Target[object]) -> Target[object] | None:
    """Return a JSON Schema with products for all combinations of objects; `None` if it has none that were listed.

    A union of alternatives that overlap can have an automaton that is far larger than the states of a product.

    >>> one = {"type": "object", "properties": {"a": {"type": "null"}}}
    >>> found = with_products(read_target({"oneOf": [one, {"type": "object", "required": ["b"]}]}))
    >>> found is not None and found == with_products(found)
    False

    Raises:
        StructkitError: Products cannot represent the combinations.
    """
    if not isinstance(target, _SchemaTarget) or has_products(target.document):
        return None
    document = target.parse_again(products="always")
    if not has_products(document):
        return None
    return replace(target, document=replace(document, bounded_numbers=target.document.bounded_numbers))


@dataclass(frozen=True)
class _TypeTarget(Target[object]):
    output: OutputType[object]

    @property
    def ignored_formats(self) -> Set[str]:
        return self.output.ignored_formats

    @property
    def name(self) -> str:
        return self.output.name

    @property
    def document(self) -> Document:
        """The schema of the type."""
        return self.output.document

    def json_schema(self) -> dict[str, object]:
        return self.output.json_schema

    def written_schema(self) -> dict[str, object]:
        return self.output.written_schema

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        style["whitespace"] = style.get("whitespace") or self.default_whitespace
        return lower(self.output.document, **style)

    @cached_property
    def has_quotes(self) -> bool:
        return has_annotation(self.output.full_json_schema, QUOTE_KEYWORD)

    def field_limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        return field_token_limits(self.output.json_schema)

    def parse(self, text: str, context: object = None) -> object | Rejected:
        return self.output.parse(text, context)

    def json_forms(
        self, value: object, *, exclude_unset: bool = False, context: object = None
    ) -> Iterator[tuple[object, object] | Rejected]:
        for form in self.output.serialize(value, exclude_unset=exclude_unset, context=context):
            if isinstance(form, Rejected):
                yield form
                continue
            parsed, dumped = form
            for sort in (True, False):  # an array of unique items can also keep its order
                yield parsed, canonicalize(self.output.document, dumped, sort_sets=sort)

    def canonicalize(self, value: object) -> object:
        return canonicalize(self.output.document, value)

    @property
    def default_whitespace(self) -> Whitespace | None:
        return self.output.whitespace

    @property
    def is_container(self) -> bool:
        return is_container(self.output.document)

    @property
    def can_be_number(self) -> bool:
        return can_be_number(self.output.document)

    def validators(self) -> PartValidator:
        return self.output.validators

    def choices(self, path: Sequence[str | int]) -> tuple[Member, ...] | None:
        return choices_at(self.output.document, path)

    def is_optional(self, path: Sequence[str | int]) -> bool:
        return is_optional_at(self.output.document, path)

    def description(self) -> str:
        return f"JSON of this type:\n{describe(self.output.document, self.output.name)}"


@dataclass(frozen=True)
class _SchemaTarget(Target[object]):
    spec: JsonSchema
    document: Document
    parse_again: Callable[..., Document] = field(repr=False, compare=False)

    @property
    def name(self) -> str:
        title = self.spec.schema.get("title")
        return title if isinstance(title, str) and title else "JSON Schema"

    def json_schema(self) -> dict[str, object]:
        return dict(self.spec.schema)

    def field_limits(self) -> Callable[[Sequence[str | int]], int | None] | None:
        return field_token_limits(self.spec.schema)

    def choices(self, path: Sequence[str | int]) -> tuple[Member, ...] | None:
        return choices_at(self.document, path)

    def is_optional(self, path: Sequence[str | int]) -> bool:
        return is_optional_at(self.document, path)

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        strict = self.spec.strict
        try:
            return lower(self.document, strict=strict, document_keys=True, **style)
        except UnsupportedKeyword:
            if not has_products(self.document):
                raise
            # What products do not support, a smaller number of combinations does.
            document = replace(
                self.parse_again(products="never"), bounded_numbers=self.document.bounded_numbers
            )
            return lower(document, strict=strict, document_keys=True, **style)

    def parse(self, text: str, context: object = None) -> object | Rejected:
        try:
            value: object = json.loads(text)
        except ValueError as error:  # an integer with more digits than Python parses
            return Rejected((), str(error), error)
        rejected = None if self.spec.strict else check(value, self.spec.schema, self.spec.resources)
        return value if rejected is None else rejected

    def json_forms(
        self, value: object, *, exclude_unset: bool = False, context: object = None
    ) -> Iterator[tuple[object, object] | Rejected]:
        yield value, canonicalize(self.document, value)

    @property
    def is_container(self) -> bool:
        return is_container(self.document)

    @property
    def can_be_number(self) -> bool:
        return can_be_number(self.document)

    def description(self) -> str:
        return f"JSON of this type:\n{describe(self.document)}"


@dataclass(frozen=True)
class _RegexTarget(Target[str]):
    spec: Regex

    @property
    def name(self) -> str:
        return f"Regex({short_text(repr(self.spec.pattern))})"

    def json_schema(self) -> dict[str, object]:
        return {"type": "string", "pattern": f"^(?:{self.spec.pattern})$"}

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        limits = style.get("limits", Limits())
        return Rules(parse_pattern(self.spec.pattern, search=False, unicode=True, limits=limits), {})

    def parse(self, text: str, context: object = None) -> str:
        return text

    @property
    def is_json(self) -> bool:
        return False

    def description(self) -> str:
        return f"text matching /{self.spec.pattern}/"


@dataclass(frozen=True)
class _ChoiceTarget(Target[object]):
    spec: Choice[object]

    @property
    def name(self) -> str:
        return f"Choice of {len(self.spec.options)}"

    def json_schema(self) -> dict[str, object]:
        return {"enum": list(self.spec.options)}

    def choices(self, path: Sequence[str | int]) -> tuple[Member, ...] | None:
        return None if path else tuple(self.spec.values_by_text())

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        rules: dict[str, Node] = {}

        def rule(node: Node, name: str) -> Node:
            rules[name] = node
            return RuleRef(name)

        start = alternation(
            map(LiteralText, self.spec.values_by_text(style.get("whitespace") or "spaced")), rule, "$"
        )
        return Rules(start, rules, lazy=frozenset(rules))

    def parse(self, text: str, context: object = None) -> object | Rejected:
        values = self.spec.values_by_text("spaced") | self.spec.values_by_text("compact")
        try:
            return values[text]
        except KeyError as error:
            return Rejected((), f"{short_text(repr(text))} is not one of the options", error)

    @property
    def is_json(self) -> bool:
        return not self.spec.is_raw

    @property
    def can_be_number(self) -> bool:
        return any(text[-1:].isdigit() for text in self.spec.values_by_text())

    def description(self) -> str:
        texts = list(self.spec.values_by_text())
        # Texts that contain a separator are quoted, so that their ends are visible.
        if self.spec.is_raw and any(set(text) & set(',\n"') or not text for text in texts):
            texts = [json.dumps(text, ensure_ascii=False) for text in texts]
        return f"one of: {', '.join(texts)}"


@dataclass(frozen=True)
class _GrammarTarget(Target[object]):
    spec: Grammar[object]
    policy: JsonStyle
    limits: Limits

    @property
    def name(self) -> str:
        return short_text(repr(self.spec))

    def json_schema(self) -> dict[str, object]:
        return {"type": "string"}

    @cached_property
    def source(self) -> GrammarSource:
        """The grammar, in which no text continues the number of a hole; the texts of holes may have to be distinct."""
        source = self.spec.source
        holes = tuple(
            replace(hole, can_be_number=hole.has_own_rules and self.holes[hole.rule].can_be_number)
            for hole in source.holes
        )
        is_plain = not any(hole.has_own_rules for hole in holes)
        return source if is_plain else replace(source, holes=holes, labelled=False)

    @cached_property
    def _narrow_source(self) -> GrammarSource:
        """The grammar in which Lark reads only texts of their targets as holes."""

        def accepts(rule: str, text: str) -> bool:
            return not isinstance(self.holes[rule].parse(text), Rejected)

        holes = tuple(replace(hole, accepts=partial(accepts, hole.rule)) for hole in self.source.holes)
        return replace(self.source, holes=holes)

    def rules(self, **style: Unpack[RulesOptions]) -> Rules:
        return fill(self.source.rules, self._hole_rules(style))

    @cached_property
    def holes(self) -> dict[str, Target[object]]:
        """The targets of the holes."""
        return {
            rule: read_target(target, policy=self.policy, limits=self.limits)
            for rule, target in self.spec.holes
        }

    @cached_property
    def has_quotes(self) -> bool:
        return any(hole.has_quotes for hole in self.holes.values())

    def parse(self, text: str, context: object = None) -> object | Rejected:
        spec = self.spec
        if spec.value == "text" and spec.transformer is None and not spec.holes:
            return text.replace(CONTROL, "") if spec.source.named_tokens else text
        lark = spec.source.lark
        try:
            tree = lark.parse(text)
        except RuntimeError as error:  # lark-parser/lark#1576: no tree of a text that is in the language
            return Rejected((), str(error), error)
        if (rejected := self._fill(tree, text, context)) is not None:
            # Lark may have chosen a hole of another type.
            other = self._narrow_source.lark.find_tree(text)
            if other is None or self._fill(other, text, context) is not None:
                return rejected
            tree = other
        if spec.transformer is not None:
            try:
                return lark.transform(tree, spec.transformer)
            except (ValueError, AssertionError) as error:
                return Rejected((), safe_str(error) or type(error).__name__, error)
        return tree if spec.value == "tree" else text

    def _fill(self, tree: Any, text: str, context: object = None) -> Rejected | None:
        """Put the values of the holes into a tree; return why a value is rejected."""
        if not hasattr(
            tree, "iter_subtrees"
        ):  # a start with `?` can be a token, or the `None` of an absent part
            return None
        for hole in tree.iter_subtrees():
            if hole.data in self.holes:
                part = text[hole.meta.start_pos : hole.meta.end_pos]
                value = self.holes[hole.data].parse(part, context)
                if isinstance(value, Rejected):
                    return value
                hole.children = [value]
        return None

    def rule_reader(self, rules: Collection[str], **style: Unpack[RulesOptions]) -> RuleReader:
        if self.spec.syntax != "lark":
            raise ValueError("rules are streamed for Lark grammars only; write the grammar in Lark's syntax")
        if not self.spec.source.lark.is_dynamic:
            raise ValueError("rules are streamed for parser='earley' with a dynamic lexer only")
        holes = fill(Rules(EMPTY, {}), self._hole_rules(style))
        return RuleReader(self._narrow_source, rules, holes, self._fill)

    def _hole_rules(self, style: RulesOptions) -> dict[str, Rules]:
        called = {hole.rule for hole in self.source.holes if hole.has_own_rules}
        return {rule: hole.rules(**style) for rule, hole in self.holes.items() if rule in called}

    @property
    def is_json(self) -> bool:
        return False

    def description(self) -> str:
        lines = ["text of this grammar:", self.spec.text.strip()]
        for rule, hole in self.holes.items():
            lines.append(f"where {rule} is {hole.description() or hole.name}")
        return "\n".join(lines)
