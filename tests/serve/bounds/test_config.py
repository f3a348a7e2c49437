"""Settings of a server: each number has a least value, which is allowed."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import pytest

from structkit.limits import Limits
from structkit.serve.bounds.config import ServerConfig

LEAST = {
    1: ("max_body", "max_running", "max_answers", "max_tokens"),
    0: ("max_waiting", "shutdown_timeout", "default_temperature"),
}


@pytest.mark.parametrize(("name", "least"), [(name, least) for least in LEAST for name in LEAST[least]])
def test_the_least_number_is_allowed(name: str, least: int) -> None:
    config = ServerConfig()
    assert getattr(replace(config, **{name: least}), name) == least
    with pytest.raises(ValueError, match=rf"^{name} must be at least {least}, not {least - 1}$"):
        replace(config, **{name: least - 1})


@pytest.mark.parametrize("name", ["timeout", "body_timeout"])
@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_times_are_above_0(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be above 0, not {value}$"):
        replace(ServerConfig(), **{name: value})
    assert getattr(replace(ServerConfig(), **{name: 0.001}), name) == 0.001


@pytest.mark.parametrize("keys", [("",), ("a", " \t")])
def test_keys_are_not_empty(keys: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^an API key must not be empty$"):
        ServerConfig(api_keys=keys)
    assert ServerConfig(api_keys=("a", "b")).api_keys == ("a", "b")


def test_what_follows_from_the_numbers_of_answers() -> None:
    for running, waiting, answers in ((4, 8, 3), (3, 0, 4), (1, 1, 1)):
        config = ServerConfig(max_running=running, max_waiting=waiting, max_answers=answers)
        assert config.max_requests == 2 * (running + waiting)
        assert config.answers_of_request == min(running, answers)
        assert config.target_limits == replace(config.limits, batch_rows=running)


def test_a_server_allows_no_more_than_a_program() -> None:
    """Each limit is at most the default one and at least a thirtieth of it."""
    server, own = ServerConfig().limits, Limits()
    for field in fields(Limits):
        allowed, most = getattr(server, field.name), getattr(own, field.name)
        assert most / 30 <= allowed <= most, field.name
