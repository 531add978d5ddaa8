"""Snippets in several languages, against tests/golden/snippets.txt (`make golden` writes it)."""

# ruff: noqa: RUF001
import psycopg

LONG = (
    "The lamp keeper wrote in the log each night. Ships passed far out. In the third winter the "
    "lamp failed, and the keeper climbed the tower with a lantern. The oil had frozen. He "
    "warmed the cans at the stove, filled the lamp and lit it again before dawn. Nobody at sea "
    "had noticed that the light was gone. In spring a new keeper came, who knew nothing of the "
    "frozen oil."
)
GERMAN = (
    "Der alte Müller mahlte sein Korn am Bach. Seine Häuser standen leer. Im Herbst kam Wasser "
    "über die Wiesen, und das Mühlrad drehte sich wieder. Die Nachbarn kauften Mehl, z. B. für "
    "Brot. Am Abend saß der Müller vor dem Haus und zählte die Säcke, die noch im Haus lagen."
)
CHINESE = "河边的老磨坊已经停了很多年。" * 10 + "磨坊主人卖面粉。" + "秋天水又来了。" * 20
CASES = [
    ("english", "a fox runs", "foxes"),
    ("english", "The FOX; the (fox), fox's.", "fox"),
    ("english", "a fox runs", "the"),
    ("english", "a fox runs", ""),
    ("english", 'a fox & a <b>dog</b> "run"', "fox dog"),
    ("english", "a <mark>cat</mark>", "fox"),
    ("english", "user_id, foo.bar_baz and my_file.txt", "id my_file.txt"),
    ("english", "see example.com, or example", "example.com"),
    ("english", "version 3.14 of 3 and 14", "3.14"),
    ("english", "ERR-1042 in C:\\temp/new", "ERR-1042 new"),
    ("english", "They are dying; he dies.", "die"),
    ("english", "happiness of a happy man", "happily"),
    ("english", "“Foxes” — fox…fox", "fox"),
    ("english", "red wine, white wine", 'wine -red "white wine"'),
    ("english", LONG, "frozen oil"),
    ("english", LONG, '"new keeper"'),
    ("english", LONG, "keeper lamp oil dawn"),
    ("english", LONG, "sea"),
    ("english", LONG, "spring keeper"),
    ("english", LONG, "aeroplane"),
    ("english", "x" * 300 + " fox", "fox"),
    ("english", "a fox " + "x" * 300, "fox"),
    ("simple", "The fox and the foxes", "the foxes"),
    ("german", GERMAN, "Haus"),
    ("german", GERMAN, "häuser"),
    ("german", GERMAN, "Säcke Mühlrad"),
    ("french", "Les élèves étudient à l’école. L'élève étudie.", "élève étudier"),
    ("spanish", "Las canciones del niño; la canción.", "canción"),
    ("russian", "Старые мельницы у реки. Мельница стоит.", "мельница"),
    ("greek", "Ο παλιός μύλος δίπλα στο ποτάμι", "μύλος"),
    ("turkish", "Eski değirmenler nehir kıyısında", "değirmen"),
    ("finnish", "Vanhoja myllyjä joen rannalla", "mylly"),
    ("indonesian", "Mereka membaca buku bacaan", "baca"),
    ("hindi", "पुरानी चक्की नदी के पास है। चक्की चलती है।", "चक्की"),
    ("arabic", "الطاحونة القديمة قرب النهر", "طاحونة"),
    ("simple", CHINESE, "面粉"),
    ("simple", CHINESE, '"磨坊主人"'),
    ("simple", "古い水車と新しい水車小屋。", "水車小屋"),
    ("simple", "โรงสีเก่าริมแม่น้ำ 308", "แม่น้ำ 308"),
    ("simple", "강가의 오래된 물레방아는 돈다.", "물레방아"),
    ("simple", "ရေစက်ဟောင်း", "ရေစက်"),
    ("no such configuration", "a fox runs", "fox"),
]


def test_snippets(module_connection: psycopg.Connection, golden) -> None:
    call = "SELECT (pgblend._snippets(ARRAY[%s], ARRAY[%s], ARRAY[%s]))[1]"
    lines = []
    for config, content, query in CASES:
        row = module_connection.execute(call, [content, query, config]).fetchone()
        assert row is not None
        lines.append(f"{config} | {query} | {row[0]}\n")
    golden("snippets.txt", "".join(lines))
