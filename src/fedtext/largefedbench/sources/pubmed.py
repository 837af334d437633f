"""PubMed, pages of efetch XML: `pubmed/**/*.xml[.gz]`, one abstract a client.

`PubmedArticleSet/PubmedArticle/MedlineCitation/{PMID,Article/{ArticleTitle,Abstract/AbstractText}}`; section labels are
attributes and stay out of the text.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from typing import Any

from fedtext.largefedbench.raw_pages import RawPage, parse_xml, reading
from fedtext.largefedbench.turns import SPEECH, Paragraph, Turn, joined

LICENSE = "pubmed"
MONTHS = {
    name: number for number, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), start=1)
}
# An issue is often printed months after its articles were public: the history says when PubMed had them.
DATES = (
    "MedlineCitation/Article/ArticleDate", "MedlineCitation/Article/Journal/JournalIssue/PubDate",
    "PubmedData/History/PubMedPubDate[@PubStatus='entrez']", "PubmedData/History/PubMedPubDate[@PubStatus='pubmed']",
)  # fmt: skip


def parse(page: RawPage) -> Iterator[Turn]:
    """Every article of one page, in order."""
    root = parse_xml(page.name, page.read(), root="PubmedArticleSet")
    for number, article in enumerate(root.iterfind("PubmedArticle")):
        with reading(page.name):
            yield _turn(page, number, article)


def _turn(page: RawPage, number: int, article: Any) -> Turn:
    citation = article.find("MedlineCitation")
    pmid = joined(citation.findtext("PMID")) if citation is not None else ""
    date = _date(article) if pmid.isdigit() else None
    if date is None:
        text = joined(*article.itertext())[:200]
        return Turn(
            f"malformed.{page.name}.{number}", "pubmed", "malformed_row", "", (Paragraph(text, "malformed_row"),)
        )
    parts = [joined("".join(part.itertext())) for part in citation.iterfind("Article/Abstract/AbstractText")]
    title = citation.find("Article/ArticleTitle")
    return Turn(
        f"{date}.pubmed.{pmid}", "pubmed", SPEECH if any(parts) else "empty_abstract", date,
        tuple(Paragraph(part) for part in parts), title=joined("".join(title.itertext())) if title is not None else "",
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/", license=LICENSE, floor_language="en",
    )  # fmt: skip


def _date(article: Any) -> str | None:
    """The earliest of the article's dates, for a cutoff must not pass what was public before it; None without one."""
    days = (_day(element) for path in DATES for element in article.iterfind(path))
    return min((day for day in days if day), default=None)


def _day(element: Any) -> str | None:
    """The element's ISO date (month and day 1 where it gives none), or None if it has no year or is no date."""
    year, month, day = (joined(element.findtext(name)) for name in ("Year", "Month", "Day"))
    if not (year.isdigit() and len(year) == 4):
        return None
    number = int(month) if month.isdigit() else MONTHS.get(month[:3].lower(), 1)
    try:
        return datetime.date(int(year), number, int(day) if day.isdigit() else 1).isoformat()
    except ValueError:
        return None
