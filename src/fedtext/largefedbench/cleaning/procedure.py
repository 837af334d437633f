"""Whole sentences of floor management: asking for time, votes and readings in the chamber's fixed words.

A sentence goes only if all of it is the formula: "I yield back." goes, "I yield to no one in my respect for him."
stays.
"""

from __future__ import annotations

from fedtext.largefedbench.cleaning.rules import rule

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
_YIELD = rf"(?:I (?:now |would |will |would like to )?|{_GLAD} )yield"
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
        rf"{_LEAD}I (?:will |would )?(?:continue to )?reserve {_AMOUNT}",
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
