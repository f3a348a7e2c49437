"""A headless Chromium, driven by its DevTools protocol through two pipes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from select import select
from typing import Any

__all__ = ["CHROMIUM", "Page", "browse"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""The program; `None` if there is none."""

_SECONDS = 120.0
"""The longest wait, on a slow machine."""

_START = """
import os, sys
read, write = os.dup(int(sys.argv[1])), os.dup(int(sys.argv[2]))
while read in (3, 4): read = os.dup(read)
while write in (3, 4): write = os.dup(write)
os.dup2(read, 3), os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""A program that gives the pipes the numbers at which Chromium looks for them."""


class Page:
    """A tab.

    Attributes:
        messages: What the page wrote to the console, and the faults of its scripts.
        requests: The addresses that the page asked for.
    """

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        self._received = b""
        self._number = 0
        self._session: str | None = None
        self.messages: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> Any:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _SECONDS
        while (answer := self._next(deadline)).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def go(self, url: str) -> None:
        """Open an address."""
        self.call("Page.navigate", url=url)
        self.wait("document.readyState == 'complete' && location.href != 'about:blank'")

    def run(self, code: str) -> Any:
        """Return the value of an expression of JavaScript."""
        found = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + _SECONDS
        while not self.run(condition):
            assert time.monotonic() < deadline, condition
            time.sleep(0.05)

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """Set the size of the screen, and its colors."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def photograph(self, path: Path) -> None:
        """Write the picture of the screen."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _next(self, deadline: float) -> Any:
        while b"\0" not in self._received:
            ready, _, _ = select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "Chromium does not answer"
            added = os.read(self._read, 1 << 20)
            assert added, "Chromium ended"
            self._received += added
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)

    def _note(self, event: Any) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
                self.messages.append(json.dumps(params))
            case "Log.entryAdded":
                self.messages.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case _:
                pass


@contextmanager
def browse(profile: Path) -> Iterator[Page]:
    """Start a browser with a profile of its own, and yield its page."""
    assert CHROMIUM
    commands, command_end = os.pipe()
    answer_end, answers = os.pipe()
    arguments = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--no-first-run",
        f"--user-data-dir={profile}",
        "--remote-debugging-pipe",
    ]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _START, str(commands), str(answers), *arguments],
        pass_fds=(commands, answers),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    try:
        yield Page(answer_end, command_end)
    finally:
        os.close(command_end)
        os.close(answer_end)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
