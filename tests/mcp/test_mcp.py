"""Tools of MCP servers: a real server in a subprocess, over both transports, and hostile servers."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

import structkit as sk
from structkit.mcp import Connection, connect
from structkit.mcp.endpoint import Endpoint
from structkit.mcp.session import Session
from structkit.testing import RandomModel, ScriptedModel
from tests.agent.run.noise import random_runs

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")

from mcp.server import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from tests.calls import call
from tests.mcp.servers import COMMAND, agent_of


def called(server: Connection, name: str, /, **arguments: object) -> sk.ToolCall:
    """Run one call."""
    result = agent_of(server, call(name, **arguments)).run("Go.")
    assert result.value == "Done."
    return result.calls[0]


def test_a_run_calls_tools_of_a_server_and_plain_functions(server: Connection) -> None:
    def double(number: int) -> int:
        return 2 * number

    model = ScriptedModel([call("add", a=2, b=3), call("double", number=5), "It is 10."])
    result = sk.Agent(model, tools=[*server.tools(), double]).run("What is 2 * (2 + 3)?")
    assert [(each.name, each.arguments, each.tool_result) for each in result.calls] == [
        ("add", {"a": 2, "b": 3}, 5),
        ("double", {"number": 5}, 10),
    ]
    assert "/* Add two numbers. */" in model.prompts[0]


def test_arguments_follow_the_schema(server: Connection) -> None:
    assert 0 <= cast("int", called(server, "add", a=1, b=77).arguments["b"]) <= 9


def test_errors_of_the_server_are_reported_until_the_retries_are_used(server: Connection) -> None:
    assert "Error executing tool fail" in (called(server, "fail", why="too late").error or "")
    with pytest.raises(sk.UsageLimitExceeded, match=r"fail failed 3 times in a row") as caught:
        agent_of(server, *[call("fail", why="too late")] * 3).run("Go.")
    assert (caught.value.limit, len(caught.value.calls)) == ("tool_retries", 3)
    limits = sk.UsageLimits(max_tool_calls=1)
    with pytest.raises(sk.UsageLimitExceeded, match="max_tool_calls=1"):
        asyncio.run(agent_of(server, *[call("add", a=1)] * 2).arun("Go.", usage_limits=limits))


@pytest.mark.parametrize("errors", ["raise", "report"])
def test_a_fault_of_the_client_is_raised(
    stdio: Connection, monkeypatch: pytest.MonkeyPatch, errors: Any
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a fault")

    monkeypatch.setattr(sys.modules["structkit.mcp.connect"], "tool_result", broken)
    agent = sk.Agent(ScriptedModel([call("add", a=1)]), stdio.tools(), errors=errors)
    with pytest.raises(KeyError, match="a fault") as caught:
        agent.run("Go.")
    record = sk.run_record(caught.value)
    assert record is not None
    assert [each.name for each in record.calls] == ["add"]


def test_an_async_run_in_a_running_loop(server: Connection) -> None:
    async def main() -> list[object]:
        tools = await server.atools()
        both = f"[{call('add', a=1, b=1)}, {call('add', a=2, b=2)}]"
        agent = sk.Agent(ScriptedModel([both, "Done."]), tools=tools, max_parallel_calls=2)
        waited = await agent.arun("Go.")
        blocking = agent_of(server, call("add", a=1, b=4)).run("Go.")  # as in a notebook
        return [each.tool_result for each in (*waited.calls, *blocking.calls)]

    assert asyncio.run(main()) == [2, 4, 5]


def test_several_threads_share_a_connection(server: Connection) -> None:
    with ThreadPoolExecutor(8) as pool:
        outputs = pool.map(lambda n: called(server, "add", a=n, b=1).tool_result, range(16))
        assert list(outputs) == [n + 1 for n in range(16)]


def test_names_and_arguments_of_any_kind(stdio: Connection) -> None:
    assert called(stdio, "files_read_2", self="a", name="b").tool_result == "a:b"
    names = [tool.name for tool in stdio.tools().prefix("x.")]
    assert names[:3] == ["x.add", "x.weather", "x.files_read_2"]


def test_outputs_of_calls(server: Connection) -> None:
    assert called(server, "weather", city="Porto").tool_result == {"city": "Porto", "celsius": 18}
    assert called(server, "picture").tool_result == "a chart:\n[image, image/png, 1,000 bytes]"
    assert called(server, "resources").tool_result == (
        "[resource file:///a.txt]\nthe text\n[resource notes, file:///notes]"
    )
    assert called(server, "environment", name="NO_SUCH_VARIABLE").tool_result is None


def test_an_error_is_reported_to_the_model(server: Connection) -> None:
    failed = called(server, "fail", why="no")
    assert failed.error == "Error executing tool fail"
    assert isinstance(failed.raised, sk.ToolError)


@pytest.mark.long
def test_a_call_that_times_out_is_cancelled(stdio: Connection) -> None:
    agent = agent_of(stdio, call("slow", seconds=60, note="late"), timeout=1)
    assert agent.run("Go.").calls[0].error == "the call did not return within 1 seconds"

    async def main() -> None:
        task = asyncio.create_task(agent_of(stdio, call("slow", seconds=60, note="early")).arun("Go."))
        while "begun early" not in stdio.log:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert called(stdio, "add", a=1).tool_result == 2  # the connection is still open
    for _ in range(200):
        if "cancelled late" in stdio.log and "cancelled early" in stdio.log:
            break
        time.sleep(0.05)
    assert "cancelled late" in stdio.log and "cancelled early" in stdio.log


def test_toolset_methods_apply_to_server_tools() -> None:
    """`available` does not hide that the server is gone, and `prefix` and `filter` keep that predicate."""
    with connect(COMMAND) as server:
        tools = server.tools().filter(lambda tool: tool.name in ("add", "die")).prefix("x_")
        tools = tools.available(lambda context: True).require_approval(lambda tool: False)
        model = ScriptedModel(
            [call("x_add", a=1), call("x_die", code=3), call("x_add", a=1), "Done."], strict=False
        )
        result = sk.Agent(model, tools=tools).run("Go.")
        assert [(each.name, each.error) for each in result.calls] == [
            ("x_add", None),
            ("x_die", "the server is gone"),
        ]


def test_the_list_changes(stdio: Connection) -> None:
    before = agent_of(stdio, call("learn"))
    before.run("Go.")
    assert "learned" not in [tool.name for tool in before.tools]
    assert called(stdio, "learned").tool_result == "yes"


def test_the_random_model_writes_no_rejected_call(stdio: Connection) -> None:
    tools = [tool for tool in stdio.tools() if tool.name in ("add", "weather", "files_read_2")]
    agent = sk.Agent(RandomModel(), tools=tools, max_tokens=300, max_steps=4, on_limit="answer")
    results = random_runs(agent, n=25)
    calls = [each for result in results for each in result.calls]
    assert len(calls) > 25
    assert {each.error for each in calls} == {None}


@pytest.mark.parametrize(
    ("server", "options", "message"),
    [
        (
            [*COMMAND, "crash"],
            {},
            "(?s)connecting to the MCP server failed: .*its last output:\nno such database",
        ),
        (["no-such-command-anywhere"], {}, "connecting to the MCP server failed: FileNotFoundError"),
        ([*COMMAND, "hang"], {"timeout": 0.5}, "did not answer within 0.5 seconds"),
        (
            "http://127.0.0.1:9/mcp",
            {},
            "connecting to the MCP server failed: ",
        ),  # the port of the discard service
    ],
)
def test_no_server(server: Any, options: Any, message: str) -> None:
    with pytest.raises(sk.AgentError, match=message), connect(server, **options):
        pass


def test_a_subprocess_inherits_few_environment_variables(
    stdio: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert called(stdio, "environment", name="TOKEN").tool_result == "abc"
    assert called(stdio, "environment", name="STRUCTKIT_CACHE_DIR").tool_result is None  # set in this process


def hostile(
    *tools: Tool, endless: bool = False, result: CallToolResult | None = None, seconds: float = 0
) -> Server[Any]:
    """An in-process server with given tools and answers."""

    async def listed(context: object, params: object) -> ListToolsResult:
        return ListToolsResult(tools=list(tools), next_cursor="more" if endless else None)

    async def answered(context: object, params: object) -> CallToolResult:
        await asyncio.sleep(seconds)
        return result or CallToolResult(content=[TextContent(type="text", text="fine")])

    return Server("hostile", on_list_tools=listed, on_call_tool=answered)


def listed(name: str, **schema: object) -> Tool:
    return Tool(name=name, input_schema={"type": "object", **schema})


def test_an_agent_outside_of_the_block() -> None:
    with connect(cast("Any", hostile(listed("odd")))) as server:
        agent = agent_of(server, call("odd"))
    with pytest.raises(sk.AgentError, match="the connection is closed\n  use its tools in its `with` block"):
        agent.run("Go.")
    with connect(cast("Any", hostile(listed("odd")))) as server:
        with pytest.raises(sk.AgentError, match="a connection can be opened only once"), server:
            pass
        assert called(server, "odd").tool_result == "fine"
    with pytest.raises(sk.AgentError, match="the connection is not open"):
        connect(cast("Any", hostile())).tools()


def test_an_async_block_and_a_tool_called_by_hand() -> None:
    async def main() -> object:
        async with connect(cast("Any", hostile(listed("odd")))) as server:
            (odd,) = await server.atools()
            return await cast("Any", odd)()

    assert asyncio.run(main()) == "fine"


def test_a_tool_called_by_hand_after_the_block() -> None:
    with connect(cast("Any", hostile(listed("odd")))) as server:
        (odd,) = server.tools()
    with pytest.raises(sk.AgentError, match="the connection is closed"):
        asyncio.run(cast("Any", odd)())


def test_no_thread_keeps_the_process_alive(stdio: Connection) -> None:
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("structkit-mcp")]
    assert len(threads) >= 2 and all(thread.daemon for thread in threads)


def test_a_connection_that_is_closed_before_the_server_has_answered() -> None:
    class Silent(Endpoint):
        async def connect(self, stack: object) -> Any:
            await asyncio.sleep(60)

    session = Session(Silent("silent"))
    opened = session.open()
    while session._task is None:
        time.sleep(0.01)
    session.close()
    with pytest.raises(sk.AgentError, match="failed: the connection was closed"):
        opened.result(10)


def test_an_address_is_named_without_its_secrets_and_a_command_in_short() -> None:
    assert connect("http://me:pass@host/mcp?key=1#x").name == "http://host/mcp"
    assert len(connect(["python", "x" * 500]).name) == 200


def test_a_pending_call_at_the_end_of_the_block() -> None:
    async def main() -> None:
        async with connect(cast("Any", hostile(listed("odd"), seconds=60))) as server:
            (odd,) = await server.atools()
            waiting = asyncio.create_task(cast("Any", odd)())
            await asyncio.sleep(0.3)
        with pytest.raises(sk.ToolError, match="the server is gone"):
            await waiting

    asyncio.run(main())


def test_large_outputs_are_truncated() -> None:
    def output(result: CallToolResult) -> object:
        with connect(cast("Any", hostile(listed("odd"), result=result)), max_characters=100) as server:
            return called(server, "odd").tool_result

    def text(size: int) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="x" * size)])

    assert output(text(100)) == "x" * 100
    assert output(text(1_000_107)) == "x" * 100 + " ... (1000007 more characters)"
    exact = CallToolResult(content=[], structured_content={"a": "x" * 91})
    assert output(exact) == {"a": "x" * 91}  # 100 characters
    numbers = CallToolResult(content=[], structured_content={"numbers": [12] * 100})
    assert output(numbers) == f'{{"numbers": [{"12, " * 100}'[:100] + " ... (313 more characters)"


@pytest.mark.parametrize(
    "name", ["a b", "../../etc", "9", "x" * 200, '"}', "é", "\n", "名", "<|end|>"], ids=ascii
)
def test_invalid_names(name: str) -> None:
    with connect(cast("Any", hostile(listed(name)))) as server:
        (tool,) = server.tools()
        assert called(server, tool.name).tool_result == "fine"


def test_duplicate_names() -> None:
    with (
        connect(cast("Any", hostile(listed("a/b"), listed("a b")))) as server,
        pytest.raises(sk.AgentError, match="two tools that map to the name a_b: 'a/b' and 'a b'"),
    ):
        server.tools()


def test_an_endless_list() -> None:
    with (
        connect(cast("Any", hostile(listed("a"), endless=True))) as server,
        pytest.raises(sk.AgentError, match="too many pages"),
    ):
        server.tools()


@pytest.mark.parametrize(
    ("schema", "kind", "message"),
    [
        ({"not": {"properties": {"a": {"uniqueItems": True}}}}, sk.UnsupportedKeyword, "strict=False"),
        ({"properties": {"a": {"$ref": "http://x/y"}}}, sk.UnresolvedReference, "does not fetch"),
        ({"properties": {"a": False}, "required": ["a"]}, sk.UnsatisfiableSchema, "no value"),
        ({"properties": {"a": {"type": "strin"}}}, sk.SchemaError, "unknown type 'strin'"),
        ({"properties": {"a": {"pattern": r"(a+)\1", "type": "string"}}}, sk.PatternError, "back-reference"),
    ],
)
def test_unsupported_schemas(schema: dict[str, Any], kind: type[Exception], message: str) -> None:
    with connect(cast("Any", hostile(listed("odd", **schema), listed("even")))) as server:
        tools = server.tools()
        with pytest.raises(kind, match=f"(?s)the arguments of odd .*{message}"):
            sk.Agent(ScriptedModel([]), tools=tools)
        assert sk.Agent(ScriptedModel([]), tools=[each for each in tools if each.name == "even"]).tools


def test_unenforced_schemas_can_be_validated() -> None:
    schema = {"properties": {"a": {"type": "array", "not": {"uniqueItems": True}}}, "required": ["a"]}
    with connect(cast("Any", hostile(listed("odd", **schema)))) as server:
        texts = [call("odd", a=[1, 2]), call("odd", a=[1, 1]), "x"]
        calls = sk.Agent(ScriptedModel(texts), tools=server.tools(strict=False)).run("Go.").calls
    made = [cast("list[object]", each.arguments["a"]) for each in calls if each.error is None]
    assert made and all(any(items.count(item) > 1 for item in items) for items in made)


@pytest.mark.parametrize(
    ("result", "output", "error"),
    [
        (CallToolResult(content=[]), "", None),
        (CallToolResult(content=[], is_error=True), None, "the call failed without a message"),
        (CallToolResult(content=[], structured_content={"result": 1, "b": 2}), {"result": 1, "b": 2}, None),
        (CallToolResult(content=[], structured_content=[1]), [1], None),
        (CallToolResult(content=[TextContent(type="text", text="\ud800")]), "\ud800", None),
    ],
)
def test_unusual_results(result: CallToolResult, output: object, error: str | None) -> None:
    with connect(cast("Any", hostile(listed("odd"), result=result))) as server:
        made = called(server, "odd")
        assert (made.tool_result, made.error) == (output, error)


def test_a_connection_names_its_methods() -> None:
    server: Any = connect(COMMAND)  # nothing starts before its `with` block
    for name, remedy in (
        ("list_tools", r"write \.tools\(\)"),
        ("call_tool", r"write the call of one of \.tools"),
    ):
        with pytest.raises(AttributeError, match=f"Connection has no attribute '{name}'; {remedy}"):
            getattr(server, name)
    with pytest.raises(TypeError, match=r"write tools=\[server\.tools\(\)\]"):
        sk.Toolset(server)
