"""A bar of progress in a terminal instead of a letter for each test; failures are named when they occur."""

from __future__ import annotations

import pytest
from tqdm import tqdm


class Bar:
    """A plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._bar: tqdm[None] | None = None
        self._config = config

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if self._bar is None and session.items:
            self._start(len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if self._bar is None:
            self._start(len(ids))

    def _start(self, tests: int) -> None:
        terminal = self._config.get_terminal_writer()  # sys.stdout and sys.stderr are captured during tests
        terminal.line()
        self._bar = tqdm(
            total=tests,
            file=terminal,  # type: ignore[arg-type]
            ncols=terminal.fullwidth,
            smoothing=0.02,
            leave=False,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Return the category of the report, without a letter or a word to print."""
        if report.failed:
            return ("failed" if report.when == "call" else "error"), "", ""
        if report.when == "call" or report.skipped:
            return report.outcome, "", ""
        return "", "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._bar is None:
            return
        if report.failed:
            self._bar.write(f"FAILED {report.nodeid}", file=self._bar.fp)
        if report.when == "teardown":
            self._bar.update()

    def pytest_sessionfinish(self) -> None:
        if self._bar is not None:
            self._bar.close()
