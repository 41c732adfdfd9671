"""The texts are real ones, written for this test: one to three sentences, as passages and
questions are."""

# ruff: noqa: RUF001  # other scripts have letters that look like Latin ones

from __future__ import annotations

import pytest

from secondlook.reading.languages import other_language

PASSAGES = {
    "Arabic": "بُني الجسر عام 1890 على يد المهندسة آنا ليمان، وهو يربط المدينة القديمة بالميناء.",
    "Bengali": "সেতুটি ১৮৯০ সালে নির্মিত হয়েছিল এবং এটি পুরানো শহরকে বন্দরের সাথে যুক্ত করে।",
    "Chinese": "这座桥建于1890年，由安娜·莱曼设计，连接老城和港口。",
    "Czech": "Most byl postaven v roce 1890 a spojuje staré město s přístavem.",
    "Dutch": "De brug werd in 1890 gebouwd door Anna Lehmann en verbindt de stad met de haven.",
    "Finnish": "Silta rakennettiin vuonna 1890, ja se yhdistää vanhankaupungin satamaan.",
    "French": "Le pont fut construit en 1890 par Anna Lehmann et relie la vieille ville au port.",
    "German": "Die Brücke wurde 1890 von Anna Lehmann gebaut und verbindet Altstadt und Hafen.",
    "Greek": "Η γέφυρα χτίστηκε το 1890 και συνδέει την παλιά πόλη με το λιμάνι.",
    "Hebrew": "הגשר נבנה בשנת 1890 ומחבר את העיר העתיקה עם הנמל.",
    "Hindi": "यह पुल 1890 में बनाया गया था और पुराने शहर को बंदरगाह से जोड़ता है।",
    "Hungarian": "A hidat 1890-ben építették, és az óvárost köti össze a kikötővel.",
    "Indonesian": "Jembatan itu dibangun pada tahun 1890 dan menghubungkan kota tua dengan laut.",
    "Italian": "Il ponte fu costruito nel 1890 e collega la città vecchia con il porto.",
    "Japanese": "橋は1890年に建てられ、旧市街と港を結んでいます。",
    "Korean": "이 다리는 1890년에 지어졌으며 구시가지와 항구를 연결한다.",
    "Persian": "این پل در سال ۱۸۹۰ ساخته شد و شهر قدیمی را به بندر متصل می‌کند.",
    "Polish": "Most został zbudowany w 1890 roku i łączy stare miasto z portem.",
    "Portuguese": "A ponte foi construída em 1890 e liga a cidade velha ao porto.",
    "Romanian": "Podul a fost construit în 1890 și leagă orașul vechi de port.",
    "Russian": "Мост был построен в 1890 году и соединяет старый город с портом.",
    "Spanish": "El puente fue construido en 1890 y une la ciudad vieja con el puerto.",
    "Swedish": "Bron byggdes år 1890 och förbinder gamla stan med hamnen.",
    "Thai": "สะพานนี้สร้างขึ้นในปี 1890 และเชื่อมเมืองเก่ากับท่าเรือ",
    "Turkish": "Köprü 1890 yılında inşa edildi ve eski şehri limana bağlıyor.",
    "Ukrainian": "Міст було збудовано 1890 року, і він з'єднує старе місто з портом.",
    "Vietnamese": "Cây cầu được xây dựng vào năm 1890 và nối phố cổ với bến cảng.",
}
QUESTIONS = {
    "Wer war Napoleon?": "German",
    "Was kostet ein Tagesticket?": "German",
    "¿Quién construyó el puente?": "Spanish",
    "Dónde está el museo": "Spanish",
    "Qui est le président ?": "French",
    "Quando è nato Galileo?": "Italian",
    "Quanto custa a entrada?": "Portuguese",
    "Hoeveel kost een kaartje?": "Dutch",
    "Kto zbudował most?": "Polish",
    "Кто построил мост?": "Russian",
    "这座桥是谁建造的？": "Chinese",
    "橋は誰が建てましたか？": "Japanese",
}
ENGLISH_OR_NOT_TO_BE_TOLD = [
    "The bridge was built in 1890 by Anna Lehmann and links the old town to the harbour.",
    "Who is Schröder?",
    'What does "Schadenfreude" mean?',
    "When did Angela Merkel meet François Hollande at the Élysée?",
    "Johann Sebastian Bach, Wolfgang Amadeus Mozart, Ludwig van Beethoven, Franz Schubert",
    "La Traviata, Rigoletto, Il trovatore",
    "hotel rules",
    "max torque bolt M8",
    "vitamin d dosage",
    "wifi password",
    "E = mc^2",
    "The angle α between 北京 and the axis is 0.2",
    "α β γ δ",
    "def mean(values): return sum(values) / len(values)",
    "for (int i = 0; i < n; i++) { total += rows[i].price; }",
    "Rank | Athlete | Nationality | Time\n1 | Valeriy Borchin | Russia | 1:19:56",
    "Iron (mg) | 2.71 | 0.8 | 3.19\nMagnesium (mg) | 127 | 25 | 126",
    "THE BRIDGE WAS BUILT OF STONE AND NOT OF WOOD",
    "https://example.org/path/to/page.html",
    "1 2 3 4 5 6 7 8 9",
    "",
    " \n ",
    "\ud800",
]


@pytest.mark.parametrize(("language", "passage"), PASSAGES.items())
def test_other_languages_are_told_by_name(language: str, passage: str) -> None:
    assert other_language(passage) == language
    assert other_language(passage, [language.lower()]) is None
    assert other_language(passage, ["english", language]) is None


@pytest.mark.parametrize(("question", "language"), QUESTIONS.items())
def test_so_are_questions_of_a_few_words(question: str, language: str) -> None:
    assert other_language(question) == language


@pytest.mark.parametrize("text", ENGLISH_OR_NOT_TO_BE_TOLD)
def test_what_is_english_or_cannot_be_told_counts_as_known(text: str) -> None:
    assert other_language(text) is None
