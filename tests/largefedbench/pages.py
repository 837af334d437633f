"""Raw pages of every source, small and of the real shape, written for these tests."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

CANADA = """<?xml version="1.0" encoding="UTF-8"?>
<Hansard xml:lang="EN" id="1">
  <ExtractedInformation>
    <ExtractedItem Name="Institution">HOUSE OF COMMONS</ExtractedItem>
    <ExtractedItem Name="MetaNumberNumber">96</ExtractedItem>
    <ExtractedItem Name="MetaDateNumDay">9</ExtractedItem>
    <ExtractedItem Name="MetaDateNumMonth">05</ExtractedItem>
    <ExtractedItem Name="MetaDateNumYear">2024</ExtractedItem>
    <ExtractedItem Name="SessionNumber">1</ExtractedItem>
    <ExtractedItem Name="ParliamentNumber">44</ExtractedItem>
  </ExtractedInformation>
  <HansardBody>
    <Intro><ParaText id="1">The House met at 10 a.m.</ParaText><Prayer>Prayer</Prayer></Intro>
    <OrderOfBusiness id="2" Rubric="Other">
      <OrderOfBusinessTitle>Government Orders</OrderOfBusinessTitle>
      <SubjectOfBusiness id="3">
        <Timestamp Hr="10" Mn="00">(1000)</Timestamp>
        <FloorLanguage language="FR">[<I>Translation</I>]</FloorLanguage>
        <SubjectOfBusinessTitle>River Ferries Act</SubjectOfBusinessTitle>
        <SubjectOfBusinessContent>
          <Intervention Type="Debate" id="100">
            <PersonSpeaking><Affiliation DbId="7" Type="2">Hon. Anne Roy (Minister of Ferries, Lib.)</Affiliation></PersonSpeaking>
            <Content>
              <ParaText id="4">moved that <Document DbId="1">Bill C-5, An Act respecting ferries</Document>, be read.</ParaText>
              <ProceduralText>Bill C-5. Third reading</ProceduralText>
              <ParaText id="5">She said: Mr. Speaker, ferries carry us across the river every morning.</ParaText>
              <FloorLanguage language="EN">[<I>English</I>]</FloorLanguage>
              <Timestamp Hr="10" Mn="05">(1005)</Timestamp>
              <ParaText id="6">The <I>Northern Star</I> sails again, Mr. Speaker, and that is a promise kept.</ParaText>
            </Content>
          </Intervention>
          <Intervention Type="Debate" id="101">
            <PersonSpeaking><Affiliation DbId="9" Type="15">The Speaker</Affiliation>: </PersonSpeaking>
            <Content>
              <ParaText id="7">Is that agreed?</ParaText>
              <ParaText id="8"><B>Some hon. members:</B> Agreed.</ParaText>
            </Content>
          </Intervention>
          <Intervention Type="Debate" id="102">
            <PersonSpeaking><Affiliation DbId="8" Type="2">Mr. Paul Lee (Harbour West, CPC)</Affiliation>:</PersonSpeaking>
            <Content>
              <ParaText id="9">Madam Speaker, the member knows the ferries are late.</ParaText>
              <ParaText id="10"><B>An hon. member:</B> Not true.</ParaText>
              <ParaText id="11"><B>Mr. Paul Lee:</B> They are late every day, and I asked why. No.</ParaText>
              <ParaText id="12"><B>The Speaker</B>: Order.</ParaText>
            </Content>
          </Intervention>
          <WrittenQuestionResponse><QuestionContent><ParaText>With regard to ferries</ParaText></QuestionContent></WrittenQuestionResponse>
          <ParaText>(The House divided on the motion)</ParaText>
          <Division id="5"><DivisionNumber>(Division No. 3)</DivisionNumber></Division>
        </SubjectOfBusinessContent>
      </SubjectOfBusiness>
    </OrderOfBusiness>
  </HansardBody>
</Hansard>
"""

US_DATE = "2024-05-14"
US_MODS = f"""<mods xmlns="http://www.loc.gov/mods/v3">
<relatedItem type="constituent"><titleInfo><title>BRIDGES</title></titleInfo><extension>
<granuleClass>HOUSE</granuleClass><accessId>CREC-{US_DATE}-pt1-PgH3001</accessId>
<congMember role="SPEAKING" bioGuideId="K000001"><name type="parsed">Ms. KELLER of Ohio</name>
<name type="authority-fnf">Jane Keller</name></congMember></extension></relatedItem>
<relatedItem type="constituent"><titleInfo><title>TRIBUTE</title></titleInfo><extension>
<granuleClass>EXTENSIONS</granuleClass><accessId>CREC-{US_DATE}-pt1-PgE77</accessId></extension></relatedItem></mods>"""

US_HOUSE = """<html><head><title>Congressional Record</title></head><body><pre>
[Congressional Record Volume 170, Number 83 (Tuesday, May 14, 2024)]
[House]
[Pages H3001-H3002]
From the Congressional Record Online through the Government Publishing Office [<a href="http://www.gpo.gov">www.gpo.gov</a>]



                                BRIDGES

  (Ms. KELLER of Ohio asked and was given permission to address the House for 1
minute.)
  Ms. KELLER of Ohio. Mr. Speaker, the bridge over our river is old, and
``nobody'' has looked at its pillars for 2\\1/2\\ years. The gentleman from
Texas (Mr. Smith) knows that state-
owned bridges are no better, and the

[[Page H3002]]

water is rising under all of them.
   Mr. Speaker, CO<INF>2</INF> is not the question here, though some
like to think so.

                              {time}  1015

  There being no objection, the letter was ordered to be printed in the
Record, as follows:

                                              The City Engineer,

                                                     May 1, 2024.
       Dear Madam: the bridge is safe.

  Mr. Speaker, I yield back the balance of my time.
  The SPEAKER pro tempore (Mr. Jones). The gentleman from Iowa is recognized.
  There was no objection.
<bullet> Mr. ABLE. Mr. President, I submit this statement.<bullet>
  Mr. McBRIDE. Mr. Speaker, the amendment to the highway bill was agreed to by
both sides after a long night, and I was there.

                          ____________________

</pre></body></html>
"""

US_EXTENSIONS = """<html><body><pre>
[Congressional Record Volume 170]
[Extensions of Remarks]

                          HON. JANE KELLER

  Ms. KELLER of Ohio. Mr. Speaker, I rise in print only.
</pre></body></html>
"""

UK = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE publicwhip [<!ENTITY pound "&#163;">]>
<publicwhip scraperversion="1" latest="yes">
<oral-heading id="uk.org.publicwhip/debate/2024-07-30b.1.0" nospeaker="true">Oral Answers</oral-heading>
<minor-heading id="uk.org.publicwhip/debate/2024-07-30b.1.1" nospeaker="true"> School Buses </minor-heading>
<speech id="uk.org.publicwhip/debate/2024-07-30b.1.2" speakername="Tom Hall" person_id="uk.org.publicwhip/person/5" time="11:30:00">
<p pid="b1.2/1">1. What steps she is taking to improve school buses in Wales. (904784)</p>
</speech>
<speech id="uk.org.publicwhip/debate/2024-07-30b.1.3" speakername="Mary Cole" person_id="uk.org.publicwhip/person/6">
<p pid="b1.3/1">Mr Speaker, we spend &pound;3 million on buses, as my hon. Friend the Member for North Dale (Tom Hall) knows. [Interruption.] I will go on.</p>
<p pid="b1.3/2" class="italic">rose—</p>
<p pid="b1.3/3" class="indent" pwmotiontext="yes">That this House notes buses.</p>
<p pid="b1.3/4">Lords amendment 7 on buses was passed by a large majority. The Windsor framework (Northern Ireland) matters too.</p>
</speech>
<speech id="uk.org.publicwhip/debate/2024-07-30b.1.4" speakername="Lindsay Hoyle" person_id="uk.org.publicwhip/person/1">
<p pid="b1.4/1">Order. The hon. Member will sit down.</p>
</speech>
<speech id="uk.org.publicwhip/debate/2024-07-30b.2.1" nospeaker="true"><p>[Dame Ann Ware in the Chair]</p></speech>
<speech id="uk.org.publicwhip/debate/2024-07-30b.2.2" speakername="Ann Ware" person_id="uk.org.publicwhip/person/8"><p>We begin.</p></speech>
<division id="uk.org.publicwhip/debate/2024-07-30b.3.0" divnumber="1"><divisioncount ayes="1" noes="0"/></division>
</publicwhip>
"""


def preprint(doi: str, **changes: object) -> dict[str, Any]:
    """One row of the bioRxiv API."""
    return {
        "doi": doi, "title": f"On {doi}", "authors": "Doe, J.", "date": "2024-05-02", "version": "1", "type": "new results",
        "license": "cc_by", "category": "ecology", "abstract": f"BackgroundWe study {doi}. CO{{subscript 2}} rose by 5&#37;.",
        "server": "biorxiv", **changes,
    }  # fmt: skip


def preprint_page(rows: list[Any], status: str = "ok") -> bytes:
    """A page of the bioRxiv API."""
    message = {"status": status, "interval": "a:b", "cursor": 0, "count": len(rows), "total": str(len(rows))}
    return json.dumps({"messages": [message], "collection": rows}).encode()


PREPRINTS = [
    preprint("10.1101/1"),
    preprint("10.1101/1", version="2", date="2024-06-01"),
    preprint("10.1101/2", license="cc_no"),
    preprint("10.1101/3", abstract=" "),
    preprint("10.1101/4", type="WITHDRAWN"),
    preprint("10.1101/5", category="genomics", abstract="Genes {beta} and [Formula: see text] differ."),
    {"doi": 5},
]

PUBMED = """<?xml version="1.0"?><!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/x.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID>11</PMID><Article><Journal><JournalIssue><PubDate><Year>2024</Year><Month>Mar</Month></PubDate>
</JournalIssue></Journal><ArticleTitle>Bones</ArticleTitle><Abstract><AbstractText Label="AIM">We looked at <i>bones</i>.</AbstractText>
<AbstractText Label="RESULTS">They grew.</AbstractText></Abstract></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>12</PMID><Article><Journal><JournalIssue><PubDate><Year>2024</Year></PubDate></JournalIssue></Journal>
<ArticleTitle>Letter</ArticleTitle></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation/></PubmedArticle>
</PubmedArticleSet>"""

OPENREVIEW: dict[str, Any] = {
    "notes": [
        {
            "forum": "f1",
            "content": {
                "title": "Ferries",
                "Please_choose_the_closest_area_that_your_submission_falls_into": "Theory",
            },
            "details": {
                "directReplies": [
                    {
                        "id": "r1",
                        "invitation": "ICLR.cc/2023/Conference/Paper1/-/Official_Review",
                        "cdate": 1666000000000,
                        "content": {
                            "summary_of_the_paper": "The paper studies ferries.",
                            "recommendation": "6: marginally above",
                            "strength_and_weaknesses": "It is clear.",
                        },
                    },
                    {"id": "c1", "invitation": "ICLR.cc/2023/Conference/Paper1/-/Official_Comment", "content": {}},
                ]
            },
        },
        {"forum": "f2"},
    ]
}

SCITLDR = '{"paper_id": "p1", "title": "T", "abstract": "We learn {x} fast."}\n\n[1]\n{"paper_id": "p2"}\nnot json\n'


def write_raw(root: Path) -> Path:
    """All the pages above under `root`, as a raw directory; some of them gzipped, one with a byte order mark."""
    files = {
        "ca/HAN096-E.XML.xml": b"\xef\xbb\xbf" + CANADA.encode(),
        f"us/CREC-{US_DATE}/mods.xml": US_MODS.encode(),
        f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgH3001.htm": US_HOUSE.encode(),
        f"us/CREC-{US_DATE}/html/CREC-{US_DATE}-pt1-PgE77.htm": US_EXTENSIONS.encode(),
        "uk/debates2024-07-30a.xml": UK.replace("2024-07-30b", "2024-07-30a").replace("carry", "bring").encode(),
        "uk/debates2024-07-30b.xml": UK.encode(),
        "biorxiv/2024-05-01/0.json.gz": gzip.compress(preprint_page(PREPRINTS), mtime=0),
        "biorxiv/2024-05-01/_done.json": b'{"query": "details/biorxiv/2024-05-01/2024-05-07"}',
        "pubmed/0.xml": PUBMED.encode(),
        "openreview/0.json": json.dumps(OPENREVIEW).encode(),
        "scitldr/dev.jsonl": SCITLDR.encode(),
    }
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root
