from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from fedtext.reporting.figures import accuracy_bars, privacy_price
from fedtext.reporting.figures_pca import pca_panels
from fedtext.reporting.html import FIGURES, Sample, render_report
from tests.evaluation.examples import CLIENTS, HELD_OUT, PCA, accuracy, card, cloud
from tests.refusals import refuses

NASTY = '</script><script>document.title="owned"</script><img src=x onerror=alert(1)> & "quoted"'


def page(**changes: object) -> str:
    found = card(**changes)
    figures = {
        "accuracy": accuracy_bars(found["accuracy"]),
        "privacy": privacy_price({NASTY: 0.9}, 1.0),
        "pca_sets": pca_panels("Sets", {NASTY: cloud(300, 1)}, HELD_OUT, CLIENTS, PCA),
    }
    return render_report(found, figures, [Sample("Return the list."), Sample(""), Sample(NASTY, NASTY)])


class Elements(HTMLParser):
    """Every element with its attributes, and whether all were closed."""

    VOID = frozenset({"meta", "br", "img", "hr", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def of(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def report() -> str:
    return page()


def test_nothing_is_fetched(report):
    elements = Elements(report)
    assert not [a for a in elements.of("script") if "src" in a]
    assert not elements.of("link")
    assert not elements.of("img")
    assert not elements.of("iframe")
    linked = [a[key] for _, a in elements.found for key in ("href", "src", "action", "srcset") if a.get(key)]
    assert not linked
    assert "@import" not in report
    assert not re.search(r"url\(\s*['\"]?https?:", report.partition("</style>")[0])
    policy = next(a["content"] for a in elements.of("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy


def test_our_own_text_names_no_address(report):
    without_library = re.sub(r"<script.*?</script>", "", report, flags=re.DOTALL)
    assert not re.search(r"https?://", without_library)


def test_all_text_is_escaped(report):
    assert NASTY not in report
    assert "&lt;/script&gt;&lt;script&gt;" in report
    assert not Elements(report).open
    assert page(corpus=NASTY, algorithm=NASTY).count("<script>document") == 0


def test_a_text_runs_in_the_direction_of_its_own_script():
    """Else an Arabic text stands at the left, with its full stop at the wrong end."""
    shown = Elements(render_report(card(), {}, [Sample("لم يصل طلبي بعد.", "شكوى"), Sample("Late.", "refund")]))
    assert [quoted.get("dir") for quoted in shown.of("blockquote")] == ["auto", "auto"]
    assert [span.get("dir") for span in shown.of("span") if span.get("class") == "class"] == ["auto", "auto"]


def test_first_words_are_the_headline(report):
    lead = report.partition('<div class="lead">')[2].partition("</div>")[0]
    sentences = re.findall(r"<p>(.*?)</p>", lead)
    assert sentences[0].startswith("This run protects each of 2,470 clients")
    assert "ε = 1.00" in sentences[1]
    assert sentences[2].startswith("Of what private samples add to the best control")
    assert "next-token accuracy" in sentences[3]
    assert report.index('class="lead"') < report.index('class="samples"') < report.index("<figure")
    assert report.index('class="samples"') < report.index("<table")


def test_structure_is_semantic(report):
    elements = Elements(report)
    assert len(elements.of("h1")) == len(elements.of("main")) == 1
    assert len(elements.of("caption")) == len(elements.of("table")) >= 4
    assert len(elements.of("figcaption")) == len(elements.of("figure")) == 3
    identifiers = {a["id"] for _, a in elements.found if "id" in a}
    assert {a["aria-labelledby"] for a in elements.of("section")} <= identifiers
    assert all(a.get("scope") for a in elements.of("th"))
    assert elements.of("html")[0]["lang"] == "en"


def test_it_is_one_small_file(report):
    assert len(report.encode()) < 6_000_000
    assert report.count("plotly.js v") <= 2  # the library once


def test_report_without_figures_needs_no_library():
    bare = render_report(card(), {}, [])
    assert "<script" not in bare
    assert len(bare) < 60_000


def test_unknown_figure_is_refused():
    with refuses("unknown-figure", value="velocity"):
        render_report(card(), {"velocity": None}, [])


def test_published_metric_stands_apart():
    assert "never to be compared" not in render_report(card(), {}, [])
    assert "never to be compared" in render_report(card(accuracy=accuracy(published=True)), {}, [])


def test_every_figure_has_a_caption_of_its_own():
    assert len({caption for _, caption in FIGURES.values()}) == len(FIGURES)


def test_a_caption_says_what_is_shaded_where_something_is():
    def drawn(**levels: float) -> str:
        found = accuracy(**levels)
        return render_report(card(accuracy=found), {"accuracy": accuracy_bars(found)}, [])

    assert "Shaded is what private samples add" in drawn()
    assert "Shaded" not in drawn(private=0.1), "nothing is left"


@pytest.mark.browser
def test_figures_draw_in_a_browser_without_a_network(report, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium here")
    (tmp_path / "report.html").write_text(report, encoding="utf-8")
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]
    logs = ["--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [browser, *flags, *logs, f"file://{tmp_path / 'report.html'}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.count("main-svg") >= 3
    assert "owned" not in done.stdout.partition("</title>")[0]
    assert "CONSOLE" not in done.stderr
