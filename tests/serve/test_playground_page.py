"""The page at `/` in a real browser; needs Chromium."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from structkit.generate.schedule.scheduler import SCHEDULERS
from structkit.testing import RandomModel
from tests.serve.chromium import CHROMIUM, Page, browse
from tests.serve.running import eventually, serving
from tests.serve.test_bounds import is_idle

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium, such as Debian's package chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browse(tmp_path_factory.mktemp("chromium")) as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Page:
    browser.look(1200, 900)
    browser.messages.clear()
    browser.requests.clear()
    return browser


def text(page: Page, id: str) -> str:
    shown: str = page.run(f"document.getElementById('{id}').textContent")
    return shown


def generate(page: Page, **fields: str) -> None:
    for id, value in fields.items():
        page.run(f"document.getElementById('{id}').value = {value!r}")
    page.run("document.getElementById('run').click()")
    page.wait("!['running', undefined].includes(document.getElementById('form').dataset.state)")


def test_the_example_is_generated_and_its_tokens_are_colored(demo, page: Page) -> None:
    with serving(demo) as served:
        page.go(served.url)
        generate(page)
        assert text(page, "text") == '{"name": "Ana Souza", "age": 34, "job": "nurse"}'
        assert page.run("[...document.querySelectorAll('#fields td')].map(cell => cell.textContent)") == [
            *("name", '"Ana Souza"'),
            *("age", "34"),
            *("job", '"nurse"'),
        ]
        assert page.run("[...document.querySelectorAll('#rows tr')].length") > 5
        assert text(page, "regex").startswith('\\{"name": "')
        colors = page.run(
            "['forced', 'sampled', 'drafted'].map(kind => getComputedStyle("
            "document.querySelector(`#tokens .${kind}`)).backgroundColor)"
        )
        assert len({*colors}) == 3
        page.run("document.querySelector('#tokens .sampled').click()")
        assert "sampled, chosen by the model among the allowed tokens. Probability " in text(page, "detail")
        assert page.requests == [f"{served.url}/", f"{served.url}/playground"]
    assert page.messages == []


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_all_without_scrolling_to_the_side(demo, page: Page, dark: bool) -> None:
    page.look(360, 800, dark=dark)
    with serving(demo) as served:
        page.go(served.url)
        generate(page)
        assert page.run("document.documentElement.scrollWidth") <= 360
        color = page.run("getComputedStyle(document.body).backgroundColor")
    assert (color == "rgb(255, 255, 255)") != dark


def test_texts_of_a_model_are_never_markup(page: Page) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(1)</script>\x07"
    with serving([hostile]) as served:
        page.go(served.url)
        page.run("document.querySelector('[value=regex]').click()")
        generate(page, target=r"<[\s\S]+", prompt="<b>x</b>")
        assert text(page, "text") == hostile
        assert "\\u{7}" in text(page, "tokens")
        assert page.run("document.querySelectorAll('img, b, script').length") == 1
    assert page.messages == []


def test_a_key_is_asked_for_and_sent(page: Page) -> None:
    with serving(["yes, because it is so anyhow."], api_keys=("secret",)) as served:
        page.go(served.url)
        page.run("document.querySelector('[value=regex]').click()")
        generate(page)
        assert "the API key is missing or wrong" in text(page, "error")
        generate(page, key="secret")
        assert text(page, "text") == "yes, because it is so anyhow."


def test_an_error_names_its_place(page: Page) -> None:
    with serving([]) as served:
        page.go(served.url)
        generate(page, target='{"type": "nothing"}')
        assert "nothing" in text(page, "error")
        assert "(target)" in text(page, "error")
        assert page.run("document.getElementById('run').disabled") is False


def test_stop_frees_the_row(page: Page) -> None:
    model = RandomModel(seed=3)
    with serving(model, max_tokens=500_000) as served:
        page.go(served.url)
        page.run("document.querySelector('[value=regex]').click()")
        page.run("document.getElementById('target').value = '[a-z]{20000}'")
        page.run("document.getElementById('max_tokens').value = 500000")
        page.run("document.getElementById('run').click()")
        eventually(lambda: SCHEDULERS.of(model).active_rows > 0)
        page.run("document.getElementById('stop').click()")
        page.wait("document.getElementById('form').dataset.state == 'failed'")
        assert text(page, "error") == "stopped"
        eventually(lambda: is_idle(served))
