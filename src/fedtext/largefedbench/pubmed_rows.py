"""PubMed's XML as a corpus of its own (`corpus.source=pubmed`), one abstract a client, labelled by its MeSH headings.

The benchmark's parser and cleaning read it, so that a file gives the texts and dates that a snapshot of it has. The
headings are those of `PubmedArticle/MedlineCitation/MeshHeadingList` as NLM's DTD describes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedtext.corpora.published.rows import FormError, Row
from fedtext.largefedbench.cleaning.abstracts import clean_abstract
from fedtext.largefedbench.raw_pages import RawPage, RawPageError, parse_xml
from fedtext.largefedbench.sources.pubmed import parse
from fedtext.largefedbench.turns import SPEECH, SPOKEN, Turn, joined


def pubmed_rows(path: Path) -> Iterator[Row]:
    """One row an abstract, each once: of the file `path`, or of all files below it. What has no abstract is left out.

    Raises:
        FormError: a file is no PubMed XML.
    """
    seen: set[str] = set()
    for page in _pages(path):
        try:
            turns, labels = list(parse(page)), first_headings(page)
        except RawPageError as error:
            raise FormError(f"{error.name}: {error.reason}") from None
        for turn in turns:
            text = _text(turn)
            if text and turn.client_id not in seen:
                seen.add(turn.client_id)
                yield Row(turn.client_id, text, labels.get(turn.client_id.rpartition(".")[2]), turn.date or None)


def first_headings(page: RawPage) -> dict[str, str]:
    """The first major MeSH heading of every article by its PMID; articles without headings are left out."""
    root = parse_xml(page.name, page.read(), root="PubmedArticleSet")
    found = {}
    for citation in root.iterfind("PubmedArticle/MedlineCitation"):
        headings = citation.findall("MeshHeadingList/MeshHeading")
        for heading in [*filter(_is_major, headings), *headings][:1]:
            found[joined(citation.findtext("PMID"))] = joined(heading.findtext("DescriptorName"))
    return found


def _is_major(heading: Any) -> bool:
    """Whether the article is mainly about it, or about an aspect of it."""
    return any(part.get("MajorTopicYN") == "Y" for part in heading)


def _pages(path: Path) -> list[RawPage]:
    if path.is_file():
        return [RawPage(path.name, path)]
    files = sorted(file for pattern in ("*.xml", "*.xml.gz") for file in path.rglob(pattern))
    if not files:
        raise FormError("no *.xml")
    return [RawPage(file.relative_to(path).as_posix(), file) for file in files]


def _text(turn: Turn) -> str:
    """The cleaned abstract; empty where there is none to keep."""
    if turn.kind != SPEECH:
        return ""
    return clean_abstract([part.text for part in turn.paragraphs if part.kind == SPOKEN], turn.source).text.strip()
