"""US Congressional Record: days are listed by api.govinfo.gov (a key, in a header), their packages are open.

A package is a zip file that the server makes on demand (503 and Retry-After until it is ready), mostly of PDF files. Of
its bytes those files are kept that the builder reads, in a zip file of their own with no times in it: equal granules,
equal bytes.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import IO, Any, NamedTuple

from fedtext.largefedbench.ingest import raw_store
from fedtext.largefedbench.ingest.credentials import GOVINFO_KEY, HeaderKey, required
from fedtext.largefedbench.ingest.errors import UnusableAnswerError
from fedtext.largefedbench.ingest.http_client import HttpClient, same_origin_link
from fedtext.largefedbench.ingest.raw_store import Page, Tally, Window, days, weeks
from fedtext.params.ingest import Ingest

PACKAGE = re.compile(r"CREC-\d{4}-\d{2}-\d{2}")
KEPT = re.compile(r"[^/]+/(mods\.xml|html/[^/]+\.htm)")
LARGEST_PACKAGE = 256 * 2**20  # decompressed
NO_TIME = (1980, 1, 1, 0, 0, 0)


class Packages(NamedTuple):
    """One page of the list: how many there are in all, the ids on this page, the link to the next."""

    total: int
    ids: list[str]
    following: str | None


class UnitedStates:
    """Weeks of packages."""

    def __init__(self, params: Ingest, client: HttpClient, environment: Mapping[str, str]) -> None:
        self._params, self._client = params.us, client
        self._auth = HeaderKey("X-Api-Key", required(environment, GOVINFO_KEY, "us"))

    def windows(self, params: Ingest, today: datetime.date) -> list[Window]:
        """Return the requested weeks."""
        return weeks(params.from_date, params.to_date or today)

    def query(self, window: Window) -> dict[str, Any]:
        """Return the days."""
        first, last = days(window)
        return {"collection": "CREC", "from": first.isoformat(), "to": last.isoformat()}

    def pages(self, window: Window, tally: Tally) -> Iterator[Page]:
        """Yield the packages of a week by date."""
        for package in sorted(self._packages(window, tally)):
            if not PACKAGE.fullmatch(package):
                tally.rejected[package] = "not a package of one day"
                continue
            url = f"{self._params.base_url}/content/pkg/{package}.zip"
            content = self._client.fetch_file(url, partial(reduced_package, package))
            if content is None:
                tally.missing[package] = "listed but not there"
            else:
                tally.notes["granules"] += len(zipfile.ZipFile(io.BytesIO(content)).namelist()) - 1
                yield Page(f"{package}.zip", content)

    def _packages(self, window: Window, tally: Tally) -> set[str]:
        first, last = days(window)
        url: str | None = f"{self._params.listing_url}/published/{first}/{last}"
        params: dict[str, str] | None = {
            "collection": "CREC", "pageSize": str(self._params.page_size), "offsetMark": "*",
        }  # fmt: skip
        ids: set[str] = set()
        visited: set[str] = set()
        while url is not None:
            answer = self._client.fetch(url, partial(read_list, url), params=params, auth=self._auth)
            if answer is None:
                raise UnusableAnswerError(f"{url} does not exist", code="us-page-missing", value=url)
            if url in visited:
                raise UnusableAnswerError(f"{url} leads back to itself", code="us-listing-in-a-circle", value=url)
            visited.add(url)
            ids.update(answer.ids)
            tally.expected, url, params = answer.total, answer.following, None
        return ids


def read_list(url: str, body: bytes) -> Packages:
    """Parse one page of packages.

    Raises:
        UnusableAnswerError: It is no such page.
    """
    value = raw_store.json_object(body)
    ids = [str(package.get("packageId")) for package in raw_store.records(value, "packages")]
    following = value.get("nextPage")
    count = raw_store.whole_number(value.get("count"), "count")
    return Packages(count, ids, same_origin_link(url, following) if following else None)


def reduced_package(package: str, body: IO[bytes]) -> bytes:
    """Return a zip file of the package's `mods.xml` and `html/*.htm`, in name order, without times.

    Raises:
        UnusableAnswerError: not a zip file, truncated, hostile, or without these files.
    """
    files = _kept_files(body)
    if "mods.xml" not in files or len(files) == 1:
        raise UnusableAnswerError(
            f"a package without {'html files' if 'mods.xml' in files else 'mods.xml'}", code="package-incomplete"
        )
    raw_store.xml_root(f"{package}/mods.xml", files["mods.xml"], root="mods")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as reduced:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{package}/{name}", NO_TIME)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            reduced.writestr(entry, data)
    return buffer.getvalue()


def _kept_files(body: IO[bytes]) -> dict[str, bytes]:
    """Return the files that the builder reads, by their name inside the package; the others stay on disk."""
    try:
        with zipfile.ZipFile(body) as archive:
            entries = [(match.group(1), e) for e in archive.infolist() if (match := KEPT.fullmatch(e.filename))]
            if sum(entry.file_size for _, entry in entries) > LARGEST_PACKAGE:
                raise UnusableAnswerError(
                    f"the package holds more than {LARGEST_PACKAGE} bytes of text",
                    final=True,
                    code="package-too-large",
                    value=LARGEST_PACKAGE,
                )
            return {name: archive.read(entry) for name, entry in entries}
    except UnusableAnswerError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError) as error:
        body.seek(0)
        raise UnusableAnswerError(
            f"not a whole zip file ({error}): {raw_store.excerpt(body.read(1000))}", code="package-not-whole"
        ) from None
