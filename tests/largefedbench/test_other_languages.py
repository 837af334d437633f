"""Text in another language than the record's is none of it; English is, whatever the article's language."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedtext.largefedbench.cleaning.cleaner import clean_speech, split_sentences
from fedtext.largefedbench.raw_pages import RawPage
from fedtext.largefedbench.sources import pubmed, uk

ENGLISH = "We counted boats on the river in winter. There were fewer in January, and their number rose in March."
ABSTRACTS = {
    "dut": "In deze studie is onderzocht of er in de winter meer boten op de rivier waren. Het aantal boten was in januari "
    "lager, en in maart was er weer een toename.",
    "nor": "Vi har sett etter båter for to elver i en by. Det er for mange båter i to av dem, og for få for by og land.",
    "ger": "Im Winter war in der Stadt der Fluss in Eis. Die Zahl der Boote war in Januar klein, in Mai war sie hoch.",
    "rum": "Orasul are doua rauri si are multe barci. Fiecare rau are un pod, iar podul are o poarta in nord.",
}  # fmt: skip


def kind_of(tmp_path: Path, text: str, *languages: str) -> str:
    said = "".join(f"<Language>{language}</Language>" for language in languages)
    xml = (
        "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article><Journal><JournalIssue><PubDate><Year>"
        "2024</Year></PubDate></JournalIssue></Journal><ArticleTitle>On boats</ArticleTitle><Abstract><AbstractText>"
        f"{text}</AbstractText></Abstract>{said}</Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"
    )
    path = tmp_path / "a.xml"
    path.write_text(xml, "utf-8")
    (turn,) = pubmed.parse(RawPage("pubmed/a.xml", path))
    return turn.kind


@pytest.mark.parametrize("language", ABSTRACTS)
def test_words_that_english_shares_do_not_speak_for_it(tmp_path: Path, language: str) -> None:
    assert kind_of(tmp_path, ABSTRACTS[language], language) == "another_language"


@pytest.mark.parametrize("languages", [(), ("eng",), ("dut",), ("nor",), ("dut", "eng"), ("und",)])
def test_an_english_abstract_stays_whatever_the_article_s_language(tmp_path: Path, languages: tuple[str, ...]) -> None:
    assert kind_of(tmp_path, ENGLISH, *languages) == "speech"


def test_the_language_can_only_raise_the_bar(tmp_path: Path) -> None:
    assert (
        kind_of(tmp_path, "Nous avons compté les bateaux sur deux rivières au printemps.", "eng") == "another_language"
    )
    assert kind_of(tmp_path, "Boats in rivers.", "eng") == "speech"
    assert kind_of(tmp_path, "Boten in rivieren.", "dut") == "another_language"


@pytest.mark.parametrize(
    ("paragraphs", "left"),
    [
        (["[Member spoke in Dene] Mahsi cho. Dene yati nezo. [English] I thank them."], "I thank them."),
        (["[Member spoke in Dene]", "Mahsi cho.", "[English]", "I thank them."], "I thank them."),
        (["[Member spoke in Dene]", "Mahsi cho.", "I thank them."], "I thank them."),  # the mark was an element
        (["[Member spoke in Hul'q'umi'num' and provided the following text:]", "'Uy' skweyul. Huy ch q'u siem!",
          "[Translation]", "Good day to you."], "Good day to you."),
        (["[Member spoke in Mandarin as follows:]", "Xin nian kuai le.", "And in Cantonese:",
          "[Member spoke in Cantonese as follows:]", "Sun nien fai lok."], "And in Cantonese:"),
        (["[Member spoke in Gaelic]", "[English]", "Long live Nova Scotia. I said so."], "Long live Nova Scotia. I said so."),
        (["[Member spoke in Cree] Mr. Speaker, boats sail. Boats sink."], "Boats sail. Boats sink."),
        (["[Member spoke in Cree] I rise. Boats sink."], "I rise. Boats sink."),
    ],
)  # fmt: skip
def test_words_after_the_mark_of_another_language(paragraphs: list[str], left: str) -> None:
    cleaned = clean_speech(paragraphs, "ca")
    assert cleaned.text == left
    assert "spoken_in_another_language" in [removal.rule for removal in cleaned.removed]


@pytest.mark.parametrize("name", ["Dame Élan Ap-Rhys", "Élan Ŵyn", "Ian Öst", "Mr Łukasz Šik"])
def test_a_capital_may_have_an_accent(name: str) -> None:
    assert clean_speech([f"The Member for Ŵyn ({name}) asks."], "uk").text == "The Member for Ŵyn asks."
    assert clean_speech(["The gentleman from Éaton (Mr. Élan) asks."], "us").text == "The gentleman from Éaton asks."
    assert split_sentences(f"He came. {name} went.") == ["He came.", f"{name} went."]
    chairs = uk.Chairs("2024-01-01", chamber="House of Commons")
    chairs.notice(f"{name} in the Chair")
    assert chairs.has(name)


def test_brackets_with_a_small_letter_stay() -> None:
    assert clean_speech(["The Member for Ŵyn (élan vital) asks."], "uk").text == "The Member for Ŵyn (élan vital) asks."
