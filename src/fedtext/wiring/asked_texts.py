"""What generators are asked for, as configuration files may refer to it: `${prompt:}`, `${sample_tokens:4}`.

Each is what the command line says, else the files, else what follows from the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol, cast

from omegaconf import OmegaConf

from fedtext.params.corpus import as_openings, is_described
from fedtext.params.generation import TEXT


class Stated(Protocol):
    """What a run's command line and files say; fedtext.wiring.config reads them."""

    def given(self, group: str, name: str, otherwise: Callable[[], Any] = ...) -> Any:
        """Return a parameter of the command line, or what `otherwise` gives where the command line has none."""

    def stated(self, group: str, name: str) -> object:
        """Return an unresolved parameter: the command line's, else the environment's, else the base's."""

    def global_group(self, name: str) -> Mapping[str, Any]:
        """Return a group of the globals; empty where there is none."""


class AskedTexts:
    """The texts that generators are asked for, and how.

    - `${description:}` describes them: `corpus.description` of the command line, else the global
      `generation.description`; for the docstrings, that of the global `generation.docstrings` where neither is given.
    - `${prompt:}` is the prompt template: `generation.prompt` of the command line, else the global; else for the
      docstrings that of `generation.docstrings`, for other texts `list`. `${prompt_alone:}` is the same where there are
      no examples yet: a page, or `chat`. `${drawn:temperature}`, `${drawn:repetition_penalty}` and `${drawn:best_of}`
      are those of the template (`,alone`: where there are no examples yet), `${examples:}` is whether it shows public
      texts.
    - `${openings:}` are the words that they begin with: `corpus.openings` of the command line, else the global.
    - `${sample_tokens:N}` is `chunking.length` and N more: a text is as long as a sample, and ends where it is cut.
    """

    def __init__(self, said: Stated) -> None:
        self._said = said

    def register(self) -> None:
        """Let configuration files refer to it."""
        register = getattr(OmegaConf, "register_resolver", OmegaConf.register_new_resolver)  # renamed in 2.4
        register("description", lambda: self.description, replace=True)
        register("prompt", lambda: self.prompt, replace=True)
        register("prompt_alone", lambda: self._prompt_alone, replace=True)
        register("openings", lambda: self.openings, replace=True)
        register("drawn", self._drawn, replace=True)
        register("examples", lambda: not self._writes_public_text(), replace=True)
        register("sample_tokens", self._sample_tokens, replace=True)

    @cached_property
    def description(self) -> str | None:
        """A description of the texts in the plural; None if none is given."""
        return cast("str | None", self._said.given("corpus", "description", lambda: self._stated("description")))

    @cached_property
    def prompt(self) -> str:
        """The name of the prompt template with which generators are queried.

        Where nothing says it: messages if the generator writes the public text from a description, as it was asked for
        that, else lists.
        """
        by_text = "chat" if self._writes_public_text() else "list"
        return str(self._said.given("generation", "prompt", lambda: None) or self._stated("prompt") or by_text)

    @cached_property
    def openings(self) -> list[str]:
        """The words that texts begin with: `corpus.openings` of the command line, else the global."""
        return list(as_openings(self._said.given("corpus", "openings", lambda: self._stated("openings"))))

    @property
    def _prompt_alone(self) -> str:
        """Return the prompt template for a generator without examples yet."""
        return self.prompt if TEXT in self.prompt else "chat"

    def _drawn(self, name: str, where: str = "") -> float | int:
        """Return `temperature`, `repetition_penalty` or `best_of`: the global one, else the prompt template's.

        `where` is `alone` for prompts without examples, else empty.
        """
        stated, own = self._said.global_group("generation"), self._said.given("generation", name, lambda: None)
        prompt = self._prompt_alone if where else self.prompt
        by_form = stated["drawn"]["chat" if prompt == "chat" else "other"]
        given: float | int = next(value for value in (own, stated.get(name), by_form[name]) if value is not None)
        return given

    def _sample_tokens(self, more: int) -> int:
        """Return a sample's tokens and `more`; a length that is no number is refused where parameters are read."""
        length = self._said.stated("chunking", "length")
        return (length if isinstance(length, int) else 0) + more

    def _writes_public_text(self) -> bool:
        """Return whether the generator writes the public text itself: its own texts are then not shown to it again."""
        return is_described(self._said.stated("corpus", "public_path"), self.description)

    def _stated(self, name: str) -> str | None:
        """Return a global about the texts; for docstrings, the docstrings' own where the general one is not set."""
        stated = self._said.global_group("generation")
        told: str | None = stated.get(name)
        if told is None and self._said.stated("corpus", "source") == "docstrings":
            told = (stated.get("docstrings") or {}).get(name)
        return told
