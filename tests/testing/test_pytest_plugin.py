"""The pytest plugin: its models, its guard, and its import cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import structkit as sk

PLUGIN = ("-p", "structkit.testing.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _this_structkit(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Make tests that run in another folder import this copy of structkit, and no other plugin, which take a second."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p no:langsmith_plugin")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]))


def _run(pytester: pytest.Pytester, source: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    loaded = "PYTEST_DISABLE_PLUGIN_AUTOLOAD" not in os.environ and any(
        "structkit" in name for name in _entry_points()
    )
    arguments = ("-p", "no:langsmith_plugin", *arguments)  # takes a second to import
    return pytester.runpytest_subprocess(*(() if loaded else PLUGIN), *arguments)


def _entry_points() -> list[str]:
    from importlib.metadata import entry_points

    return [point.value for point in entry_points(group="pytest11")]


@pytest.mark.long
def test_models(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where structkit is installed, pytest finds the plugin by itself."""
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    result = _run(
        pytester,
        """
        import structkit as sk

        def test_scripted(structkit_model):
            model = structkit_model(["[1, 2]", "[3]"])
            assert sk.extract(model, "x", list[int]) == [1, 2]
            assert sk.extract(model, "x", list[int]) == [3]

        def test_random(structkit_model):
            one, other = (sk.extract(structkit_model(seed=3), "x", list[int], temperature=1, seed=0) for _ in "ab")
            assert one == other
            assert isinstance(sk.extract(structkit_model(), "x", bool), bool)
        """,
    )
    result.assert_outcomes(passed=2)


REFUSED = """
    import os
    import pytest
    import structkit as sk

    @pytest.fixture
    def model():
        return sk.load("organization/model")

    def test_in_a_test():
        with pytest.raises(sk.ModelError, match="structkit_downloads"):
            sk.load("organization/model")

    def test_in_a_fixture(model):
        pass

    @pytest.mark.structkit_downloads
    def test_allowed():
        assert "STRUCTKIT_DOWNLOADS" not in os.environ

    def test_folders_are_no_downloads(tmp_path):
        with pytest.raises(sk.ModelError, match="config.json is missing"):
            sk.load(tmp_path)
    """


@pytest.mark.long
def test_downloads_are_disabled(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRUCTKIT_DOWNLOADS", raising=False)
    result = _run(pytester, REFUSED, "--strict-markers")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(
        ["*ModelError: at `organization/model`:*", "*downloads from the Hub are disabled*"]
    )


ELSEWHERE = """
    import subprocess
    import sys
    import threading
    import unittest
    import pytest
    import structkit as sk

    def refusal():
        try:
            sk.load("organization/model")
        except sk.ModelError as error:
            return str(error)

    @pytest.fixture(scope="session")
    def early():
        return refusal()

    def test_in_a_fixture_of_the_session(early):
        assert "are disabled" in early

    def test_in_a_thread():
        found = []
        thread = threading.Thread(target=lambda: found.append(refusal()))
        thread.start()
        thread.join()
        assert "are disabled" in found[0]

    def test_in_a_process():
        code = "import structkit as sk; sk.load('organization/model')"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "are disabled" in done.stderr

    class TestOfUnittest(unittest.TestCase):
        def test_in_a_method(self):
            self.assertIn("are disabled", refusal())

    def test_without_transformers(structkit_model, monkeypatch):
        for name in ("transformers", "torch", "huggingface_hub"):
            monkeypatch.setitem(sys.modules, name, None)
        assert sk.extract(structkit_model(["3"]), "x", int) == 3
    """


@pytest.mark.long
def test_downloads_are_disabled_in_fixtures_threads_and_subprocesses(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STRUCTKIT_DOWNLOADS", raising=False)
    _run(pytester, ELSEWHERE).assert_outcomes(passed=5)


def test_a_project_can_allow_downloads(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRUCTKIT_DOWNLOADS", raising=False)
    source = "import os\ndef test_allowed():\n    assert os.environ.get('STRUCTKIT_DOWNLOADS') != '0'"
    _run(pytester, source, "-o", "structkit_downloads=true").assert_outcomes(passed=1)
    _run(pytester, source).assert_outcomes(failed=1)


def test_the_marker_is_described(pytester: pytest.Pytester) -> None:
    _run(pytester, "", "--markers").stdout.fnmatch_lines(["@pytest.mark.structkit_downloads: *"])


def test_the_environment_variable_disables_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRUCTKIT_DOWNLOADS", "0")
    with pytest.raises(sk.ModelError, match="are disabled"):
        sk.load("organization/model")


def test_loading_the_plugin_is_lightweight() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import structkit.testing.pytest_plugin\n"
        "import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {name for name in json.loads(done.stdout) if not name.startswith("json")}
    assert imported == {"structkit", "structkit.testing", "structkit.testing.pytest_plugin"}
