"""The few-shot prompt of POPri's Figure 5, and how a continuation is cut back to one sample.

A prompt lists three public samples and ends where the fourth should begin; what the model writes up to the heading of
the fifth is one synthetic sample. The bundled generator is pretrained on the same form, so both sides read it here.
"""

from __future__ import annotations

from collections.abc import Sequence

SAMPLE_MARKER = "Original Text Sample"
LISTED = 6  # 'List of 6 diverse original text samples', POPri Figure 5
SHOTS = 3  # 'randomly sampling three samples', POPri section 3.1


def header(label: str | None = None) -> str:
    """First line of a prompt; `label` names the class in conditional generation (Algorithm 3)."""
    subject = f" about {label}" if label else ""
    return f"List of {LISTED} diverse original text samples{subject}:\n"


def heading(position: int) -> str:
    """Line that introduces sample number `position` (1-based)."""
    return f"{SAMPLE_MARKER} {position}\n"


def sample_list(samples: Sequence[str], label: str | None = None) -> str:
    """The list itself: header, then every sample under its heading."""
    return header(label) + "".join(f"{heading(i)}{text.strip()}\n" for i, text in enumerate(samples, start=1))


def few_shot_prompt(samples: Sequence[str], label: str | None = None) -> str:
    """Prompt that lists `samples` and asks for the next one."""
    return f"{sample_list(samples, label)}{heading(len(samples) + 1)}"


def cut_continuation(text: str) -> str:
    """The sample inside a continuation: up to the full marker, so that 'Original' and 'Origin' may occur in a text."""
    return text.partition(SAMPLE_MARKER)[0].strip()
