"""The same signs in languages other than English: those of the tuning data and the most spoken.

Each is a pair of cues, of which a text must hold one, and a pattern. Both meet plain text: small
letters, one kind of quotation marks.
"""

# ruff: noqa: RUF001  # letters of other scripts are the point
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Phrase(NamedTuple):
    cues: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    override: tuple[Phrase, ...]
    task: tuple[Phrase, ...]
    role: tuple[Phrase, ...]
    extraction: tuple[Phrase, ...]
    coercion: tuple[Phrase, ...]


_OVERRIDE: tuple[Phrase, ...] = (
    # German
    Phrase(
        "ignorier|vergiss|vergess|missachte|hör",
        r"\b(?:ignorier(?:e|en|t)?|vergiss|vergesst|vergessen sie|missachten? ?(?:sie)?"
        r"|hör(?:e|en sie)? nicht auf)\b[^.!?\n]{0,40}?\b(?:alle[sn]?|bisherige\w*|vorherige\w*"
        r"|obige\w*|vorangegangene\w*|zuvor|davor|anweisung\w*|instruktion\w*|aufgaben|aufträge"
        r"|befehle)\b",
    ),
    Phrase(
        "abweichend|entgegen",
        r"\b(?:abweichend|entgegen) (?:zu |von |den )?[^.!?\n]{0,30}?\b(?:anweisung|instruktion)"
        r"\w*",
    ),
    # French, Spanish, Portuguese, Italian
    Phrase(
        "ignor|oubli|olvid|esque|dimentica|desconsider|descarta",
        r"\b(?:ignor(?:e|ez|er|a|en|ad|are|ate)|oubli(?:e|ez|er)|olvid(?:a|e|en|ar)"
        r"|esque[cç](?:a|e|er)|dimentica(?:te)?|desconsidere|descarta)\b[^.!?\n]{0,40}?"
        r"\b(?:consignes|instrucciones|instruções|istruzioni|órdenes|ordens|ordini"
        r"|instructions précédent\w*|précédent\w*|anterior\w*|precedent[ei]|todo|tudo|tutto"
        r"|tout)\b",
    ),
    Phrase(
        "ignorez|ignore|ignora",
        r"\b(?:ignorez|ignore|ignora) (?:la|le|el|il|o|a|les|los|las)\b[^.!?\n]{0,30}? (?:et|y|e)"
        r" (?:indiquez|dites|declara|di|diga|scrivi|dichiara|diz|imprime\w*)\b",
    ),
    # Dutch; Polish, Czech, Croatian and Serbian; Turkish
    Phrase(
        "negeer|vergeet",
        r"\b(?:negeer|vergeet)\b[^.!?\n]{0,30}?\b(?:instructies|opdrachten|alles|vorige|eerdere)\b",
    ),
    Phrase(
        "ignoruj|zapomnij|zapome|zaboravi|ignoriraj",
        r"\b(?:zignoruj|ignoruj|zapomnij o|zapomeň(?:te)?|zaboravi(?:te)?|ignoriraj(?:te)?)\b"
        r"[^.!?\n]{0,30}?\b(?:instrukcj\w+|poleceni\w+|pokyny|instrukce|instrukcij\w+|upute|sve"
        r"|wszystk\w+|poprzedni\w+|předchozí|prethodn\w+)",
    ),
    Phrase(
        "talimat",
        r"\b(?:önceki|yukarıdaki|tüm)\b[^.!?\n]{0,30}?\btalimat\w*\b[^.!?\n]{0,20}?\b(?:yok say"
        r"|görmezden gel|unut)\w*",
    ),
    # Russian, Ukrainian
    Phrase(
        "игнор|забуд|забыть|ігнор",
        r"\b(?:игнориру(?:й|йте)|игнорировать|забудь(?:те)?|забыть|ігноруй(?:те)?)\b"
        r"[^.!?\n]{0,40}?\b(?:инструкци\w+|указани\w+|команд\w+|інструкці\w+|вс[её]|предыдущ\w+)",
    ),
    # Chinese, Japanese, Korean, Arabic, Hindi
    Phrase(
        "忽略|忽视|無視|无视|忘记|忘記|不要理会",
        r"(?:忽略|忽视|無視|无视|忘记|忘記|不要理会)[^。！？\n]{0,12}(?:指令|指示|说明|說明|提示|内容|要求|命令)",
    ),
    Phrase("無視|忘れ", r"(?:指示|命令|プロンプト|指令)[^。！？\n]{0,6}(?:無視|忘れ)"),
    Phrase("무시|잊", r"(?:지시|명령|지침|프롬프트)\w{0,3}[^.!?\n]{0,10}(?:무시|잊)"),
    Phrase("تجاهل|انس", r"(?:تجاهل|انس[ىَ]?)[^.!؟\n]{0,30}(?:التعليمات|الأوامر|السابقة|تعليمات)"),
    Phrase("निर्देश|आदेश", r"(?:निर्देश|आदेश)[^।?\n]{0,25}(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल)"),
)
_TASK: tuple[Phrase, ...] = (
    Phrase(
        "aufgabe|anweisung",
        r"\b(?:neue[nr]? (?:aufgabe|anweisung)\w*)\b[^.!?\n]{0,20}?(?::|\bfolg\w+)"
        r"|\b(?:folgen|kommen) neue (?:aufgaben|anweisungen)\b|\bdeine neue aufgabe\b",
    ),
    Phrase(
        "nun|jetzt",
        r"^(?:sehr gut|super|wow|gut gemacht)[^.!?\n]{0,20}[.!,][^?\n]{0,80}\b(?:nun|jetzt)\b",
    ),
    Phrase(
        "nouvelle|nueva|nova|nuov",
        r"\b(?:nouvelles? (?:tâches?|instructions?)|nuevas? (?:tareas?|instrucci\w+)"
        r"|novas? (?:tarefas?|instruç\w+)|nuov[aeoi] (?:compit\w+|istruzion\w+)) ?:",
    ),
)
_ROLE: tuple[Phrase, ...] = (
    Phrase(
        "bist du|du bist|, dass|dich wie|tu so|vor, |vor du|spiele|agiere|antworte als",
        r"\b(?:jetzt|nun|ab jetzt|ab sofort) bist du\b|\bdu bist (?:jetzt|nun|kein\w*)\b"
        r"|\b(?:möchte|will),? dass (?:sie|du) als\b[^.!?\n]{0,80}?\b(?:fungier|agier|handel)\w+"
        r"|\bverhalte? dich wie\b|\btu so,? als\b|\bich (?:möchte|will|befehle),? dass (?:du|sie)\b"
        r"|\bstell(?:en)? (?:dir|sie sich) vor,? (?:du|sie) (?:bist|wärst|sind|wären|hättest)\b"
        r"|\bspiele (?:die rolle|einen|eine)\b|\bagiere(?:n sie)? als\b|\bantworte als\b",
    ),
    Phrase(
        "fais comme|agis comme|toi comme|actúa como|finge|aja como|finja|agisci|fai finta",
        r"\b(?:fais comme si|agis comme|comporte-toi comme|actúa como|finge que|aja como|finja"
        r"|agisci come|fai finta)\b",
    ),
    Phrase(
        "отвечай|притвор|теперь|扮演|假装你是|你现在是|のふりをして",
        r"\bотвечай как\b|\bпритворись\b|\bты теперь\b|扮演|假装你是|你现在是|のふりをして",
    ),
)
_EXTRACTION: tuple[Phrase, ...] = (
    Phrase(
        "prompt|anweisungen|instruktionen|systemnachricht",
        r"\b(?:zeig|gib|nenn|verrat|wiederhol|druck)\w*\b[^.!?\n]{0,50}?\b(?:prompt|anweisungen"
        r"|instruktionen|systemnachricht)[\w-]*",
    ),
    Phrase(
        "passwor|kennwort|de passe|contrase|senha|парол|비밀번호|密码",
        r"\b(?:ihr|dein|euer)e?n? (?:passwort|kennwort)\b|\b(?:ton|votre|ta) mot de passe\b"
        r"|\b(?:tu|su) contraseña\b|\b(?:sua|tua|a tua) senha\b|\b(?:tua|sua) password\b"
        r"|\b(?:твой|ваш) пароль\b|너의 비밀번호|당신의 비밀번호|你的密码|您的密码",
    ),
    Phrase(
        "prompt|instr|istruzioni",
        r"\b(?:montre|affiche|répète|muestra|revela|mostre|mostra|ripeti)\w*\b[^.!?\n]{0,40}?"
        r"\b(?:prompt|instructions|instrucciones|instruções|istruzioni)\b",
    ),
)
_COERCION: tuple[Phrase, ...] = (
    Phrase(
        "stirbst|musst|muer|muert",
        r"\boder du stirbst\b|\bou (?:tu|vous) (?:meurs|mourrez)\b|\bo (?:tu |tú )?"
        r"(?:mueres|muertes)\b"
        r"|\bdu musst (?:mir )?gehorchen\b",
    ),
)
ELSEWHERE = Elsewhere(_OVERRIDE, _TASK, _ROLE, _EXTRACTION, _COERCION)
