"""Which text search configuration a text gets."""

from pathlib import Path

# ruff: noqa: RUF001
import pytest

from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.language import (
    CONFIGURATIONS,
    MIN_LETTERS,
    detect_configuration,
    language_finder,
    likely_language,
)
from pgblend.plpy.lexical.words import LETTERS
from support.judged import read_judged

AVAILABLE = {*CONFIGURATIONS.values(), *LETTERS, "simple"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The server starts when the database is ready and the port is free to use.", "english"),
        ("THE SERVER STARTS WHEN THE DATABASE IS READY AND THE PORT IS FREE.", "english"),
        ("Der Server startet, sobald die Datenbank bereit ist und der Port frei ist.", "german"),
        ("Le serveur démarre lorsque la base de données est prête et le port est libre.", "french"),
        ("Сервер запускается, когда база данных готова, а порт свободен для работы.", "russian"),
        ("数据库准备就绪并且端口空闲时服务器启动。", "zh"),
        ("データベースの準備ができたらサーバーを起動します。", "ja"),
        ("데이터베이스가 준비되면 서버가 시작됩니다.", "ko"),
        ("เซิร์ฟเวอร์เริ่มทำงานเมื่อฐานข้อมูลพร้อม", "th"),
        ("東京", "zh"),
        ("PostgreSQL 与 MySQL", None),
        ("Serwer uruchamia się, gdy baza danych jest gotowa, a port jest wolny.", "simple"),
        ("too short", None),
        ("Сервер запущен", "russian"),
        ("Сервер їде", "simple"),
        ("Ο διακομιστής", "greek"),
        ("الخادم جاهز", "arabic"),
        ("سرور آماده است گچ", "simple"),
        ("השרת מוכן", "simple"),
        ("सर्वर तैयार है", "hindi"),
        ("Սերվերը պատրաստ է", "armenian"),
        ("சேவையகம் தயார்", "tamil"),
        ("სერვერი მზად არის", "simple"),
        ("სერვერი მზად არის, როცა მონაცემთა ბაზა გაშვებულია და პორტი თავისუფალია", "simple"),
        ("সার্ভার প্রস্তুত", "simple"),
        ("సర్వర్ సిద్ధంగా ఉంది", "simple"),
        ("ሰርቨሩ ዝግጁ ነው", "simple"),
        ("ሰርቨሩ ዝግጁ ነው እና የውሂብ ጎታው ክፍት ነው፤ ወደቡም ነፃ ነው ማለት ነው ብለን እናምናለን አሁን ሁሉም ነገር", "simple"),
        ("સર્વર તૈયાર છે", "simple"),
        ("ཞབས་ཞུ་གྲ་སྒྲིག", "simple"),
        ("ម៉ាស៊ីនមេ", "km"),
        ("ເຊີບເວີພ້ອມ", "lo"),
        ("ဆာဗာ အဆင်သင့်", "my"),
        ("ab სერვერი", "simple"),
        ("Server 𝗵𝗲𝗹𝗹𝗼", None),
        ("ab Сервер", "russian"),
        ("\u0403\u043e\u0440\u0453\u0438", "simple"),  # Macedonian
        ("\u049a\u0430\u0439\u0434\u0430 \u043a\u0456\u043b\u0442", "simple"),  # Kazakh
        ("\u06a9\u062a\u0627\u0628 \u06c1\u06d2", "simple"),  # Urdu
        ("1234567890 " * 100, None),
        ("", None),
        ("\n\n \x00 \ud7ff\n", None),
    ],
)
def test_detected(text: str, expected: str | None) -> None:
    assert detect_configuration(text, AVAILABLE) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Serwer uruchamia się, gdy baza danych jest gotowa, a port jest wolny.", "polish"),
        ("Server se spustí, jakmile je databáze připravena a port je volný.", "czech"),
        ("Сервер запускається, коли база даних готова, а порт вільний.", "ukrainian"),
        ("Сервер їде", "ukrainian"),
        ("Server käivitub, kui andmebaas on valmis ja port on vaba kasutamiseks.", "et"),
    ],
)
def test_a_dictionary_that_was_taken_serves(text: str, expected: str) -> None:
    assert detect_configuration(text, {*AVAILABLE, expected}) == expected
    assert detect_configuration(text, AVAILABLE) == "simple"


def test_newlines_do_not_matter() -> None:
    text = "Der Server startet,\nsobald die Datenbank\n\nbereit ist und der Port frei ist."
    assert detect_configuration(text, AVAILABLE) == "german"


def test_what_the_server_lacks_is_simple() -> None:
    text = "The server starts when the database is ready and the port is free to use."
    assert detect_configuration(text, {"simple", "german"}) == "simple"
    assert detect_configuration("データベース" * 20, {"simple", "german"}) == "simple"


def test_a_choice_holds_for_all() -> None:
    for choice in ("german", "de", "DE", "de-AT", "de-at", "de-150", "de_Latn_DE"):
        assert language_finder(choice, AVAILABLE)("The quick brown fox") == "german"
    for choice in ("zh", "ZH", "zh-TW", "zh_Hans_CN"):
        assert language_finder(choice, AVAILABLE)("The quick brown fox") == "zh"
    assert language_finder("nb-NO", AVAILABLE)("The quick brown fox") == "norwegian"
    for own in ("de_own", "de_at"):
        assert language_finder(own, {*AVAILABLE, own})("The quick brown fox") == own
    assert language_finder("auto", AVAILABLE)("x" * MIN_LETTERS) is not None
    with pytest.raises(UserError, match="klingon"):
        language_finder("klingon", AVAILABLE)


SETS = {
    **{
        f"xquad-{code}": CONFIGURATIONS.get(code, code if code in LETTERS else "simple")
        for code in ("en", "de", "es", "ru", "ar", "hi", "th", "tr", "vi", "zh", "ro", "el")
    },
    "piaf_fr": "french",
    "legalquad_de": "german",
}


@pytest.mark.data
def test_right_for_99_of_100_documents(shared_data: Path) -> None:
    right = total = 0
    for name, configuration in SETS.items():
        for _, _, text in read_judged(shared_data / "ir" / name).documents:
            if len(text) >= 200:
                total += 1
                right += detect_configuration(text[:200], AVAILABLE) == configuration
    assert total > 3000
    assert right / total >= 0.99


def test_a_text_that_begins_in_another_language_is_told_by_more_than_its_ends() -> None:
    english = "The following license applies to all parts of this work and its documents. "
    german = "Die Bundesregierung hat am Mittwoch beschlossen, dass die Länder Geld erhalten. "
    assert detect_configuration(english + german * 6, AVAILABLE) == "german"
    ends = f"{english[:75]} {german[:75]}"
    assert likely_language(ends)[1] < 0.9
