"""Structured output from local language models: pass a type, get a validated instance.

```python
import structkit as sk
from pydantic import BaseModel

class Person(BaseModel):
    name: str
    age: int
    job: str | None = None

person = sk.extract(sk.load(), "Ana Souza, 34, works as a nurse in Porto.", Person)
```
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structkit import grammars, mcp, messages, processors, testing
    from structkit.agent.agent import Agent
    from structkit.agent.run.budget import UsageLimits
    from structkit.agent.run.events import (
        PartialOutput,
        PreambleDelta,
        RunEnd,
        StepEnd,
        StepRetracted,
        ThinkingEvent,
        ToolCallDelta,
        ToolCallStart,
        ToolResult,
    )
    from structkit.agent.run.record import RunRecord, UsageLimitExceeded, run_record
    from structkit.agent.run.state import (
        AgentResult,
        AgentStep,
        PendingCall,
        RunState,
        RunSuspended,
        RunTrace,
        ToolCall,
    )
    from structkit.agent.stream import AgentStream, AsyncAgentStream, AsyncStepStream, StepStream
    from structkit.agent.tools.approval import Approve, Deny, Return
    from structkit.agent.tools.context import Context
    from structkit.agent.tools.tool import Tool, tool
    from structkit.agent.tools.toolset import Toolset, require_approval
    from structkit.api.calibrate import calibrate
    from structkit.api.classify import aclassify, classify
    from structkit.api.explain import explain
    from structkit.api.many import (
        aextract_many,
        agenerate_many,
        astream_many,
        extract_many,
        generate_many,
        stream_many,
    )
    from structkit.api.notations import to_gbnf, to_json_schema, to_lark, to_regex
    from structkit.api.single import (
        aextract,
        agenerate,
        compile,
        connect,
        extract,
        from_anthropic,
        from_function,
        from_gemini,
        from_llama_cpp,
        from_openai,
        from_transformers,
        generate,
        load,
        render_prompt,
    )
    from structkit.api.stream import astream, stream
    from structkit.errors import (
        AgentError,
        AgentRecursionError,
        ApprovalRequired,
        BudgetExceeded,
        BudgetTooSmall,
        CorrectionsExhausted,
        GenerationError,
        GrammarError,
        LimitExceeded,
        MissingExtra,
        ModelError,
        OutputValidationError,
        PatternError,
        Retry,
        SchemaError,
        ScriptError,
        StructkitError,
        TokenRejected,
        ToolError,
        UnresolvedReference,
        UnsatisfiableSchema,
        UnsupportedKeyword,
        VocabularyError,
    )
    from structkit.functions.call import Call
    from structkit.generate.output.calibration import Calibration, CalibrationCurve
    from structkit.generate.output.confidence import Confidence, LowAgreementWarning
    from structkit.generate.output.result import Result, Usage
    from structkit.generate.output.spans import Span
    from structkit.generate.output.token import Token
    from structkit.generate.output.trace import Draft, Trace
    from structkit.generate.run.events import FieldEnd, FieldRetracted, FieldStart, StreamEnd, TextDelta
    from structkit.generate.run.rule_events import RuleEnd, RuleStart
    from structkit.generate.run.stream import AsyncStream, Stream
    from structkit.guide.guide import Cursor, Guide
    from structkit.integrations.transformers import LogitsProcessor
    from structkit.limits import Limits
    from structkit.models.text.protocol import AnyModel
    from structkit.schema.markers.json_style import json_style
    from structkit.schema.markers.max_tokens import MaxTokens
    from structkit.schema.markers.quote import Quote
    from structkit.targets.grammar import Grammar
    from structkit.targets.python_call import PythonCall
    from structkit.targets.specs import Choice, JsonSchema, Regex
    from structkit.testing.proof.check import check
    from structkit.testing.proof.report import CheckReport, Counterexample, Rejection
    from structkit.testing.proof.sample import sample
    from structkit.vocabulary.vocabulary import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentError",
    "AgentRecursionError",
    "AgentResult",
    "AgentStep",
    "AgentStream",
    "AnyModel",
    "ApprovalRequired",
    "Approve",
    "AsyncAgentStream",
    "AsyncStepStream",
    "AsyncStream",
    "BudgetExceeded",
    "BudgetTooSmall",
    "Calibration",
    "CalibrationCurve",
    "Call",
    "CheckReport",
    "Choice",
    "Confidence",
    "Context",
    "CorrectionsExhausted",
    "Counterexample",
    "Cursor",
    "Deny",
    "Draft",
    "FieldEnd",
    "FieldRetracted",
    "FieldStart",
    "GenerationError",
    "Grammar",
    "GrammarError",
    "Guide",
    "JsonSchema",
    "LimitExceeded",
    "Limits",
    "LogitsProcessor",
    "LowAgreementWarning",
    "MaxTokens",
    "MissingExtra",
    "ModelError",
    "OutputValidationError",
    "PartialOutput",
    "PatternError",
    "PendingCall",
    "PreambleDelta",
    "PythonCall",
    "Quote",
    "Regex",
    "Rejection",
    "Result",
    "Retry",
    "Return",
    "RuleEnd",
    "RuleStart",
    "RunEnd",
    "RunRecord",
    "RunState",
    "RunSuspended",
    "RunTrace",
    "SchemaError",
    "ScriptError",
    "Span",
    "StepEnd",
    "StepRetracted",
    "StepStream",
    "Stream",
    "StreamEnd",
    "StructkitError",
    "TextDelta",
    "ThinkingEvent",
    "Token",
    "TokenRejected",
    "Tool",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallStart",
    "ToolError",
    "ToolResult",
    "Toolset",
    "Trace",
    "UnresolvedReference",
    "UnsatisfiableSchema",
    "UnsupportedKeyword",
    "Usage",
    "UsageLimitExceeded",
    "UsageLimits",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "aclassify",
    "aextract",
    "aextract_many",
    "agenerate",
    "agenerate_many",
    "astream",
    "astream_many",
    "calibrate",
    "check",
    "classify",
    "compile",
    "connect",
    "explain",
    "extract",
    "extract_many",
    "from_anthropic",
    "from_function",
    "from_gemini",
    "from_llama_cpp",
    "from_openai",
    "from_transformers",
    "generate",
    "generate_many",
    "grammars",
    "json_style",
    "load",
    "mcp",
    "messages",
    "processors",
    "render_prompt",
    "require_approval",
    "run_record",
    "sample",
    "stream",
    "stream_many",
    "testing",
    "to_gbnf",
    "to_json_schema",
    "to_lark",
    "to_regex",
    "tool",
]

_HOMES = {
    "Agent": "structkit.agent.agent",
    "AgentResult": "structkit.agent.run.state",
    "AgentStep": "structkit.agent.run.state",
    "AgentStream": "structkit.agent.stream",
    "AnyModel": "structkit.models.text.protocol",
    "Approve": "structkit.agent.tools.approval",
    "AsyncStepStream": "structkit.agent.stream",
    "StepEnd": "structkit.agent.run.events",
    "StepStream": "structkit.agent.stream",
    "ToolCallDelta": "structkit.agent.run.events",
    "AsyncAgentStream": "structkit.agent.stream",
    "AsyncStream": "structkit.generate.run.stream",
    "Calibration": "structkit.generate.output.calibration",
    "CalibrationCurve": "structkit.generate.output.calibration",
    "Call": "structkit.functions.call",
    "ToolResult": "structkit.agent.run.events",
    "ToolCallStart": "structkit.agent.run.events",
    "CheckReport": "structkit.testing.proof.report",
    "Choice": "structkit.targets.specs",
    "Confidence": "structkit.generate.output.confidence",
    "Context": "structkit.agent.tools.context",
    "Counterexample": "structkit.testing.proof.report",
    "Cursor": "structkit.guide.guide",
    "Deny": "structkit.agent.tools.approval",
    "Draft": "structkit.generate.output.trace",
    "FieldEnd": "structkit.generate.run.events",
    "FieldRetracted": "structkit.generate.run.events",
    "FieldStart": "structkit.generate.run.events",
    "StreamEnd": "structkit.generate.run.events",
    "Grammar": "structkit.targets.grammar",
    "Guide": "structkit.guide.guide",
    "JsonSchema": "structkit.targets.specs",
    "Limits": "structkit.limits",
    "LogitsProcessor": "structkit.integrations.transformers",
    "MaxTokens": "structkit.schema.markers.max_tokens",
    "PendingCall": "structkit.agent.run.state",
    "LowAgreementWarning": "structkit.generate.output.confidence",
    "PythonCall": "structkit.targets.python_call",
    "Quote": "structkit.schema.markers.quote",
    "Rejection": "structkit.testing.proof.report",
    "Regex": "structkit.targets.specs",
    "Result": "structkit.generate.output.result",
    "Return": "structkit.agent.tools.approval",
    "PartialOutput": "structkit.agent.run.events",
    "RuleEnd": "structkit.generate.run.rule_events",
    "RuleStart": "structkit.generate.run.rule_events",
    "RunEnd": "structkit.agent.run.events",
    "RunRecord": "structkit.agent.run.record",
    "RunSuspended": "structkit.agent.run.state",
    "RunTrace": "structkit.agent.run.state",
    "RunState": "structkit.agent.run.state",
    "Span": "structkit.generate.output.spans",
    "StepRetracted": "structkit.agent.run.events",
    "Stream": "structkit.generate.run.stream",
    "TextDelta": "structkit.generate.run.events",
    "PreambleDelta": "structkit.agent.run.events",
    "ThinkingEvent": "structkit.agent.run.events",
    "Token": "structkit.generate.output.token",
    "Tool": "structkit.agent.tools.tool",
    "ToolCall": "structkit.agent.run.state",
    "Toolset": "structkit.agent.tools.toolset",
    "Trace": "structkit.generate.output.trace",
    "Usage": "structkit.generate.output.result",
    "UsageLimitExceeded": "structkit.agent.run.record",
    "UsageLimits": "structkit.agent.run.budget",
    "Vocabulary": "structkit.vocabulary.vocabulary",
    "aclassify": "structkit.api.classify",
    "aextract_many": "structkit.api.many",
    "agenerate_many": "structkit.api.many",
    "astream": "structkit.api.stream",
    "astream_many": "structkit.api.many",
    "calibrate": "structkit.api.calibrate",
    "check": "structkit.testing.proof.check",
    "classify": "structkit.api.classify",
    "json_style": "structkit.schema.markers.json_style",
    "explain": "structkit.api.explain",
    "extract_many": "structkit.api.many",
    "generate_many": "structkit.api.many",
    "require_approval": "structkit.agent.tools.toolset",
    "run_record": "structkit.agent.run.record",
    "sample": "structkit.testing.proof.sample",
    "stream": "structkit.api.stream",
    "stream_many": "structkit.api.many",
    "to_gbnf": "structkit.api.notations",
    "to_json_schema": "structkit.api.notations",
    "to_lark": "structkit.api.notations",
    "to_regex": "structkit.api.notations",
    "tool": "structkit.agent.tools.tool",
}
"""Modules of the classes; errors are in `structkit.errors`, other functions in `structkit.api.single`."""

_OTHER_NAMES = {
    "ModelRetry": "raise structkit.Retry",
    "RunContext": "annotate the first parameter with structkit.Context",
    "ToolReturn": "return a class of pydantic whose fields with Field(exclude=True) the model does not read",
    "Runner": "call the method run of the agent",
    "RunContextWrapper": "annotate the first parameter with structkit.Context",
    "ToolRuntime": "annotate the first parameter with structkit.Context",
    "AgentRunResult": "write structkit.AgentResult",
    "RunResult": "write structkit.AgentResult",
    "CallDeferred": "write structkit.tool(f, defer=True)",
    "DeferredToolRequests": "catch structkit.RunSuspended",
    "interrupt": "raise structkit.ApprovalRequired in the tool, and continue with Agent.resume",
    "FunctionTool": "write structkit.tool(f)",
    "StructuredTool": "write structkit.tool(f)",
    "BaseTool": "write structkit.tool(f)",
    "FunctionToolset": "write structkit.Toolset",
    "CodeAgent": "write structkit.Agent(model, tools=[...])",
    "ToolCallingAgent": "write structkit.Agent(model, tools=[...])",
    "create_agent": "write structkit.Agent(model, tools=[...])",
    "create_react_agent": "write structkit.Agent(model, tools=[...])",
    "handoff": "write Agent(tools=[agent.as_tool(name)]), or an output_type that names the next agent",
    "MCPServerStdio": "write structkit.mcp.connect([command, *args])",
    "MCPServerStreamableHTTP": "write structkit.mcp.connect(url)",
    "MCPServerStreamableHttp": "write structkit.mcp.connect(url)",
    "InputGuardrail": "check the prompt before the run",
    "OutputGuardrail": "write Agent(..., validate=f)",
    "SQLiteSession": "store structkit.messages.dumps(result.messages), and pass messages=... to the next run",
    "capture_run_messages": "write structkit.run_record(error)",
    "function_tool": "pass the function in Agent(tools=[...]), or structkit.tool(f) with options",
    "json_schema": "write structkit.JsonSchema",
    "regex": "write structkit.Regex",
    "choice": "write structkit.Choice",
    "cfg": "write structkit.Grammar",
    "patch": "models are made by from_openai(client, model)",
    "from_provider": "write structkit.load('openai:gpt-5-mini')",
    "Partial": "read .partial of structkit.stream(model, prompt, T)",
    "Maybe": "write T | None",
    "IterableModel": "write list[T]",
    "Mode": "leave it out: each model gets what it can enforce",
    "Generator": "pass the type to structkit.extract, which keeps what it compiled, or call structkit.compile",
    "CFG": "write structkit.Grammar",
    "gen": "write structkit.extract(model, prompt, structkit.Regex(...))",
    "select": "write structkit.extract(model, prompt, structkit.Choice([...]))",
    "batch": "write structkit.extract_many",
}
"""Names of other libraries, with what to write."""

_NAMES_OF_MODULES = {
    "testing": ("RandomModel", "ScriptedModel", "byte_vocabulary", "small_vocabulary", "strategy"),
    "processors": ("MASK", "Penalty", "Processor", "Suppress"),
    "grammars": (
        "arithmetic",
        "csv",
        "hcl",
        "iso8601",
        "lark_grammar",
        "mermaid_flowchart",
        "python_block",
        "python_calls",
        "python_expression",
        "python_module",
        "regular_expression",
        "smiles",
        "sqlite_select",
        "toml",
        "unified_diff",
    ),
}
"""Names of public modules, for errors: `hasattr(structkit, "x")` must not import these modules."""


if not TYPE_CHECKING:  # a type checker knows the names, and reports others

    def __getattr__(name: str) -> object:
        """Import a public name on first use, so that `import structkit` is fast and does not import numba."""
        if name not in __all__:
            raise _missing(name)
        if name in ("grammars", "mcp", "messages", "processors", "testing"):
            return import_module(f"structkit.{name}")
        home = _HOMES.get(name, "structkit.errors" if name[0].isupper() else "structkit.api.single")
        value: object = getattr(import_module(home), name)
        globals()[name] = value
        return value


def _missing(name: str) -> AttributeError:
    """Return the error of a name that does not exist; Python adds a similar name if it has the module."""
    remedy = ""
    if not name.startswith("_"):
        homes = [home for home, names in _NAMES_OF_MODULES.items() if name in names]
        makers = [each for each in __all__ if each.startswith("from_")]
        if homes:
            remedy = f"; write structkit.{homes[0]}.{name}"
        elif name in _OTHER_NAMES:
            remedy = f"; {_OTHER_NAMES[name]}"
        elif name.startswith("from_"):
            remedy = f"; models are made by load, connect, {', '.join(makers)}"
    message = f"module 'structkit' has no attribute {name!r}{remedy}"
    return AttributeError(message, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package module; keeps functions when a submodule with the same name is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing structkit.compile would otherwise replace the function with the module.
        if not (isinstance(value, ModuleType) and name in ("compile", "generate")):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
