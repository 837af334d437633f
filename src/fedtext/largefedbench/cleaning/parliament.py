"""Cleaning rules of parliamentary records: clerks' text, written notation, procedure, vocatives, other languages.

Other languages: words in a language other than the record's, in the Canadian record above all Inuktitut. "Uqaqtittiji,"
is its "Mr. Speaker,"; longer passages stand between "[Member spoke in Inuktitut as follows:]" and "[... translated as
follows:]", in syllabics or in Latin letters. Where nothing says that a translation follows, the words after such a mark
end with the first sentence that has an English word, or at the next mark.

Clerks' text: whole paragraphs written by the clerk or the reporters in a member's turn, such as votes, dispositions and
readings. A paragraph is removed only if all of it is the formula.

Notation: marks, notes in brackets and names in brackets inside running text, which are not spoken. The patterns are
anchored so that a year in brackets, "(Northern Ireland)", "(c)(3)" and an editor's "[the bill]" stay.

Procedure: whole sentences in the chamber's fixed words, which ask for time, votes and readings. A sentence is removed
only if all of it is the formula: "I yield back." goes, "I yield to no one in my respect for him." stays.

Vocatives: addresses to the chair ("Mr. Speaker,"), anywhere in a speech. Mentions stay: "I thank the Speaker", "Mr.
Speaker has ruled" and "to Mr. Speaker, who".
"""

from __future__ import annotations

import re
from typing import NamedTuple

from fedtext.largefedbench.cleaning.rules import CAPITALS, ONLY_ENGLISH, matches_at, rule

SPEAKER = r"[Uu]qaqtit+i(?:ji|tsii)"  # the one who lets others speak, in the spellings of the record
_LONG_WORD = re.compile(r"[^\W\d_]{3,}")
# Sequences of letters that no English word has and most words of Inuktitut do.
_INUKTITUT = re.compile(r"q(?!u[aeio])|uu|ii|aa|jj|vv|rng|ngn|tt?it|luk|tuq|vunga")
_ENGLISH = re.compile(r"\b(?:the|of|and|to|is|are|was|that|for|with|it|in|on|a|my|we|our|you)\b", re.I)
_FEWEST_WORDS = 2


def is_another_language(sentence: str) -> bool:
    """Return whether most letters are of another script, or most words Inuktitut in Latin letters."""
    if not sentence.isascii():
        letters = [letter for letter in sentence if letter.isalpha()]
        if sum(letter > "\u024f" for letter in letters) * 2 > len(letters):
            return True
    if _ENGLISH.search(sentence):
        return False
    words = _LONG_WORD.findall(sentence.lower())
    return len(words) >= _FEWEST_WORDS and sum(bool(_INUKTITUT.search(word)) for word in words) * 2 > len(words)


_US_THING = (
    r"(?:[a-z-]+ ){0,4}(?:amendments?|bills?|conference report|joint resolution|motions?|nominations?|point of order"
    r"|preamble|resolutions?|title)(?: \([^()]*\))?(?: \(No\. \d+\))?"
)
_US_DONE = (
    r"(?:\w+ly )?(?:agreed to|confirmed|considered|laid (?:up)?on the table|modified|read (?:a|the) \w+ time"
    r"|not agreed to|ordered|passed|rejected"
    r"|withdrawn)"
)
_US_BILL = r"(?:(?:J\. |Con\. )?Res\. )?\d+\. An? (?:bill|joint resolution|resolution|concurrent resolution)"
_UK_THING = r"(?:Amendments?|Bill|[Cc]lauses?|Lords [Aa]mendments?|Motions?|New [Cc]lauses?|Resolutions?|Schedules?)"
_UK_NUMBERS = r"(?: (?:\(?[A-Z]{0,2}\d+[A-Z]*\)?|and|to))*"
_READ = r"read (?:a|the) (?:[Ff]irst|[Ss]econd|[Tt]hird) time"

_OFFICE_WORDS = r"(?:Acting |Vice )?(?:Speaker|President|Presiding Officer|Chair(?:man|woman)?)(?: pro tempore)?"
# The rest of a paragraph, if nobody in particular is saying it.
_NARRATED = r"(?!.*\b(?:I|me|my|we|us|our|you|your|because|but|when|after|although|than)\b).*"

CLERK = (
    rule(
        "clerk_vote",
        "us",
        r"(?:A|The) (?:recorded vote was|yeas and nays were) ordered\.",
        rf"The (?:result of the )?vote was (?:announced|taken by electronic device)\b{_NARRATED}",
        rf"The result was announced{_NARRATED}",
        rf"The question was taken(?:;{_NARRATED}|\.)",
        rf"The yeas and nays resulted\b{_NARRATED}",
        r"A recorded vote was (?:ordered|refused)\.",
        r"Stated (?:for|against):?",
        rf"So (?:\([^()]*\) )?the (?:rules were suspended and the )?{_US_THING}\b.{{0,80}} (?:was|were) {_US_DONE}\.?",
        r"(?:Mr|Mrs|Ms|Miss|Messrs|Mesdames)\. .{2,2000} changed (?:his|her|their) votes? from\b.*",
        rf"The (?:[a-z]+ ){{0,3}}[Cc]lerk (?:proceeded|continued|resumed|called|will read)\b{_NARRATED}",
        rf"The following (?:Senators|Members) (?:entered|answered)\b{_NARRATED}",
    ),
    rule(
        "clerk_disposition",
        "us",
        rf"(?:The|A) (?:first |second )?{_US_THING},?(?: as (?:amended|modified),?)?(?: to [a-z ]+?)? (?:was|were)"
        rf" {_US_DONE}\b{_NARRATED}",
        rf"(?:Under the rule|By unanimous consent|(?:Pursuant to|Under) clause [^,;]{{1,40}}), (?:the|a)"
        rf" (?:{_US_THING}|yeas and nays|Journal|Committee|previous question)\b{_NARRATED}",
        rf"The (?:previous question|Journal|yeas and nays) (?:was|were) (?:ordered|approved)\b{_NARRATED}",
        r"The title was amended so as to read:?.*",
        r"There was no objection\.?",
        rf"There being no objection\b{_NARRATED}",
        r"(?:Mr|Mrs|Ms|Miss|Dr)\. .{2,60} addressed the (?:Chair|House|Senate)\.?",
        r"(?:Several|A number of|Some|SEVERAL) (?:Senators|Members|SENATORS|MEMBERS) addressed the"
        r" (?:Chair|House|Senate)\.?",
        rf"At \d+ o'clock\b{_NARRATED}",
        rf"Accordingly,?(?: \([^()]*\),?)?(?: [^,;]{{2,60}},)? the (?:Committee|House|Senate) (?:rose"
        rf"|resolved|adjourned)\b{_NARRATED}",
        rf"(?:Thereupon|Whereupon),? (?:the|at)\b{_NARRATED}",
        rf"The (?:House|Senate)(?:, at [^,]{{2,60}},| \([^()]*\))? (?:met|adjourned|recessed|stood"
        rf"|proceeded)\b{_NARRATED}",
        rf"The House in Committee of the Whole\b{_NARRATED}",
        rf"(?:Mr|Mrs|Ms|Miss|Dr)\. .{{2,60}} (?:asked and (?:was|were) given permission|submitted the following"
        rf"|(?:assumed|took|resumed|left|vacated) the [Cc]hair)\b{_NARRATED}",
        rf"The {_OFFICE_WORDS}(?: \([^()]*\))? (?:laid before the (?:House|Senate)"
        rf"|(?:assumed|took|resumed|left|vacated) the [Cc]hair)\b{_NARRATED}",
        rf"A message (?:in writing )?from the (?:House|Senate|President)\b.{{0,120}} (?:announced|was communicated)"
        rf"\b{_NARRATED}",
        rf".{{0,120}}\boffered the following prayer\b{_NARRATED}",
        rf"(?:The )?[Pp]rayer was offered by\b{_NARRATED}",
        rf"The Committee (?:rose|resumed its sitting)\b{_NARRATED}",
        rf"(?:Mr|Mrs|Ms|Miss)\. .{{2,60}} led the Pledge of Allegiance\b{_NARRATED}",
    ),
    rule(
        "clerk_reading",
        "us",
        rf"The (?:[a-z]+ ){{0,3}}[Cc]lerk (?:read|designated|redesignated|reported)\b{_NARRATED}",
        r"The text of .{2,160} (?:is|are) as follows:",
        r"The (?:joint |concurrent )?(?:amendment|resolution|bill|following|material|letter|article|statement"
        r"|information|nominations?|message|communication|order|preamble|petition|memorial|editorial|exhibit|excerpts?|remarks)\b"
        r"(?:[^.;!?]|\b(?:Mr|Mrs|Ms|Dr|No|Nos)\.){0,160} follows:",
        r"Pending:",
        rf"An? (?:joint |concurrent )?(?:resolution|bill) (?:\((?:S|H)\.[^()]*\)"
        rf"|proposing an amendment to the Constitution)"
        rf"{_NARRATED}",
        rf"S\. {_US_BILL} {_NARRATED}",
        rf"SA\.? \d+\. {_NARRATED}",
        rf"H\. ?(?:R\. )?{_US_BILL} {_NARRATED}",
    ),
    rule(
        "clerk_disposition",
        "uk",
        rf"(?:Main )?Question (?:put|proposed|accordingly|again|, as amended)\b{_NARRATED}",
        rf"(?:The|Their) (?:House|Committee|Lordships) (?:having )?(?:divided|proceeded to a Division)\b{_NARRATED}",
        rf"{_UK_THING}{_UK_NUMBERS}(?:,? by leave)?,? (?:accordingly )?(?:(?:was|were) )?"
        rf"(?:agreed to|negatived|disagreed to|withdrawn|not moved|proposed|{_READ}|added to the Bill|made"
        r"|ordered to (?:stand part|lie)\b.{0,60})\.?",
        rf"Motion made, and Question (?:proposed|put)\b{_NARRATED}",
        rf"Bill,? (?:accordingly )?(?:reported|presented|as amended|to be)\b{_NARRATED}",
        rf"Bill {_READ}{_NARRATED}",
        rf"(?:Resolved|Ordered),{_NARRATED}",
        r"(?:rose|indicated (?:assent|dissent)|nodded|shook (?:his|her) head)[\s.—–-]*",
        rf"House adjourned\b{_NARRATED}",
        rf"(?:Sitting|Committee) (?:suspended|adjourned)\b{_NARRATED}",
        rf"(?:On resuming|Debate adjourned|Debate to be resumed|Division No\. \d+)\b{_NARRATED}",
        rf"(?:The )?(?:Deputy )?Speaker declared\b{_NARRATED}",
    ),
    rule(
        "clerk_disposition",
        "ca",
        rf"\(?(?:The )?House (?:divided|resumed|proceeded|met|adjourned)\b{_NARRATED}",
        r"(?:Motion|Amendment) (?:agreed to|negatived)\.?",
    ),
)


_WORD = rf"(?:[{CAPITALS}][\w'’.-]*|de|la|van|von|der|du|of|the)"
# A word of a constituency's name, or one that joins two of them.
_PLACE = rf"(?:{_WORD}|[a-z]{{1,2}}[-'’][{CAPITALS}][\w'’.-]*|and|for|upon|on|in|by|under|with|le|en|an|na|nan|y|yr|&)"
_TITLE = (
    r"(?:Messrs|Mr|Mrs|Ms|Miss|Mx|Dr|Rev|Rep|Sen|Prof|Chairman|Chairwoman|Speaker|Senator|Representative|Delegate"
    r"|Congress(?:man|woman)|Sir|Dame|Lord|Lady|Baroness|Viscount|Earl)\.?"
)
_TITLED_NAME = rf"{_TITLE} {_WORD}(?: {_WORD}){{0,4}}(?:, (?:Jr|Sr|II|III)\b\.?)?"
_FULL_NAME = rf"[{CAPITALS}][\w'’-]+(?: (?:[{CAPITALS}][\w'’.-]*|de|van|von|der|den)){{1,4}}"
# Brackets that hold nothing but titled names are the reporter's: nobody says them.
_NAMES_IN_BRACKETS = (
    rf"[\[(]\s*(?:the late )?{_TITLED_NAME}"
    rf"(?:(?:,|,? and) (?:others|(?:the late )?(?:{_TITLED_NAME}|{_WORD}))){{0,8}}\s*[\])]"
)
_LINE_START = r"(?:(?<=\n)|(?<!.))"

# A sentence without a word that members say in English only.
_IN_A_SENTENCE = r"[^\[\].!?…।؟۔。\n]"
_NOT_ENGLISH = (
    rf"(?!{_IN_A_SENTENCE}*?\b(?:(?i:{ONLY_ENGLISH}|are|for|have|mrs?|ms|madam|my|of|speaker|thank|we|will|your?)|I)\b)"
    rf"{_IN_A_SENTENCE}+(?:[.!?…।؟۔。]+[”\"’')]*|(?=[\[\]\n])|\Z)"
)

# What a match of NOTATION, and of MEMBER_NAMES, begins with, by source.
NOTATION_STARTS = {"us": r"[\[({=_*\-]", "ca": r"[\[(_=*\-]", "uk": r"[\[(_=*\-T\d]"}
MEMBER_STARTS = {
    "us": r"[\[(]",
    "ca": r"(?!)",
    "uk": r"(?:Member|MP|Prime Min|Leader|[Ff]riend|Gentlem|Lad(?:y|ies)|(?<=\)),? (?:and )?for |[\[(])",
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
    rule(
        "language_mark",
        "",
        r"\[\s*(?:Voice of (?:the )?interpreter|Interpretation"
        r"|Translation|English|French|Inuktitut|Français|Anglais|Traduction)\s*\]",
    ),
    rule(
        "spoken_in_another_language",
        "",
        # The words themselves, where the record prints them before their translation.
        r"\[[^\[\]]{0,60}\bspoke in [^\[\]]{2,40} (?:as follows|the following text):?\][^\[\]]{0,4000}"
        r"\[[^\[\]]{0,60}(?:translat|interpret)[^\[\]]{0,40}\]",
        r"\[[^\[\]]{0,60}\b(?:translat|interpret)(?:ed|ion|ation)\b[^\[\]]{0,40}\]",
        rf"\[[^\[\]]{{0,60}}\b(?:spoke|sang|speaking|speaks|spoken|[Mm]ember [^\[\]]{{2,40}}) in [^\[\]]{{2,80}}\]"
        rf"(?:\s*{_NOT_ENGLISH})*",
        rf"\([^()]{{0,30}}\b[Ss]poke in [A-Z][^()]{{2,40}}\)(?:\s*{_NOT_ENGLISH})*",
        r"\[L[ea] (?:députée?|ministre)[^\[\]]{2,80}\ben [^\[\]]{2,40}\]",
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
        r"\(Text of [Vv]ideo[^()]*\)",
        r"\(Purpose: [^()]*(?:\([^()]*\)[^()]*)*\)",
        r"\(See exhibit \d+\.?\)",
    ),
    rule(
        "proceedings_note",
        "us",
        r"\(during the vote\)",
        r"\[Roll(?:call)?(?: [Vv]ote)? No\.[^\[\]]{1,40}\]",
        rf"\({_TITLED_NAME} (?:in|assumed|took|resumed|left) the [Cc]hair\.?\)",
    ),
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
        r"|Shouting|Standing ovation|Uproar|Inaudible|Technical difficult(?:y|ies)|Pause"
        r"|Quorum call)\b[^\[\]()]{0,60}[\])]",
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
    rule("chair_notice", "uk", r"[\[(]\s*[^\[\]()]{3,60},? in the [Cc]hair\.?\s*[\])]"),
)

# Names the reporter adds in brackets after whom the speaker named by place; the first group stays.
MEMBER_NAMES = (
    rule("member_name", "us", _NAMES_IN_BRACKETS),
    rule(
        "member_name",
        "uk",
        # "the Members for Bath (Ann Oak), for Ferry (Tom Elm) and for York (Bea Ash)"
        rf"(?P<keep>(?:\b(?:Member|MP)s? |(?<=\)),? (?:and )?)for {_PLACE}(?:,? {_PLACE}){{0,15}}"
        r"|\b(?:Prime Minister|Leader of the Opposition|[Ff]riends?|Gentleman|Gentlemen|Lady|Ladies))"
        rf" ?[\[(](?:{_TITLED_NAME}|(?!Northern Ireland){_FULL_NAME}(?:(?:,|,? and) {_FULL_NAME}){{0,8}})[\])]",
        _NAMES_IN_BRACKETS,
    ),
)


_LEAD = (
    r"(?:(?:And|So|Again|(?:So )?[Aa]t this (?:time|point)|With that|On that|Now|Then|But|In the meantime"
    r"|[Aa]s (?:if )?in (?:executive|legislative) session|[Aa]s if in morning business"
    r"|If there is no .{2,60}),? )*"
)
_COUNT = r"(?:\d+(?: ?\d/\d)?|an?|one|two|three|four|five|ten|half a)"
_SPAN = (
    rf"(?:an additional |the remaining |up to )?{_COUNT}(?: additional| more)?(?: (?:and a half|\d/\d))?"
    r" (?:minutes?|seconds?)"
)
_REST = r"(?:the |my )?(?:balance|remainder|rest)(?: of (?:my|our|the)(?: remaining)? time)?"
_AMOUNT = (
    rf"(?:{_SPAN}|{_REST}|(?:all )?(?:my|our|the|any)(?: remaining)? time"
    r"|(?:such|so much|as much) time as (?:I|he|she|they|we) may (?:consume|need))"
)
# Whom the floor goes to, with appositions ("the chairman of the committee") but no clause that says something of them.
_SAYS_SOMETHING = r"\b(?:who|whom|whose|which|although|because|but|if|so|since|thank|am|will|would|has|is)\b"
_PERSON = (
    r"(?:(?:my|the|a)(?: [\w-]+){0,4}?,? (?:(?:my|the) (?:\w+ )*)?"
    r"(?:friend|colleague|gentleman|gentlewoman|gentlelady|Senator"
    rf"|chairman|chairwoman|chair|leader|whip|Member|member)s?\b(?!.*{_SAYS_SOMETHING}).{{0,160}})"
)
_GLAD = (
    r"(?:I am (?:very |more than )?(?:pleased|delighted|happy|glad|proud|honored|privileged)"
    r"|It is my (?:\w+ )*(?:pleasure|honor|privilege)) to"
)
_YIELD = rf"(?:(?:I|[Ww]e) (?:now |would |will |would like to )?|{_GLAD} )yield"
# A request for unanimous consent that argues or thanks as well is speech, and stays.
_ARGUES = r"(?:because|but|so that|(?<!within )which|who|and I (?!ask|call|move|yield|suggest|also ask|further ask))\b"

PROCEDURE = (
    rule("so_ordered", "us", r"Without objection,?(?: it is)? so ordered"),
    rule("quorum", "us", rf"{_LEAD}I (?:would )?(?:suggest|note) the absence of a quorum"),
    rule(
        "yield_time",
        "us",
        rf"{_LEAD}{_YIELD}(?: back| myself)?(?: {_AMOUNT})?(?: to {_PERSON})?",
        rf"{_LEAD}{_YIELD}(?: back)? {_AMOUNT},? and (?:I )?(?:yield|reserve)\b.{{0,60}}",
        rf"{_LEAD}(?:I|[Ww]e|[Tt]he House managers) (?:will |would )?(?:continue to )?reserve {_AMOUNT}",
        rf"{_LEAD}{_YIELD} (?:back )?the floor(?: to {_PERSON})?(?:,? and (?:I )?suggest the absence of a quorum)?",
        rf"{_LEAD}I have no (?:further|more|other|additional) (?:requests for time|speakers)"
        r"(?:,? and I (?:yield|reserve)\b.{0,60})?",
        r"I (?:rise to )?claim (?:the )?time in opposition(?: to (?:the|this) (?:amendment|bill|motion|resolution))?",
    ),
    rule(
        "unanimous_consent",
        "us",
        rf"{_LEAD}I (?:also |further |now |would |would like to )?ask (?:for )?unanimous consent\b(?!.*\b{_ARGUES}).*",
    ),
    rule(
        "ask_for_vote",
        "us ca",
        rf"{_LEAD}I (?:ask for|demand|request) (?:the yeas and nays|a recorded vote|a vote)(?: on .{{2,60}})?",
        r"(?:We|I) (?:would )?(?:request|ask for|like to request)(?: that there be)? a recorded (?:division|vote)"
        r"(?:,? please)?",
        r"(?:We|I) (?:would )?(?:request|ask)(?: that)? (?:it|the motion|the amendment)(?: be)?"
        r" (?:carried|adopted|passed) on division",
    ),
    rule(
        "vote_explanation",
        "us",
        r"On roll ?call (?:vote )?No\. \d+,.*",
        r"Had I been present, I would have voted .{2,40}",
        r"I (?:further )?announce that .* (?:absent|would (?:each )?vote .{2,20})",
    ),
    rule(
        "motion_formula",
        "us",
        rf"{_LEAD}I move to reconsider(?: the vote)?(?:,? and (?:to )?(?:table|lay)\b.{{0,60}})?",
        rf"{_LEAD}I move to (?:lay (?:that|the) motion on the table|table (?:that|the) motion)",
        rf"{_LEAD}I (?:make a motion|move) to (?:table|lay on the table) (?:the|this|that) (?:[a-z]+ )?"
        r"(?:amendment|motion|resolution|appeal)(?: No\. \d+)?(?:,? and (?:I )?ask for the yeas and nays)?",
        r"I move to strike the (?:last word|requisite number of words)",
        r"I move to suspend the rules and (?:pass|agree to) .*",
        r"I move that the (?:House|Senate|Committee) (?:do )?(?:now )?(?:adjourn|rise)",
        rf"{_LEAD}I (?:offer|have) an amendment(?: at the desk)?(?: on behalf of .{{2,80}})?",
        rf"{_LEAD}I call up amendment No\. \d+(?: and (?:ask for its immediate consideration|send .* to the desk))?",
        r"I send (?:an|the|that) (?:amendment|modification) to the desk"
        r"(?: and ask for its immediate consideration| on behalf of .*)?",
        r"I offer a motion to recommit",
        r"I object to the vote on the ground.*",
    ),
    rule("roll_call", "us", r"The [Cc]lerk will (?:call the roll|report|designate|redesignate|read)\b.{0,80}"),
    rule("resuming_debate", "ca", r"Resuming debate(?:,? the hon\..{0,80})?", r"Questions and comments"),
    rule(
        "is_that_agreed",
        "ca",
        r"Is that agreed",
        r"Is the House ready for the question",
        r"I declare the (?:motion|amendment)[\w ]{0,30} (?:carried|lost|defeated|negatived)",
    ),
    rule(
        "questions_to_stand",
        "ca",
        r"I (?:would )?ask that (?:all|the)(?: the)?(?: other| remaining)? (?:questions|notices of motions[\w ]*)"
        r".{0,30} be allowed to stand(?:,? (?:please|at this time))*",
    ),
    rule(
        "uk_formula",
        "uk",
        r"I beg to (?:ask leave to withdraw|move, That (?:the|this) (?:clause|Bill|House|schedule)\b).{0,200}",
        r"Hear,? hear",
        r"Question put and agreed to",
        r"The House divided(?:: Ayes \d+, Noes \d+)?",
    ),
)


_OFFICE = r"(?:Speaker|President|Chairman|Chairwoman|Chairperson|Chair|Chief\sJustice)(?:\spro\stempore)?"
_CHAIR = rf"(?:Mr\.?|Madame?|Mrs\.?|Ms\.?|Mister)\s(?:(?:Acting|Assistant|Deputy|Vice)[\s-])*{_OFFICE}"
_HEARERS = r"(?:\sand\s(?:my\s|fellow\s|distinguished\s)*(?:colleagues|[Mm]embers|Senators|friends)(?=\s?[,.:]))?"
_FORM_OF_ADDRESS = rf"(?:{_CHAIR}{_HEARERS}|[Mm]y\s(?:noble\s)?Lords|{SPEAKER})"
# A pattern that begins with a set of letters is looked for several times as fast as one that begins with a choice.
_STARTS = re.compile(r"[MmUu](?:(?<=[Mm])(?:rs?\b|s\b|adam|ister|y\s(?:noble\s)?Lords)|(?<=[Uu])qaq)")
_MENTIONS = re.compile(r"[SPCLUu](?:peaker|resident|hair|ords|hief|qaq)")  # of these, and a few words that are none
_ADDRESS = re.compile(
    rf"(?<!\w)(?P<title>(?:{_FORM_OF_ADDRESS},\s)*{_FORM_OF_ADDRESS})(?!\w)(?P<mark>\s?(?:\.\.\.|--|[,;:.!?—–])|)(?P<after>\s*)"
)
_SENTENCE_END = (".", "!", "?", "…", "”", '"', "“", "‘", ":", "\n")
_CLAUSE_END = ("(", "[", "—", "–", ";", "-")
_CAPITAL_NEXT = "\x01"  # stands where a sentence lost its opening until the text is put together again
_MARKS = tuple(",;:.!?—–-")
_CLOSERS = ("", "\n", "”", '"', ")", "]")
# After these, a title followed by a comma is what the sentence is about, not whom it addresses.
_GOVERNING = re.compile(
    r"\b(?:an?|the|to|from|by|of|with|for|as|our|your|his|her|their|both|is|was|were|called|between|thank(?:ed)?"
    r"|ask(?:ed)?|tell|told)$",
    re.I,
)
_THANKED = re.compile(r"\b(?:you|no|yes|sir)$", re.I)


class Stripped(NamedTuple):
    """The text without its vocatives, and each vocative as it was."""

    text: str
    vocatives: list[str]


def strip_vocatives(text: str) -> Stripped:
    """Remove addresses to the chair from `text` (paragraphs on lines); a sentence they opened gets its capital back."""
    if not _MENTIONS.search(text):
        return Stripped(text, [])
    pieces: list[str] = []
    vocatives: list[str] = []
    end, before = 0, ""
    for match in matches_at(_STARTS, _ADDRESS, text):
        between = text[end : match.start()]
        lead = between.rstrip()
        gap = between[len(lead) :]
        before = (lead or before) + ("\n" if "\n" in gap else "")
        end = match.end()
        instead = _instead(match, before, text[end : end + 3])
        if instead is None:
            pieces += [between, match.group()]
            before = match.group().rstrip(" ")
            continue
        vocatives.append(match["title"])
        comma = lead.endswith(",") and "\n" not in gap
        if comma:
            lead, gap = lead[:-1], " "
        closes_up = instead.startswith(_MARKS) and "\n" not in gap
        pieces += [lead if closes_up else lead + gap, instead]
        before = before[:-1] if comma else before
        before += instead.strip(" ")
        if not comma and (not before or before.endswith(_SENTENCE_END)):
            pieces.append(_CAPITAL_NEXT)
    pieces.append(text[end:])
    if not vocatives:
        return Stripped(text, [])
    return Stripped(re.sub(f"{_CAPITAL_NEXT}+(\\w?)", lambda m: m[1].upper(), "".join(pieces)), vocatives)


def _instead(match: re.Match[str], before: str, following: str) -> str | None:
    """Return the replacement of a vocative and of a comma before it; None if it is a mention."""
    mark, after = match["mark"].strip(), match["after"]
    closes = "\n" in after or (not after and following[:1] in _CLOSERS)
    if not before or before.endswith(_SENTENCE_END + _CLAUSE_END):
        if not mark and not closes and not following.startswith("I "):
            return None  # "Mr. Speaker has ruled"; but "Mr. Speaker I rise" lacks only its comma
        return after.strip(" ")
    if not mark and not closes:
        return None
    if before.endswith(","):
        return mark + after
    if mark == ",":
        return None if _GOVERNING.search(before[-12:]) else after.strip(" ")
    return mark + after if _THANKED.search(before[-12:]) else None
