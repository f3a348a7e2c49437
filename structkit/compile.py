"""Compilation of a target over a vocabulary to a guide, with the disk cache."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache, partial

from structkit.arguments.names import names_arguments
from structkit.automaton.link import start_building
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.lazy_builder import LazyBuilder
from structkit.error_notes import report_fault, shrink
from structkit.errors import LimitExceeded, StructkitError
from structkit.frozen import frozen
from structkit.guide.guide import Guide
from structkit.index.disk.store import Addresses, may_contain, remove
from structkit.index.guide_file import DiskKey, load_guide
from structkit.limits import Limits
from structkit.regex.nodes import Rules
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace
from structkit.targets.fingerprint import TargetFingerprint, fingerprint_of
from structkit.targets.grammar import Grammar
from structkit.targets.specs import JsonSchema, TextTarget
from structkit.targets.targets import AnyTarget, Target, read_target, spec_of, with_products
from structkit.targets.valid_grammars import remember
from structkit.vocabulary.control_tokens import with_named_tokens
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["compile"]

_PLAIN = JsonStyle()


@names_arguments
def compile(
    target: AnyTarget,
    vocabulary: Vocabulary,
    *,
    whitespace: Whitespace | None = None,
    defaults: Defaults | None = None,
    order: Order | None = None,
    null: NullFields | None = None,
    source: str | None = None,
    limits: Limits = Limits(),  # noqa: B008
    precompute: bool = False,
    cache: bool = True,
) -> Guide:
    """Compile a target to a guide over a vocabulary.

    Args:
        target: A type, a function, a JSON Schema as a dict, `structkit.Regex`, `structkit.Choice` or
            `structkit.Grammar`.
        vocabulary: The tokens.
        whitespace: `"spaced"` (default) writes JSON as `json.dumps` does, `"compact"` writes no spaces.
        defaults: `"always"` (default) also writes fields that have a default; with `"may_omit"` the model may omit
            them.
        order: `"declared"` (default) writes keys in the order of the target; with `"any"` the model chooses the order,
            each key at most once. Unique items, and objects that also limit the number of their keys, keep the declared
            order, because any other order would be ambiguous.
        null: How to write a field `X | None = None` without a value: `"always"` writes `null`, `"omit"` leaves the
            field out, `"may_omit"` allows both; by default `defaults` decides. See `structkit.json_style`.
        source: The text that fields with `structkit.Quote` quote. A guide with quotes is not cached on disk.
        limits: Limits on sizes and searches.
        precompute: Compute all masks immediately instead of on first use.
        cache: Read the guide from the disk cache, in `STRUCTKIT_CACHE_DIR` or the platform's cache folder. After the
            first sequence, a background thread saves the guide there, if it took more than 0.2 ms to compile;
            `Guide.save` does so immediately. A Python type is compiled in each process; only its slow masks are cached.

    Returns:
        The guide.

    Raises:
        SchemaError: The target cannot be represented or enforced, or no value satisfies it.
        PatternError: A pattern is not a regular language.
        VocabularyError: The tokens cannot spell any value.
        LimitExceeded: The target is too large.
        TypeError: `vocabulary` is not a `Vocabulary`.

    >>> from structkit.testing import byte_vocabulary
    >>> cursor = compile(bool, byte_vocabulary()).cursor()
    >>> cursor.advance(ord("f"))
    >>> cursor.forced_bytes()
    b'alse'
    """
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(
            f"vocabulary must be a Vocabulary, not {vocabulary!r:.60}; "
            + (
                "write model.vocabulary"
                if hasattr(vocabulary, "vocabulary")
                else "write structkit.Vocabulary.from_tokenizer(tokenizer)"
                if hasattr(vocabulary, "encode")
                else "the order is target, vocabulary"
                if isinstance(target, Vocabulary)
                else "pass that of a model, model.vocabulary"
            )
        )
    is_plain = whitespace is None and defaults is None and order is None and null is None
    style = (
        _PLAIN if is_plain else JsonStyle(whitespace=whitespace, defaults=defaults, order=order, null=null)
    )
    compilation = _Compilation(vocabulary, style, order, source, limits, precompute)
    try:
        return compilation.run(target, cache=cache)
    except Exception as error:
        report_fault(error, partial(compilation.case, target, error))
        raise


@frozen
class _Compilation:
    """The arguments of `compile`, besides the target and the cache."""

    vocabulary: Vocabulary
    style: JsonStyle
    order: Order | None
    source: str | None
    limits: Limits
    precompute: bool

    def case(self, target: AnyTarget, error: Exception) -> str:
        """Return code that fails like the compilation of a target: with a small schema, if it has one."""
        smallest: object = target
        if not isinstance(target, Mapping):
            with suppress(Exception):  # to read the target may be what fails
                smallest = read_target(target).json_schema()
        if isinstance(smallest, Mapping):
            smallest = shrink(smallest, lambda schema: self.run(schema, cache=False), error)
        style = self.style
        given: dict[str, object] = {
            "whitespace": style.whitespace,
            "defaults": style.defaults,
            "order": style.order,
        }
        given |= {"null": style.null, "source": None if self.source is None else "..."}
        options = "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
        options += "" if self.limits == Limits() else f", limits={self.limits!r}"
        return (
            "import structkit as sk\n"
            f"vocabulary = ...  # {self.vocabulary!r}\n"
            f"sk.compile({smallest!r}, vocabulary{options})"
        )

    def run(self, target: AnyTarget, *, cache: bool) -> Guide:
        """Compile a target."""
        start_time = time.perf_counter()
        vocabulary = self.vocabulary
        if self.source is not None:
            target = read_target(target, policy=self.style, limits=self.limits)
            cache = cache and not target.has_quotes
        spec = None if type(target) is dict else spec_of(target)
        if isinstance(spec, Grammar) and spec.source.named_tokens:
            vocabulary = with_named_tokens(vocabulary, spec.source.named_tokens)
        fingerprint = fingerprint_of(target) if cache else None
        guide, key = None, DiskKey() if cache else None
        if fingerprint is not None:
            key = self._disk_key(fingerprint, vocabulary)
            if may_contain(fingerprint.content):
                guide = self._load(key, fingerprint, vocabulary)
        known = None
        if guide is None:
            known = self._read(target)
            builder = self._build(known)
            builder.build_ahead(0)
            guide = Guide(Automaton(builder.tables, self.limits, builder), vocabulary, disk_key=key)
        if cache and isinstance(spec, Grammar):
            remember(spec.source, spec.read_seconds)
        if self.precompute:
            guide.precompute()
        if isinstance(target, (TextTarget, Target)) and not isinstance(target, JsonSchema):
            guide.is_json = (known or read_target(target)).is_json
        guide.compile_seconds = time.perf_counter() - start_time
        return guide

    def _read(self, target: AnyTarget) -> Target[object]:
        return read_target(target, policy=self.style, limits=self.limits, notes=False)

    def _build(self, target: Target[object]) -> LazyBuilder:
        """Start to build the automata of a target; where its objects are too many combinations, of their product."""
        try:
            return start_building(self._rules(target), self.limits)
        except LimitExceeded:
            with suppress(StructkitError):
                if self.order != "any" and (other := with_products(target)) is not None:
                    return start_building(self._rules(other), self.limits)
            raise

    def _rules(self, target: Target[object]) -> Rules:
        return target.rules(
            whitespace=self.style.whitespace, order=self.order, source=self.source, limits=self.limits
        )

    def _disk_key(self, fingerprint: TargetFingerprint, vocabulary: Vocabulary) -> DiskKey:
        whitespace, order = self.style.whitespace or "spaced", self.order or "declared"

        def address() -> str:
            return _addresses(vocabulary.fingerprint, whitespace, order, self.limits).of(fingerprint.content)

        return DiskKey(address, fingerprint.serialize)

    def _load(self, key: DiskKey, fingerprint: TargetFingerprint, vocabulary: Vocabulary) -> Guide | None:
        """Return the guide of a key of the disk cache, or `None`."""
        stored = load_guide(key.address())
        if stored is None:
            return None

        def rebuild() -> LazyBuilder:
            """Make the builder of the stored target, for a rule that is not in the file."""
            builder = self._build(self._read(fingerprint.deserialize(stored.source.tobytes())))
            if not builder.replay(stored.tables):
                remove(key.address())
                raise StructkitError(
                    "the rules of this target in the disk cache are not those that this process makes; "
                    "the file is removed: compile the target again"
                )
            return builder

        automaton = Automaton(stored.tables, self.limits, rebuild, is_unbounded=stored.is_unbounded)
        return Guide(automaton, vocabulary, disk_key=key, guide_file=stored)


@lru_cache(maxsize=16)
def _addresses(vocabulary: str, whitespace: str, order: str, limits: Limits) -> Addresses:
    """Return the addresses of targets that are compiled with the same options and vocabulary."""
    return Addresses(vocabulary, whitespace, order, repr(limits))
