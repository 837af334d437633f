"""The language of a description: told by what it says, by its script and its function words, and else not at all.

And which texts are in a language that hardly any other is in.
"""

from __future__ import annotations

import pytest

from fedtext.corpora.public import stdlib_records
from fedtext.generation.languages import FUNCTION_WORDS, language_of, minority_language_mask, wanted_language
from fedtext.params.corpus import Corpus
from tests.generation.test_messages_of_languages import WRITTEN
from tests.parameters import conf_base

IN_ENGLISH = (
    "questions that customers ask their bank",
    "messages that customers send to an online shop",
    "notes that nurses write at the end of a shift",
    "reviews of French restaurants",
    "posts about a garden",
    "tweets about die casting",
    "questions de jour of a quiz show",
    "docstrings of Python functions that work with files, networks, dates, text, numbers and threads",
    "chat messages between friends",
)
TOLD = {
    "French": (
        "messages que des clients envoient à une boutique en ligne",
        "notes d'infirmières à la fin de leur service",
    ),
    "German": ("Nachrichten, die Kunden an einen Online-Shop schreiben", "Beschwerden über die Bahn"),
    "Spanish": ("mensajes que los clientes envían a una tienda en línea", "cartas de inquilinos al propietario"),
    "Italian": ("messaggi che i clienti scrivono a un negozio online", "note degli infermieri alla fine del turno"),
    "Portuguese": ("mensagens que os clientes enviam para uma loja online", "perguntas dos clientes ao banco"),
    "Dutch": ("berichten die klanten aan een webwinkel sturen", "vragen van klanten aan hun bank"),
    "Chinese, Japanese or Korean script": ("顾客写给网上商店的消息", "お客様からの質問"),
    "Arabic script": ("رسائل يكتبها الزبائن إلى متجر على الإنترنت",),
    "Cyrillic script": ("вопросы клиентов к банку",),
}


@pytest.mark.parametrize("description", IN_ENGLISH)
def test_english_is_taken_for_no_other_language(description: str) -> None:
    assert language_of(description) == "English"


@pytest.mark.parametrize("text", ["mails", "restaurant reviews", "Rezepte", "job adverts", "1 + 1", ""])
def test_a_word_or_two_tell_nothing(text: str) -> None:
    assert language_of(text) is None


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in TOLD.items() for text in texts])
def test_function_words_and_scripts_tell_the_language(language: str, text: str) -> None:
    assert language_of(text) == language


def test_languages_that_share_the_only_words_are_named_together() -> None:
    assert language_of("questions de patients") == "French, Spanish, Portuguese or Dutch"


def test_what_is_said_comes_before_openings_and_openings_before_the_description() -> None:
    described = "messages that customers send to a shop"
    assert wanted_language(described) == "English"
    assert wanted_language(described, ["Ma commande", "Je voudrais"]) == "French"
    assert wanted_language("messages in german that customers send", ["My order"]) == "German"
    assert wanted_language("recetas", ["Se pelan los", "Para la masa"]) == "Spanish"
    assert wanted_language(None) is None


@pytest.mark.parametrize("language", FUNCTION_WORDS)
def test_a_word_is_listed_once(language: str) -> None:
    listed = FUNCTION_WORDS[language].split()
    assert listed == sorted(set(listed), key=listed.index)
    assert all(word == word.casefold() for word in listed)


@pytest.mark.parametrize(
    ("description", "language"),
    [
        ("notes in Finnish that nurses write about patients", "Finnish"),
        ("messages that customers send to a shop, in Hebrew", "Hebrew"),
        ("posts in simple German", "German"),
        ("chats in English and Arabic", "Arabic"),
        ("messages in English", "English"),
        ("notes in which French restaurants are praised", "English"),
    ],
)
def test_a_language_that_the_description_names_is_wanted(description: str, language: str) -> None:
    """Else no run would say that its models know English alone."""
    assert wanted_language(description) == language


USUAL = [f"Return the {number}th item of the list that was given." for number in range(30)]
GERMAN = [f"Bitte senden Sie mir die Rechnung {number} noch einmal zu." for number in range(30)]
STRAYS = (
    "Lee el archivo que se encuentra en el directorio.",
    "Returns the name of the file. Devuelve el nombre del archivo que se ha leído.",
    "Ich möchte die Datei lesen, die in dem Ordner liegt.",
    "Renvoie la liste des fichiers qui sont dans le dossier.",
)
NO_STRAYS = (
    "Raise an error unless the die is cast.",
    "The museum of La Paz and the Casa de la Moneda are closed on Sundays.",
    "Sort par value, and am or pm per line.",
    "Überprüft 3 Dateien.",
    "42",
    "",
)


@pytest.mark.parametrize("text", STRAYS)
def test_a_text_half_in_a_language_of_its_own_is_marked(text: str) -> None:
    assert minority_language_mask([*USUAL, text]) == [False] * 30 + [True]


@pytest.mark.parametrize("text", NO_STRAYS)
def test_a_name_or_a_word_of_another_language_is_no_other_language(text: str) -> None:
    assert not any(minority_language_mask([*USUAL, text]))


def test_english_is_marked_where_it_is_rare() -> None:
    assert minority_language_mask([*GERMAN, USUAL[0]]) == [False] * 30 + [True]


def test_a_language_of_one_text_in_twenty_is_wanted_and_few_texts_have_no_strays() -> None:
    assert not any(minority_language_mask([*USUAL, *GERMAN[:2]]))
    assert not any(minority_language_mask([*USUAL[:18], GERMAN[0]]))


@pytest.mark.parametrize("language", ["French", "German", "Spanish"])
def test_what_people_write_in_their_own_language_is_not_marked(language: str) -> None:
    assert not any(minority_language_mask(WRITTEN[language] * 10))


def test_no_docstring_of_the_standard_library_is_marked() -> None:
    texts = stdlib_records(conf_base(Corpus))["text"].str.slice(0, 400).str.partition("\n\n")[0]
    assert not any(minority_language_mask(list(texts)))
