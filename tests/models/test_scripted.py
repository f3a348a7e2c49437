from __future__ import annotations

import re
from typing import Annotated, Any, Literal, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, Field

import structkit as sk
from structkit.models.protocols import LogitsModel
from structkit.models.scripted_reply import ScriptedReply
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

BYTES, SMALL = byte_vocabulary(), small_vocabulary()

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "integer"}}},
    "required": ["a", "b"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("vocabulary", [BYTES, SMALL], ids=["bytes", "small"])
@given(text=st.text(max_size=40))
def test_encoded_tokens_decode_to_the_text(vocabulary: sk.Vocabulary, text: str) -> None:
    ids = ScriptedModel([], vocabulary).encode_text(text)
    assert b"".join(vocabulary.tokens[i] for i in ids) == text.encode(errors="surrogatepass")


def test_arguments_of_a_wrong_type_are_named() -> None:
    wrong: Any = None
    with pytest.raises(TypeError, match=r"replies is a list .*, not None; write \['...'\]"):
        ScriptedModel(wrong)
    with pytest.raises(TypeError, match="seed must be an integer, not 'a'"):
        RandomModel(seed=cast("Any", "a"))


def test_encoding_takes_the_longest_token() -> None:
    assert [SMALL.tokens[i] for i in ScriptedModel([]).encode_text('{"name": null, 7')] == [
        b'{"name',
        b'": ',
        b"null,",
        b" ",
        b"7",
    ]


def test_small_vocabulary() -> None:
    assert len(SMALL.eos_token_ids) == 2
    assert SMALL.tokens[:256] == BYTES.tokens[:256]
    assert len(set(SMALL.tokens) - {b""}) == sum(map(bool, SMALL.tokens))
    assert SMALL.tokens[SMALL.eos_token_ids[0] - 1] == b""


def test_replies_come_in_order_and_end() -> None:
    model = ScriptedModel(["1", lambda prompt: str(len(prompt)), "3"])
    assert [sk.extract(model, prompt, int, include_schema=False) for prompt in ("a", "four", "c")] == [
        1,
        4,
        3,
    ]
    assert model.prompts == ["a", "four", "c"]
    with pytest.raises(sk.ModelError, match="generation 4 started, but the script has 3 replies"):
        sk.extract(model, "d", int)


def test_a_string_is_not_a_list_of_replies() -> None:
    with pytest.raises(TypeError, match="write \\['true'\\]"):
        ScriptedModel("true")


@pytest.mark.parametrize(
    ("reply", "written"),
    [
        ('{"a": 1, "b": [2, 3]}', '{"a": 1, "b": [2, 3]}'),
        ('{"a":1,"b":[2,3]}', '{"a": 1, "b": [2, 3]}'),
        ('{\n  "a": 1,\n  "b": [\n    2,\n    3\n  ]\n}\n', '{"a": 1, "b": [2, 3]}'),
        ('\n  {"a":1,"b":[2,3]}\n', '{"a": 1, "b": [2, 3]}'),
    ],
)
@pytest.mark.parametrize("vocabulary", [BYTES, SMALL], ids=["bytes", "small"])
def test_a_reply_with_other_white_space_is_written_in_the_style_of_the_guide(
    reply: str, written: str, vocabulary: sk.Vocabulary
) -> None:
    assert sk.generate(ScriptedModel([reply], vocabulary), "x", SCHEMA).text == written


@pytest.mark.parametrize(
    ("reply", "written"),
    [
        ('{"a": 1}', '{"a": 1, "b": []}'),  # the key is forced; then the model only wants to end
        ("no JSON at all", '{"a": -1, "b": []}'),
    ],
)
def test_a_reply_can_be_a_preference(reply: str, written: str) -> None:
    model = ScriptedModel([reply], strict=False)
    assert sk.generate(model, "x", SCHEMA, max_tokens=30).text == written


@pytest.mark.parametrize(
    ("target", "reply", "message"),
    [
        (
            SCHEMA,
            '{"a": 1}',
            """after '{"a": 1' the target, or the budget, does not allow '}', but for example ', """,
        ),
        (
            SCHEMA,
            '{"a": 1, "b": []} more',
            """after '{"a": 1, "b": []}' .* does not allow ' more', but only the end""",
        ),
        (SCHEMA, '{"a": 1, "b": [true]}', "not allow 'true]}', but"),
        (bool, "maybe", "after '' .* not allow 'maybe'"),
        (Literal["one"], '"on"', """not allow '"', but for example 'e"'"""),  # the model is never asked
        (Literal["one"], '"one" two', "not allow ' two', but only the end"),
        (Annotated[str, Field(pattern="^[^ ]*$")], '"a b"', """after '"a' .* not allow ' b"', but"""),
        (list[int], "[1, 2]  3", "not allow '  3', but only the end"),
        (str, "", """not allow the end, but for example '"""),
        (str, '"\\u00e9"', "write json.dumps(..., ensure_ascii=False)"),
        (sk.Regex("a b[.]"), "a  b.", """after 'a ' .* not allow ' b.', but for example 'b"""),
        (sk.Regex("a b[.]"), "a b.\n", """after 'a b.' .* not allow '\\n', but only the end"""),
        (sk.Regex("a b[.]"), " a b.", """after '' .* not allow ' a b.', but for example 'a"""),
        (sk.Regex("a\n\nb"), "a\nb", """after 'a\\n' .* not allow 'b', but for example '\\n"""),
        (dict[str, int], '{"a b": 1.5}', """after '{"a b": 1' .* not allow '.5}', but for example '}'"""),
    ],
)
@pytest.mark.parametrize("vocabulary", [BYTES, SMALL], ids=["bytes", "small"])
def test_a_reply_that_the_target_excludes_is_an_error(
    target: Any, reply: str, message: str, vocabulary: sk.Vocabulary
) -> None:
    for fast_forward in (True, False):
        with pytest.raises(sk.ScriptError, match=".*".join(map(re.escape, message.split(".*")))):
            sk.generate(ScriptedModel([reply], vocabulary), "x", target, fast_forward=fast_forward)
        with pytest.raises(sk.ScriptError, match="cannot be written"):
            list(sk.stream(ScriptedModel([reply], vocabulary), "x", target, fast_forward=fast_forward))


def test_a_budget_that_cuts_a_reply_is_an_error() -> None:
    with pytest.raises(sk.ScriptError, match="or the budget, does not allow"):
        sk.extract(ScriptedModel(["[1, 2, 3, 4, 5]"]), "x", list[int], max_tokens=5)


def odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("not odd")
    return number


def test_a_reply_to_a_rejection_is_checked_too() -> None:
    target = list[Annotated[int, AfterValidator(odd)]]
    assert sk.extract(ScriptedModel(["[1, 2]", "[1, 3]"]), "x", target) == [1, 3]
    for replies in (["[1, 2]", "[1, x]"], ["[1, 2, x]"], ["[2]", "[5, x]"]):
        with pytest.raises(sk.ScriptError, match="cannot be written"):
            sk.extract(ScriptedModel(replies), "x", target, retries=1)


def test_replies_that_are_left_are_an_error() -> None:
    with ScriptedModel(["1", "2"]) as model:
        sk.extract_many(model, ["x", "y"], int)
    left = "2 of 3 replies were not used, the first of them '2'"
    with pytest.raises(sk.ScriptError, match=left), ScriptedModel(["1", "2", "3"]) as model:
        sk.extract(model, "x", int)
    with pytest.raises(KeyError), ScriptedModel(["1"]):  # not the consequence of another error
        raise KeyError


def test_a_forced_text_uses_its_reply() -> None:
    with ScriptedModel(['"one"', "2", '"one"']) as model:
        assert sk.extract_many(model, ["x", "y", "z"], [Literal["one"], int, Literal["one"]]) == [
            "one",
            2,
            "one",
        ]


def test_replies_as_logits() -> None:
    rows = np.full((3, BYTES.size), -9, np.float32)
    rows[0, ord("7")] = rows[1, ord("8")] = rows[2, BYTES.eos_token_ids[0]] = 1
    result = sk.generate(ScriptedModel([rows], BYTES), "x", int)
    assert (result.value, result.finish_reason) == (78, "stop")


def test_random_logits_depend_on_seed_sequence_and_position() -> None:
    def walk(model: RandomModel, sequences: int) -> list[list[float]]:
        sessions = [model.session() for _ in range(sequences)]
        return [session.logits([token])[:4].tolist() for session in sessions for token in (1, 2)]

    first = walk(RandomModel(seed=3), 2)
    assert first == walk(RandomModel(seed=3), 2)
    assert len({tuple(row) for row in first}) == 4
    assert first != walk(RandomModel(seed=4), 2)


def test_random_logits_are_gaussian() -> None:
    vocabulary = sk.Vocabulary(
        [bytes([1 + i // 250, 1 + i % 250]) for i in range(20_000)], eos_token_ids=[20_000]
    )
    row = RandomModel(vocabulary=vocabulary).session().logits([1])
    assert row.dtype == np.float32
    assert row.shape == (20_001,)
    assert abs(row.mean()) < 0.05
    assert abs(row.std() - 1) < 0.05


def test_brevity_makes_values_shorter() -> None:
    def length(brevity: float) -> int:
        model = RandomModel(1, brevity=brevity)
        results = [
            sk.generate(model, "x", list[str], max_tokens=80, temperature=1, seed=i) for i in range(10)
        ]
        return sum(result.usage.generated_tokens for result in results)

    assert length(5.0) < length(0.0) / 2


@pytest.mark.parametrize(
    "model", [ScriptedModel(["1"]), RandomModel(), ScriptedModel([np.zeros((1, 9), np.float32)])]
)
def test_sessions_can_be_cropped(model: LogitsModel) -> None:
    session = model.session()
    first = session.logits([1, 2])
    session.logits([3])
    session.crop(1)
    assert session.length == 1
    assert (session.logits([2]) == first).all()


def test_messages_become_lines() -> None:
    model = ScriptedModel(["1"])
    sk.extract(
        model,
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        int,
        include_schema=False,
    )
    assert model.prompts == ["user: a\nassistant: b"]


def test_a_reply_is_compared_from_where_the_last_text_ended() -> None:
    compared = 0

    class Counted(ScriptedReply):
        def _agrees(self, byte: int) -> bool:
            nonlocal compared
            compared += 1
            return super()._agrees(byte)

    reply, text = Counted(b'{"a":[1,"b c"]}'), b'{"a": [1, "b c"]}'
    for length in range(len(text) + 1):
        rest = ScriptedReply(reply.text).after(text[:length])
        assert reply.after(text[:length]) == rest
    assert compared == len(text)
    assert reply.common_length(b'{"a": x') == (6, 5) == reply.common_length(b'{"a": xy')
    assert reply.after(b'{"a": [1') == b',"b c"]}'
