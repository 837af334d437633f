"""Masked language models behind one face: a local directory or a Hugging Face id; none is shipped with the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedtext.models.source import check_weights, find_model, unreadable
from fedtext.system.errors import InputError
from fedtext.system.hardware import compute_device
from fedtext.system.progress import without_library_bars

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

NONE_SHIPPED = "set pe.variation to few_shot, which needs none"


@dataclass(frozen=True)
class MaskedModel:
    """A public masked language model, by its source: a local directory or a Hugging Face id."""

    source: str

    def load(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Model, in evaluation mode on its device, and tokenizer. Only safetensors weights are read.

        Raises:
            OSError: The source is not there, not complete, or its tokenizer knows no mask.
            ValueError: A weight is NaN or infinite.
        """
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        place = find_model(self.source, "masked language model", NONE_SHIPPED)
        try:
            tokenizer = AutoTokenizer.from_pretrained(place.name, **place.keywords)
            if tokenizer.mask_token_id is None:
                raise InputError("its tokenizer has no mask token")
            with without_library_bars():
                model = AutoModelForMaskedLM.from_pretrained(place.name, use_safetensors=True, **place.model_keywords)
        except (OSError, ValueError) as error:
            raise unreadable(self.source, "masked language model", NONE_SHIPPED, error) from error
        check_weights(model, f"masked language model '{self.source}'", "get its files again")
        return model.to(compute_device()).eval(), tokenizer
