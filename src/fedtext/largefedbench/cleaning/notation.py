"""Written notation inside running text that nobody says: marks, notes in brackets, names in brackets.

Anchored so that a year in brackets, "(Northern Ireland)", "(c)(3)" and an editor's "[the bill]" survive.
"""

from __future__ import annotations

from fedtext.largefedbench.cleaning.rules import rule

_WORD = r"(?:[A-Z][\w'’.-]*|de|la|van|von|der|du|of|the)"
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Dr|Chairman|Chairwoman|Speaker|Sir|Dame|Lord|Lady|Baroness)\.?"
_TITLED_NAME = rf"{_TITLE} {_WORD}(?: {_WORD}){{0,4}}"
_FULL_NAME = r"[A-Z][\w'’-]+(?: (?:[A-Z][\w'’.-]*|de|van|von)){1,3}"
_LINE_START = r"(?:(?<=\n)|(?<!.))"

# What a match of NOTATION, and of MEMBER_NAMES, begins with, by source.
NOTATION_STARTS = {"us": r"[\[({=_*\-]", "ca": r"[\[(_=*\-]", "uk": r"[\[(_=*\-T\d]"}
MEMBER_STARTS = {
    "us": r"[GgSDCMcfLlWw](?:entle|enator|elegate|ongress|ember|olleague|riend|hair|eader|hip)",
    "ca": r"(?!)",
    "uk": r"Member",
}
NOTATION = (
    rule("page_mark", "us", r"\[\[Page [A-Z]*\d+\]\]"),
    rule("time_mark", "us", r"\{time\}\s*\d{1,4}"),
    # The sitting's clock between sentences; a year in brackets inside a sentence is not one.
    rule(
        "time_mark",
        "ca",
        rf"(?:{_LINE_START}|(?<=[.!?”] ))\((?:[01]\d|2[0-4])[0-5][05]\)(?=\s+[A-Z“]|\s*(?:\n|$))",
    ),
    rule("editorial_note", "us", r"=+\s*NOTE\s*=+[^=]*=+\s*END NOTE\s*=+", r"=+\s*(?:END )?NOTE\s*=+"),
    rule("rule_line", "", r"_{4,}", r"-{5,}", r"={4,}", r"(?:\*\s?){3,}"),
    rule("language_mark", "", r"\[\s*(?:Translation|English|French|Inuktitut|Français|Anglais|Traduction)\s*\]"),
    rule(
        "spoken_in_another_language",
        "",
        # The words themselves, where the record prints them before their translation.
        r"\[[^\[\]]{0,60}\bspoke in [^\[\]]{2,40} as follows:?\][^\[\]]{0,4000}\[[^\[\]]{0,60}translat[^\[\]]{0,40}\]",
        r"\[[^\[\]]{0,60}\btranslat(?:ed|ion)[^\[\]]{0,40}\]",
        r"\[[^\[\]]{0,60}\b(?:spoke|sang|speaking|speaks|spoken) in [^\[\]]{2,60}\]",
        r"\([^()]{0,30}\b[Ss]poke in [A-Z][^()]{2,40}\)",
    ),
    rule(
        "permission_note",
        "us",
        r"\((?:Mr|Mrs|Ms|Miss|Dr)\. [^()]{2,80} asked and (?:was given|received) permission[^()\n]*(?:\)|(?=\n|$))",
        r"\((?:Mr|Mrs|Ms|Miss|Dr)\. [^()]{2,80} addressed the (?:House|Senate)[^()]*\)",
    ),
    rule(
        "printing_note",
        "us",
        r"\(At the request of [^()]{2,80}(?:\([^()]*\)[^()]*)*\)",
        r"\(The (?:[a-z]+ ){0,4}(?:bill|amendment|nominations?|remarks|statement|text)\b"
        r"[^()]*(?:printed|appear)[^()]*\)",
        r"\((?:The )?(?:(?:full )?text of the )?(?:remarks|statements?|testimony) of [^()]*(?:\([^()]*\)[^()]*)*\)",
        r"\(The foregoing tally[^()]*\)",
        r"\(Purpose: [^()]*(?:\([^()]*\)[^()]*)*\)",
        r"\(See exhibit \d+\.?\)",
    ),
    rule("proceedings_note", "us", r"\(during the vote\)"),
    rule(
        "proceedings_note",
        "ca uk",
        r"\((?:Returns?|Petitions?|Reports?|Documents?) tabled\)",
        r"\((?:Motions?|Amendments?|Bill|Clauses?)\b[^()]{0,80}"
        r"(?:agreed to|negatived|carried|withdrawn|adopted|concurred in|reported|deferred"
        r"|read the (?:first|second|third) time)[^()]{0,80}\)",
        r"\(The (?:House|sitting of the House) (?:divided|adjourned|resumed|was suspended)[^()]*\)",
        r"\(Division No\. \d+\)",
    ),
    rule(
        "bracketed_noise",
        "",
        r"[\[(]\s*(?:Prolonged )?(?:Laughter|Applause|Cheers|Cheering|Interruptions?|Interjections?|Disturbance"
        r"|Shouting|Standing ovation|Uproar|Inaudible|Technical difficulties|Pause|Quorum call)\b[^\[\]()]{0,60}[\])]",
        r"\[\s*(?:sic|ph|phonetic|inaudible|crosstalk)\.?\s*\]",
        r"\[\s*H(?:on|ON)\.? M(?:embers|EMBERS)[^\[\]]*\]",
        r"\[\s*(?:An|AN|Some|SOME|Several) H(?:on|ON)\.? M[^\[\]]*\]",
    ),
    rule("report_reference", "uk", r"\[\s*(?:Official Report|HC Deb|HL Deb|Hansard)[^\[\]]*\]"),
    rule(
        "question_number",
        "uk",
        r"[\[(]\d{5,7}[\])]",
        rf"{_LINE_START}\((?:Urgent Question|Private Notice Question)\):?",
        rf"{_LINE_START}T?\d{{1,3}}\. (?=(?:What|When|Whether|If|How|Who|Why|Where|To) )",
    ),
    rule("chair_notice", "uk", r"\[\s*[^\[\]]{3,60} in the Chair\.?\s*\]"),
)

# A name the reporter adds in brackets after whom the speaker named by place; the first group stays.
MEMBER_NAMES = (
    rule(
        "member_name",
        "us",
        r"(?P<keep>\b(?:[Gg]entle(?:man|woman|lady|men|women)|Senators?|Delegates?|Congress(?:man|woman)|Members?"
        r"|[Cc]olleagues?|friends?|[Cc]hair(?:man|woman)?|[Ll]eader|[Ww]hip)\b"
        r"(?:,? (?:from|of) (?:the )?[A-Z][\w'’. ]{2,40}?)?,?)"
        rf" [\[(]{_TITLED_NAME}[\])]",
    ),
    rule(
        "member_name",
        "uk",
        rf"(?P<keep>\bMembers? for {_WORD}(?:,? (?:and )?{_WORD}){{0,7}})"
        rf" \((?:{_TITLED_NAME}|(?!Northern Ireland){_FULL_NAME})\)",
    ),
)
