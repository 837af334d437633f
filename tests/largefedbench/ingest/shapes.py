"""Bodies of the sources' answers, in the shapes of their documentation and recorded pages; the content is invented."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

BOM = b"\xef\xbb\xbf"
HTML_ERROR = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
ENTITY_BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE %(root)b [<!ENTITY a "aaaaaaaaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><%(root)b>&c;</%(root)b>'
)


def bomb(root: str) -> bytes:
    return ENTITY_BOMB % {b"root": root.encode()}


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def preprints(dois: Sequence[str], cursor: int | str, total: int | str, **message: Any) -> bytes:
    rows = [
        {
            "title": f"On {doi}", "doi": doi, "date": "2024-03-18", "version": "1", "type": "new results",
            "license": "cc_by", "category": "genomics", "abstract": f"We measured {doi} and found it to be large.",
            "server": "bioRxiv",
        }
        for doi in dois
    ]  # fmt: skip
    about = {"status": "ok", "interval": "x", "cursor": cursor, "count": len(rows), "count_new_papers": "1"}
    return as_json({"messages": [{**about, "total": total, **message}], "collection": rows})


def no_posts() -> bytes:
    return as_json({"messages": [{"status": "no posts found"}], "collection": []})


def uk_listing(names: Iterable[str]) -> bytes:
    rows = "".join(f'<tr><td><a href="{name}">{name}</a></td><td>2024-03-20 07:00</td></tr>' for name in names)
    return f"<html><body><h1>Index of /pwdata</h1><table>{rows}</table></body></html>".encode()


def uk_day(day: str, *, latest: str = "yes") -> bytes:
    return (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE publicwhip [<!ENTITY ndash "&#8211;">]>'
        f'<publicwhip scraperversion="a" latest="{latest}"><minor-heading id="uk.org.publicwhip/debate/{day}a.1.0">'
        f' Post </minor-heading><speech id="uk.org.publicwhip/debate/{day}a.1.1" speakername="Ada Byron" '
        'person_id="uk.org.publicwhip/person/1" time="14:30:00"><p pid="a1.1/1">The post came late &ndash; again '
        "&ndash; and people want to know why that is.</p></speech></publicwhip>"
    ).encode()


def sitting(number: int, day: str) -> bytes:
    year, month, date = day.split("-")
    items = {
        "MetaNumberNumber": number, "ParliamentNumber": 44, "SessionNumber": 1, "MetaDateNumYear": year,
        "MetaDateNumMonth": month, "MetaDateNumDay": date, "Institution": "House of Commons",
    }  # fmt: skip
    extracted = "".join(f'<ExtractedItem Name="{name}">{value}</ExtractedItem>' for name, value in items.items())
    return (
        BOM
        + (
            f'<?xml version="1.0" encoding="UTF-8"?><Hansard xml:lang="EN" id="{number}"><ExtractedInformation>'
            f"{extracted}</ExtractedInformation><HansardBody><OrderOfBusiness><SubjectOfBusiness><SubjectOfBusinessContent>"
            f'<Intervention Type="Debate" id="{number}7"><PersonSpeaking><Affiliation DbId="1" Type="2">Mme Ada '
            'Côté (Laval, Lib.)</Affiliation></PersonSpeaking><Content><FloorLanguage language="EN">[English]</FloorLanguage>'
            "<ParaText>The harbour froze early this year and the ferries stopped.</ParaText></Content></Intervention>"
            "</SubjectOfBusinessContent></SubjectOfBusiness></OrderOfBusiness></HansardBody></Hansard>"
        ).encode()
    )


def sittings(found: Sequence[tuple[str, str]], following: str | None = None) -> bytes:
    objects = [{"date": day, "number": number, "url": f"/debates/{day}/"} for day, number in found]
    return as_json({"objects": objects, "pagination": {"offset": 0, "limit": 500, "next_url": following}})


def packages(ids: Sequence[str], count: int | str | None = None, following: str | None = None) -> bytes:
    rows = [{"packageId": i, "docClass": "crec", "dateIssued": i[5:]} for i in ids]
    return as_json({"count": len(ids) if count is None else count, "nextPage": following, "packages": rows})


def crec(day: str, *, stamp: tuple[int, ...] = (2024, 3, 20, 1, 2, 4), mods: bytes | None = None) -> bytes:
    """A day's package as govinfo makes it: PDF and other files too, times of the moment it was made."""
    package, granule = f"CREC-{day}", f"CREC-{day}-pt1-PgH1200-2"
    default_mods = (
        '<?xml version="1.0" encoding="UTF-8"?><mods xmlns="http://www.loc.gov/mods/v3"><relatedItem '
        f'type="constituent"><titleInfo><title>RIVERS</title></titleInfo><extension><granuleClass>HOUSE'
        f"</granuleClass><accessId>{granule}</accessId></extension></relatedItem></mods>"
    ).encode()
    text = (
        f"<html><body><pre>\n[Congressional Record Volume 170]\n[House]\n[Page H1200]\n\n{'RIVERS':>40}\n\n"
        "  Mr. KUCINICH. Mr. Speaker, the river rose nine feet in a night and\ntook the bridge.\n\n</pre></body></html>"
    ).encode()
    files = {
        f"{package}/pdf/{granule}.pdf": b"%PDF-1.4 " + b"x" * 3000, f"{package}/html/{granule}.htm": text,
        f"{package}/mods.xml": default_mods if mods is None else mods, f"{package}/premis.xml": b"<premis/>",
    }  # fmt: skip
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, stamp), data)  # type: ignore[arg-type]
    return buffer.getvalue()


def search(ids: Sequence[int], count: int | str | None = None) -> bytes:
    found = {"count": str(len(ids)) if count is None else count, "idlist": [str(i) for i in ids]}
    return as_json({"header": {"type": "esearch"}, "esearchresult": {**found, "retmax": "9999", "retstart": "0"}})


def articles(ids: Iterable[int]) -> bytes:
    each = "".join(
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{i}</PMID><Article><Journal><JournalIssue><PubDate>'
        f"<Year>2024</Year><Month>Mar</Month></PubDate></JournalIssue></Journal><ArticleTitle>On {i}</ArticleTitle>"
        f'<Abstract><AbstractText Label="AIM">We weighed number {i} twice.</AbstractText></Abstract></Article>'
        "</MedlineCitation></PubmedArticle>"
        for i in ids
    )
    return (
        '<?xml version="1.0" ?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2024//EN" '
        f'"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_240101.dtd"><PubmedArticleSet>{each}</PubmedArticleSet>'
    ).encode()


def notes(ids: Sequence[str], count: int | str) -> bytes:
    rows = [
        {
            "id": i, "forum": i, "content": {"title": f"On {i}"},
            "details": {"directReplies": [
                {"id": f"{i}r", "invitation": f"ICLR.cc/2023/Conference/{i}/-/Official_Review", "cdate": 1668000000000,
                 "content": {"summary_of_the_paper": "The paper weighs things twice.", "recommendation": "6"}},
                {"id": f"{i}c", "invitation": f"ICLR.cc/2023/Conference/{i}/-/Official_Comment", "content": {}},
            ]},
        }
        for i in ids
    ]  # fmt: skip
    return as_json({"notes": rows, "count": count})
