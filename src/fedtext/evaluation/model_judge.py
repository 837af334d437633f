"""A language model as a judge: it is shown a query and two answers and says which one is better.

As in DPPrefSyn's appendix C.3, which follows Rafailov et al. (NeurIPS 2023): one sentence of comparison first, then
the letter alone. The words are ours. A model's preference for the first or the second place cancels where both orders
are asked (`fedtext.evaluation.win_rate`); an answer without a verdict is a tie, and how many there were is told.

Queries and answers leave this machine where the judge is a server. Give it public or released prompts only; a node
that reads private data has no network and refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from fedtext.models.framing import Framing
from fedtext.models.generator import Generator
from fedtext.params.generation import Sampler

MORE = "more helpful"
# The last line that is a letter alone, or one after a colon, in quotation marks or not: "Better: B", 'A', **B**. Not
# whatever ends in a letter: "Response A is better than response B" names the worse one last.
VERDICT = re.compile(r"^(?:.*:)?[\s*\"'“(]*([AB])[\s.*\"'”)]*$", re.MULTILINE)
UNTOLD = np.nan


@dataclass
class ModelJudge:
    """Asks a generator, as it was trained: in messages where `chat`, else as the beginning of a text.

    Attributes:
        model: Who judges.
        sampler: How its verdicts are drawn; as greedy as it goes is best.
        better: What makes an answer the better one, as "more helpful and harmless".
        chat: Whether the model answers messages.
        seed: Of the draws.
        untold: Share of the last comparisons that had no verdict.
    """

    model: Generator
    sampler: Sampler
    better: str = MORE
    chat: bool = True
    seed: int = 0
    untold: float = field(default=0.0, init=False)

    @property
    def told(self) -> str:
        """Which model, and how often it did not say."""
        return f"{self.model.identity}, {100 * self.untold:.0f}% of its answers without a verdict"

    def first_wins(
        self, prompts: Sequence[str], firsts: Sequence[str], seconds: Sequence[str]
    ) -> Float[np.ndarray, " pair"]:
        """1 where the model says A, 0 where it says B, 1/2 where it says neither."""
        asked = [
            request(prompt, first, second, self.better)
            for prompt, first, second in zip(prompts, firsts, seconds, strict=True)
        ]
        answers = self.model.write(
            asked, framing=Framing(chat=self.chat), responses=1, sampler=self.sampler, seed=self.seed, label="judge"
        )
        said = np.array([verdict(answer) for (answer,) in answers])
        self.untold = float(np.isnan(said).mean()) if len(said) else 0.0
        return np.where(np.isnan(said), 0.5, said)


def request(query: str, first: str, second: str, better: str = MORE) -> str:
    """The question to the judge, with the answers as A and B."""
    return (
        f"Somebody asked a chatbot the query below. Which of the two responses is {better}?\n\n"
        f"Query: {query.strip()}\n\nResponse A: {first.strip()}\n\nResponse B: {second.strip()}\n\n"
        f"First compare the two in one sentence. Then write, on a line of its own, only the letter of the response "
        f"that is {better}: A or B."
    )


def verdict(answer: str) -> float:
    """1 for A, 0 for B, NaN for neither: the last line that ends in one of the letters alone."""
    found = VERDICT.findall(answer)
    return float(found[-1] == "A") if found else UNTOLD
