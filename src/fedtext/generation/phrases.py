"""Patterns of phrases, and what a chat model says around a text instead of the text: one list for all filters.

In Arabic, Chinese, English, French, German and Spanish. In Chinese no space parts words, and in Arabic a particle is
written together with its noun, so their phrases are looked for inside words too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def saying(*phrases: str, inside: Sequence[str] = ()) -> re.Pattern[str]:
    """Return a pattern that finds any of the phrases, ignoring case: as whole words, or `inside` words too."""
    return re.compile("|".join([rf"\b(?:{'|'.join(phrases)})\b", *inside]), re.IGNORECASE)


def starting_with(*phrases: str) -> re.Pattern[str]:
    """Return a pattern that matches a text that starts with any of the phrases."""
    return re.compile(rf"\s*¡?(?:{'|'.join(phrases)})", re.IGNORECASE)


def whole_words(*phrases: str) -> str:
    """Return a pattern of the phrases as whole words: "hi" is in "Hi all", and not in "His" or "Hi-fi"."""
    return rf"(?:{'|'.join(phrases)})(?!\w|['’-]\w)"


KINDS = "(?:message|text|note|review|post|email|letter|example|paragraph|question|abstract)"
# What a person sends along: "Here is my order number", "Here are some photos of it"
ENCLOSED = r"(?:the|a|some|two|three) (?:\w+ )?(?:photo|picture|screenshot|number|code|receipt)s?"
SENT = rf"(?:my|our|what|how|why|where|{ENCLOSED})\b"
TO_THE_USER = starting_with(
    rf"here(?:'s| is| are)\b(?! {SENT})",
    r"(?:sure|certainly|of course)(?:!|[,.] (?:here|i(?:'ll|'d| can| will| would| am)|let|this|that's)\b)",
    r"i(?:'m| am) sorry\b(?! (?:if|that i|to (?:ask|bother|disturb|say|trouble))\b)",
    r"as an ai\b",
    r"(?:bien sûr|natürlich|selbstverständlich|claro|por supuesto)[,!]",
    r"voici (?:une? |le |la |quelques )?(?:autre )?(?:exemple|message|texte|avis|question|lettre)",
    r"hier (?:ist|sind) (?:eine? |die |das |der |einige )?(?:beispiel|nachricht|text|bewertung|frage|brief)",
    r"aquí (?:tienes|está|va|hay) (?:una? |el |la |algunos )?(?:ejemplo|mensaje|texto|reseña|pregunta|carta)",
    "(?:当然|好的)(?:可以)?(?:[！!]|[，,。](?:以下|下面|这是|我可以|我来))",
    "以下是|下面是|这是一[条个封份]",
    "بالطبع[،,!]|بالتأكيد[،,!]|إليك|فيما يلي",
)
OF_ITSELF = saying(
    *(r"smollm\w*", "hugging face", "as an ai"),
    r"(?:as|am|i'm|being) (?:just |only |merely )?(?:an? |your )?(?:[\w-]+ ){0,3}language model",  # not a paper's
    "(?:en tant que|suis un) modèle de langage",
    r"(?:als|bin ein|bin nur ein) (?:\w+-)?sprachmodell",
    "(?:como|soy un) modelo de lenguaje",
    inside=("(?:作为|我[只仅]?是)[^。]{0,8}语言模型", "نموذج لغوي"),
)
OF_THE_TEXT = saying(
    f"(?:this|the (?:above|following)) {KINDS} (?:is|was|should|provides|shows|describes|highlights|captures)",
    rf"here(?:'s| is| are) (?!{SENT})(?:a|an|one|the|some)",
    "the following is (?:a|an|one|the)",
    f"(?:sample|example) {KINDS}s?",
    "please write(?! (?:back|to|me|us|soon))",
    "ce (?:message|texte) (?:est|décrit|montre)",
    "diese[rs]? (?:nachricht|text) (?:ist|beschreibt|zeigt)",
    "este (?:mensaje|texto) (?:es|describe|muestra)",
    inside=("这[条段](?:消息|文字|文本)(?:是|描述|展示)", "هذه الرسالة (?:توضح|تصف)"),
)
PEOPLE = (
    "(?:customer|client|user|patient|guest|buyer|shopper|passenger|subscriber|tenant|member|people|citizen|student)s?"
)
TOWARDS = "".join(f"(?<!{word} )(?<!{word} the )(?<!{word} our )(?<!{word} its )" for word in ("to", "for", "about"))
FROM_PEOPLE = saying(  # in a description: people write to a firm, and not a firm to people who ask
    TOWARDS
    + PEOPLE
    + r"\b[^.]*\b(?:asks?|sends?|writes?|reports?|complain|tell|raise|make|have|put|leave|post|submit)",
    r"(?:client|patient|usager|locataire|voyageur)[es]*\b[^.]*\b(?:envoient|écrivent|posent|adressent|laissent|font)",
    r"(?:kund|patient|mieter|nutzer|reisend)(?:inn)?e?n?\b[^.]*\b(?:schreiben|schicken|senden|stellen|hinterlassen)",
    r"(?:client|paciente|usuario|inquilino|viajero)[aes]*\b[^.]*\b(?:envían|escriben|mandan|hacen|preguntan|dejan)",
    inside=(
        "(?:顾客|客户|用户|患者|乘客)[^。]*[写发提问留]",
        "(?:يكتب|يرسل|يطرح)ها (?:الزبائن|العملاء|المرضى|المستخدمون)",
    ),
)
DIALOGUES = saying(  # in a description: several speak in each text
    "(?:dialogue|conversation|transcript|interview)s?",
    "chats? (?:between|in which|with|of)",
    "entretiens?",
    "(?:dialog|gespräch|unterhaltung|interview)(?:e|en)?",
    "(?:diálogo|conversacion|conversación|entrevista)(?:e?s)?",
    inside=("对话", "حوارات|محادثات"),
)
FIRM = saying(
    "we (?:sincerely )?apologi[sz]e",
    "our (?:(?:valued|current|new) )?(?:customers?|clients?|team|staff|website|store|company|products?|menu)",
    "(?:a|any|all|ensure) customers? (?:who|satisfaction)",
    "to any customers?",
    "your (?:order|account|payment|request|purchase) (?:has|have|is|was|will)",
    "(?:happy|glad|here) (?:to|i could|we could) (?:assist|help)",
    "(?<!i am writing to )(?<!i'm writing to )(?<!i want to )(?<!i would like to )(?<!i'd like to )inform you",
    "the customer (?:is|was) (?:asking|looking|complaining|writing|unhappy|satisfied)",
    "thank you for (?:contacting|reaching|your (?:order|purchase|patience|interest|feedback|business))",
    "(?:how|what) (?:can|may) (?:i|we) (?:help|assist)",
    "(?<!your )(?<!spoke to a )(?<!spoke with a )(?<!talked to a )(?<!by a )(?<!from a )"
    "customer (?:support|service) (?:representative|specialist|agent|team)",
    "nous (?:nous excusons|vous prions|vous remercions)",
    "(?:nos|notre) (?:clients|équipes?|produits|boutique|magasin|site|service client)",
    "votre (?:commande|compte|paiement) (?:a été|est|sera)",
    "merci (?:de nous avoir|pour votre (?:commande|achat|patience|confiance))",
    "comment (?:puis-je|pouvons-nous) vous aider",
    "wir (?:entschuldigen uns|bitten um entschuldigung)",
    "unsere?[mnrs]? (?:kunden|team|mitarbeiter|website|shop|geschäft|produkte)",
    "ihre (?:bestellung|zahlung|anfrage) (?:wurde|wird|ist)",
    "danke? für ihre (?:bestellung|geduld|anfrage|treue)",
    "wie (?:kann ich|können wir) ihnen",
    "(?:le|les) pedimos disculpas|lamentamos",
    "nuestr[oa]s? (?:clientes?|equipo|tienda|sitio|productos?)",
    "su (?:pedido|pago|cuenta) (?:ha sido|fue|será)",
    "gracias por (?:contactar|su (?:compra|pedido|paciencia))",
    "en qué (?:puedo|podemos) ayudar",
    inside=(
        "您的(?:订单|账户|付款|包裹)(?:已|正在|将)|感谢您的(?:耐心|支持|理解|配合|订购|购买|惠顾|光临|来信|咨询|反馈|信任|关注)|我们(?:深表|非常|十分)?(?:抱歉|歉意)|有什么可以帮",
        "نعتذر|(?:شكرا|شكرًا) (?:لتواصلك|لطلبك|لصبرك|على تواصلك)|كيف يمكنن[يا] مساعدت|تم شحن طلبك",
    ),
)


def addresses_the_user(text: str) -> bool:
    """Return whether a text begins with a word to the user, or the model speaks of itself in it."""
    return bool(TO_THE_USER.match(text) or OF_ITSELF.search(text))
