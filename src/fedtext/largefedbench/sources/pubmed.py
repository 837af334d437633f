"""PubMed, pages of efetch XML: `pubmed/**/*.xml[.gz]`, one abstract a client.

`PubmedArticleSet/PubmedArticle/MedlineCitation/{PMID,Article/{ArticleTitle,Abstract/AbstractText}}`; section labels are
attributes and stay out of the text, and so do formulas, which as text are loose letters. A retracted paper is no
client, nor is the notice that retracts it; what one page retracts or deletes is no client on any other.

PubMed's XML as a corpus of its own (`corpus.source=pubmed`), one abstract a client, labelled by its MeSH headings.

The benchmark's parser and cleaning read it, so that a file gives the texts and dates that a snapshot of it has. The
headings are those of `PubmedArticle/MedlineCitation/MeshHeadingList` as NLM's DTD describes them.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from fedtext.corpora.published.known import FormError, Row
from fedtext.largefedbench.cleaning.abstracts import clean_abstract
from fedtext.largefedbench.cleaning.rules import ONLY_ENGLISH
from fedtext.largefedbench.raw_pages import RawPage, RawPageError, parse_xml, possible_date, reading
from fedtext.largefedbench.sources.notices import EMPTY, TAKES_BACK, is_no_abstract, notice
from fedtext.largefedbench.turns import (
    SPEECH,
    SPOKEN,
    UNKNOWN_ELEMENT,
    Paragraph,
    Retraction,
    Turn,
    Unknown,
    joined,
    n_words,
)

LICENSE = "pubmed"
MONTHS = {
    name: number for number, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), start=1)
}
MATH = "{*}math"  # MathML
FORMULA_MARK = "[Formula: see text]"  # what publishers send in a formula's place
_FORMULA = re.compile(r"\s*(?:\(\s*\[Formula: see text\]\s*\)|\[Formula: see text\])(?P<stop>[.,;:]?)")
# What is no client by its type of publication, and by what later notices say of it.
NOTICE_TYPES = {
    "retracted publication": "retracted",
    "retraction of publication": "retraction_notice",
    "retraction notice": "retraction_notice",
    "published erratum": "correction_notice",
    "corrected and republished article": "corrected",
    "expression of concern": "expression_of_concern",
}
NOTICED = {
    "retractionin": "retracted",
    "partialretractionin": "retracted",
    "retractedandrepublishedin": "retracted",
    "retractedandrepublishedfrom": "",
    "expressionofconcernin": "expression_of_concern",
    "retractionof": "retraction_notice",
    "partialretractionof": "retraction_notice",
    "expressionofconcernfor": "expression_of_concern",
    "erratumfor": "correction_notice",
    # What takes nothing back.
    **dict.fromkeys((
        "associateddataset", "associatedpublication", "commentin", "commenton", "corrected",
        "correctedandrepublishedin", "correctedandrepublishedfrom", "cites", "erratumin", "originalreportin",
        "preprintof", "preprintin", "reprintin", "reprintof",
        "republishedfrom", "republishedin", "summaryforpatientsin", "updatein", "updateof",
        "patientsummaryin", "patientsummaryof",
    ), ""),
}  # fmt: skip
# What an article says of the one whose PMID it gives.
OF_ANOTHER = {
    "retractionof": "retracted",
    "partialretractionof": "retracted",
    "retractedandrepublishedfrom": "retracted",
    "expressionofconcernfor": "expression_of_concern",
}
# Elements of a page beside articles, and of an abstract beside its text, by the kind they are counted under.
BESIDE_ARTICLES = {
    "PubmedBookArticle": "book",
    "DeleteCitation": "deleted_citation",
    "DeleteDocument": "deleted_citation",
}
BESIDE_TEXT = {"CopyrightInformation": "copyright_notice"}
OF_AN_ABSTRACT = frozenset({"AbstractText", *BESIDE_TEXT})
ENGLISH = frozenset({"eng", "en", ""})
_ONLY_ENGLISH_WORDS = re.compile(rf"\b(?:{ONLY_ENGLISH})\b", re.IGNORECASE)
FEWEST_ONLY_ENGLISH = 0.05  # of the words: of 3,400 English abstracts one has less
_ENGLISH_WORDS = re.compile(r"\b(?:the|of|and|in|to|with|was|were|that|is|are|for|by|we|this)\b", re.IGNORECASE)
# Frequent words of other languages, none of them English.
_OTHER_WORDS = re.compile(
    r"\b(?:de|la|le|les|des|du|et|est|ont|une|dans|sur|pour|avec|que|los|las|el|del|se|en|por|para|con|un|una|fueron|os|um"
    r"|uma|não|foram|na|il|di|che|della|sono|per|der|die|das|und|den|dem|mit|von|nicht|het|een|van|zijn|op|och|av"
    r"|på|att|det|og|til|ble|med|și|pe|sunt|w|się|jest|oraz|ve|bir|ile|et)\b",
    re.IGNORECASE,
)
_FOREIGN_HEADING = re.compile(
    r"(?:resumen|résumé|resume|zusammenfassung|resumo|riassunto|sommario|samenvatting|sammanfattning|sammendrag|özet"
    r"|streszczenie|rezumat|резюме|аннотация|реферат|摘要|要旨|초록)\b",
    re.IGNORECASE,
)
FEW_WORDS_OF_A_SECTION = 4
FEW_WORDS = 8  # in which English may have none of them
FEWEST_ENGLISH = 0.1  # of the words: English abstracts have a quarter and more, other languages next to none
# An issue is often printed months after its articles were public: the history says when PubMed had them.
DATES = (
    "MedlineCitation/Article/ArticleDate", "MedlineCitation/Article/Journal/JournalIssue/PubDate",
    "PubmedData/History/PubMedPubDate[@PubStatus='entrez']", "PubmedData/History/PubMedPubDate[@PubStatus='pubmed']",
)  # fmt: skip


class Day(NamedTuple):
    """The days that a date may mean: one, or all of a month or a year if the source gives no more."""

    first: str
    last: str


def parse(page: RawPage) -> Iterator[Turn | Retraction]:
    """Yield every article of one page in order, then what else the page holds: books, deletions, unknown elements.

    What an article or a deletion says of a PMID follows it.
    """
    root = parse_xml(page.name, page.read(), root="PubmedArticleSet")
    for number, article in enumerate(root.iterfind("PubmedArticle")):
        with reading(page.name):
            yield from _article(page, number, article)
    for number, element in enumerate(root):
        if element.tag == "PubmedArticle":
            continue
        tag = str(element.tag)
        kind = BESIDE_ARTICLES.get(tag, UNKNOWN_ELEMENT)
        unknown = (Unknown("element", tag),) if kind == UNKNOWN_ELEMENT else ()
        for part, one in enumerate(element if kind == "deleted_citation" else [element]):
            text = Paragraph(joined(*one.itertext()), kind)
            yield Turn(f"{kind}.{page.name}.{number}.{part}", "pubmed", kind, "", (text,), unknown=unknown)
            if kind == "deleted_citation":
                yield Retraction(_address(text.text), kind)
    if outside := joined(root.text, *(element.tail for element in root)):
        named = (Unknown("element", "text outside any element"),)
        text = Paragraph(outside, UNKNOWN_ELEMENT)
        yield Turn(f"outside.{page.name}", "pubmed", UNKNOWN_ELEMENT, "", (text,), unknown=named)


def _article(page: RawPage, number: int, article: Any) -> Iterator[Turn | Retraction]:
    """Yield an article's turn, and what it says of itself or of another: that counts without a date too."""
    citation = article.find("MedlineCitation")
    pmid = joined(citation.findtext("PMID")) if citation is not None else ""
    if not pmid.isdigit():
        yield _malformed(page, number, article)
        return
    title = citation.find("Article/ArticleTitle")
    name = joined(_text(title)) if title is not None else ""
    paragraphs = tuple(_abstract(citation))
    kind, date = _kind(citation, name, paragraphs), _date(article)
    yield (
        _turn(citation, pmid, kind, date, name, paragraphs) if date is not None else _malformed(page, number, article)
    )
    if kind in TAKES_BACK:
        yield Retraction(_address(pmid), kind)
    for one in citation.iterfind("CommentsCorrectionsList/CommentsCorrections"):
        rule = OF_ANOTHER.get(_plain_type(one))
        if rule and (other := joined(one.findtext("PMID"))):
            yield Retraction(_address(other), rule)


def _address(pmid: str) -> str:
    return f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/"


def _malformed(page: RawPage, number: int, article: Any) -> Turn:
    text = joined(*article.itertext())[:200]
    return Turn(f"malformed.{page.name}.{number}", "pubmed", "malformed_row", "", (Paragraph(text, "malformed_row"),))


def _turn(citation: Any, pmid: str, kind: str, date: str, title: str, paragraphs: tuple[Paragraph, ...]) -> Turn:
    return Turn(
        f"{date}.pubmed.{pmid}", "pubmed", kind, date, paragraphs, title=title, url=_address(pmid), license=LICENSE,
        floor_language="en", unknown=tuple(_unknown(citation)),
    )  # fmt: skip


def _unknown(citation: Any) -> Iterator[Unknown]:
    """Yield what an article has that is not known: elements of its abstract, and what later notices say of it."""
    for abstract in citation.iterfind("Article/Abstract"):
        if joined(abstract.text, *(part.tail for part in abstract)):
            yield Unknown("element", "text outside any element")
        yield from (Unknown("element", str(part.tag)) for part in abstract if part.tag not in OF_AN_ABSTRACT)
    for one in citation.iterfind("CommentsCorrectionsList/CommentsCorrections"):
        if _plain_type(one) not in NOTICED:
            yield Unknown("notice", one.get("RefType") or "without a type")


def _abstract(citation: Any) -> Iterator[Paragraph]:
    """Yield the text of the article's abstract; whatever else its abstracts hold is of a kind of its own."""
    foreign = _foreign_parts(citation)
    for abstract in citation.iterfind("Article/Abstract"):
        for part in abstract:
            if part in foreign:
                yield Paragraph(joined(*part.itertext()), "other_abstract")
            elif part.tag == "AbstractText":
                yield from _paragraphs(part)
            else:
                yield Paragraph(joined(*part.itertext()), BESIDE_TEXT.get(str(part.tag), UNKNOWN_ELEMENT))
        if outside := joined(abstract.text, *(part.tail for part in abstract)):
            yield Paragraph(outside, UNKNOWN_ELEMENT)
    for other in citation.iter("OtherAbstract"):
        yield Paragraph(joined(*other.itertext()), "other_abstract")


def _plain_type(said: Any) -> str:
    """Return what a later notice is, without spaces and in small letters."""
    return re.sub(r"\W", "", said.get("RefType") or "").lower()


def _foreign_parts(citation: Any) -> list[Any]:
    """Return the sections of an abstract that repeat it in another language; none if all of it is in that language."""
    parts = citation.findall("Article/Abstract/AbstractText")
    foreign, found = False, []
    for part in parts:
        text = joined(*part.itertext())
        english = len(_ENGLISH_WORDS.findall(text)) >= FEWEST_ENGLISH * n_words(text)
        foreign = _in_another_language(part) or (foreign and not english)
        if foreign:
            found.append(part)
    return found if len(found) < len(parts) else []


def _in_another_language(element: Any) -> bool:
    """Return whether a part of an abstract says that it is one in another language: by its mark or by its heading."""
    marked = (element.get("{http://www.w3.org/XML/1998/namespace}lang") or element.get("Language") or "").lower()
    if marked[:2] not in ("", "en"):
        return True
    text = joined(*element.itertext())
    headed = _FOREIGN_HEADING.match(element.get("Label") or "") or _FOREIGN_HEADING.match(text)
    return bool(headed) or _is_foreign(text, few_words=FEW_WORDS_OF_A_SECTION)


def _is_foreign(text: str, *, few_words: int = FEW_WORDS) -> bool:
    """Return whether a text is in another script, or in words of other languages and hardly one of English."""
    letters = [letter for letter in text if letter.isalpha()]
    if sum(letter > "\u024f" and not "\u0370" <= letter < "\u0400" for letter in letters) * 2 > len(letters):
        return True
    foreign, words = len(_OTHER_WORDS.findall(text)), n_words(text)
    return words >= few_words and foreign >= FEWEST_ENGLISH * words and foreign > len(_ENGLISH_WORDS.findall(text))


def _kind(citation: Any, title: str, paragraphs: tuple[Paragraph, ...]) -> str:
    types = [joined(one.text).lower() for one in citation.iterfind("Article/PublicationTypeList/PublicationType")]
    said = [_plain_type(one) for one in citation.iterfind("CommentsCorrectionsList/CommentsCorrections")]
    for kind in (*map(NOTICED.get, said), *map(NOTICE_TYPES.get, types)):
        if kind:
            return kind
    text = joined(*(p.text for p in paragraphs if p.kind == SPOKEN))
    if kind := notice(title, text):
        return kind
    if is_no_abstract(text):
        return EMPTY
    return SPEECH if _is_english(citation, text) else "another_language"


def _is_english(citation: Any, text: str) -> bool:
    """Return whether an abstract is English, which many of articles in other languages are: its words decide.

    Of an article in another language it must have words that this one cannot share with English.
    """
    if _is_foreign(text):
        return False
    languages = {joined(one.text).lower() for one in citation.iterfind("Article/Language")}
    if languages and not languages & ENGLISH:
        return len(_ONLY_ENGLISH_WORDS.findall(text)) >= FEWEST_ONLY_ENGLISH * n_words(text)
    return n_words(text) < FEW_WORDS or len(_ENGLISH_WORDS.findall(text)) >= FEWEST_ENGLISH * n_words(text)


def _paragraphs(part: Any) -> Iterator[Paragraph]:
    """Yield one section's text, and separately the formulas in it."""
    text = _text(part)
    formulas = [joined(*formula.itertext()) for formula in part.iter(MATH)]
    marks = text.count(FORMULA_MARK) - len(formulas)  # those the publisher sent as marks
    yield from (Paragraph(formula, "formula") for formula in [*formulas, *[FORMULA_MARK] * marks])
    yield Paragraph(joined(_FORMULA.sub(lambda match: match["stop"] or " ", text)))


def _text(element: Any) -> str:
    """Return all text of an element, with a mark where a formula stood."""
    return "".join(_pieces(element))


def _pieces(element: Any) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if not isinstance(child.tag, str):
            yield child.text or ""  # an entity that the page does not declare
        elif etree.QName(child).localname == "math":
            yield FORMULA_MARK
        else:
            yield from _pieces(child)
        yield child.tail or ""


def _date(article: Any) -> str | None:
    """Return the earliest of the article's dates, None without one, for a cutoff must not pass what was public before.

    A year or a month that holds an exact date of the article says less than that date and does not count.
    """
    days = [day for path in DATES for element in article.iterfind(path) if (day := _day(element))]
    exact = [day for day in days if day.first == day.last]
    loose = [day for day in days if not any(day.first <= one.first <= day.last for one in exact)]
    return min((day.first for day in exact + loose), default=None)


def _day(element: Any) -> Day | None:
    """Return the days that the element's date may mean, or None if it has no year or is no date."""
    year, month, day = (joined(element.findtext(name)) for name in ("Year", "Month", "Day"))
    if not (year.isdigit() and len(year) == 4):
        return None
    number = int(month) if month.isdigit() else MONTHS.get(month[:3].lower())
    try:
        if number is None:
            return Day(possible_date(int(year), 1, 1), possible_date(int(year), 12, 31))
        if not day.isdigit():
            last = calendar.monthrange(int(year), number)[1]
            return Day(possible_date(int(year), number, 1), possible_date(int(year), number, last))
        exact = possible_date(int(year), number, int(day))
    except ValueError:
        return None
    return Day(exact, exact)


def pubmed_rows(path: Path) -> Iterator[Row]:
    """Yield one row per abstract, each once, of the file `path`, or of all files below it.

    Articles without an abstract are left out, and those that any of the files retracts or deletes.

    Raises:
        FormError: a file is no PubMed XML.
    """
    rows, retracted = dict[str, tuple[str, Row]](), set[str]()  # rows by client id, each with its address
    for page in _pages(path):
        try:
            turns, labels = list(parse(page)), first_headings(page)
        except RawPageError as error:
            raise FormError(f"{error.name}: {error.reason}", code=error.code, value=error.value) from None
        for turn in turns:
            if isinstance(turn, Retraction):
                retracted.add(turn.address)
            elif text := _turn_text(turn):
                label = labels.get(turn.client_id.rpartition(".")[2])
                rows.setdefault(turn.client_id, (turn.url, Row(turn.client_id, text, label, turn.date or None)))
    yield from (row for address, row in rows.values() if address not in retracted)


def first_headings(page: RawPage) -> dict[str, str]:
    """Return the first major MeSH heading of every article by its PMID; articles without headings are left out."""
    root = parse_xml(page.name, page.read(), root="PubmedArticleSet")
    found = {}
    for citation in root.iterfind("PubmedArticle/MedlineCitation"):
        headings = citation.findall("MeshHeadingList/MeshHeading")
        for heading in [*filter(_is_major, headings), *headings][:1]:
            found[joined(citation.findtext("PMID"))] = joined(heading.findtext("DescriptorName"))
    return found


def _is_major(heading: Any) -> bool:
    """Return whether the article is mainly about the heading, or about an aspect of it."""
    return any(part.get("MajorTopicYN") == "Y" for part in heading)


def _pages(path: Path) -> list[RawPage]:
    if path.is_file():
        return [RawPage(path.name, path)]
    files = sorted(file for pattern in ("*.xml", "*.xml.gz") for file in path.rglob(pattern))
    if not files:
        raise FormError("no *.xml", code="no-xml-files")
    return [RawPage(file.relative_to(path).as_posix(), file) for file in files]


def _turn_text(turn: Turn) -> str:
    """Return the cleaned abstract; empty if nothing of it is kept."""
    if turn.kind != SPEECH:
        return ""
    return clean_abstract([part.text for part in turn.paragraphs if part.kind == SPOKEN], turn.source).text.strip()
