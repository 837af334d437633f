"""Whole paragraphs written by the clerk or the reporters in a member's turn: votes, dispositions, readings.

A paragraph goes only if all of it is the formula.
"""

from __future__ import annotations

from fedtext.largefedbench.cleaning.rules import rule

_US_THING = (
    r"(?:[a-z-]+ ){0,4}(?:amendments?|bills?|conference report|joint resolution|motions?|nominations?|point of order"
    r"|preamble|resolutions?|title)(?: \([^()]*\))?(?: \(No\. \d+\))?"
)
_US_DONE = (
    r"(?:\w+ly )?(?:agreed to|confirmed|considered|laid on the table|modified|not agreed to|ordered|passed|rejected"
    r"|withdrawn)"
)
_US_BILL = r"(?:(?:J\. |Con\. )?Res\. )?\d+\. An? (?:bill|joint resolution|resolution|concurrent resolution)"
_UK_THING = r"(?:Amendments?|Bill|[Cc]lauses?|Lords [Aa]mendments?|Motions?|New [Cc]lauses?|Resolutions?|Schedules?)"
_UK_NUMBERS = r"(?: (?:\(?[A-Z]{0,2}\d+[A-Z]*\)?|and|to))*"
_READ = r"read (?:a|the) (?:[Ff]irst|[Ss]econd|[Tt]hird) time"

# The rest of a paragraph, if nobody in particular is saying it.
_NARRATED = r"(?!.*\b(?:I|me|my|we|us|our|you|your|because|but|when|after|although|than)\b).*"

CLERK = (
    rule(
        "clerk_vote",
        "us",
        r"(?:A|The) (?:recorded vote was|yeas and nays were) ordered\.",
        rf"The (?:result of the )?vote was (?:announced|taken by electronic device)\b{_NARRATED}",
        rf"The result was announced{_NARRATED}",
        rf"The question was taken;{_NARRATED}",
        rf"So (?:\([^()]*\) )?the {_US_THING}\b.{{0,80}} (?:was|were) {_US_DONE}\.?",
        r"(?:Mr|Mrs|Ms|Miss|Messrs|Mesdames)\. .{2,2000} changed (?:his|her|their) votes? from\b.*",
        r"The (?:[a-z]+ ){0,3}clerk (?:proceeded to call|called) the roll\.",
    ),
    rule(
        "clerk_disposition",
        "us",
        rf"(?:The|A) (?:first |second )?{_US_THING},?(?: as (?:amended|modified),?)?(?: to [a-z ]+?)? (?:was|were)"
        rf" {_US_DONE}\b{_NARRATED}",
        r"There was no objection\.?",
        rf"There being no objection\b{_NARRATED}",
        r"(?:Mr|Mrs|Ms|Miss|Dr)\. .{2,60} addressed the (?:Chair|House|Senate)\.?",
        r"(?:Several|A number of|Some|SEVERAL) (?:Senators|Members|SENATORS|MEMBERS) addressed the"
        r" (?:Chair|House|Senate)\.?",
        rf"At \d+ o'clock\b{_NARRATED}",
        rf"Accordingly, the (?:Committee|House) (?:rose|resolved)\b{_NARRATED}",
        rf"Thereupon,? (?:the|at)\b{_NARRATED}",
        rf"The (?:House|Senate) (?:met|adjourned|stood|proceeded)\b{_NARRATED}",
        rf"The Committee (?:rose|resumed its sitting)\b{_NARRATED}",
        rf"(?:Mr|Mrs|Ms|Miss)\. .{{2,60}} led the Pledge of Allegiance\b{_NARRATED}",
    ),
    rule(
        "clerk_reading",
        "us",
        rf"The (?:[a-z]+ ){{0,3}}[Cc]lerk (?:read|designated|redesignated|reported)\b{_NARRATED}",
        r"The text of .{2,160} (?:is|are) as follows:",
        r"The (?:amendment|resolution|bill|following|material|letter|article|statement)\b[^.;!?]{0,160} follows:",
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
