from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import structkit as sk
from structkit.models.protocols import LogitsModel
from structkit.testing import RandomModel, ScriptedModel, byte_vocabulary, small_vocabulary

BYTES, SMALL = byte_vocabulary(), small_vocabulary()


@pytest.mark.parametrize("vocabulary", [BYTES, SMALL], ids=["bytes", "small"])
@given(text=st.text(max_size=40))
def test_encoded_tokens_decode_to_the_text(vocabulary: sk.Vocabulary, text: str) -> None:
    ids = ScriptedModel([], vocabulary).encode_text(text)
    assert b"".join(vocabulary.tokens[i] for i in ids) == text.encode(errors="surrogatepass")


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
        ('{"a": 1}', '{"a": 1, "b": []}'),  # the key is forced; then the model prefers to end
        ("no JSON at all", '{"a": -1, "b": []}'),
    ],
)
@pytest.mark.parametrize("vocabulary", [BYTES, SMALL], ids=["bytes", "small"])
def test_a_reply_with_other_white_space_is_written_in_the_style_of_the_guide(
    reply: str, written: str, vocabulary: sk.Vocabulary
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "integer"}}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert sk.generate(ScriptedModel([reply], vocabulary), "x", schema, max_tokens=30).text == written


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
