"""What does not read like a whole message is dropped, in any script, and what people write is kept."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fedtext.generation.cleaning import is_legible
from fedtext.generation.messages import GREETING, is_whole_message, without_greeting
from fedtext.generation.sentences import to_last_sentence
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
        "Here is my order number, and it has still not arrived.",
        "I'm sorry to bother you, but my order is late.",
        "Certainly the worst blender that I have ever bought.",
        "Of course, the parcel came a week too late.",
        "当然，如果不能退款，我就不再买了。",
        "Write to anna_berg@mail.com or see shop.com/my_page about my order.",
        "The USB_C port of my new lamp is broken.",
        "我二〇〇八年买的相机坏了，请帮我修一修。",
        "ฉันสั่งของไปแล้วแต่ยังไม่ได้รับสินค้า กรุณาช่วยตรวจสอบด้วย",
        "ຂ້ອຍຍັງບໍ່ໄດ້ຮັບສິນຄ້າທີ່ສັ່ງໄວ້",
        "ကျွန်တော့်ပစ္စည်း မရောက်သေးပါဘူး။",
        "ང་ལ་དངོས་པོ་འབྱོར་མ་སོང་།",
        "I am writing to inform you that my order arrived damaged.",
        "I spoke to a customer service representative, and your customer service team never called.",
        "Here are some photos of the broken lamp. Please write back soon.",
        "Is this the lamp of plan B?",
        "My order 8123456 cost $12,345.67, and the code 1234 opens no door at 0.12345 volts.",
        "I want the pills with vitamin C.",
        "Do you ship it to the U.S.?",
        "I asked twice whether it would be sent to the U.S.",
        "The dress fits me perfectly 😊",
        "I love this shop so much! 😍",
        "Was it ever sent to me? No.",
        "Bitte liefern Sie es am 3. Mai an Haus B.",
        "Compré un reloj del siglo XX y está roto.",
        "感谢您的帮助，杯子今天收到了，非常喜欢。",
        "商品不错，物流也很快，下次还会再来～",
        "Πού είναι η παραγγελία μου;",
        "환불은 언제 되나요?",
        "ትዕዛዜ እስካሁን አልደረሰም፣ መቼ ይደርሳል፧",
    ],
)
def test_a_message_is_kept(text: str) -> None:
    assert is_whole_message(text, SUPPORT)
    assert to_last_sentence(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "Temp 38.4°C at 08:00, 37.9°C at 12:00 and 37.2°C at 18:00, no chills.",
        "Patient is alert. Pulse 76, temp 36.9°C.",
        "BP <90 systolic and HR >120, so the doctor was called.",
        "患者体温37.2℃，血压120/80，精神良好。",
        "We halve the memory of previous work [12] and prove a bound of O(n^{2}).",
        "Accuracy rose (p < 0.05), and the cost fell (p > 0.1).",
        "We train a language model for proteins, small enough for a laptop.",
        "Five stars ★★★★★ for the dumplings and two for the noise.",
        "It takes list[int] or a tuple of them.",
    ],
)
def test_figures_and_marks_of_a_trade_are_no_gaps(text: str) -> None:
    assert is_legible(text)
    assert is_whole_message(text, None)


DIALOGUE = "Customer: My parcel has not come.\nAgent: We apologize for that. It will be there tomorrow."


@pytest.mark.parametrize(
    "description",
    ["dialogues in which customers ask a support agent", "Gespräche von Kunden mit einem Shop", "顾客和客服的对话"],
)
def test_several_speak_in_a_dialogue_and_the_firm_is_one_of_them(description: str) -> None:
    assert is_whole_message(DIALOGUE, description)
    assert not is_whole_message(DIALOGUE, SUPPORT)


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
        *(
            f"My order {gap} has not arrived yet."
            for gap in (
                "%NAME%",
                "####",
                "$name",
                "(insert number here)",
                "⟨number⟩",
                "_ _ _ _",
                "№ХХХХ",
                "〇〇",
                "YOUR NUMBER",
                "#12345",
                "n° 123456",
                "1234567890",
                "0123456789",
                "it\\'s mine",
            )
        ),
        "我的订单（订单号）还没有到，请帮我查一下。",
        "طلبي (رقم الطلب) لم يصل بعد.",
        "Certainly! My order has not arrived yet.",
        "Sure, here is a message about a late order.",
        "I'm sorry for the delay of the order.",
        "当然可以！我的订单还没有到，请帮我查一下。",
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
        "I'm a customer service representative of the shop.",
        "We regret to inform you that the lamp is sold out.",
        "The customer is asking for a refund of the lamp.",
        f"I collect {SUPPORT}.",
        "Subject: Late order\n\nMy order is late.",
        "Message 1: My order is late and nobody answers.",
        "The following is a note from a person: my order is late.",
        "I bought it on DD/MM/YYYY and it broke.",
        "I bought the lamp on (date) and it broke.",
        "(Votre nom) attend toujours sa commande.",
    ],
)
def test_what_is_no_message_is_dropped(text: str) -> None:
    assert not is_whole_message(text, SUPPORT)


def test_a_firm_may_speak_where_the_texts_are_not_its_customers() -> None:
    said = "We apologize for the delay, and your order has been sent."
    assert is_whole_message(said, "letters of an online shop")
    assert is_whole_message(said, "letters that a shop writes to customers who ask where their order is")
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


GREETED = [  # every greeting of the list, and messages whose first word only begins like it
    *("Dear Ann.", "Hi there, all of you.", "Hello to you, Ann.", "Hey Ann and Ben.", "Good morning, dear Ann."),
    *("Good afternoon, dear Ann.", "Good evening, dear Ann.", "Good day, my dear Ann.", "Greetings to you all."),
    *("To whom it may concern.", "Ladies and gentlemen of Rome.", "Hola, mi querida Ana.", "Estimada señora Ana Ruiz."),
    *("Querido amigo José Ruiz.", "Olá, minha amiga Ana.", "Prezados senhores do banco.", "Cara signora Anna Rossi."),
    *("Caro signor Carlo Rossi.", "Ciao a tutti voi.", "Gentile signora Anna Rossi.", "Bonjour à vous tous."),
    *("Bonsoir à vous tous.", "Cher Monsieur Jean Dupont.", "Chère Madame Anne Dupont.", "Madame et Monsieur Dupont."),
    *("Monsieur Jean Luc Dupont.", "Salut à vous tous.", "Liebe Frau Anna Schmidt.", "Lieber Herr Karl Schmidt."),
    *("Sehr geehrter Herr Schmidt.", "Guten Tag, Frau Schmidt.", "Guten Morgen, Frau Schmidt.", "Hallo an euch alle."),
    *("Guten Abend, Frau Schmidt.", "Уважаемая Анна Петровна Иванова.", "Здравствуйте, дорогая Анна Петровна."),
    *(
        "Привет всем нашим друзьям.",
        "Приветствую всех наших друзей.",
        "السلام عليكم ورحمة الله.",
        "مرحبا بكم جميعا هنا.",
    ),
    *(
        "عزيزي السيد أحمد علي.",
        "尊敬的张先生，您好！",
        "亲爱的艾米丽约翰！",
        "您好，张先生和李！",
        "你好，张先生和李！",
    ),
]
NOT_GREETED = [
    *("His order is late.", "Hiking boots are too small.", "Hi-fi set does not play.", "Highly disappointed with it."),
    *("Dearth of parts stops me.", "Dearly bought and soon broken.", "Heyday of this shop is gone."),
    *("Hellofresh box came open.", "Good days are rare here.", "Goodbye to this bank.", "Holanda ganó el partido."),
    *("Caramel sauce was too sweet.", "Carousel broke after a day.", "Carolina has lost her card."),
    *("Card is blocked since Monday.", "Estimación del precio es falsa.", "Gentileza no les falta nunca."),
    *(
        "Cherry cake was dry.",
        "Cherche ma carte depuis lundi.",
        "Salute was a poor film.",
        "Salutary lesson for us all.",
    ),
    *("Madames at the desk were rude.", "Lieberman broke my lamp today.", "Lieferung ist noch nicht da."),
    *("Halloween costume was too small.", "Olárez perdió su tarjeta hoy.", "Prezado-me de ser cliente aqui."),
    *("Приветливый персонал и чистый зал.", "Уваж не помог мне совсем.", "عزيزة المنال هذه البطاقة."),
    *("مرحباتكم لم تصل بعد اليوم.", "您好，我的订单三个星期还没有到。", "你好像没有给我寄出这个包裹。"),
    *("你好，我的卡在哪里？", "Dear me, where is my card?", "مرحبا، أين بطاقتي الجديدة الآن؟"),
]


@pytest.mark.parametrize("text", GREETED)
def test_a_greeting_alone_is_dropped_in_any_language(text: str) -> None:
    assert not is_whole_message(text, None)


@pytest.mark.parametrize("text", NOT_GREETED)
def test_a_word_that_begins_like_a_greeting_greets_nobody(text: str) -> None:
    assert is_whole_message(text, None)
    assert without_greeting(f"{text}\nMore.") == f"{text}\nMore."


@given(word=st.from_regex(r"[a-zäéо]{1,6}", fullmatch=True), greeting=st.sampled_from(["Hi", "Dear", "Hola", "Salut"]))
def test_no_greeting_is_found_in_a_longer_word(word: str, greeting: str) -> None:
    longer = f"{greeting}{word}".casefold()
    assume(longer not in {"hiya", "dears", "salut"})
    assert not GREETING.match(f"{greeting}{word} is late today.") or GREETING.fullmatch(longer)


@pytest.mark.parametrize(
    "text",
    [
        "As a language model I cannot know where my card is.",
        "As an AI I have no card of my own.",
        "SmolLM2 has lost the card that I was sent.",
        "Sure! Why was my card declined twice today?",
        "Here is a message about my lost card.",
    ],
)
def test_talk_to_the_user_is_dropped_by_the_filter_of_messages_and_by_that_of_all_texts(text: str) -> None:
    assert not is_whole_message(text, None)
    assert not is_legible(text)
