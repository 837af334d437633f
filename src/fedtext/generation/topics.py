"""What texts of a described kind are about: lists of topics from a generator, and the topics in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from fedtext.models.framing import Framing

LONGEST = 8  # words of a topic: what is longer is a text
NUMBER = re.compile(r"^\s*(?:\d+\s*[.):]|[-*•])\s*")
WORD, LONE = re.compile(r"[^\W\d]"), re.compile(r"\w+\?")  # a question of one word asks nothing
MARKS = " \t*_#\"'“”‘’`.,;!"
ASIDE = re.compile(r"\s*(?:[:(]| [-–—] ).*$")  # what explains a topic


def topics_framing(description: str) -> Framing:
    """The answer is a numbered list, whose first number we write."""
    opening = f"The {description} are about these topics:\n\n1."
    return Framing(chat=True, opening=opening, plea="Answer with a numbered list, a few words a line.")


def topics_request(description: str) -> str:
    """Asks for one list."""
    return f"I collect {description}. List topics that they are about."


def named_topics(lists: Iterable[str]) -> list[str]:
    """Distinct topics of all lists, those that most lists name first, else in the lists' order.

    Letter case makes no difference; the first spelling stays.
    """
    spelt: dict[str, str] = {}
    named: Counter[str] = Counter()
    for text in lists:
        topics = {topic.casefold(): topic for topic in reversed(list(_topics(text)))}
        named.update(reversed(topics))
        spelt = {**topics, **spelt}
    return [spelt[key] for key, _ in named.most_common()]


def _topics(text: str) -> Iterator[str]:
    """The topics of one list in order; a last line among several may be cut off, and is none."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines[:-1] or lines:
        if line.rstrip().endswith(":"):  # what leads to a list
            continue
        topic = ASIDE.sub("", NUMBER.sub("", line).strip(MARKS)).strip(MARKS)
        if WORD.search(topic) and not LONE.fullmatch(topic) and len(topic.split()) <= LONGEST:
            yield topic
