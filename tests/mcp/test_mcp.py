"""Tools of MCP servers: a real server in a subprocess, over both transports, and hostile servers."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import structkit as sk
from structkit.mcp import Connection, connect
from structkit.testing import RandomModel, ScriptedModel
from tests.agent.run.noise import random_runs

pytest.importorskip("mcp.server.mcpserver", reason="the extra mcp is not installed")

from mcp.server import MCPServer, Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

from tests.calls import call

PROGRAM = str(Path(__file__).with_name("mcp_server.py"))
COMMAND = [sys.executable, PROGRAM]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def listening(port: int) -> subprocess.Popen[bytes]:
    """A server that listens on a port."""
    process = subprocess.Popen([*COMMAND, str(port)], stderr=subprocess.DEVNULL)
    for _ in range(600):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    process.kill()
    raise TimeoutError("the server does not listen")


@pytest.fixture(scope="module")
def stdio() -> Iterator[Connection]:
    with connect(COMMAND, env={"TOKEN": "abc"}) as server:
        yield server


@pytest.fixture(scope="module")
def http() -> Iterator[Connection]:
    port = free_port()
    process = listening(port)
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            yield server
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest) -> Connection:
    return cast("Connection", request.getfixturevalue(request.param))


def agent_of(server: Connection, *texts: str, **changes: Any) -> sk.Agent[str]:
    """An agent with a script that it prefers, and options for each tool."""
    tools = [replace(tool, **changes) for tool in server.tools()]
    return sk.Agent(ScriptedModel([*texts, "Done."], strict=False), tools=tools, max_steps=len(texts) + 2)


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


def test_a_call_that_times_out_is_cancelled(stdio: Connection) -> None:
    agent = agent_of(stdio, call("slow", seconds=60, note="late"), timeout=0.3)
    assert agent.run("Go.").calls[0].error == "the call did not return within 0.3 seconds"

    async def main() -> None:
        task = asyncio.create_task(agent_of(stdio, call("slow", seconds=60, note="early")).arun("Go."))
        await asyncio.sleep(1.0)
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


def test_a_server_that_exits_during_a_run() -> None:
    with connect(COMMAND) as server:
        agent = agent_of(server, call("die", code=3), call("add", a=1))
        result = agent.run("Go.")
        assert [each.error for each in result.calls] == ["the server is gone"]
        assert result.steps == 2  # the script has another call, which the language excludes
        with pytest.raises(
            sk.AgentError, match="the server is gone\n  connect again; its last output:\nthe disk is full"
        ):
            agent.run("Go.")
        with pytest.raises(sk.AgentError, match="the server is gone\n  connect again"):
            server.tools()


def test_a_server_behind_a_url_that_exits_during_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["structkit.mcp.connect"], "_RECONNECT_SECONDS", 0.2)
    port = free_port()
    process = listening(port)
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            agent = agent_of(server, call("add", a=1), call("die", code=3), call("add", a=1))
            result = agent.run("Go.")
        assert [each.error for each in result.calls] == [None, "the server is gone"]
        assert result.steps == 3
    finally:
        process.kill()
        process.wait()


def restarted(process: subprocess.Popen[bytes], port: int) -> subprocess.Popen[bytes]:
    process.kill()
    process.wait()
    return listening(port)


def test_a_server_behind_a_url_that_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    def patient(seconds: float) -> None:
        monkeypatch.setattr(sys.modules["structkit.mcp.connect"], "_RECONNECT_SECONDS", seconds)

    patient(30.0)
    port = free_port()
    process = listening(port)
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            agent = agent_of(server, *[call("add", a=1)] * 3)
            process = restarted(process, port)  # between two runs
            assert agent_of(server, call("add", a=1)).run("Go.").calls[0].tool_result == 2

            def stop() -> None:
                process.kill()
                process.wait()

            tools = [*server.tools(), stop]
            patient(0.2)
            model = ScriptedModel([call("stop"), call("add", a=1), "Done."], strict=False)
            result = sk.Agent(model, tools=tools).run("Go.")
            assert [each.error for each in result.calls] == [None, "the server is gone"]
            with pytest.raises(sk.AgentError, match="the server is gone\n  connect again"):
                agent.run("Go.")
            process = listening(port)
            patient(30.0)
            assert [each.tool_result for each in agent.run("Go.").calls] == [2, 2, 2]

            patient(0.2)
            model = ScriptedModel([call("stop"), "Done."], strict=False)
            sk.Agent(model, tools=tools).run("Go.")
            with pytest.raises(sk.AgentError, match="the server is gone"):
                server.tools()
            process = listening(port)
            patient(30.0)
            assert "add" in [tool.name for tool in asyncio.run(server.atools())]
        with pytest.raises(sk.AgentError, match="the connection is closed"):
            agent.run("Go.")
    finally:
        process.kill()
        process.wait()


def test_a_lost_server_does_not_block_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["structkit.mcp.connect"]
    monkeypatch.setattr(module, "_RECONNECT_SECONDS", 0.2)
    port = free_port()
    process = listening(port)
    with connect(f"http://127.0.0.1:{port}/mcp") as server:
        (add,) = server.tools().filter(lambda tool: tool.name == "add")
        process.kill()
        process.wait()
        stop = sk.Agent(ScriptedModel([call("add", a=1), "Done."]), tools=[add])
        stop.run("Go.")  # detects that the server is lost
        monkeypatch.setattr(module, "_RECONNECT_SECONDS", 2.0)
        gaps: list[float] = []

        async def watch() -> None:
            while True:
                started = time.perf_counter()
                await asyncio.sleep(0.01)
                gaps.append(time.perf_counter() - started)

        async def main() -> None:
            watching = asyncio.create_task(watch())
            with pytest.raises(sk.AgentError, match="the server is gone"):
                await stop.arun("Go.")
            watching.cancel()

        asyncio.run(main())
        assert sum(gaps) > 1.5
        assert max(gaps) < 1.0


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


def test_a_server_that_restarts_during_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["structkit.mcp.connect"], "_RECONNECT_SECONDS", 60.0)
    port = free_port()
    started = [listening(port)]

    def watch() -> None:
        started[0].wait()
        started.append(listening(port))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with connect(f"http://127.0.0.1:{port}/mcp") as server:
            result = agent_of(server, call("add", a=1), call("die", code=3), call("add", a=4)).run("Go.")
        first, died, last = result.calls
        assert (first.tool_result, last.tool_result) == (2, 5)
        assert "may or may not have been executed; the connection is open again" in (died.error or "")
    finally:
        watching.join()
        for process in started:
            process.kill()
            process.wait()


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


@pytest.mark.parametrize(
    ("server", "options", "message"),
    [
        ("python server.py", {}, "is not a URL; a command is a list"),
        ([], {}, "a command is a list of strings"),
        ("http://localhost/mcp", {"env": {}}, "env and cwd are for a command"),
        (["python"], {"headers": {}}, "headers are for a URL"),
        (3, {}, "3 is not an MCP server; pass a command such as"),
        (None, {}, "None is not an MCP server"),
        (object(), {}, "is not an MCP server"),
        (MCPServer, {}, "is not an MCP server"),
        (Path("server.py"), {}, "write \\['python', 'server.py'\\]"),
        ({"mcpServers": {}}, {}, "connect to each of its servers"),
        ({"command": "python", "args": []}, {}, "write connect\\(\\[command, \\*args\\], env=...\\)"),
        ({"url": "http://localhost/mcp"}, {}, "write connect\\(url, headers=...\\)"),
    ],
)
def test_mismatched_options(server: Any, options: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        connect(server, **options)


def test_numbers_out_of_range() -> None:
    with pytest.raises(ValueError, match="timeout"):
        connect(["python"], timeout=0)
    with pytest.raises(ValueError, match="max_characters"):
        connect(["python"], max_characters=0)


def test_the_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ImportError, match=r'pip install "structkit-llm\[mcp\]"'):
        connect(["python"])


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
    assert not [
        thread for thread in threading.enumerate() if thread.name == "structkit-mcp" and not thread.daemon
    ]


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
