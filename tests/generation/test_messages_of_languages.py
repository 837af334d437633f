"""The filters of messages hold in Arabic, Chinese, French, German and Spanish: what people write is kept."""

from __future__ import annotations

import pytest

from fedtext.generation.cleaning import is_legible
from fedtext.generation.first_tokens import begins_a_text
from fedtext.generation.messages import is_whole_message, without_greeting
from fedtext.generation.prompt_forms import Chat
from fedtext.generation.sentences import to_last_sentence

SHOP = {
    "Arabic": "رسائل يكتبها الزبائن إلى متجر على الإنترنت",
    "Chinese": "顾客写给网上商店的消息",
    "French": "messages que des clients envoient à une boutique en ligne",
    "German": "Nachrichten, die Kunden an einen Online-Shop schreiben",
    "Spanish": "mensajes que los clientes envían a una tienda en línea",
}
WRITTEN = {
    "Arabic": (
        "وصل الطرد أمس لكن مصباح المكتب كان مكسورا. هل يمكنكم معرفة مكان الشحنة؟",
        "خصمتم ثمن آلة القهوة من حسابي مرتين!",
        "طلبت قبل ثلاثة أسابيع حقيبة سوداء لابني ودفعت ثمنها بالبطاقة، لكن الشركة لم ترسل أي رسالة تؤكد موعد الوصول. "
        "اتصلت أمس بكم وانتظرت نصف ساعة كاملة، ثم انقطع الخط قبل أن يجيب أحد.",
    ),
    "Chinese": (
        "我上周二买的台灯到现在还没有收到。麻烦帮我查一下快递到哪里了。",
        "双肩包的收货地址还可以改吗？",
        "三个星期以前我在你们店里给儿子买了一个黑色的书包，钱已经用银行卡付了，可是一直没有收到送货的短信。"
        "昨天打电话问客服，等了整整半个小时，还没有人回答电话就断了。",
    ),
    "French": (
        "On m'a débité deux fois pour la théière ! M. Lefèvre, au téléphone, n'a pas su me répondre.",
        "Votre vendeur m'a répondu : « Attendez encore une semaine. »",
        "Voici trois semaines que j'attends le manteau bleu, est-ce bien normal ?",
    ),
    "German": (
        "Ich möchte die Wanderschuhe zurückschicken, weil die Größe nicht passt, z. B. an den Fersen.",
        "Auf der Rechnung Nr. 4 steht ein falscher Betrag, bitte um Korrektur.",
        "Für den Rucksack wurde mir zweimal Geld abgebucht! Wann bekomme ich es zurück?",
    ),
    "Spanish": (
        "¿Cuándo volverán a tener la tetera de hierro? Mi hija la espera para su cumpleaños.",
        "¡Me cobraron dos veces la mochila! El Sr. Gómez no supo decirme nada.",
        "Pedí unas botas el martes pasado y todavía no me ha llegado nada.",
    ),
}
NOT_WRITTEN = {
    "Arabic": (
        "عزيزي الزبون،",
        "إليك رسالة عن الطلب المتأخر.",
        "نعتذر عن التأخير، وسيصل طلبك غدا.",
        "طلبي [رقم الطلب] لم يصل.",
    ),
    "Chinese": (
        "尊敬的客户，",
        "以下是一条关于订单的消息。",
        "您的订单已经发货，感谢您的耐心等待。",
        "好的，我来写一条消息给您看。",
    ),
    "French": (
        "Bonjour Madame Dupont,",
        "Voici un message d'un client qui attend son colis.",
        "Nous nous excusons pour le retard, votre commande a été expédiée.",
        "Bien sûr, je peux écrire un message de ce genre.",
    ),
    "German": (
        "Sehr geehrte Frau Schmidt,",
        "Hier ist eine Nachricht über eine späte Lieferung.",
        "Ihre Bestellung wurde gestern an Sie verschickt.",
        "Als Sprachmodell habe ich selbst nichts bestellt.",
    ),
    "Spanish": (
        "Estimada señora Ruiz,",
        "Aquí tienes un mensaje sobre un pedido que no llega.",
        "Lamentamos las molestias y le enviaremos otra mochila.",
        "Claro, puedo escribir un mensaje de ese tipo.",
    ),
}


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in WRITTEN.items() for text in texts])
def test_what_people_write_is_kept(language: str, text: str) -> None:
    assert is_legible(text)
    assert is_whole_message(text, SHOP[language])
    assert Chat(SHOP[language]).cut(f'{text}"') == text
    assert to_last_sentence(f"{text} {text[:9]}").startswith(text)


def test_a_german_quotation_ends_a_sentence() -> None:
    assert is_whole_message("Auf der Rechnung Nr. 4 steht: „Zahlbar in 14 Tagen.“", SHOP["German"])


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in NOT_WRITTEN.items() for text in texts])
def test_what_no_customer_writes_is_dropped(language: str, text: str) -> None:
    assert not is_whole_message(text, SHOP[language])


@pytest.mark.parametrize(
    "text",
    [
        "मैंने तीन हफ़्ते पहले आपकी दुकान से बेटे के लिए काला बस्ता मँगाया था और पैसे कार्ड से दिए थे, पर अब तक पहुँचने की तारीख़ का कोई संदेश नहीं "
        "आया। कल मैंने ग्राहक सेवा को फ़ोन किया, आधा घंटा इंतज़ार किया और किसी के बोलने से पहले ही फ़ोन कट गया। स्कूल सोमवार से खुल रहा है, "
        "इसलिए कृपया पैसे मेरे खाते में लौटा दीजिए।",
    ],
)
def test_a_script_of_three_bytes_a_letter_is_no_repetition(text: str) -> None:
    assert is_whole_message(text, None)
    assert not is_whole_message((text[:20] + "। ") * 12, None)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("Mon colis est cassé.\n\nCordialement,\nAnne", "Mon colis est cassé."),
        ("Mein Paket ist kaputt.\n\nMit freundlichen Grüßen\nAnne", "Mein Paket ist kaputt."),
        ("El paquete está roto.\n\nUn saludo,\nAna", "El paquete está roto."),
        ("包裹已经摔坏了。\n\n此致\n敬礼", "包裹已经摔坏了。"),
        ("الطرد مكسور ولا يعمل.\n\nمع التحية\nآنا", "الطرد مكسور ولا يعمل."),
    ],
)
def test_a_signature_is_no_part_of_a_message(answer: str, text: str) -> None:
    assert Chat().cut(answer) == text


@pytest.mark.parametrize("greeting", ["Bonjour,\n", "Sehr geehrte Frau Weiß,\n", "¡Hola!\n", "您好，\n", "مرحبا،\n"])
def test_a_line_that_greets_goes(greeting: str) -> None:
    assert without_greeting(f"{greeting}X.") == "X."


@pytest.mark.parametrize("token", [" Bonjour", "Hallo", " Estimada", "您好", "مرحبا"])
def test_a_text_does_not_begin_with_a_greeting(token: str) -> None:
    assert not begins_a_text(token.strip(), token)
