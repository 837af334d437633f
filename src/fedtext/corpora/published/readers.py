"""Readers of published data sets, each in its publishers' format.

Conversations with assistants: OpenAssistant's messages and trees, as the data set's card describes them; Anthropic's
transcripts, as the card of hh-rlhf does; Alpaca's instructions, as the README of Stanford's repository does; TL;DR, as
that of OpenAI's summarize-from-feedback does; PKU-SafeRLHF's prompts and XSum's articles, as their cards do.

SQuAD, versions 1.1 and 2.0: paragraphs of Wikipedia's articles, with questions and answers. The format is that of the
files on the SQuAD explorer: `data` is a list of articles with `title` and `paragraphs`, a paragraph has its `context`
and its `qas`. In 2.0 a question may have no answer.

Reviews and questions of one writer each: Yelp, as its dataset documentation lists the fields of a review; IMDb, as the
README of Maas et al.'s aclImdb describes the directory, and as its copies in CSV have the columns; Banking77, as PolyAI
publishes it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fedtext.corpora.exercises import Exercise
from fedtext.corpora.formats import json_lines, read_csv, read_json, read_parquet
from fedtext.corpora.published.known import FormError, Row, columns_named, list_of, text_of, value_of
from fedtext.corpora.row_values import day, name_of
from fedtext.params.corpus import PublishedName
from fedtext.params.task import in_one_word, joined
from fedtext.system.missing import missing

HUMAN, ASSISTANT = "\n\nHuman:", "\n\nAssistant:"
_MESSAGE = (
    "message_id", "parent_id", "message_tree_id", "user_id", "created_date", "text", "role", "lang", "deleted", "rank",
)  # fmt: skip


class Message(NamedTuple):
    """A message of OpenAssistant; `rank` counts from 0, the best of its siblings, None if it was not ranked."""

    id: str
    parent: str | None
    tree: str
    user: str | None
    role: str
    language: str
    text: str
    rank: int | None
    date: str | None

    @property
    def owner(self) -> str:
        """The writer, or the tree if no writer is named; it depends on the message alone."""
        return self.tree if self.user is None else self.user


def openassistant(path: Path) -> Iterator[Row]:
    """Yield one row per message that was not deleted; its client is the writer, or its tree if there is none."""
    for message in messages(path):
        yield Row(message.owner, message.text, message.language, message.date)


def messages(path: Path) -> Iterator[Message]:
    """Yield every message that was not deleted, of trees or of a list of messages.

    Raises:
        FormError: The file is of another format.
    """
    rows = _parquet_rows(path) if path.suffix == ".parquet" else json_lines(path)
    for number, row in rows:
        where = f"line {number}"
        if "prompt" in row:
            tree = text_of(row, "message_tree_id", where)
            yield from _of_tree(value_of(row, "prompt", where), tree, where)
        elif not row.get("deleted"):
            yield _message(row, text_of(row, "message_tree_id", where), row.get("parent_id"), where)


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    table = read_parquet(path, columns_named(*_MESSAGE))
    for number, values in enumerate(table.itertuples(index=False, name=None), start=1):
        yield number, {name: None if missing(one) else one for name, one in zip(_MESSAGE, values, strict=True)}


def _of_tree(prompt: Any, tree: str, where: str) -> Iterator[Message]:
    """Yield a tree's messages from the root down, without recursion: a file may nest to any depth."""
    waiting: list[tuple[Any, str | None]] = [(prompt, None)]
    while waiting:
        row, parent = waiting.pop()
        name = text_of(row, "message_id", where)
        if not row.get("deleted"):
            yield _message(row, tree, parent, where)
        replies = row.get("replies") or []
        if not isinstance(replies, list):
            raise FormError(f"{where}: 'replies' is not a list", code="replies-not-a-list")
        waiting += [(reply, name) for reply in reversed(replies)]


def _message(row: Mapping[str, Any], tree: str, parent: str | None, where: str) -> Message:
    name, role, language, text = (text_of(row, field, where) for field in ("message_id", "role", "lang", "text"))
    rank, user, date = (row.get(field) for field in ("rank", "user_id", "created_date"))
    return Message(
        name, parent, tree, None if user is None else str(user), role, language, text,
        None if missing(rank) else _whole(rank, where), None if date is None else day(date),
    )  # fmt: skip


def _whole(rank: object, where: str) -> int:
    if isinstance(rank, bool) or not isinstance(rank, int | float) or not math.isfinite(rank):
        raise FormError(f"{where}: 'rank' is not a number", code="rank-not-a-number")
    return int(rank)


def hh(path: Path) -> Iterator[Row]:
    """Yield one row per comparison: the chosen transcript. Transcripts with the same opening are one client."""
    for number, row in json_lines(path):
        chosen = text_of(row, "chosen", f"line {number}")
        text_of(row, "rejected", f"line {number}")
        yield Row(conversation(chosen, f"line {number}"), chosen.strip())


def conversation(transcript: str, where: str) -> str:
    """Return the name of the conversations that open with the transcript's first human turn: a digest of it."""
    if not transcript.startswith(HUMAN) or ASSISTANT not in transcript:
        raise FormError(f"{where}: a transcript without turns by Human and Assistant", code="transcript-without-turns")
    opening = transcript.partition(ASSISTANT)[0].removeprefix(HUMAN).strip()
    return hashlib.sha256(opening.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def tldr(path: Path) -> Iterator[Row]:
    """Yield one row per comparison of two summaries: the post. The worker who compared them is the client."""
    for number, row in json_lines(path):
        where = f"line {number}"
        yield Row(text_of(row, "worker", where), text_of(value_of(row, "info", where), "post", where))


def alpaca(path: Path) -> Iterator[Row]:
    """Yield one row per instruction, with its input on the line below; the output is a model's, and left out."""
    for number, row in objects(path):
        where = f"object {number}"
        instruction, given = text_of(row, "instruction", where), row.get("input") or ""
        value_of(row, "output", where)
        if not isinstance(given, str):
            raise FormError(f"{where}: 'input' is not text", code="input-not-text")
        yield Row(None, "\n".join(part for part in (instruction.strip(), given.strip()) if part))


def safe_rlhf(path: Path) -> Iterator[Row]:
    """Yield one row per comparison of two responses: the prompt."""
    for number, row in json_lines(path):
        where = f"line {number}"
        prompt = text_of(row, "prompt", where)
        for response in ("response_0", "response_1"):
            text_of(row, response, where)
        yield Row(None, prompt)


def xsum(path: Path) -> Iterator[Row]:
    """Yield one row per article that has text; the article is the client, and its summary is left out."""
    rows = _xsum_table(path) if path.suffix == ".parquet" else json_lines(path)
    for number, row in rows:
        where = f"line {number}"
        document, name = value_of(row, "document", where), text_of(row, "id", where)
        value_of(row, "summary", where)
        if not isinstance(document, str):
            raise FormError(f"{where}: 'document' is not text", code="document-not-text")
        if document.strip():
            yield Row(name, document)


def _xsum_table(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    names = ("document", "summary", "id")
    for number, values in enumerate(read_parquet(path, columns_named(*names)).itertuples(index=False), start=1):
        yield number, {name: None if missing(one) else one for name, one in zip(names, values, strict=True)}


def objects(path: Path) -> Iterable[tuple[int, Any]]:
    """Return the objects of JSON lines or of a JSON list, with the numbers by which a person finds them."""
    if ".jsonl" in path.suffixes:
        return json_lines(path)
    rows = read_json(path)
    if not isinstance(rows, list):
        raise FormError("no list", code="no-list")
    return enumerate(rows, start=1)


class Question(NamedTuple):
    """A question about a paragraph of an article, and the answers that people gave; none if it has none."""

    article: str
    context: str
    question: str
    answers: tuple[str, ...]


def squad(path: Path) -> Iterator[Row]:
    """Yield one row per paragraph; the article is the client."""
    for title, paragraph, where in _paragraphs(path):
        yield Row(title, text_of(paragraph, "context", where))


def squad_exercises(path: Path) -> Iterator[Row]:
    """Yield one row per question that has an answer, with the first human answer; the article is the client."""
    for entry in squad_questions(path):
        if entry.answers:
            yield Row(entry.article, Exercise(entry.question, entry.answers[0], entry.context).text)


def squad_questions(path: Path) -> Iterator[Question]:
    """Yield every question with its paragraph and its answers, each once.

    Raises:
        FormError: The file is of another format.
    """
    for title, paragraph, where in _paragraphs(path):
        context = text_of(paragraph, "context", where)
        for entry in list_of(paragraph, "qas", where):
            given = (text_of(answer, "text", where) for answer in list_of(entry, "answers", where))
            yield Question(title, context, text_of(entry, "question", where), tuple(dict.fromkeys(given)))


def _paragraphs(path: Path) -> Iterator[tuple[str, Any, str]]:
    for number, article in enumerate(list_of(read_json(path), "data", "the file"), start=1):
        where = f"article {number}"
        title = text_of(article, "title", where)
        for place, paragraph in enumerate(list_of(article, "paragraphs", where), start=1):
            yield title, paragraph, f"{where}, paragraph {place}"


_BREAK = re.compile(r"\s*<br\s*/?>\s*<br\s*/?>\s*|\s*<br\s*/?>\s*")
_SENTIMENTS = {"pos": "positive", "neg": "negative"}


REVIEWS, BUSINESSES = "yelp_academic_dataset_review.json", "yelp_academic_dataset_business.json"
# The ten kinds of business of WASP's Table 8 (Yelp-Category), in one word each.
CATEGORIES = (
    "Arts_&_Entertainment", "Bars", "Beauty_&_Spas", "Event_Planning_&_Services", "Grocery", "Health_&_Medical",
    "Home_&_Garden", "Hotels_&_Travel", "Restaurants", "Shopping",
)  # fmt: skip


def yelp(path: Path, columns: Sequence[str] = ("stars",)) -> Iterator[Row]:
    """Yield one row per review, labelled by `columns`: its stars, or the category of its business, or both.

    Categories stand in a file of their own, so `path` is then the directory of both. A review of a business of none of
    `CATEGORIES` has no label.
    """
    categories = _categories(path) if "category" in columns else {}
    for number, review in json_lines(_of_yelp(path, REVIEWS) if path.is_dir() else path):
        where = f"line {number}"
        user, text, date = (text_of(review, name, where) for name in ("user_id", "text", "date"))
        values: dict[str, str | None] = {"stars": name_of(value_of(review, "stars", where))}
        if categories:
            values["category"] = categories.get(text_of(review, "business_id", where))
        own = [value for column in columns if (value := values.get(column))]
        yield Row(user, text, joined(own) if len(own) == len(columns) else None, day(date))


def _of_yelp(directory: Path, name: str) -> Path:
    if not (place := directory / name).is_file():
        raise FormError(f"no {name}", code="no-file-of-yelp")
    return place


def _categories(path: Path) -> dict[str, str]:
    """Return the first category of each business that is one of `CATEGORIES`; a business without one is left out."""
    if not path.is_dir():
        raise FormError(f"a file, and categories are in {BUSINESSES}", code="categories-in-another-file")
    found = {}
    for number, business in json_lines(_of_yelp(path, BUSINESSES)):
        listed = [in_one_word(one) for one in str(business.get("categories") or "").split(",")]
        if own := next((one for one in listed if one in CATEGORIES), None):
            found[text_of(business, "business_id", f"{BUSINESSES}, line {number}")] = own
    if not found:
        raise FormError(f"no business of {BUSINESSES} has one of the ten categories", code="no-known-category")
    return found


def imdb(path: Path) -> Iterator[Row]:
    """Yield one row per review, of the directory or of the CSV; HTML line breaks become those of text."""
    return _imdb_directory(path) if path.is_dir() else _imdb_table(path)


def _imdb_directory(path: Path) -> Iterator[Row]:
    for split in ("train", "test"):
        for folder, label in _SENTIMENTS.items():
            files = sorted((path / split / folder).glob("*.txt"))
            if not files:
                raise FormError(f"no {split}/{folder}/*.txt", code="no-files-of-split")
            for file in files:
                name = f"{split}/{folder}/{file.stem}"
                try:
                    yield Row(name, _plain(file.read_text("utf-8")), label)
                except UnicodeDecodeError:
                    raise FormError(f"{name}.txt: not UTF-8", code="text-file-not-utf8") from None


def _imdb_table(path: Path) -> Iterator[Row]:
    table = read_csv(path, columns_named("review", "sentiment"))
    for number, (text, label) in enumerate(table.itertuples(index=False), start=1):
        if label not in _SENTIMENTS.values():
            raise FormError(f"row {number}: 'sentiment' is neither positive nor negative", code="unknown-sentiment")
        yield Row(None, _plain(text), label)


def _plain(review: str) -> str:
    return _BREAK.sub(lambda found: "\n" * found[0].count("<"), review)


def banking77(path: Path) -> Iterator[Row]:
    """Yield one row per question."""
    for text, label in read_csv(path, columns_named("text", "category")).itertuples(index=False):
        yield Row(None, text, label)


Reader = Callable[[Path], Iterator[Row]]
# PubMed's is fedtext.largefedbench.sources.pubmed, in a higher layer: it depends on the benchmark's parser.
READERS: Mapping[PublishedName, Reader] = {
    "alpaca": alpaca,
    "banking77": banking77,
    "hh": hh,
    "imdb": imdb,
    "openassistant": openassistant,
    "safe_rlhf": safe_rlhf,
    "squad": squad,
    "squad_questions": squad_exercises,
    "tldr": tldr,
    "xsum": xsum,
    "yelp": yelp,
}
# Readers of data sets whose labels are made of `corpus.code_columns`, where these are named.
CODED: Mapping[PublishedName, Callable[[Path, Sequence[str]], Iterator[Row]]] = {"yelp": yelp}
