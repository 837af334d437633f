"""Entries and claims of comparisons that vary the models of `models.plms`: written once, made for those that there are.

A name with a placeholder stands for one entry for each value, as a name of a data set factory does in Kedro's catalog:

| placeholder | values | the entry's models |
|---|---|---|
| `{model}` | every model's name | that one |
| `{pair}` | `a_b` for every two, in the order of names | both, `{first}` and `{second}` |
| `{count}` | 1, 2, ... up to all | the first so many, in the order of names |

In its parameters and in the sentences of claims these are replaced too. A parameter that is nothing but one of the
following becomes a value: `{models}` all models, those of the entry with their settings and the others null;
`{source}`, `{prompt}` and `{temperature}` those of its one model, left out where the model has none of its own;
`{generator}` and `{chunk_tokenizer}` the run's own, whichever model an entry writes with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from fedtext.models.endpoint import ENDPOINT
from fedtext.system.errors import InputError, did_you_mean

PLACEHOLDER = re.compile(r"\{(\w+)\}")
VARIED = ("model", "pair", "count")


class _Made(NamedTuple):
    """One value of a placeholder: the words that stand for it, and the names of the entry's models."""

    words: dict[str, str]
    names: Sequence[str]


def comparisons(found: Mapping[str, Any], models: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of conf's folders `compare` as the groups of parameters `compare` and `claims`.

    Raises:
        InputError: A file has a key that is neither entries nor claims, or a placeholder is unknown.
    """
    if unknown := sorted(found.keys() - {"entries", "claims"}):
        raise InputError(
            f"{unknown[0]} stands in a file of conf's compare: put it below entries, or below claims",
            code="unknown-part-of-compare",
            parameter="compare",
            value=unknown[0],
        )
    made = {part: made_of_models(found.get(part) or {}, models) for part in ("entries", "claims")}
    return {"compare": {"entries": made["entries"]}, "claims": {"judged": made["claims"]}}


def made_of_models(named: Mapping[str, Any], models: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries, or claims, with each name that has a placeholder replaced by those that it stands for.

    A claim whose two sides are then one entry is left out.

    Args:
        named: Entries or claims by name, as they stand in conf's folders `compare`.
        models: The run's models by role.

    Raises:
        InputError: A placeholder is unknown.
    """
    found: dict[str, Any] = {}
    for name, value in named.items():
        asked = PLACEHOLDER.findall(name)
        if not asked:
            found[name] = value
        for made in _values(name, asked, models) if asked else ():
            known = made.words | _own(made.names, models)
            one = _filled(value, known)
            if not (isinstance(one, Mapping) and one.get("better") and one["better"] == one.get("worse")):
                found[_filled(name, made.words)] = one
    return found


def _values(name: str, asked: Sequence[str], models: Mapping[str, Any]) -> Iterator[_Made]:
    """Yield the values of the one placeholder in an entry's name."""
    if len(asked) > 1 or asked[0] not in VARIED:
        raise InputError(
            f"the entry {name!r} is named by {' and '.join(asked)}: use one of {{model}}, {{pair}} and {{count}}",
            code="entry-named-by-unknown-placeholder",
            parameter="compare.entries",
            value=name,
        )
    named = models.get("plms")
    known = named if isinstance(named, Mapping) else {}
    plms = sorted(one for one in known if isinstance(one, str) and known[one] is not None)
    if asked[0] == "model":
        yield from (_Made({"model": one}, [one]) for one in plms)
    elif asked[0] == "pair":
        yield from (_Made({"pair": f"{a}_{b}", "first": a, "second": b}, [a, b]) for a, b in combinations(plms, 2))
    else:
        yield from (_Made({"count": str(n)}, plms[:n]) for n in range(1, len(plms) + 1))


def _own(names: Sequence[str], models: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands for the models of an entry."""
    plms: Mapping[str, Any] = models["plms"]
    found: dict[str, Any] = {"models": {name: one if name in names else None for name, one in plms.items()}}
    found["generator"] = models.get("generator")
    found["chunk_tokenizer"] = models.get("chunk_tokenizer") or models.get("generator")
    if len(names) == 1:
        told = plms[names[0]]
        settings = {"source": told} if isinstance(told, str) else dict(told)
        server = f"{ENDPOINT}{settings.get('model')}@{settings.get('base_url')}"
        found |= {name: settings.get(name) for name in ("prompt", "temperature")}
        found["source"] = settings.get("source") or server
    return found


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """Return the value with each placeholder replaced; a parameter of a mapping that becomes nothing is left out."""
    if isinstance(value, Mapping):
        filled = {name: _filled(one, known) for name, one in value.items()}
        return {name: one for name, one in filled.items() if one is not None or value[name] is None}
    if isinstance(value, list):
        return [_filled(one, known) for one in value]
    if not isinstance(value, str):
        return value
    if (whole := PLACEHOLDER.fullmatch(value)) and whole[1] in known:
        return known[whole[1]]
    return PLACEHOLDER.sub(lambda found: str(_known(found[1], known)), value)


def _known(name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise InputError(
            f"an entry that is made for each model has {{{name}}}: {did_you_mean(name, known)}",
            code="unknown-placeholder-of-entry",
            parameter="compare.entries",
            value=name,
        )
    return known[name]
