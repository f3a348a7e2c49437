"""A misspelled argument of a public function or class names the one that was meant."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, cast

import pytest
from pydantic import BaseModel

import structkit as sk
from structkit.arguments.names import names_arguments
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, strategy


class Age(BaseModel):
    age: int


CALLS: dict[str, Callable[..., object]] = {
    "Agent": lambda **options: sk.Agent(RandomModel(), **options),
    "Choice": lambda **options: sk.Choice(["a"], **options),
    "Grammar": lambda **options: sk.Grammar('start: "a"', **options),
    "JsonSchema": lambda **options: sk.JsonSchema({}, **options),
    "Limits": sk.Limits,
    "MaxTokens": sk.MaxTokens,
    "Quote": sk.Quote,
    "Regex": sk.Regex,
    "ScriptedModel": lambda **options: ScriptedModel([], **options),
    "Toolset": sk.Toolset,
    "UsageLimits": sk.UsageLimits,
    "Vocabulary": lambda **options: sk.Vocabulary([b"a"], **options),
    "check": lambda **options: sk.check(int, **options),
    "classify": lambda **options: sk.classify(RandomModel(), "x", sk.Choice(["a", "b"]), **options),
    "compile": lambda **options: sk.compile(int, sk.Vocabulary([b"1"], {1}), **options),
    "connect": lambda **options: sk.connect("http://localhost:1", **options),
    "explain": lambda **options: sk.explain(int, **options),
    "extract": lambda **options: sk.extract(RandomModel(), "x", int, **options),
    "from_function": lambda **options: sk.from_function(str, **options),
    "json_style": sk.json_style,
    "load": sk.load,
    "sample": lambda **options: sk.sample(int, **options),
    "strategy": lambda **options: strategy(int, **options),
    "to_regex": lambda **options: sk.to_regex(int, **options),
    "tool": sk.tool,
}


@pytest.mark.parametrize(
    ("name", "slip", "meant"),
    [
        ("Agent", "max_step", "max_steps"),
        ("Choice", "option", "options"),
        ("Grammar", "strat", "start"),
        ("JsonSchema", "strickt", "strict"),
        ("Limits", "state", "states"),
        ("MaxTokens", "token", "tokens"),
        ("Quote", "sorce", "source"),
        ("Regex", "patern", "pattern"),
        ("ScriptedModel", "strickt", "strict"),
        ("Toolset", "tool", "tools"),
        ("UsageLimits", "max_step", "max_steps"),
        ("Vocabulary", "eos_token_id", "eos_token_ids"),
        ("check", "second", "seconds"),
        ("classify", "sytem", "system"),
        ("compile", "pre_compute", "precompute"),
        ("connect", "modle", "model"),
        ("explain", "limit", "limits"),
        ("extract", "on_limits", "on_limit"),
        ("from_function", "thread_save", "thread_safe"),
        ("json_style", "whitespce", "whitespace"),
        ("load", "devise", "device"),
        ("sample", "sed", "seed"),
        ("strategy", "limit", "limits"),
        ("to_regex", "nul", "null"),
        ("tool", "max_call", "max_calls"),
    ],
)
def test_a_slip_names_the_argument(name: str, slip: str, meant: str) -> None:
    with pytest.raises(TypeError) as raised:
        CALLS[name](**{slip: 3})
    assert str(raised.value) == f"{name}() has no argument {slip!r}; write {meant}=..."


def test_all_arguments_are_listed_if_none_is_near() -> None:
    wrong: Any = sk.UsageLimits
    with pytest.raises(TypeError, match=r"it takes max_tokens, max_steps, max_tool_calls, timeout$"):
        wrong(colour=3)


def test_arguments_by_position_have_a_name() -> None:
    wrong: Any = sk
    with pytest.raises(
        TypeError, match=r"^Limits\(\) takes no argument by position; write schema_nodes=\.\.\.$"
    ):
        wrong.Limits(3)
    with pytest.raises(
        TypeError, match=r"^json_style\(\) takes no argument by position; write whitespace=\.\.\.$"
    ):
        wrong.json_style(int)
    with pytest.raises(
        TypeError, match=r"^load\(\) takes at most 1 argument by position; write device=\.\.\.$"
    ):
        wrong.load("a", "cuda")
    assert sk.Choice(["a"]).options == ("a",)


def test_an_attribute_of_the_value_is_named() -> None:
    class Person(BaseModel):
        name: str

    wrong: Any = sk.generate(ScriptedModel(['{"name": "Ana"}']), "x", Person)
    with pytest.raises(AttributeError, match=r"^Result has no attribute 'name'; write \.value\.name$"):
        _ = wrong.name
    with pytest.raises(AttributeError, match=r"^Result has no attribute 'nam'$"):
        _ = wrong.nam
    with pytest.raises(AttributeError, match=r"^Result has no attribute 'output'; write \.value$"):
        _ = wrong.output
    run: Any = sk.Agent(ScriptedModel(['{"name": "Ana"}']), output_type=Person).run("x")
    with pytest.raises(AttributeError, match=r"^AgentResult has no attribute 'name'; write \.value\.name$"):
        _ = run.name
    for each in (wrong, run):
        assert copy.copy(each).value == copy.deepcopy(each).value == each.value


WRONG: Any = sk

OTHER_ARGUMENTS: list[tuple[Callable[[], object], str]] = [
    (lambda: WRONG.tool(len, retries=3), "write tool_retries=..."),
    (
        lambda: WRONG.tool(len, takes_ctx=True),
        "annotate the first parameter of the function with structkit.Context",
    ),
    (lambda: WRONG.UsageLimits(request_limit=3), "write max_steps=..."),
    (lambda: WRONG.Agent(RandomModel(), output_validators=[]), "write validate=..."),
    (
        lambda: WRONG.Agent(RandomModel(), mcp_servers=[]),
        "write tools=[server.tools()], with the server of structkit.mcp.connect",
    ),
    (lambda: WRONG.mcp.connect("python", args=["server.py"]), "write connect([command, *args])"),
    (lambda: WRONG.mcp.connect("python", "server.py"), "write connect([command, *args])"),
]


@pytest.mark.parametrize(("call", "remedy"), OTHER_ARGUMENTS)
def test_arguments_of_other_libraries_have_a_remedy(call: Callable[[], object], remedy: str) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    assert str(raised.value).endswith(f"; {remedy}")


def test_attributes_of_other_libraries_have_a_remedy() -> None:
    seen: list[Any] = []

    def look(context: sk.Context[object]) -> int:
        seen.append(context)
        return 3

    script = ['{"name": "look", "arguments": {}}', "Three."]
    agent = sk.Agent(ScriptedModel(script), tools=[look])
    stream: Any = agent.stream("x")
    call: Any = stream.result.calls[0]
    for owner, name, remedy in [
        (seen[0], "tool_call_id", ".call_id"),
        (call, "args", ".arguments"),
        (stream.result.usage, "input_tokens", ".prompt_tokens"),
        (stream, "stream_text", "a loop over the stream: its events have the text and the values"),
        (stream, "get_output", ".result.value"),
        (stream, "cancel", ".close()"),
        (agent.astream("x"), "cancel", ".aclose()"),
    ]:
        with pytest.raises(AttributeError) as raised:
            getattr(owner, name)
        assert str(raised.value).endswith(f"; write {remedy}")
    for value in (call, call.usage):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value


def test_a_missing_argument_shows_the_call() -> None:
    wrong: Any = sk
    with pytest.raises(
        TypeError, match=r"^compile\(\) has no vocabulary; write compile\(target, vocabulary\)$"
    ):
        wrong.compile(int)
    with pytest.raises(TypeError, match=r"^compile\(\) has no target; write compile\(target, vocabulary\)$"):
        wrong.compile(vocabulary=None)
    for make in (wrong.from_openai, wrong.from_anthropic, wrong.from_gemini):
        with pytest.raises(
            TypeError, match=rf"^{make.__name__}\(\) has no model; write {make.__name__}\(client, model\)$"
        ):
            make("gpt-5-mini")


def test_names_of_other_libraries_have_a_remedy() -> None:
    wrong: Any = sk
    stream = wrong.stream(ScriptedModel(["7"]), "x", int)
    with pytest.raises(AttributeError, match=r"^Stream has no attribute 'value'; write \.result\.value$"):
        _ = stream.value
    with pytest.raises(AttributeError, match=r"'usage'; write \(await stream\.result\(\)\)\.usage$"):
        _ = wrong.astream(ScriptedModel(["7"]), "x", int).usage
    with pytest.raises(AttributeError, match=r"^Result has no attribute 'json'; write \.text$"):
        _ = stream.result.json
    with pytest.raises(TypeError, match=r"^a Result has attributes and no items; write \.text$"):
        _ = stream.result["text"]
    with pytest.raises(AttributeError, match=r"^Agent has no attribute 'run_sync'; write \.run\(\.\.\.\)$"):
        _ = wrong.Agent(RandomModel()).run_sync
    with pytest.raises(AttributeError, match=r"no attribute 'tool'; write Agent\(\.\.\., tools=\[f\]\)$"):
        _ = wrong.Agent(RandomModel()).tool
    with pytest.raises(
        AttributeError, match=r"^AgentResult has no attribute 'all_messages'; write \.messages$"
    ):
        _ = wrong.Agent(ScriptedModel(["7"])).run("x").all_messages
    with pytest.raises(TypeError, match=r"^Agent\(\) has no argument 'toolsets'; write tools=\.\.\.$"):
        wrong.Agent(RandomModel(), toolsets=[])
    with pytest.raises(AttributeError, match=r"'RandomModel'; write structkit\.testing\.RandomModel$"):
        _ = wrong.RandomModel
    with pytest.raises(
        AttributeError, match=r"'from_ollama'; models are made by load, connect, from_anthropic, "
    ):
        _ = wrong.from_ollama
    with pytest.raises(AttributeError, match=r"no attribute 'ModelRetry'; raise structkit\.Retry$"):
        _ = wrong.ModelRetry
    with pytest.raises(AttributeError, match=r"'create_agent'; write structkit\.Agent\(model, tools="):
        _ = wrong.create_agent
    with pytest.raises(
        AttributeError, match=r"'from_provider'; write structkit\.load\('openai:gpt-5-mini'\)$"
    ):
        _ = wrong.from_provider
    with pytest.raises(
        AttributeError, match=r"'Partial'; read \.partial of structkit\.stream\(model, prompt, T\)$"
    ):
        _ = wrong.Partial
    with pytest.raises(AttributeError, match=r"^module 'structkit' has no attribute 'Extract'$"):
        _ = wrong.Extract


def test_the_names_of_modules_are_those_that_the_modules_have() -> None:
    for module, names in sk._NAMES_OF_MODULES.items():
        assert list(names) == sorted(import_module(f"structkit.{module}").__all__)


def test_a_look_for_an_attribute_imports_nothing() -> None:
    """Inspectors call `hasattr` with many names."""
    code = (
        "import sys, structkit; before = set(sys.modules); hasattr(structkit, 'x'); "
        "print([name for name in set(sys.modules) - before if name.split('.')[0] in ('structkit', 'numpy', 'numba')])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sk.Limits(states=cast("Any", "3")), "states must be an integer, not '3'"),
        (lambda: sk.Limits(states=cast("Any", True)), "states must be an integer, not True"),
        (
            lambda: sk.Vocabulary.from_tokenizer(RandomModel()),
            "RandomModel is a model, not a tokenizer\n  write",
        ),
        (
            lambda: sk.Agent(RandomModel()).run(
                "x", messages=[cast("Any", {"role": "user", "content": "x"})]
            ),
            r"write structkit.messages.User\(content=",
        ),
        (
            lambda: sk.extract(RandomModel(), "x", int, processors=[cast("Any", lambda ids, row: None)]),
            "it returned None, and must return the scores",
        ),
        (lambda: sk.PythonCall(cast("Any", [abs])), r"write PythonCall\(\*functions\)"),
        (lambda: sk.PythonCall(cast("Any", "abs")), r"write PythonCall\(f\)"),
        (lambda: sk.Limits(states=-3), "states must be at least 0, not -3"),
        *(
            (partial(sk.extract, RandomModel(), "x", int, **options), f"write {meant}$")
            for options, meant in (
                ({"max_tokens": "10"}, "max_tokens=10"),
                ({"temperature": "0.5"}, "temperature=0.5"),
                ({"retries": "2"}, "retries=2"),
                ({"on_limit": "rise"}, "on_limit='raise'"),
                ({"order": "ANY"}, "order='any'"),
                ({"whitespace": "compakt"}, "whitespace='compact'"),
            )
        ),
        (lambda: sk.Agent(RandomModel(), errors=cast("Any", "reprot")), "write errors='report'$"),
        (lambda: sk.Grammar("start: A", syntax=cast("Any", "larck")), "write syntax='lark'$"),
        (
            lambda: sk.to_regex({"type": "integer", "minimum": "3"}),
            r"minimum must be a number, not '3'\n  write 3$",
        ),
        (lambda: sk.to_regex({"type": "string", "maxLength": "3"}), r"an integer, not '3'\n  write 3$"),
        (lambda: sk.to_regex({"enum": "a"}), r"write \['a'\]$"),
        *(
            (
                partial(sk.to_regex, {"$ref": reference, "$defs": {"Age": {"type": "integer"}}}),
                f"write '{meant}'$",
            )
            for reference, meant in (
                ("#/defs/Age", "#/[$]defs/Age"),
                ("#/definitions/Age", "#/[$]defs/Age"),
                ("#/$defs/Agee", "#/[$]defs/Age"),
            )
        ),
        (lambda: sk.Agent(RandomModel(), usage_limits=3), r"write agent\.run\(\.\.\., usage_limits=\.\.\.\)"),
        (lambda: sk.tool(cast("Any", 3)), "a tool is a function, not 3"),
        (lambda: sk.LogitsProcessor(cast("Any", RandomModel())), "LogitsProcessor takes a guide, not <"),
        (lambda: sk.JsonSchema(cast("Any", '{"type": "string"}')), r"not str; write json.loads\(...\)"),
        (lambda: sk.JsonSchema(cast("Any", int)), "not type; pass int itself"),
        (
            lambda: ScriptedModel([cast("Any", {"a": 1})]),
            r"replies\[0\] must be a text, not .*; write json.dumps",
        ),
        (
            lambda: ScriptedModel([cast("Any", Age(age=1))]),
            r"replies\[0\] must be a text, not .*; write Age\(...\)\.model_dump_json\(\)",
        ),
        (lambda: sk.compile(int, cast("Any", RandomModel())), "; write model.vocabulary"),
        (
            lambda: sk.compile(cast("Any", sk.Vocabulary([b"1"], {1})), cast("Any", int)),
            "the order is target, voc",
        ),
        (
            lambda: sk.extract(RandomModel(), "x", int, examples=[(cast("Any", 1), "one")]),
            "the text is the first",
        ),
        (
            lambda: sk.compile(int, sk.Vocabulary([b"1"], {1})).cursor().fill_mask(cast("Any", [0])),
            "an array of numpy",
        ),
    ],
)
def test_wrong_types_have_a_remedy(call: Callable[[], object], message: str) -> None:
    with pytest.raises((TypeError, ValueError, sk.StructkitError), match=message):
        call()


def test_a_class_stays_as_it_is() -> None:
    limits = sk.Limits(states=7)
    assert pickle.loads(pickle.dumps(limits)) == copy.deepcopy(limits) == limits
    assert "states" in inspect.signature(sk.Limits).parameters
    assert sk.load.__doc__ and "device" in inspect.signature(sk.load).parameters


def test_a_subclass_has_arguments_of_its_own() -> None:
    @names_arguments
    class Base:
        def __init__(self, *, size: int) -> None:
            self.size = size

    class Wide(Base):
        def __init__(self, *, size: int, width: int) -> None:
            super().__init__(size=size)
            self.width = width

    wide = Wide(size=1, width=2)
    assert (wide.size, wide.width) == (1, 2)


def test_an_event_names_its_attributes() -> None:
    event: Any = sk.TextDelta("$", "a")
    assert pickle.loads(pickle.dumps(event)) == copy.copy(event) == event
    with pytest.raises(AttributeError, match=r"^TextDelta has no attribute 'delta'; it has path, text, and"):
        event.delta  # noqa: B018
    retracted: Any = sk.StepRetracted()
    with pytest.raises(
        AttributeError, match=r"^StepRetracted has no attribute 'text'; it has no attributes, and"
    ):
        retracted.text  # noqa: B018


def test_flags_of_a_pattern_have_a_remedy() -> None:
    with pytest.raises(
        TypeError, match=r"Regex\(\) has no argument 'flags'; write Regex\(re\.compile\(pattern, flags\)\)"
    ):
        cast("Any", sk.Regex)("a", flags=2)


def test_a_call_and_a_tool_name_what_is_meant() -> None:
    def weather(city: str) -> str:
        return city

    call: Any = sk.extract(ScriptedModel(['{"city": "Porto"}']), "x", weather)
    for name, meant in (("args", ".arguments"), ("city", ".arguments['city']"), ("run", ".call()")):
        with pytest.raises(
            AttributeError, match=rf"Call has no attribute '{name}'; write {re.escape(meant)}$"
        ):
            getattr(call, name)
    assert copy.deepcopy(call) == call and pickle.loads(pickle.dumps(sk.Call(len, "len", {}))).name == "len"
    wrong: Any = sk.tool(weather)
    with pytest.raises(sk.SchemaError, match=r"it is a Tool of a function; pass the function, weather$"):
        sk.extract(ScriptedModel([]), "x", wrong)
    with pytest.raises(TypeError, match=r"'tools'; write structkit\.Agent\(model, tools=\[\.\.\.\]\)"):
        sk.extract(ScriptedModel([]), "x", str, tools=[weather])  # type: ignore[call-overload]
    testing: Any = sk.testing
    with pytest.raises(AttributeError, match=r"no attribute 'sample'; write structkit\.sample$"):
        _ = testing.sample


def test_guides_and_cursors_name_what_other_libraries_call_otherwise() -> None:
    guide: Any = sk.compile(bool, byte_vocabulary())
    cursor = guide.cursor()
    for owner, name, meant in (
        (guide, "advance", ".cursor().advance(token_id)"),
        (guide, "initial_state", ".cursor()"),
        (cursor, "accept_token", ".advance(token_id)"),
        (cursor, "fill_next_token_bitmask", ".fill_mask(out)"),
        (cursor, "copy", ".fork()"),
    ):
        kind = type(owner).__name__
        with pytest.raises(
            AttributeError, match=rf"{kind} has no attribute '{name}'; write {re.escape(meant)}$"
        ):
            getattr(owner, name)
    assert not hasattr(cursor, "size")
