"""The report and the page of a run in a real browser, from the disk, in light and dark, at two widths; pictures are kept.

Run by ``make test-browser``, skipped where there is no browser. Pictures: ``data/notebooks/screenshots``.
"""

import json
import re
import time
from urllib.parse import quote

import pytest

from taulong.paths import OUTPUTS
from taulong.reading import write_report, write_view
from taulong.runs import RunConfig, RunFolder, execute_runs
from taulong.shifts import generate_shifts, write_shifts

SCREENSHOTS = OUTPUTS / "screenshots"
THEMES, WIDTHS = ("light", "dark"), (1200, 1500)

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with a hostile conversation in it, its report and its page."""
    root = tmp_path_factory.mktemp("a run") / "below it"  # with a space in its path
    root.mkdir()
    patched = pytest.MonkeyPatch()
    patched.setattr("taulong.shifts.files.SHIFTS", root)
    write_shifts(generate_shifts(num_shifts=6), root / "pages.jsonl")
    folder = execute_runs(
        RunConfig(str(root / "pages.jsonl"), ("learner", "parrot", "meddler"), ("none", "notebook", "oracle")),
        root / "run",
    )
    path = folder.path / "transcripts.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["messages"][0]["content"] = "<img src=x onerror='document.title=1'><script>document.title = 2</script>"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    folder = RunFolder.open(folder.path)
    yield folder, write_report([str(folder.path)], root / "report.html"), write_view(folder.path, root / "view")
    patched.undo()


@pytest.fixture(
    params=[(theme, width) for theme in THEMES for width in WIDTHS], ids=lambda param: f"{param[0]}-{param[1]}"
)
def look(browser, request):
    theme, width = request.param
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    browser.set_window_size(width, 1000)
    return f"{theme}-{width}"


def shot(browser, name):
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    time.sleep(0.3)
    browser.save_screenshot(str(SCREENSHOTS / f"{name}.png"))


def find(browser, css):
    return browser.find_elements("css selector", css)


def until(condition):
    deadline = time.monotonic() + 20
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return value


def nothing_is_wider_than_the_page(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('body, table, img, .taulong, pre')].filter(each => each.checkVisibility()"
        " && each.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(each => each.outerHTML.slice(0, 200))"
    ) == [] and browser.execute_script(
        "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def contrast(browser, css):
    """Return the smallest contrast of text on its page among elements."""
    return browser.execute_script(
        """
        const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
        const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number); return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        return Math.min(...[...document.querySelectorAll(arguments[0])].map((each) => {
          const ink = light(getComputedStyle(each).color);
          return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        }));
        """,
        css,
    )


def test_a_report_answers_on_its_first_screen_and_opens_a_conversation_by_one_click(browser, run, look):
    folder, report, _ = run
    browser.get(report.as_uri())
    shot(browser, f"report-{look}")
    assert nothing_is_wider_than_the_page(browser)
    assert contrast(browser, "h1, p, th, td, summary, a, .answer, small") >= 4.5
    bottom = "return document.querySelector('body > .taulong-sheet, body > .taulong').getBoundingClientRect().top"
    assert browser.execute_script(bottom) < 1000  # the table begins on the first screen
    answer = find(browser, ".answer")[0].text
    for words in ("Answer.", "With a notebook", "95 % interval", "official reward", "Not shown."):
        assert words in answer
    for section in find(browser, "body > details > summary"):
        section.click()
    assert nothing_is_wider_than_the_page(browser)
    assert contrast(browser, "h1, p, th, td, summary, a, .answer, small") >= 4.5
    height = browser.execute_script("return document.documentElement.scrollHeight")
    browser.set_window_size(browser.get_window_size()["width"], min(height + 150, 16000))
    shot(browser, f"report-whole-{look}")
    find(browser, ".taulong-sheet a[href*='meddler'][href*='notebook']")[0].click()
    title = until(lambda: find(browser, ".case .taulong-title"))[0].text
    assert title.startswith("eval-")
    assert "gated 0.0" in find(browser, ".case .taulong-badges")[0].text
    shot(browser, f"report-case-{look}")
    assert browser.title == f"TauLong: {folder.path.name}"


def test_the_page_of_a_run_filters_sorts_and_links_to_a_case(browser, run, look):
    folder, _, view = run
    browser.get(view.as_uri())
    shot(browser, f"view-{look}")
    records = folder.records()
    shown = lambda: int(re.match(r"(\d+) of", find(browser, ".list div")[0].text.replace(",", ""))[1])  # noqa: E731
    assert shown() == len(records)
    first = records.iloc[0]
    browser.get(f"{view.as_uri()}#agent=parrot&population=testing&memory_mode=none")
    until(
        lambda: (
            shown()
            == (
                (records["agent"] == "parrot")
                & (records["population"] == "testing")
                & (records["memory_mode"] == "none")
            ).sum()
        )
    )
    heads = find(browser, ".list thead th")
    at = [head.text for head in heads].index("result")
    heads[at].click()
    results = until(lambda: [cell.text for cell in find(browser, f".list tbody td:nth-child({at + 1})")])
    assert len(set(results)) == 2
    assert results == sorted(results)
    key = f"{first['case_id']}~{first['agent']}~{first['memory_mode']}~{first['trial']}"
    browser.get(f"{view.as_uri()}?x#case={quote(key)}")
    until(lambda: find(browser, ".case .taulong-title"))
    assert "<script>document.title = 2</script>" in find(browser, ".case")[0].text
    assert find(browser, ".case img, .case script") == []
    assert browser.title == f"TauLong: {folder.path.name}"
    browser.find_element("css selector", "body").send_keys("j")
    until(lambda: first["case_id"] not in find(browser, ".case .taulong-title")[0].text)
    assert nothing_is_wider_than_the_page(browser)
    assert contrast(browser, "h1, p, th, td, label, .case .taulong-text") >= 4.5
    shot(browser, f"view-case-{look}")
