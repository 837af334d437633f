"""SQuAD, versions 1.1 and 2.0: paragraphs of Wikipedia's articles, with questions and answers.

The form is that of the files on the SQuAD explorer: `data` is a list of articles with `title` and `paragraphs`, a
paragraph has its `context` and its `qas`. In 2.0 a question may have no answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.corpora.exercises import Exercise
from fedtext.corpora.formats import read_json
from fedtext.corpora.published.rows import Row, list_of, text_of


class Question(NamedTuple):
    """A question about a paragraph of an article, and the answers that people gave; none where it has none."""

    article: str
    context: str
    question: str
    answers: tuple[str, ...]


def squad(path: Path) -> Iterator[Row]:
    """One row a paragraph; the article is the client."""
    for title, paragraph, where in _paragraphs(path):
        yield Row(title, text_of(paragraph, "context", where))


def squad_exercises(path: Path) -> Iterator[Row]:
    """One row a question that has an answer, with the first one that people gave; the article is the client."""
    for asked in squad_questions(path):
        if asked.answers:
            yield Row(asked.article, Exercise(asked.question, asked.answers[0], asked.context).text)


def squad_questions(path: Path) -> Iterator[Question]:
    """Every question with its paragraph and its answers, each once.

    Raises:
        FormError: the file is of another form.
    """
    for title, paragraph, where in _paragraphs(path):
        context = text_of(paragraph, "context", where)
        for asked in list_of(paragraph, "qas", where):
            given = (text_of(answer, "text", where) for answer in list_of(asked, "answers", where))
            yield Question(title, context, text_of(asked, "question", where), tuple(dict.fromkeys(given)))


def _paragraphs(path: Path) -> Iterator[tuple[str, Any, str]]:
    for number, article in enumerate(list_of(read_json(path), "data", "the file"), start=1):
        where = f"article {number}"
        title = text_of(article, "title", where)
        for place, paragraph in enumerate(list_of(article, "paragraphs", where), start=1):
            yield title, paragraph, f"{where}, paragraph {place}"
