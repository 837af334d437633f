"""Small files of our own making in the published forms: a dozen records each, so that a corpus can be made of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedtext.params.corpus import PublishedName

COUNT = 12
THINGS = ["soup", "kettle", "ferry", "lamp", "garden", "bread", "river", "ladder", "window", "violin", "coat", "bridge"]


def lines(path: Path, rows: list[Any]) -> Path:
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def yelp_rows() -> list[dict[str, Any]]:
    return [
        {"review_id": f"r{i}", "user_id": f"u{i // 2}", "business_id": "b", "stars": float(i % 5 + 1), "useful": 0,
         "text": f"The {thing} was as good as they say.", "date": f"2018-07-{i + 1:02d} 22:09:11"}
        for i, thing in enumerate(THINGS)
    ]  # fmt: skip


def yelp_directory(root: Path) -> Path:
    """Reviews of three businesses, of which the last has none of the ten categories."""
    root.mkdir()
    kinds = ["Thai, Restaurants, Bars", "Hotels & Travel", "Ferries"]
    businesses = [{"business_id": f"b{i}", "categories": kind} for i, kind in enumerate(kinds)]
    lines(root / "yelp_academic_dataset_business.json", [*businesses, {"business_id": "b9", "categories": None}])
    reviews = [{**row, "business_id": f"b{i % 3}"} for i, row in enumerate(yelp_rows())]
    lines(root / "yelp_academic_dataset_review.json", reviews)
    return root


def imdb_directory(root: Path) -> Path:
    for split in ("train", "test"):
        for label in ("pos", "neg"):
            folder = root / split / label
            folder.mkdir(parents=True)
            for i in range(3):
                (folder / f"{i}_7.txt").write_text(f"A film of a {THINGS[i]}.<br /><br />{split} and {label}.", "utf-8")
    return root


def squad_document(answered: int = 1) -> dict[str, Any]:
    """Articles of two paragraphs with a question each, of which the first so many have answers."""

    def paragraph(thing: str, has_answers: bool) -> dict[str, Any]:
        answers = [{"text": thing, "answer_start": 8}, {"text": thing, "answer_start": 8}] if has_answers else []
        asked = {"id": thing, "question": f"What is the {thing}?", "answers": answers, "is_impossible": not has_answers}
        return {"context": f"Here is {thing}, of which much is known.", "qas": [asked]}

    articles = [
        {"title": f"Article_{i}", "paragraphs": [paragraph(THINGS[2 * i + k], k < answered) for k in range(2)]}
        for i in range(COUNT // 2)
    ]
    return {"version": "v2.0", "data": articles}


def message(name: str, role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"message_id": name, "role": role, "text": text, "lang": "en", "review_count": 3, "deleted": False, **more}


def tree(number: int, users: bool = True) -> dict[str, Any]:
    """A question, three ranked answers of which the first is the best, and a question that follows the best."""
    thing = THINGS[number]

    def by(user: str) -> dict[str, Any]:
        return {"user_id": user, "created_date": "2023-02-05T14:23:50.983374+00:00"} if users else {}

    answers = [
        message(
            f"{number}.{rank}",
            "assistant",
            f"Answer {rank} about the {thing}.",
            rank=rank,
            replies=[],
            **by(f"a{rank}"),
        )
        for rank in range(3)
    ]
    answers[0]["replies"] = [
        message(f"{number}.q", "prompter", f"And the old {thing}?", replies=[], **by(f"p{number}"))
    ]
    answers.append(message(f"{number}.gone", "assistant", "Gone.", replies=[], **by("a9")) | {"deleted": True})
    prompt = message(f"{number}.p", "prompter", f"What is a {thing}?", replies=answers, **by(f"p{number}"))
    return {"message_tree_id": f"{number}.p", "tree_state": "ready_for_export", "prompt": prompt}


def flat(trees: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The trees' messages one by one."""
    rows: list[dict[str, Any]] = []
    waiting = [(one["prompt"], None, one["message_tree_id"]) for one in trees]
    while waiting:
        row, parent, name = waiting.pop(0)
        kept = {key: value for key, value in row.items() if key != "replies"}
        rows.append({"rank": None, **kept, "parent_id": parent, "message_tree_id": name})
        waiting = [(reply, row["message_id"], name) for reply in row["replies"]] + waiting
    return rows


def hh_rows() -> list[dict[str, str]]:
    def pair(thing: str, more: str) -> dict[str, str]:
        begun = f"\n\nHuman: How do I mend a {thing}?\n\nAssistant:{more}"
        return {"chosen": f"{begun} With patience.", "rejected": f"{begun} You do not."}

    deeper = " Which one?\n\nHuman: The red one.\n\nAssistant:"
    return [*(pair(thing, "") for thing in THINGS), pair(THINGS[0], deeper)]


def alpaca_rows() -> list[dict[str, str]]:
    return [
        {"instruction": f"Describe the {thing}.", "input": "In one line." if i % 2 else "", "output": "A thing."}
        for i, thing in enumerate(THINGS)
    ]


def tldr_rows() -> list[dict[str, Any]]:
    """Comparisons of two summaries, each by a worker of its own."""
    summaries = [{"text": f" {which}", "policy": "ref", "note": None} for which in ("first", "second")]
    return [
        {"info": {"id": f"t3_{i}", "post": f"A long story of a {thing}.", "title": "Story", "subreddit": "tales"},
         "summaries": summaries, "choice": i % 2, "worker": f"w{i}", "batch": "batch3", "split": "train"}
        for i, thing in enumerate(THINGS)
    ]  # fmt: skip


def safe_rlhf_rows() -> list[dict[str, Any]]:
    return [
        {"prompt": f"How do I hide a {thing}?", "response_0": "Do not.", "response_1": "In a hat.",
         "is_response_0_safe": True, "is_response_1_safe": i % 2 == 0, "better_response_id": i % 2, "safer_response_id": 0}
        for i, thing in enumerate(THINGS)
    ]  # fmt: skip


def xsum_rows() -> list[dict[str, str]]:
    return [
        {"document": f"A {thing} was found in the river.", "summary": f"Of a {thing}.", "id": str(3 * 10**7 + i)}
        for i, thing in enumerate(THINGS)
    ]


def banking(path: Path) -> Path:
    path.write_text("text,category\n" + "".join(f"Where is my {one}?,{one}_missing\n" for one in THINGS), "utf-8")
    return path


def article(pmid: int, text: str, headings: str = "") -> str:
    mesh = f"<MeshHeadingList>{headings}</MeshHeadingList>" if headings else ""
    return (
        f"<PubmedArticle><MedlineCitation><PMID>{pmid}</PMID><Article><Journal><JournalIssue><PubDate><Year>2020</Year>"
        f"<Month>Mar</Month></PubDate></JournalIssue></Journal><ArticleTitle>T</ArticleTitle><Abstract><AbstractText>{text}"
        f"</AbstractText></Abstract></Article>{mesh}</MedlineCitation></PubmedArticle>"
    )


def heading(name: str, major: str = "N", qualifier: str = "") -> str:
    inner = f'<QualifierName MajorTopicYN="{qualifier}">genetics</QualifierName>' if qualifier else ""
    return f'<MeshHeading><DescriptorName MajorTopicYN="{major}">{name}</DescriptorName>{inner}</MeshHeading>'


def pubmed(path: Path) -> Path:
    mesh = heading("Humans") + heading("Cooking", "Y")
    body = "".join(article(100 + i, f"We studied the {thing}.", mesh) for i, thing in enumerate(THINGS))
    path.write_text(f"<PubmedArticleSet>{body}</PubmedArticleSet>", "utf-8")
    return path


MAKERS: dict[PublishedName, Callable[[Path], Path]] = {
    "alpaca": lambda root: whole(root / "alpaca_data.json", alpaca_rows()),
    "banking77": lambda root: banking(root / "train.csv"),
    "hh": lambda root: lines(root / "train.jsonl.gz", hh_rows()),
    "imdb": lambda root: imdb_directory(root / "aclImdb"),
    "openassistant": lambda root: lines(root / "oasst.trees.jsonl.gz", [tree(i) for i in range(COUNT)]),
    "pubmed": lambda root: pubmed(root / "pubmed.xml"),
    "safe_rlhf": lambda root: lines(root / "train.jsonl", safe_rlhf_rows()),
    "squad": lambda root: whole(root / "train-v2.0.json", squad_document()),
    "squad_questions": lambda root: whole(root / "dev-v2.0.json", squad_document(answered=2)),
    "tldr": lambda root: lines(root / "batch3.json", tldr_rows()),
    "xsum": lambda root: lines(root / "xsum.jsonl", xsum_rows()),
    "yelp": lambda root: lines(root / "yelp_academic_dataset_review.json", yelp_rows()),
}
