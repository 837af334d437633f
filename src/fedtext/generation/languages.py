"""The language in which texts are wanted, from what the user says of them; and texts in one that is not.

Three things tell, in this order: a description that names it ("messages in French"), the openings, and the description
itself. A script other than the Latin one tells by itself. In Latin script, function words do: articles, prepositions
and pronouns, which nearly every clause has. Where they do not tell, nothing is said: a word or two such as "Rezepte"
may be of any language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from fedtext.generation.scripts import common_labels, script_of

ENGLISH = "English"
FUNCTION_WORDS = {  # the commonest ones; a word of several languages stands with each
    ENGLISH: "a about all an and are as at be between by do for from has have he how i in is it its my no not "
    "of on or our she that the their them they this to was we what when where which who with you your",
    "French": "a à au aux avec ce ces chez dans de des du elle en est et il ils j je l la le les leur leurs ma "
    "mes mon ne notre nous on ou par pas pour qu que qui sa se ses son sont sur un une vos votre vous",
    "German": "am an auf aus bei das dem den der des die ein eine einem einen einer er es für haben hat ich ihr "
    "ihre ihren im in ist kann mein meine meinem meinen mit nach nicht oder sich sie sind um und uns "
    "unser unsere vom von vor was wie wir zu zum zur über",
    "Spanish": "a al como con cuando de del donde el ella en entre es esta este la las le lo los me mi mis no "
    "nos o para pero por que quisiera se sin sobre su sus tu un una unas unos y",
    "Italian": "a agli ai al alla alle che ci con da dai dal dalla dei del della delle di e è gli ho i il in io "
    "la le lo loro mi mia mio nel nella non o per più si su sui sul sulla tra un una uno",
    "Portuguese": "a ao aos as com como da das de do dos e é em entre eu já mas me meu minha na não nas no nos o os "
    "ou para pela pelo por que se sem seu seus sobre sua suas um uma",
    "Dutch": "aan als bij dat de deze die dit een en er het hoe hun ik in is met mijn naar niet of om onze op "
    "over te tot uit van voor wat wij ze zij",
}
SCRIPTS = {"ARABIC": "Arabic script", "CJK": "Chinese, Japanese or Korean script"}
OTHERS = (
    *("Arabic", "Armenian", "Bengali", "Bulgarian", "Cantonese", "Catalan", "Chinese", "Croatian", "Czech", "Danish"),
    *("Estonian", "Farsi", "Finnish", "Georgian", "Greek", "Hebrew", "Hindi", "Hungarian", "Icelandic", "Indonesian"),
    *("Irish", "Japanese", "Korean", "Latvian", "Lithuanian", "Malay", "Mandarin", "Norwegian", "Persian", "Polish"),
    *("Romanian", "Russian", "Serbian", "Slovak", "Slovenian", "Swahili", "Swedish", "Tamil", "Thai", "Turkish"),
    *("Ukrainian", "Urdu", "Vietnamese", "Welsh"),
)
MANNER = (
    "simple|plain|easy|spoken|formal|informal|brazilian|mexican|swiss|austrian|canadian|egyptian|english (?:and|or)"
)
NAMED = re.compile(rf"\bin (?:(?:{MANNER}) )?({'|'.join((*FUNCTION_WORDS, *OTHERS))})\b", re.IGNORECASE)
WORD = re.compile(r"[^\W\d_]+")
FEWEST_FOREIGN = 3  # different function words; English has "per" and "die", and names have "la" or "de"
FOREIGN_SHARE = 1 / 3  # of all function words: a text may quote a sentence of another language


def wanted_language(description: str | None, openings: Sequence[str] = ()) -> str | None:
    """Return the language, or the script, in which texts are wanted; None where nothing tells.

    Args:
        description: What the texts are.
        openings: Their first words.
    """
    if said := NAMED.search(description or ""):
        return said[1].capitalize()
    return language_of("\n".join(openings)) or language_of(description or "")


def language_of(text: str) -> str | None:
    """Return the language of a text in Latin script, else its script; None where nothing tells.

    Languages whose function words are equally many are named together; with English among them, it is English.
    """
    script = script_of(text)
    if script is None:
        return None
    if script != "LATIN":
        return SCRIPTS.get(script, f"{script.capitalize()} script")
    words = Counter(WORD.findall(text.casefold()))
    found = {name: sum(words[word] for word in listed.split()) for name, listed in FUNCTION_WORDS.items()}
    most = [name for name, count in found.items() if count == max(found.values()) > 0]
    return ENGLISH if ENGLISH in most else " or ".join(filter(None, (", ".join(most[:-1]), *most[-1:]))) or None


def minority_language_mask(texts: Sequence[str]) -> list[bool]:
    """Return whether each text is, for a third or more, in a language that less than a twentieth of the texts are in.

    No text is marked among fewer than 20 whose language function words tell.
    """
    common = common_labels([language if language in FUNCTION_WORDS else None for language in map(language_of, texts)])
    if common is None:
        return [False] * len(texts)
    listed = {name: set(words.split()) for name, words in FUNCTION_WORDS.items()}
    own = set[str]().union(*(listed[name] for name in common))
    others = [words - own for name, words in listed.items() if name not in common]
    return [_is_foreign(set(WORD.findall(text.casefold())), own, others) for text in texts]


def _is_foreign(words: set[str], own: set[str], others: Sequence[set[str]]) -> bool:
    foreign = max((len(words & other) for other in others), default=0)
    return foreign >= max(FEWEST_FOREIGN, FOREIGN_SHARE * (foreign + len(words & own)))
