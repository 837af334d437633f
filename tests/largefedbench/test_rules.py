"""What goes and, above all, what stays: every rule has a case of each kind."""

from __future__ import annotations

import pytest

from fedtext.largefedbench.cleaning.cleaner import clean_speech, normalise


def rules(text: str, source: str) -> list[str]:
    return [removal.rule for removal in clean_speech([text], source).removed]


REMOVED = [
    ("us", "We go [[Page S1234]] on.", "We go on.", "page_mark"),
    ("us", "We go {time} 1015 on.", "We go on.", "time_mark"),
    ("us", "We go. ======== NOTE ======== Wrong word. ======== END NOTE ======== On.", "We go. On.", "editorial_note"),
    ("us", "We go. ____________ On.", "We go. On.", "rule_line"),
    ("us", "(Mr. POE asked and was given permission to address the House.)\nI rise.", "I rise.", "permission_note"),
    ("us", "(Mr. OTTER addressed the House. His remarks will appear hereafter.)", "", "permission_note"),
    ("us", "I thank the gentleman from Texas (Mr. Smith) for that.", "I thank the gentleman from Texas for that.", "member_name"),
    ("us", "The Senator from Ohio [Mr. DeWine] agrees.", "The Senator from Ohio agrees.", "member_name"),
    ("us", "Without objection, it is so ordered.", "", "so_ordered"),
    ("us", "I am done. I suggest the absence of a quorum.", "I am done.", "quorum"),
    ("us", "I yield back the balance of my time.", "", "yield_time"),
    ("us", "Mr. Speaker, I yield back.", "", "yield_time"),
    ("us", "I yield 2 1/2 minutes to the distinguished gentleman from Ohio.", "", "yield_time"),
    ("us", "I am pleased to yield such time as she may consume to the gentlewoman from Maine.", "", "yield_time"),
    ("us", "I reserve the balance of my time.", "", "yield_time"),
    ("us", "I yield the floor and suggest the absence of a quorum.", "", "yield_time"),
    ("us", "I ask unanimous consent that the order for the quorum call be rescinded.", "", "unanimous_consent"),
    ("us", "I demand a recorded vote.", "", "ask_for_vote"),
    ("us", "I move to reconsider the vote.", "", "motion_formula"),
    ("us", "The amendment (No. 1293) was agreed to.", "", "clerk_disposition"),
    ("us", "The legislative clerk read as follows:", "", "clerk_reading"),
    ("us", "There being no objection, the letter was ordered to be printed, as follows:", "", "clerk_disposition"),
    ("us", "Mr. KIND changed his vote from ``nay'' to ``yea.''", "", "clerk_vote"),
    ("ca", "(1010)\nWe go on.", "We go on.", "time_mark"),
    ("ca", "We stop. (1010) We go on.", "We stop. We go on.", "time_mark"),
    ("ca", "We speak. [Translation] We go on.", "We speak. We go on.", "language_mark"),
    ("ca", "[Member spoke in Inuktitut]", "", "spoken_in_another_language"),
    ("ca", "(Return tabled)", "", "proceedings_note"),
    ("ca", "(Motion agreed to)", "", "proceedings_note"),
    ("ca", "Resuming debate.", "", "resuming_debate"),
    ("ca", "Is that agreed?", "", "is_that_agreed"),
    ("ca", "Madam Speaker, I request a recorded division.", "", "ask_for_vote"),
    ("ca", "I ask that all remaining questions be allowed to stand at this time, please.", "", "questions_to_stand"),
    ("uk", "We spend. [Interruption.] I will go on.", "We spend. I will go on.", "bracketed_noise"),
    ("uk", "He said so. [HON. MEMBERS: “Hear, hear!”] He did.", "He said so. He did.", "bracketed_noise"),
    ("uk", "See my answer. [Official Report, 3 May 2023; Vol. 732, c. 117.]", "See my answer.", "report_reference"),
    ("uk", "What steps is she taking? [904784]", "What steps is she taking?", "question_number"),
    ("uk", "4. What steps is she taking?", "What steps is she taking?", "question_number"),
    ("uk", "[Sir Roger Gale in the Chair]", "", "chair_notice"),
    ("uk", "The hon. Member for Belfast East (Gavin Robinson) asks.", "The hon. Member for Belfast East asks.", "member_name"),
    ("uk", "My hon. Friend the Member for Stoke-on-Trent Central (Jo Gideon) is right.",
     "My hon. Friend the Member for Stoke-on-Trent Central is right.", "member_name"),
    ("uk", "Question put and agreed to.", "", "clerk_disposition"),
    ("uk", "The House divided: Ayes 290, Noes 211.", "", "clerk_disposition"),
    ("uk", "Hear, hear!", "", "uk_formula"),
    ("us", "We won [Laughter] again.", "We won again.", "bracketed_noise"),
    ("us", "We won (Applause) again.", "We won again.", "bracketed_noise"),
    ("us", "109-2, 14-15, 2601.", "", "not_letters"),
    ("us", "Mr. DORGAN addressed the Chair.", "", "clerk_disposition"),
    ("us", "Several Senators addressed the Chair.", "", "clerk_disposition"),
    ("us", "There being no objection the material was ordered to be printed in the Record, as follows:", "", "clerk_disposition"),
    ("us", "(The remarks of Mr. Reid (for himself) on S. 206 are located in today's Record under ``Statements.'')", "", "printing_note"),
    ("us", "As in executive session, I ask unanimous consent that the Senate proceed.", "", "unanimous_consent"),
    ("us", "A joint resolution proposing an amendment to the Constitution of the United States.", "", "clerk_reading"),
    ("us", "Mr. Chief Justice, this is a trial.", "This is a trial.", "vocative"),
    ("uk", "We spend. [ Interruption. ] I will go on.", "We spend. I will go on.", "bracketed_noise"),
    ("uk", "indicated dissent.", "", "clerk_disposition"),
    ("uk", "(Urgent Question): To ask the Minister.", "To ask the Minister.", "question_number"),
    ("ca", "Uqaqtittiji, I thank the member.", "I thank the member.", "vocative"),
    ("ca", "ᖁᔭᓐᓇᒦᒃ ᐅᖃᖅᑎᑦᑎᔨ. We thank you.", "We thank you.", "spoken_in_another_language"),
    ("ca", "Qujannamiik uqaqtittiji. We thank you.", "We thank you.", "spoken_in_another_language"),
    ("ca", "[Member spoke in Inuktitut as follows:] Ullaakkut. [Inuktitut text translated as follows:] Good morning.",
     "Good morning.", "spoken_in_another_language"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "text", "left", "rule"), REMOVED)
def test_what_goes(source: str, text: str, left: str, rule: str) -> None:
    cleaned = clean_speech([text], source)
    assert cleaned.text == left
    assert rule in [removal.rule for removal in cleaned.removed]


KEPT = [
    ("uk", "Lords amendment 7 was passed by a large majority."),
    ("uk", "The Windsor framework (Northern Ireland) matters too."),
    ("uk", "The Secretary of State for Northern Ireland (as he then was) told me."),
    ("uk", "The Member for North Down said the (Northern Ireland) Act was good."),
    ("uk", "The House was divided on this, and I was sorry."),
    ("uk", "Amendments to the Bill are needed, and I shall move them."),
    ("uk", "I beg the Minister to think again."),
    ("ca", "No."),
    ("ca", "No. We will not do that."),
    ("ca", "The Budget Act (2005) changed that."),
    ("ca", "It was a good year (2010) for us."),
    ("ca", "They say “a militant, overused term [and its] use” is wrong."),
    ("ca", "Agreed to by all, the plan went ahead."),
    ("ca", "Is that agreed by the provinces?"),
    ("ca", "We are resuming debate on a bill that matters."),
    ("ca", "I ask that all questions of children be answered."),
    ("us", "I yield to no one in my respect for him."),
    ("us", "I yield 1 minute to the gentleman from Ohio, who has long worked on this."),
    ("us", "I yield to my friend, and thank him for his courage."),
    ("us", "I ask unanimous consent, because the law is unjust, that we act."),
    ("us", "The amendment was agreed to by both sides after a long night, and I was there."),
    ("us", "The clerk at the store read as follows the label: poison."),
    ("us", "The bill will pass without objection from me."),
    ("us", "The Senate met its duty when it read the bill; I was glad."),
    ("us", "There was no objection more foolish than his."),
    ("us", "I suggest the absence of a plan is the problem."),
    ("us", "He wrote that [foster care] saves children."),
    ("us", "The organization (OSCE) is strong."),
    ("us", "Section 401(k) plans are automatic."),
    ("us", "I met Mr. Smith (a friend of mine) there."),
    ("us", "I move that we all think of the children."),
    ("us", "Point of privilege."),
    ("us", "The debt stood at $5,222,049,625,819.53."),
    ("us", "In 1991, the then-U.S. Ambassador said so."),
    ("us", "A bill to help them is what we need, and I wrote it."),
    ("us", "He addressed the Chair with respect."),
    ("ca", "Iqaluit and Nunavut are cold."),
    ("ca", "Merci beaucoup."),
]


@pytest.mark.parametrize(("source", "text"), KEPT)
def test_what_stays(source: str, text: str) -> None:
    assert clean_speech([text], source).text == text


def test_whole_paragraphs_of_the_clerk_only() -> None:
    paragraphs = ["There was no objection.", "But I objected in my heart."]
    assert clean_speech(paragraphs, "us").text == "But I objected in my heart."


def test_spelling_is_one() -> None:
    assert normalise("``It's 2\\1/2\\ miles''--far", "us") == "“It's 2 1/2 miles”—far"
    assert normalise("about \\1/2\\ mile", "us") == "about 1/2 mile"
    assert normalise("Bill C\u201113\u00a0is\u200b", "ca") == "Bill C-13 is"


def test_removals_add_up_to_what_is_missing() -> None:
    text = "Mr. Speaker, I thank the gentleman from Texas (Mr. Poe). I yield back. {time} 1015 We go on, Mr. Speaker."
    cleaned = clean_speech([text], "us")
    removed = sum(len(removal.text.split()) for removal in cleaned.removed)
    assert len(cleaned.text.split()) + removed == len(text.split())
    assert rules(text, "us").count("vocative") == 2


def test_rules_of_one_parliament_leave_another_alone() -> None:
    assert clean_speech(["Resuming debate."], "us").text == "Resuming debate."
    assert clean_speech(["I yield back."], "uk").text == "I yield back."


def test_the_30_percent_rule_counts_letters_over_non_spaces() -> None:
    assert clean_speech(["abcdefg123."], "ca").text == "abcdefg123."  # 7 of 10
    assert clean_speech(["abcdef+=+=."], "ca").text == ""  # 6 of 10
    assert clean_speech(["abcdef1234."], "ca").text == "abcdef1234."  # a number is one character: 6 of 7
    assert clean_speech(["Été à la mer: 1 2."], "ca").text == "Été à la mer: 1 2."
    assert clean_speech(["Is it 300,000?"], "ca").text == "Is it 300,000?"
    assert clean_speech(["Social Security....66"], "ca", 0.0).text == "Social Security....66"
