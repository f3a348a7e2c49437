"""The flags and numbers that callers rely on when they leave an argument out."""

from __future__ import annotations

from tests.defaults import defaults

DEFAULTS = """
batch run_as_completed reads_ahead=True
batch run_steps is_stepwise=True
budget budget_exceeded default=1024
budget budget_exceeded is_deep=False
confidence warn_low_agreement compact=False
config GeneratedTokens tokens.start=0
config RejectedSpan starts_over=False
events EventEmitter __init__.start=0
flows FlowResult accepted_tokens=0
flows FlowResult drafted_tokens=0
forced ForcedText __init__.is_drafted=True
job Job __init__.is_stepwise=False
json_reader Field end=-1
json_reader Field size=0
prefix_cache CachedRow store.read_tokens=0
prompt build_prompt as_messages=True
prompt encode_prompt thinking=False
reading Reading read.is_last=False
request Request number=0
result Usage accepted_tokens=0
result Usage calls=0
result Usage discarded_tokens=0
result Usage drafted_tokens=0
result Usage forced_tokens=0
result Usage generated_tokens=0
result Usage prompt_tokens=0
result Usage thinking_tokens=0
sample Sampling generator.sequence_index=0
settings BatchSettings return_exceptions=False
settings BatchSettings size=8
settings Settings charge_discarded=False
settings Settings confidence=False
settings Settings fast_forward=True
settings Settings include_schema=True
settings Settings max_corrections=16
settings Settings max_thinking_tokens=0
settings Settings prompt_lookup=24
settings Settings retries=3
spellings Spellings spell.start=0
step Draft forced_count=0
step SampleRequest reread_count=0
step SampleRequest rollback_count=0
step SampleRequest with_logprobs=False
step SampledToken is_guessed=False
token Token __new__.drafted=False
trace Trace accepted_tokens=0
trace Trace drafted_tokens=0
trace Trace healed_bytes=0
"""


def test_the_defaults_of_public_names() -> None:
    assert defaults("generate") == DEFAULTS.strip().splitlines()
