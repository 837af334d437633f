"""A notice is one however it is set, and in whatever words; an abstract about withdrawal is none."""

from __future__ import annotations

import pytest

from fedtext.largefedbench.sources.notices import is_no_abstract, notice

WITHDRAWALS = [
    "This article has been withdrawn by the authors.",
    "The authors have withdrawn this manuscript pending a recount.",
    "We have decided to withdraw our preprint while we repeat the counts.",
    "This preprint has been taken offline.",
    "The server no longer hosts this article.",
    "Author requested withdrawal due to an error in Figure 2.",
    "Withdrawal was requested by the authors.",
    "The authors withdrew it in June 2024.",
    "The authors asked bioRxiv to delete this manuscript.",
    "At our request the server unpublished this article.",
    "A newer version exists; this one was removed at the request of the authors.",
    "Cet article a été retiré par les auteurs.",
    "Les auteurs ont retiré ce manuscrit.",
    "Dieser Artikel wurde von den Autoren zurückgezogen.",
    "Die Autoren haben dieses Manuskript zurückgezogen.",
    "Wir ziehen diesen Artikel zurück.",
    "Este artículo ha sido retirado por los autores.",
]
NOT_WITHDRAWALS = [
    "Treatment was withdrawn after six weeks, and withdrawal symptoms were scored daily.",
    "The author requested withdrawal of consent from two patients.",
    "Withdrawal of troops from the border was requested by the senate.",
    "Troops were withdrawn in June; the paper traces why the cabinet withdrew them.",
    "The cabinet withdrew it in June 2024, and this paper asks why.",
    "Editors requested retraction of 12 papers, of which three were withdrawn.",
    "The authors withdrew blood from 40 ferrymen and took the rest offline.",
    "Learners often delete the article before a noun, and remove the plural.",
    "The platform was taken offline, after which it no longer hosts the files.",
    "We removed the article of clothing and asked the ferrymen to delete their photographs.",
    "The glaciers retreat, and the work is available in German: Die Gletscher ziehen sich zurück.",
    "Le traitement a été retiré après six semaines.",
    "Die Truppen wurden im Juni zurückgezogen.",
]


@pytest.mark.parametrize("text", WITHDRAWALS)
def test_a_withdrawal_is_one_in_any_setting(text: str) -> None:
    settings = [
        text,
        text.replace(" ", "\u00a0"),
        text.replace(" ", "\n"),
        text.replace(" ", "  "),
        " ".join(f"<b>{word}</b>" for word in text.split()),
        " ".join(f"**{word}**" for word in text.split()),
        " ".join(f"{word[:2]}\u00ad{word[2:]}" for word in text.split()),
        f"<jats:p>{text}</jats:p>",
        f"&lt;p&gt;{text.replace(' ', '&nbsp;')}&lt;/p&gt;",
        f"<title>Note</title><p>{text}</p>",
    ]
    assert {one: notice("On ferries", one) for one in settings} == dict.fromkeys(settings, "withdrawn")


@pytest.mark.parametrize("text", NOT_WITHDRAWALS)
def test_an_abstract_about_withdrawal_is_none(text: str) -> None:
    assert notice("On withdrawal", text) is None
    assert notice("On withdrawal", text.replace(" ", "\n")) is None


@pytest.mark.parametrize(
    "title", ["RETIRÉ : Boats", "Zurückgezogen: Boats", "Avis de retrait : Boats", "Retrait de l’article"]
)
def test_titles_of_notices_in_other_languages(title: str) -> None:
    assert notice(title, "Boats were counted.") == "withdrawn"


@pytest.mark.parametrize(
    "text",
    [
        "Coming soon", "The abstract is coming soon.", "no abstracts", "There are no abstracts.", "n/a n/a", "NA; NA", "<p>N/A</p>",
        "Abstract not available in English.", "Abstract available in French only", "No abstract available at this time.",
        "Pas de résumé disponible.", "Kein Abstract verfügbar", "Not\u00a0available",
    ],
)  # fmt: skip
def test_a_text_that_says_there_is_none(text: str) -> None:
    assert is_no_abstract(text)
    assert not is_no_abstract(f"{text} We count boats.")


@pytest.mark.parametrize(
    "text",
    [
        "Not available to bats, moths hear.", "The abstract is in English.", "No abstract model fits the boats.",
        "Coming soon after dawn, boats pass.", "Available soon on rivers: boats.",
    ],
)  # fmt: skip
def test_a_text_that_only_opens_so(text: str) -> None:
    assert not is_no_abstract(text)
