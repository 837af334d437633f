"""Column names: which words are usual ones, and which suggest whose a row is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

_HEADINGS = (
    "text txt label date client client_id body content message comment review question answer sentence utterance query "
    "document title category class intent topic sentiment target id user user_id author author_id customer "
    "customer_id patient_id speaker name created_at timestamp time split source index "
    "texte messages commentaire commentaires avis contenu réponse sujet titre objet canal catégorie "
    "nachricht nachrichten kommentar bewertung inhalt antwort betreff titel datum kategorie "
    "mensaje comentario reseña contenido respuesta asunto fecha categoría messaggio commento recensione mensagem "
    "текст сообщение отзыв комментарий дата 内容 文本 正文 评论 评价 消息 留言 记录 备注 日期 时间 类别 标签 "
    "本文 コメント 日付 내용 댓글 날짜"
)
HEADINGS = frozenset(_HEADINGS.split())  # usual column names
# Whom a heading may mean, alone or as `patient_id`, `UserName`, `nr_kunde`, in several languages; and whose id does not
# say whose a row is.
_OWNERS = (
    "client user patient person author writer customer member speaker sender owner worker annotator employee student "
    "participant respondent rater labeler labeller reviewer subscriber account login handle email mrn "
    "kunde kundin kunden klient patientin patienten nutzer benutzer mitarbeiter mieter mitglied autor verfasser "
    "absender utilisateur auteur usager adhérent assuré abonné employé salarié élève étudiant expéditeur "
    "cliente usuario usuaria paciente autora remitente empleado alumno socio usuário utente autore paziente mittente "
    "клиент клиента пользователь пользователя пациент пациента автор автора عميل زبون مريض مستخدم مؤلف كاتب موظف "
    "客户 顾客 用户 患者 病人 作者 会员 买家 员工 顧客 ユーザー 著者 会員 고객 사용자 환자 작성자 회원"
)
_NOT_OWNERS = (
    "row record text document doc item sample example entry line index pair prompt question answer message comment "
    "review note post sentence utterance label class category intent topic"
)
_IDENTIFIERS = (
    "id ids no nr num number nummer code uuid guid key hash name ref numero numéro nom nombre nome código codice "
    "kennung номер код имя رقم معرف اسم رمز 编号 编码 号 号码 名 姓名 昵称 账号 番号 名前 번호 아이디 이름"
)
_BETWEEN = "n de del della do da du des der la le el of"  # `número_de_cliente`, "n° client"


def _plain(text: str) -> str:
    """Return the text without accents: `numéro` and `numero` are one name."""
    return "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))


OWNERS, NOT_OWNERS = frozenset(_plain(_OWNERS).split()), frozenset(_NOT_OWNERS.split())
IDENTIFIERS, BETWEEN = frozenset(_plain(_IDENTIFIERS).split()), frozenset(_BETWEEN.split())
_BETWEEN_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")
_ARTICLE = "ال"  # is written together with its noun


def is_heading(cell: str) -> bool:
    """Return whether a cell holds a usual column name and no value."""
    return cell.strip().casefold() in HEADINGS or looks_like_owner(cell)


def owner_columns(names: Sequence[str], used: Collection[str]) -> list[str]:
    """Return those of a file's columns that may say whose a row is, besides the columns that are `used`."""
    return [name for name in names if name not in used and looks_like_owner(name)]


def looks_like_owner(heading: str) -> bool:
    """Return whether a column name suggests the owner of a row: `patient_id`, `Kundennr`, `客户编号`; not `text_id`."""
    words = [word.casefold() for word in _BETWEEN_WORDS.split(_plain(heading)) if word]
    parts = [word for word in words if word not in BETWEEN and word not in IDENTIFIERS]
    whom = [one for word in parts if (one := _without_identifier(word.removeprefix(_ARTICLE)))]
    if whom and all(map(_is_owner, whom)):
        return True
    if "." in heading and looks_like_owner(heading.rpartition(".")[2]):
        return True
    return len(words) > 1 and words[-1] == "id" and "".join(words[:-1]) not in NOT_OWNERS


def _is_owner(word: str) -> bool:
    return word in OWNERS or word.removesuffix("s") in OWNERS


def _without_identifier(word: str) -> str:
    """Return `user` for `userid`, and a word that ends in no identifier, or is an owner as it is, unchanged."""
    if _is_owner(word):
        return word
    ends = (end for end in sorted(IDENTIFIERS, key=len, reverse=True) if word.endswith(end))
    return word.removesuffix(next(ends, ""))
