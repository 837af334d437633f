"""In which form the dialogues of a corpus are written."""

from fedtext.generation.dialogue import ASSISTANT, SUMMARY, Dialogue


def dialogue_of(source: str, *, chat: bool = False) -> Dialogue:
    """Posts with summaries, or turns by Human and Assistant (C.3); `chat`: a model is asked for answers in messages."""
    return Dialogue(chat, SUMMARY if source == "tldr" else ASSISTANT)
