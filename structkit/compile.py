"""From a target and a vocabulary to a guide: the left half of the pipeline, put together."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

from structkit.automaton.link import link
from structkit.automaton.runtime.automaton import Automaton
from structkit.automaton.runtime.lazy_builder import LazyBuilder
from structkit.errors import LimitExceeded, StructkitError
from structkit.guide.guide import Guide
from structkit.index.disk.store import address_of
from structkit.index.guide_file import load_guide
from structkit.limits import Limits
from structkit.regex.nodes import Rules
from structkit.schema.markers.json_style import Defaults, JsonStyle, NullFields, Order, Whitespace
from structkit.targets.fingerprint import fingerprint_of
from structkit.targets.targets import AnyTarget, Choice, Regex, Target, read_target
from structkit.vocabulary.vocabulary import Vocabulary

__all__ = ["compile"]


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
        target: A type, a function, a JSON Schema as a dict, `structkit.Regex` or `structkit.Choice`.
        vocabulary: The tokens.
        whitespace: `"spaced"`, the default, writes JSON as `json.dumps` does, `"compact"` without spaces.
        defaults: `"always"`, the default, writes fields that have a default too; `"may_omit"` leaves that to the model.
        order: `"declared"`, the default, writes keys as the target lists them; `"any"` lets the model choose, each key
            at most once (but in unique items, and in objects whose keys are counted besides, where it would be
            ambiguous).
        null: What is written of a field `X | None = None` that has no value: `"always"` writes `null`, `"omit"` leaves
            it out, `"may_omit"` allows both; by default `defaults` decides. See `structkit.json_style`.
        source: The text that fields with `structkit.Quote` are taken from. A guide of quotes is not kept on disk.
        limits: What may be built.
        precompute: Make all masks now instead of when they are first asked for.
        cache: Keep the guide on disk, in `STRUCTKIT_CACHE_DIR` or the platform's cache folder: what is compiled now,
            and what `Guide.save` adds. A Python type is still read each time, but its automaton and masks are kept.

    Returns:
        The guide.

    Raises:
        SchemaError: The target cannot be described, or not be enforced, or no value satisfies it.
        PatternError: A pattern that no regular language can say.
        VocabularyError: The vocabulary cannot spell any value.
        LimitExceeded: The target is too large.
        TypeError: The vocabulary is none.

    >>> from structkit.testing import byte_vocabulary
    >>> cursor = compile(bool, byte_vocabulary()).cursor()
    >>> cursor.advance(ord("f"))
    >>> cursor.forced_bytes()
    b'alse'
    """
    begin = time.perf_counter()
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(
            f"compile takes the tokens of a model, such as model.vocabulary, not {vocabulary!r:.60}"
        )
    policy = JsonStyle(whitespace=whitespace, defaults=defaults, order=order, null=null)

    def rules(target: AnyTarget) -> Rules:
        read = read_target(target, policy=policy, limits=limits)
        return read.rules(whitespace=whitespace, order=order, source=source, limits=limits)

    if source is not None:
        target = read_target(target, policy=policy, limits=limits)
        cache = cache and not target.has_quotes
    text = fingerprint_of(target) if cache else None
    guide, address = None, ""
    if text is not None:
        style = whitespace or "spaced", order or "declared"
        address = address_of(vocabulary.fingerprint, *style, _limits_key(limits), text.text)
        guide = _load_guide(address, vocabulary, limits, lambda source: rules(text.deserialize(source)))
    if guide is None:
        given = text.serialize() if text is not None else b""
        guide = _build_guide(rules(target), vocabulary, limits, address=address, source=given, cache=cache)
    if precompute:
        guide.precompute()
    if isinstance(target, (Regex, Choice, Target)):
        guide.is_json = read_target(target).is_json
    guide.compile_seconds = time.perf_counter() - begin
    return guide


def _build_guide(
    rules: Rules, vocabulary: Vocabulary, limits: Limits, *, address: str, source: bytes, cache: bool
) -> Guide:
    """The guide of what was read: that of a target with the same rules, if it is on disk, else a new one.

    Args:
        rules: The language.
        vocabulary: Its tokens.
        limits: Its limits.
        address: Where a target with a source is kept.
        source: The target in bytes; without them the rules say where it is kept.
        cache: Whether it is kept.
    """
    automaton = link(rules, limits)
    if cache and not source:
        address = address_of(vocabulary.fingerprint, _limits_key(limits), automaton.builder.fingerprint)
        if (alike := _load_equivalent(address, vocabulary, limits, automaton.builder)) is not None:
            return alike
    if automaton.tables is not automaton.builder.tables:  # more was built to be compared
        automaton = Automaton(automaton.builder.tables, limits, automaton.builder)
    guide = Guide(automaton, vocabulary, address=address, source=source)
    if address:
        with suppress(StructkitError):  # who asks for the first mask is told
            guide.warm_up()
            guide.save()
    return guide


@lru_cache(maxsize=16)
def _limits_key(limits: Limits) -> str:
    return repr(limits)


def _load_guide(
    address: str, vocabulary: Vocabulary, limits: Limits, rules: Callable[[bytes], Rules]
) -> Guide | None:
    """The guide under an address in the disk cache; `None` if there is none.

    Args:
        address: Where.
        vocabulary: Its tokens.
        limits: Its limits.
        rules: The rules of its target, given the source of that.
    """
    kept = load_guide(address, vocabulary) if address else None
    if kept is None:
        return None
    source = kept.source.tobytes()

    def again() -> LazyBuilder:
        builder = LazyBuilder(rules(source), limits)
        builder.replay(kept.tables)
        return builder

    automaton = Automaton(kept.tables, limits, again)
    return Guide(automaton, vocabulary, address=address, source=source, guide_file=kept)


def _load_equivalent(
    address: str, vocabulary: Vocabulary, limits: Limits, builder: LazyBuilder
) -> Guide | None:
    """The guide of a Python type in the disk cache; `None` if there is none.

    The address says how its automaton begins. Others may begin so, too: what is kept is built again, and compared.
    """
    kept = load_guide(address, vocabulary) if address else None
    if kept is None:
        return None
    # Built in the order of another target, a rule may be too large.
    with suppress(LimitExceeded):
        if builder.replay(kept.tables) and builder.fingerprint.encode() == kept.source.tobytes():
            return Guide(
                Automaton(builder.tables, limits, builder), vocabulary, address=address, guide_file=kept
            )
    return None
