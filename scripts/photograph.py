"""Write the screenshot of the playground; needs Chromium. Run as `python scripts/photograph.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import structkit as sk  # noqa: E402
from tests.serve.chromium import CHROMIUM, browse  # noqa: E402
from tests.serve.running import serving  # noqa: E402

TARGET = """{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 30},
    "age": {"type": "integer"},
    "job": {"enum": ["doctor", "teacher"]},
    "city": {"type": ["string", "null"]}
  },
  "required": ["name", "age", "job", "city"]
}"""


def main() -> int:
    """Write `docs/assets/playground.png`."""
    if CHROMIUM is None:
        print("needs Chromium, such as Debian's package chromium")
        return 1
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        serving(sk.load()) as served,
        browse(Path(profile)) as page,
    ):
        page.look(1200, 860)
        page.go(served.url)
        page.run(f"document.getElementById('target').value = {TARGET!r}")
        page.run("document.getElementById('run').click()")
        page.wait("document.getElementById('form').dataset.state == 'complete'")
        page.run("document.querySelector('#tokens .masked').click()")
        page.photograph(ROOT / "docs/assets/playground.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
