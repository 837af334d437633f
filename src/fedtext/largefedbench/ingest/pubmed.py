"""PubMed, by NCBI's E-utilities: esearch for the ids of a week, efetch for the articles, both as POST.

A search gives 9,999 ids at most: a week with more is halved, down to days. The key is a field of the body, so that it
stands in no URL.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from fedtext.largefedbench.ingest import raw_store
from fedtext.largefedbench.ingest.credentials import NCBI_KEY, contact, optional
from fedtext.largefedbench.ingest.errors import UnsteadyWindowError, UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient
from fedtext.largefedbench.ingest.raw_store import Page, Tally, Window, days, weeks
from fedtext.params.ingest import Ingest

T = TypeVar("T")
LARGEST_SEARCH = 9999  # PubMed's own limit
ONE_DAY = datetime.timedelta(days=1)


class PubMed:
    """Weeks of one search."""

    def __init__(self, params: Ingest, client: HttpClient, environment: Mapping[str, str]) -> None:
        self._params, self._client = params.pubmed, client
        self._identity = {"tool": "fedtext", "email": contact(environment)}
        self._key = optional(environment, NCBI_KEY)

    def windows(self, params: Ingest, today: datetime.date) -> list[Window]:
        """Return the requested weeks."""
        return weeks(params.from_date, params.to_date or today)

    def query(self, window: Window) -> dict[str, Any]:
        """Return the search."""
        first, last = days(window)
        return {"term": self._params.term, "datetype": "edat", "from": first.isoformat(), "to": last.isoformat()}

    def pages(self, window: Window, tally: Tally) -> Iterator[Page]:
        """Yield the articles in batches, by id."""
        ids = sorted(set(self._search(*days(window))))
        tally.expected = len(ids)
        for number, start in enumerate(range(0, len(ids), self._params.batch)):
            batch = ids[start : start + self._params.batch]
            form = {"db": "pubmed", "retmode": "xml", "id": ",".join(map(str, batch))}
            body, found = self._post("efetch.fcgi", form, partial(read_articles, f"{window.name}/{number}"))
            if strangers := set(found) - set(batch):
                raise UnsteadyWindowError(
                    f"efetch sent article {min(strangers)}, which was not asked for", code="article-not-asked-for"
                )
            yield Page(f"{number:04d}.xml.gz", body, len(found))

    def _search(self, first: datetime.date, last: datetime.date) -> list[int]:
        form = {
            "db": "pubmed", "term": self._params.term, "datetype": "edat", "mindate": f"{first:%Y/%m/%d}",
            "maxdate": f"{last:%Y/%m/%d}", "retmode": "json", "retstart": "0",
            "retmax": str(LARGEST_SEARCH),
        }  # fmt: skip
        count, ids = self._post("esearch.fcgi", form, read_search)
        if count <= LARGEST_SEARCH:
            if len(ids) != count:
                raise UnsteadyWindowError(
                    f"esearch counts {count} articles from {first} to {last}, sent {len(ids)}",
                    code="pubmed-count-differs",
                    value=len(ids),
                )
            return ids
        if first == last:
            raise UnusableAnswerError(
                f"{count} articles on {first}, a search gives {LARGEST_SEARCH}: narrow ingest.pubmed.term",
                final=True,
                code="search-too-large",
                value=count,
            )
        middle = first + (last - first) // 2
        return self._search(first, middle) + self._search(middle + ONE_DAY, last)

    def _post(self, program: str, form: dict[str, str], read: Callable[[bytes], T]) -> T:
        url = f"{self._params.base_url}/{program}"
        key = {"api_key": self._key.get_secret_value()} if self._key else {}
        answer = self._client.fetch(url, read, form={**form, **self._identity, **key})
        if answer is None:
            raise UnusableAnswerError(f"{url} does not exist", code="pubmed-page-missing", value=url)
        return answer


def read_search(body: bytes) -> tuple[int, list[int]]:
    """Parse the count and ids of a search.

    Raises:
        UnusableAnswerError: an error body, or not a search's.
    """
    value = raw_store.json_object(body)
    result = value.get("esearchresult")
    if not isinstance(result, dict) or "ERROR" in result or "error" in value:
        raise UnusableAnswerError(f"esearch failed: {raw_store.excerpt(body)}", code="search-failed")
    ids = result.get("idlist")
    if not isinstance(ids, list):
        raise UnusableAnswerError("esearch sent no idlist", code="search-without-ids")
    return raw_store.whole_number(result.get("count"), "count"), [raw_store.whole_number(i, "a PubMed id") for i in ids]


def read_articles(name: str, body: bytes) -> tuple[bytes, list[int]]:
    """Return the bytes of a batch and the ids of its articles (books have theirs elsewhere).

    Raises:
        UnusableAnswerError: an error body, or not articles.
    """
    root = raw_store.xml_root(name, body, root="PubmedArticleSet")
    paths = ("PubmedArticle/MedlineCitation/PMID", "PubmedBookArticle/BookDocument/PMID")
    found = [raw_store.whole_number(e.text, "a PubMed id") for path in paths for e in root.iterfind(path)]
    if len(found) != len(set(found)):
        raise UnusableAnswerError("efetch sent an article twice", code="article-sent-twice")
    return body, found
