"""Licences of the sources' texts, and what each requires of the users of a snapshot; every snapshot includes them."""

from __future__ import annotations

from typing import NamedTuple

from fedtext.params.largefedbench import LicenseId


class License(NamedTuple):
    """A licence: its id, its name, the address of its text, and its requirements in our own words."""

    id: LicenseId
    name: str
    url: str
    asks: str
    commercial_use: bool


def _creative_commons(license_id: LicenseId, name: str, path: str, asks: str, commercial_use: bool) -> License:
    return License(license_id, f"Creative Commons {name}", f"https://creativecommons.org/{path}/", asks, commercial_use)


_BY = "Name the authors and the preprint (columns title and url), link to the licence, say what was changed."

LICENSES: dict[str, License] = {
    license.id: license
    for license in (
        License(
            "public_domain_us",
            "Public domain, work of the United States government",
            "https://www.govinfo.gov/about/policies",
            "Nothing is asked (17 U.S.C. 105). Matter that members inserted from others' publications is left out by "
            "the cleaning as far as the record marks it.",
            True,
        ),
        License(
            "open_parliament_3",
            "Open Parliament Licence v3.0",
            "https://www.parliament.uk/site-information/copyright-parliament/open-parliament-licence/",
            "Print this line: Contains Parliamentary information licensed under the Open Parliament Licence v3.0.",
            True,
        ),
        License(
            "speakers_permission_ca",
            "Speaker's Permission, House of Commons of Canada",
            "https://www.ourcommons.ca/en/important-notices",
            "Reproduce accurately, do not present it as official, do not use it for commercial gain. Text spoken in "
            "French is the official English translation (column floor_language).",
            False,
        ),
        _creative_commons("cc0", "CC0 1.0", "publicdomain/zero/1.0", "Nothing is asked.", True),
        _creative_commons("cc_by", "Attribution 4.0", "licenses/by/4.0", _BY, True),
        _creative_commons("cc_by_4_0", "Attribution 4.0", "licenses/by/4.0", _BY, True),
        _creative_commons(
            "cc_by_nc", "Attribution-NonCommercial 4.0", "licenses/by-nc/4.0", f"{_BY} No commercial use.", False
        ),
        _creative_commons(
            "cc_by_nd",
            "Attribution-NoDerivatives 4.0",
            "licenses/by-nd/4.0",
            f"{_BY} Do not share adapted versions.",
            True,
        ),
        _creative_commons(
            "cc_by_nc_nd",
            "Attribution-NonCommercial-NoDerivatives 4.0",
            "licenses/by-nc-nd/4.0",
            f"{_BY} No commercial use; do not share adapted versions.",
            False,
        ),
        License(
            "pubmed",
            "PubMed abstracts: the publishers' rights, NLM's terms of use",
            "https://www.ncbi.nlm.nih.gov/home/about/policies/",
            "Abstracts may be protected by copyright; whoever shares them is responsible for the rights.",
            False,
        ),
        License(
            "apache_2_0",
            "Apache License 2.0",
            "https://www.apache.org/licenses/LICENSE-2.0",
            "Keep the licence and the notices.",
            True,
        ),
    )
}


def license_text(license_id: str) -> str:
    """Return the page of `licenses/` for one licence."""
    known = LICENSES[license_id]
    use = "Commercial use is not excluded." if known.commercial_use else "No commercial use."
    return f"{known.name}\n{known.url}\n\n{known.asks}\n{use}\n"
