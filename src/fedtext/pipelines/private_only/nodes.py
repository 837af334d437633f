"""The check of whether a classifier may learn from the private text itself."""

from typing import Any

from fedtext.params.corpus import Corpus
from fedtext.params.evaluation import Classification, Evaluation
from fedtext.params.task import Task
from fedtext.system.errors import InputError


def check_private_only(
    corpus: Corpus, evaluation: Evaluation, task: Task, classification: Classification
) -> dict[str, Any]:
    """Check the terms of the non-private bound: public text alone, or text for which it was declared.

    Raises:
        ValueError: The text is private and the bound was not declared, or nothing would be measured.
    """
    task.validate_classes("private_only")
    if not evaluation.has_private_control(corpus):
        raise InputError(
            "private_only trains on the private text itself, which no epsilon covers, and the corpus is private: run "
            "it on a public one (corpus.declared_public=true if this is public), or say "
            "evaluation.private_control=true",
            code="control-reads-private-text",
        )
    dp = evaluation.is_dp(corpus)
    if dp or not classification.is_measured(task, dp=dp):
        raise InputError(
            "private_only is judged by classification, which is not measured here: set evaluation.dp=false, or "
            "leave classification.measured out",
            code="control-judged-by-classification",
            parameter="classification.measured",
            value=True,
        )
    whom = "nobody: a classifier learns from the private text itself, and test clients' text judges it without noise"
    return {"epsilon": None, "protects": whom}
