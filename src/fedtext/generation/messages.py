"""A filter for texts that look like one whole message, in any script; it costs no privacy and needs no model.

A chat model that is prompted for a message now and then writes a greeting alone, a template with placeholders, a list,
talk about the message, or a loop. Texts that are dropped for their shape were hardly ever good (docs/decisions/0046 has
the counts). Texts of well-formed sentences without sense pass: no rule on shape finds them.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence

from fedtext.generation.phrases import (
    DIALOGUES,
    FIRM,
    FROM_PEOPLE,
    OF_THE_TEXT,
    addresses_the_user,
    starting_with,
    whole_words,
)
from fedtext.generation.sentences import EMOJI, ends_a_sentence

FEWEST_WORDS, FEWEST_LETTERS = 4, 8  # letters, in scripts that put no spaces between words
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
SYLLABLES = re.compile("[\uac00-\ud7a3]")  # Korean has spaces, and a sentence in three words
GREETING = starting_with(
    whole_words(
        *("dear", "hi", "hello", "hey", "good (?:morning|afternoon|evening|day)", "greetings", "to whom", "ladies and"),
        *("hola", "estimad[oa]s?", "querid[oa]s?", "olá", "prezad[oa]s?", "car[oa]", "ciao", "gentile"),
        *("bonjour", "bonsoir", "cher|chère", "madame", "monsieur", "salut"),
        *("liebe[rs]?", "sehr geehrte[rs]?", "guten (?:tag|morgen|abend)", "hallo"),
        *(r"уважаем\w+", "здравствуйте", "привет(?:ствую)?", "السلام", "مرحبا", r"عزيز(?:ي|تي|نا|تنا)?"),
    ),
    *("您好", "你好", "尊敬的", "亲爱的"),  # a name follows without a space
)
SHORT_GREETING, NAME = 7, 3  # words; a longer line has content
SHORT_GREETING_LETTERS = 9  # where no spaces part words
ASKS = re.compile("[?？؟]")
GAP = re.compile(  # to be filled in: "[name]", "%NAME%", "order_id", "XXXX", "(insert date)", "（姓名）", 12345
    "|".join(
        [
            r"(?<![A-Za-z])\[(?!\d{1,3}(?:[,;–-] ?\d{1,3})*\])[^\]\n]{1,40}\]",  # not in "list[int]" and "as in [3, 4]"
            r"(?<![A-Za-z0-9^_\\}])\{[^}\n]{1,40}\}",  # not in "n^{2}"
            r"<(?![\s\d])[^>\n]{1,40}>|⟨[^⟩\n]{1,40}⟩|&lt;[^&\n]{1,40}&gt;",  # not in "<90 or >120"
            r"【[^】\n]{1,40}】|〔[^〕\n]{1,40}〕|［[^］\n]{1,40}］",
            r"%[A-Za-z_ ]{2,30}%|\$[a-z_]{3,}\b|#{3,}|_{3,}|(?:_ ){2,}_|\.{6,}",
            r"(?<!siglo )(?<!século )(?<!secolo )\b[XХ]{2,}\b(?! (?:век|столет|secolo|century|chromosom))",
            r"\b[DM]{2}([/.-])[DM]{2}\1Y{2,4}\b",
            r"(?<![一二三四五六七八九])[〇○◯]{2,}(?![一二三四五六七八九])",  # in a year 〇 is a digit
            r"(?<![@/.\w-])[^\W\d_]+_[^\W\d_]{2,}(?!\w*[.@]\w)",  # a variable; neither an address nor a file
            r"(?<![\d.,])0?12345(?:6(?:7(?:89?0?)?)?)?(?!\d)|\\['\"’]",  # a number that nobody has; a quote as in code
            r"\bYOUR [A-Z]{2,}\b|\((?i:insert|enter|fill in|add|your)\b[^)\n]{0,40}\)",
            r"\((?i:(?:votre|your|su|tu|ihr) (?:nom|name|nombre)|date|name|name of [^)\n]{1,30})\)",
            r"[(（](?:姓名|名字|订单号|订单编号|电话|日期|地址|金额|公司名称?)[)）]",
            r"\((?:الاسم|اسمك|رقم الطلب|التاريخ|العنوان|رقم الهاتف)\)",
        ]
    )
)
LISTED = re.compile(r"^\s*(?:\d+[.)、]\s|[-*•‣◦▪]\s|#{1,6}\s|[A-D][.)]\s)|\*\*|```|[:：]\s*$", re.MULTILINE)
HEADED = re.compile(  # a text that says what it is, or has a line of subject
    r"\s*(?:subject|title|message|text|example|sample|betreff|objet|asunto|主题)(?: \d+)?\s*[:：]", re.IGNORECASE
)
SCRIPT = re.compile(r"^[^\W\d]+(?: [^\W\d]+)?: ", re.MULTILINE)  # who speaks
NAME_ALONE = re.compile(r"[^\W\d]+[,，،]\s*\n")
PICTURE, EMOJI_AT_MOST = re.compile(EMOJI), 2
LETTERS_AT_LEAST, CAPITALS_AT_MOST = 0.3, 0.6  # of the signs that are no space; of the letters that have a case
PHRASES_AGAIN, PIECES_AGAIN = 0.12, 0.22  # shares of a text that stood in it before
PHRASE, PIECE = 3, 6  # words; characters
LEAST_RATIO, LONG_ENOUGH = 0.42, 60  # of the compressed text to its characters, of texts of so many


def is_whole_message(text: str, description: str | None) -> bool:
    """Return whether a text may be a whole message of the described kind."""
    return not (
        _is_short(text)
        or not ends_a_sentence(text)
        or _is_greeting(text)
        or GAP.search(text)
        or LISTED.search(text)
        or addresses_the_user(text)
        or OF_THE_TEXT.search(text)
        or HEADED.match(text)
        or NAME_ALONE.match(text)
        or _is_of_another_kind(text, description or "")
        or _emoji(text) > EMOJI_AT_MOST
        or _lacks_prose(text)
        or _is_repetitive(text)
    )


def without_greeting(text: str) -> str:
    """Return the text without a first line that is a greeting; empty if it is nothing else."""
    first, line_end, rest = text.lstrip().partition("\n")
    words = WORD.findall(first)
    ends = first.rstrip().endswith((",", ":", "，", "：", "،"))
    named = ends and 0 < len(words) <= NAME and all(word[0].isupper() for word in words)  # "Emily Johnson,"
    greets = _is_greeting(first) and (ends or bool(line_end))
    return rest.lstrip() if greets or named else text


def repeated_runs(items: Sequence[str], length: int) -> float:
    """Return the share of runs of `length` successive items that occurred before; `items` has one run at least."""
    runs = [tuple(items[k : k + length]) for k in range(len(items) - length + 1)]
    return 1 - len(set(runs)) / len(runs)


def _is_short(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    if SPACELESS.search(text) or SYLLABLES.search(text):
        return letters < FEWEST_LETTERS
    return len(WORD.findall(text)) < FEWEST_WORDS


def _is_of_another_kind(text: str, description: str) -> bool:
    """Return whether the text repeats its description, or others speak in it than the description says."""
    if len(WORD.findall(description)) > FEWEST_WORDS and description.casefold() in text.casefold():
        return True
    if DIALOGUES.search(description):
        return False
    of_the_firm = FROM_PEOPLE.search(description) and FIRM.search(text)
    return bool(of_the_firm) or len(SCRIPT.findall(text)) > 1


def _is_greeting(text: str) -> bool:
    """Return whether a text starts with a greeting, has no room for more and asks nothing."""
    if SPACELESS.search(text):
        short = sum(map(str.isalpha, text)) <= SHORT_GREETING_LETTERS
    else:
        short = len(WORD.findall(text)) <= SHORT_GREETING
    return short and bool(GREETING.match(text)) and not ASKS.search(text)


def _lacks_prose(text: str) -> bool:
    """Return whether the text is mostly numbers and punctuation, or capitals."""
    signs = [sign for sign in text if not sign.isspace()]
    cased = [sign for sign in signs if sign.isupper() or sign.islower()]
    letters = sum(unicodedata.category(sign)[0] in "LM" for sign in signs)
    shouted = sum(map(str.isupper, cased)) > CAPITALS_AT_MOST * len(cased) > 0
    return letters < LETTERS_AT_LEAST * len(signs) or shouted


def _emoji(text: str) -> int:
    return len(PICTURE.findall(text))


def _is_repetitive(text: str) -> bool:
    """Return whether phrases, substrings or characters of the text repeat many times."""
    words, packed = WORD.findall(text.casefold()), "".join(text.split())
    if len(words) >= 2 * PHRASE and repeated_runs(words, PHRASE) > PHRASES_AGAIN:
        return True
    if len(packed) >= 2 * PIECE and repeated_runs(packed, PIECE) > PIECES_AGAIN:
        return True
    return len(text) >= LONG_ENOUGH and len(zlib.compress(_a_byte_each(text), 9)) / len(text) < LEAST_RATIO


def _a_byte_each(text: str) -> bytes:
    """Return the text's characters, numbered as they come: UTF-8 takes up to four bytes, of which most are alike."""
    numbers = {sign: number for number, sign in enumerate(dict.fromkeys(text))}
    return bytes(numbers[sign] % 256 for sign in text)
