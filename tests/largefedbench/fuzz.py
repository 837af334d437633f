"""Damage a page the way the world does: cut it, shuffle it, change types, encodings and numbers, nest it, bomb it."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable

Damage = Callable[[random.Random, bytes], bytes]

STRANGE: tuple[object, ...] = (
    None, True, 0, -1, 10**400, 1e308, float("nan"), "", " ", "\ud800", "\x00", "é\u202e", [], {}, [[]], {"a": {}}, "9" * 5000,
)  # fmt: skip


def truncated(draw: random.Random, page: bytes) -> bytes:
    return page[: draw.randrange(len(page) + 1)]


def flipped(draw: random.Random, page: bytes) -> bytes:
    damaged = bytearray(page)
    for _ in range(draw.choice([1, 3, 20])):
        damaged[draw.randrange(len(damaged))] = draw.randrange(256)
    return bytes(damaged)


def reordered(draw: random.Random, page: bytes) -> bytes:
    pieces = re.split(rb"(?<=>)|(?<=\n)|(?<=,)", page)
    first = draw.randrange(len(pieces))
    part = pieces[first : first + draw.choice([2, 10, 1000])]
    draw.shuffle(part)
    return b"".join([*pieces[:first], *part, *pieces[first + len(part) :]])


def repeated(draw: random.Random, page: bytes) -> bytes:
    first, last = sorted(draw.randrange(len(page) + 1) for _ in range(2))
    return page[:last] + page[first:last] * draw.choice([1, 5]) + page[last:]


def reencoded(draw: random.Random, page: bytes) -> bytes:
    text = page.decode("utf-8", "replace")
    return text.encode(
        draw.choice(["utf-16", "utf-32", "latin-1", "cp1252", "utf-8-sig", "utf-16-le", "cp037"]), "replace"
    )


def huge_numbers(draw: random.Random, page: bytes) -> bytes:
    number = draw.choice([b"9" * 400, b"-" + b"9" * 30, b"1e999", b"0", b"\xd9\xa1\xd9\xa2"])
    return re.sub(rb"\d+", lambda m: number if draw.random() < 0.2 else m.group(), page)


def nested(draw: random.Random, page: bytes) -> bytes:
    tags = re.findall(rb"<([A-Za-z][\w-]*)", page) or [b"a"]
    tag, depth = draw.choice(tags), draw.choice([2, 30, 300, 3000])
    at = draw.randrange(len(page) + 1)
    return (
        page[:at]
        + b"<"
        + tag
        + b">" * 1
        + (b"<" + tag + b">") * depth
        + b"x"
        + (b"</" + tag + b">") * (depth + 1)
        + page[at:]
    )


def renamed(draw: random.Random, page: bytes) -> bytes:
    names = re.findall(rb"<([A-Za-z][\w-]*)|\"(\w+)\":|(\w+)=\"", page)
    chosen = b"".join(draw.choice(names)) if names else b"x"
    return page.replace(chosen, draw.choice([b"renamed", b"", b"p", b"1x"])) if chosen else page


def bombed(draw: random.Random, page: bytes) -> bytes:
    bomb = b'<!DOCTYPE x [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>'
    at = page.find(b">") + 1 if page.startswith(b"<?xml") else 0
    return page[:at] + bomb + re.sub(rb"(?<=>)(?=\w)", b"&c;", page[at:], count=draw.choice([0, 1]))


def marked(draw: random.Random, page: bytes) -> bytes:
    return draw.choice([b"\xef\xbb\xbf", b"\xff\xfe", b"\x00" * 8, b"\x1f\x8b", b" \n\n"]) + page


def packed(draw: random.Random, page: bytes) -> bytes:
    return truncated(draw, gzip.compress(page, mtime=0)) if draw.random() < 0.8 else gzip.compress(page, mtime=0)


def replaced(draw: random.Random, page: bytes) -> bytes:
    return draw.choice(
        [
            b"",
            b"null",
            b"[]",
            b"{}",
            b"<html><body>503 Service Unavailable</body></html>",
            b"<x/>",
            b"\x00",
            b"[" * 9999,
        ]
    )


def mistyped(draw: random.Random, page: bytes) -> bytes:
    """For JSON: a value somewhere becomes something strange."""
    try:
        value = json.loads(page)
    except (ValueError, RecursionError):  # not JSON, or nested too deep by the damage before
        return flipped(draw, page)
    for _ in range(draw.choice([1, 1, 4])):
        _change_somewhere(draw, value)
    return json.dumps(value).encode()


def _change_somewhere(draw: random.Random, value: object) -> None:
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        if not keys:
            return
        key = draw.choice(keys)
        inner = value[key]  # type: ignore[index]
        if not isinstance(inner, dict | list) or not inner or draw.random() < 0.15:
            value[key] = draw.choice(STRANGE)  # type: ignore[index]
            return
        value = inner


DAMAGES: tuple[Damage, ...] = (
    truncated, flipped, reordered, repeated, reencoded, huge_numbers, nested, renamed, bombed, marked, packed, replaced, mistyped,
)  # fmt: skip


def damaged(draw: random.Random, page: bytes) -> bytes:
    """The page after one to three kinds of damage."""
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        page = draw.choice(DAMAGES)(draw, page) or b"\n"
    return page
