"""What does not read like a whole message is dropped, in any script, and what people write is kept."""

from __future__ import annotations

import json

import pytest

from fedtext.generation.messages import is_whole_message, without_greeting
from tests.real_data import shared

SUPPORT = "messages that customers send to the support desk of an online shop"
KINDS = {"support": SUPPORT, "bank": "questions that customers ask their bank"}


@pytest.mark.parametrize(
    "text",
    [
        "My order has not arrived. Can you tell me where it is?",
        "Where is my card?!",
        "Ich habe meine Bestellung noch nicht erhalten. Wo ist sie?",
        "¿Dónde está mi pedido? Llevo tres semanas esperando.",
        "Ma commande n'est pas arrivée. Pouvez-vous m'aider ?",
        "我的订单还没有到，请问什么时候发货？",
        "Где мой заказ? Я жду его уже третью неделю.",
        "لم يصل طلبي بعد. متى سيصل؟",
        "मेरा ऑर्डर अभी तक नहीं आया है।",
        "I said hello to the driver, and he left with my parcel (no. 7).",
        "Dear old things, these boots: I have worn them for years and they still hold.",
    ],
)
def test_a_message_is_kept(text: str) -> None:
    assert is_whole_message(text, SUPPORT)


@pytest.mark.parametrize(
    "text",
    [
        "Dear Emily Johnson,",
        "Dear Emily Johnson.",
        "Sehr geehrte Frau Schmidt!",
        "Уважаемая Анна Петровна!",
        "Thanks a lot.",
        "My order has not arrived and I would like to",
        "My order [order number] has not arrived.",
        "Мой заказ [номер заказа] не пришёл.",
        "我的订单【订单号】还没有到。",
        "My order {order_id} is late, please help me.",
        "Order XXXX is late, please help me with it.",
        "1. My order is late.\n2. My parcel is broken.",
        "**Late order** It has not arrived for weeks.",
        "This message is about an order that has not arrived.",
        "可以退款吗？可以退款吗？可以退款吗？可以退款吗？可以退款吗？",
        "I like it. I like it. I like it. I like it. I like it.",
        "Great shop 🎉🎉🎉 and I will come again!",
        "BEST PRICES OF THE YEAR FOR ALL OF YOU!",
        "2021-01-24 23:05:58.55533696.176494.11.",
        "Anna: Where is it?\nBen: I do not know.",
        "Sarah,\nI am glad that you wrote to me.",
        "We apologize for the delay, and your order has been sent.",
    ],
)
def test_what_is_no_message_is_dropped(text: str) -> None:
    assert not is_whole_message(text, SUPPORT)


def test_a_firm_may_speak_where_the_texts_are_not_its_customers() -> None:
    said = "We apologize for the delay, and your order has been sent."
    assert is_whole_message(said, "letters of an online shop")
    assert is_whole_message(said, None)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Dear Emily,\nI am late.", "I am late."),
        ("Hi there!\n\nI am late.", "I am late."),
        ("Emily Johnson,\nI am late.", "I am late."),
        ("Dear Emily Johnson,", ""),
        ("Dear old boots that I have worn for ten years,\nfarewell.", None),
        ("First of all,\nI am late.", None),
        ("I am late.", None),
        ("", None),
    ],
)
def test_a_line_that_greets_goes(text: str, rest: str | None) -> None:
    assert without_greeting(text) == (text if rest is None else rest)


@pytest.mark.shared
def test_of_texts_that_a_person_has_labelled_none_that_is_usable_goes_and_many_bad_ones_do() -> None:
    """240 texts of ten recipes, as they were written (docs/decisions/0046)."""
    lines = shared("cases/texts/labelled.jsonl").read_text("utf-8").splitlines()
    read = [json.loads(line) for line in lines]
    unfiltered = [one for one in read if one["set"] == "1"]
    dropped = [one["label"] for one in unfiltered if not is_whole_message(one["text"], KINDS.get(one["kind"]))]
    assert dropped.count("usable") == 0
    assert dropped.count("no") >= 0.85 * len(dropped)
    assert dropped.count("no") >= 0.25 * [one["label"] for one in unfiltered].count("no")
