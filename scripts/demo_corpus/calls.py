"""Function calls: a request, some functions, and the correct call with its arguments."""

from __future__ import annotations

from demo_corpus.example import Example
from demo_corpus.frames import fill, sentences
from demo_corpus.shapes import INTEGER, Nullable, Object, Scalar, Shape, Union
from demo_corpus.tools import TOOLS, Tool
from demo_corpus.values import SlotValue, Source


def call(source: Source, heldout_sentences: bool = False, tools: list[Tool] = TOOLS) -> Example:
    """Return one request and a union of one to four functions that includes the correct one."""
    rng = source.rng
    right = rng.choice([tool for tool in [*tools, *tools[:5]] if sentences(tool.requests, heldout_sentences)])
    others = rng.sample([tool for tool in tools if tool is not right], rng.choice([0, 1, 1, 2, 2, 3]))
    request = source.pick(sentences(right.requests, heldout_sentences))
    values = {name: slot.make(source) for name, slot in right.slots.items()}
    if "day" in values:
        values["on_day"] = SlotValue(
            ("on " if values["day"].text[0].isupper() else "") + values["day"].text, None
        )
    mentioned = [
        name for name in right.slots if "{" + name + "}" in request or "{on_" + name + "}" in request
    ]
    text = fill(request, values, source)
    text = (
        source.pick(["", "", "", "", "Please help: ", "Hello! ", "Hey, ", "Assistant, "])
        + text[:1].upper()
        + text[1:]
        if source.chance(0.8)
        else text
    )
    holder = source.pick(["arguments", "arguments", "arguments", "args", "parameters"])
    tag = source.pick(["name", "name", "name", "function", "tool"])
    options: list[Shape] = []
    answer: dict[str, object] = {}
    for tool in rng.sample([right, *others], 1 + len(others)):
        name = source.pick(tool.names.split())
        wanted = mentioned if tool is right else rng.sample(list(tool.slots), rng.randint(1, len(tool.slots)))
        missing = [
            slot for slot in tool.slots if slot not in wanted and tool is right and rng.random() < 0.35
        ]
        fields, filled = [], {}
        for slot in [slot for slot in tool.slots if slot in wanted or slot in missing]:
            key = source.pick(tool.slots[slot].keys.split())
            if key in filled:
                continue
            shape = tool.slots[slot].shape_for(source)
            if shape == INTEGER and source.chance(0.2):
                shape = Scalar("integer (at least 1)")
            fields.append((key, Nullable(shape) if slot in missing or rng.random() < 0.12 else shape, ""))
            filled[key] = values[slot].value if tool is right and slot in mentioned else None
        arguments = Object("Arguments", tuple(fields))
        title_name = "".join(part.title() for part in name.split("_"))
        options.append(Object(title_name, ((tag, Scalar(f'"{name}"'), ""), (holder, arguments, ""))))
        if tool is right:
            answer = {tag: name, holder: filled}
    if len(options) == 1:
        return Example(text, options[0], answer)
    return Example(text, Union(tuple(options)), answer)
