"""What the readers of a text make of each script: `python -m benchmarks.reading_limits` prints two tables.

The texts are Article 1 of the Universal Declaration of Human Rights, once for unknown tokens and repeated for lengths.
The second table says what unknown tokens cost an embedding: how many English texts keep their nearest neighbour when a
share of their words is made unknown.
"""

from __future__ import annotations

import numpy as np

from fedtext.corpora.public import stdlib_records
from fedtext.embedding.similarity import nearest
from fedtext.models.encoder import load_encoder
from fedtext.models.language_model import Tokenizer
from fedtext.params.corpus import Corpus
from tests.parameters import conf_base

LENGTH = 400  # tokens of SmolLM2 a sample
SHARES = (0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75)
TEXTS = 600
ARTICLE = {
    "English": "All human beings are born free and equal in dignity and rights. They are endowed with reason and "
    "conscience and should act towards one another in a spirit of brotherhood.",
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
    "begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и "
    "совестью и должны поступать в отношении друг друга в духе братства.",
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι "
    "προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.",
    "Arabic": "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. وقد وهبوا عقلا وضميرا وعليهم أن يعامل بعضهم بعضا "
    "بروح الإخاء.",
    "Hindi": "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन "
    "प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।",
    "Korean": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 "
    "형제애의 정신으로 행동하여야 한다.",
    "Japanese": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられて"
    "おり、互いに同胞の精神をもって行動しなければならない。",
    "Chinese": "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。",
    "Thai": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ",
    "Georgian": "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით. მათ მინიჭებული "
    "აქვთ გონება და სინდისი და ერთმანეთის მიმართ უნდა იქცეოდნენ ძმობის სულისკვეთებით.",
}


def scripts() -> list[str]:
    """Return for each script: unknown to the encoder, cut by the encoder alone, and the on-device model's tokens."""
    encoder = load_encoder("offline")
    writer, device = Tokenizer("smollm2").load(), Tokenizer("bundled:on_device").load()
    room = (encoder.limit or 0) - encoder.model.tokenizer.num_special_tokens_to_add()
    rows = ["| language | unknown to the encoder | cut by it | on-device tokens |", "|---|---|---|---|"]
    for language, text in ARTICLE.items():
        sample = writer.decode(writer(" ".join([text] * 40))["input_ids"][:LENGTH])
        read, own = (
            len(each(sample, add_special_tokens=False, verbose=False)["input_ids"])
            for each in (encoder.model.tokenizer, device)
        )
        unknown, cut = encoder.unknown_share([text]), max(read - room, 0) / read
        rows.append(f"| {language} | {100 * unknown:.0f}% | {100 * cut:.0f}% | {own} |")
    return rows


def neighbours() -> list[str]:
    """Return how many English texts keep their nearest neighbour, by the share of unknown words."""
    encoder, rng = load_encoder("offline"), np.random.default_rng(0)
    texts = stdlib_records(conf_base(Corpus))["text"].tolist()[: 2 * TEXTS]
    asked, others = texts[::2], encoder.encode(texts[1::2])
    before, _ = nearest(encoder.encode(asked), others)
    rows = ["| share of unknown words | texts that keep their nearest neighbour |", "|---|---|"]
    for share in SHARES:
        garbled = [" ".join(w if rng.random() >= share else "[UNK]" for w in text.split()) for text in asked]
        after, _ = nearest(encoder.encode(garbled), others)
        rows.append(f"| {100 * share:.0f}% | {100 * np.mean(before == after):.0f}% |")
    return rows


if __name__ == "__main__":
    print("\n".join([*scripts(), "", *neighbours()]))
