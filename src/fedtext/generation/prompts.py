"""The list of samples of POPri's Figure 5, as prompts show it and as the bundled generator is pretrained on it.

A prompt lists three public samples and ends where the fourth should begin; what the model writes up to the heading of
the fifth is one synthetic sample (`fedtext.generation.prompt_forms.SampleList`).
"""

from __future__ import annotations

from collections.abc import Sequence

SAMPLE_MARKER = "Original Text Sample"
LISTED = 6  # 'List of 6 diverse original text samples', POPri Figure 5
SHOTS = 3  # 'randomly sampling three samples', POPri section 3.1


def header(label: str | None = None, description: str | None = None) -> str:
    """First line of a prompt; `label` names the class in conditional generation (Algorithm 3)."""
    subject = f" about {label}" if label else ""
    return f"List of {LISTED} diverse original {description or 'text samples'}{subject}:\n"


def heading(position: int) -> str:
    """Line that introduces sample number `position` (1-based)."""
    return f"{SAMPLE_MARKER} {position}\n"


def sample_list(samples: Sequence[str], label: str | None = None, description: str | None = None) -> str:
    """The list itself: header, then every sample under its heading."""
    listed = "".join(f"{heading(i)}{text.strip()}\n" for i, text in enumerate(samples, start=1))
    return header(label, description) + listed
