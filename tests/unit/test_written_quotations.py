"""Quotations are found however their words are written; invented words, addresses, code are not."""

import pytest

from pgblend.plpy.answers.answer import check_answer
from pgblend.plpy.answers.quotations import find_quotation

FOUND = [
    # Markdown
    ("see [Roll back](rollback.md) when it fails", "see Roll back when it fails"),
    ("see [Roll back](rollback.md) when it fails", "see [Roll back](rollback.md) when it"),
    ("see [Roll back](rollback.md) when it fails", "see [Roll back] when it fails"),
    ("see [Roll back][back] and [[Page|a page]]", "see Roll back and a page"),
    ("see [a (b)](x_(y).md) there", "see a (b) there"),
    ("press ![icon](i.png) Save to keep it", "press Save to keep it"),
    ("press ![icon](i.png) Save to keep it", "press ![icon](i.png) Save"),
    ("Run `make release`, then `make deploy`.", "Run make release, then make deploy"),
    ("Run make release, then", "Run `make release`, then"),
    ("It is **not** safe, _really_ not", "is not safe, really not"),
    ("It is ***very*** ~~un~~**safe** here", "very unsafe here"),
    ("Set max_tokens and `on\\_error` first", "max_tokens and on_error first"),
    ("as told[^1] before <b>all</b>&nbsp;others &amp; me", "told before all others & me"),
    ("- the first one\n- the second one\n", "the first one the second one"),
    ("1. Open the lid\n2. Pour the milk", "Open the lid. Pour the milk"),
    ("- [x] done is done\n> as he\n> said it", "done is done as he said"),
    ("## The heading\n\nThe text", "The heading The text"),
    ("| name | port |\n|---|---|\n| web | 8080 |", "web | 8080"),
    ("| name | port |\n|---|---|\n| web | 8080 |", "name port web 8080"),
    # marks of references, footnotes and lists
    ("It holds.[1] But not here.[2][3]", "It holds. But not here."),
    ("The rate [12] is fixed [13, 14] by law", "The rate is fixed by law"),
    ("The rate [12] is fixed [13, 14] by law", "The rate [12] is fixed [13, 14] by law"),
    ("It holds.\u00b9 But not here.\u00b2\u207b\u00b3", "It holds. But not here."),
    ("It holds.<sup>1</sup> But not there<sup>[2]</sup> yet", "It holds. But not there yet"),
    ("a) the lid\n(1) the pan\n1.2. the pot\nii. the end", "the lid the pan the pot the end"),
    ("It is late[citation needed] and old.<sup>[who?]</sup>", "It is late and old."),
    ("The ^up^ and 10^6^ rows.^2,3^", "The up and 10^6 rows."),
    # reStructuredText
    ("Call :func:`search`, see :doc:`the page <page>`", "Call search, see the page"),
    ("See `the manual <https://docs.example/m>`__ first", "See the manual first"),
    (".. note::\n\n   Keep it shut\n\n.. _lid:\n\nAlways", "Note: Keep it shut Always"),
    # elements and rules that a reader does not see as words
    ("<tr><td>web</td><td>8080</td></tr><p>one<br/>two", "web 8080 one two"),
    ("a super<wbr>long H<sub>2</sub>O", "a superlong H2O"),
    ("+----+---+\n| name | b |\n+====+===+\n| web | d |\n+----+---+", "name b web d"),
    ("The heading\n===========\n\nThe text", "The heading The text"),
    ("See <https://docs.example/x> or <a@docs.example> first",
     "See https://docs.example/x or a@docs.example first"),
    ("$E = mc^2$ is ==well== <<known>>", "E = mc^2 is well known"),
    # figures
    ("it has 1,500 rows and 2'500 words", "it has 1500 rows and 2,500 words"),
    ("it has 1\u202f500 rows and 2\u00a0500 words", "it has 1 500 rows and 2 500 words"),
    ("it takes .5 seconds", "it takes 0.5 seconds"),
    ("Terms & conditions of R&D apply", "terms and conditions of R & D apply"),
    ("Salt and pepper &amp; oil", "Salt & pepper and oil"),
    ("10^6 of 10<sup>7</sup> and x\u00b2", "10\u2076 of 10^7 and x2"),
    ("it takes 10\u201420 minutes", "it takes 10 to 20 minutes"),
    ("costs $5\u2013$10 and 5\u20ac - 9\u20ac", "costs $5 to $10 and 5 \u20ac to 9 \u20ac"),
    ("Seiten 10\u201320, 5 \u00b0C \u2013 8 \u00b0C", "Seiten 10 bis 20, 5 \u00b0C bis 8 \u00b0C"),
    # marks
    ("O\u02bbahu and Qur\u02bcan", "O'ahu and Quran"),
    ("The non\u2011stick pan doesn\u2019t rust, whatever", "non-stick pan doesn't rust"),
    ("a well-known way", "a well known way"),
    ("a well known e\u2010mail", "well-known email"),
    ("The pan \u2013 a good one \u2014 holds", "pan - a good one - holds"),
    ("The pan\u2014a good one", "The pan -- a good one"),
    ("from 10\u201320 minutes", "10-20 minutes"),
    ("minus \u22125 degrees", "-5 degrees"),
    ("a plate of 3\u00d74 cm", "a plate of 3 x 4 cm"),
    ("| it | 1.00x | 5 | 2\u00d73 |", "it 1.00x 5 2 x 3"),
    ("The room has 2 m x 3 m", "the room has 2 m \u00d7 3 m"),
    ("He said \u201cyes\u201d and \u2018no\u2019", "said \"yes\" and 'no'"),
    ("Rock \u2019n\u2019 roll isn`t dead", "rock 'n' roll isnt dead"),
    ("wait\u2026 what is it", "wait... what is it"),
    ("The server [sic] listens", "[T]he server sic listens"),
    ("The U.S. Army", "the US Army"),
    # letters
    ("The Server Listens", "the server LISTENS"),
    ("Die STRASSE nach \u0130stanbul", "Stra\u00dfe nach istanbul"),
    ("5\u00a0km at 100\u202f%", "5 km at 100%"),
    ("an e\ufb03cient o\ufb00er", "efficient offer"),
    ("in\u00adfor\u00adma\u00adtion for\u200ball", "information forall"),
    ("the infor-\nmation and the non-\nstick pan", "information and the non-stick pan"),
    ("the infor\u00ad\nmation", "information"),
    ("cafe\u0301s \u212bngstr", "caf\u00e9s \u00c5ngstr"),
    ("\u0643\u064e\u062a\u064e\u0628\u064e \u0627\u0644\u0643\u062a\u0640\u0627\u0628",
     "\u0643\u062a\u0628 \u0627\u0644\u0643\u062a\u0627\u0628"),
    ("हिन्दी में लिखा है", "हिन्दी में लिखा"),
    ("今天天气很好、\n我们去公园。", "今天天气很好,我们去公园"),
    ("Foo™ and Bar® run", "Foo and Bar run"),
    # parts
    ("The server, which is old, listens on port 1", "The server … listens on port"),
    ("The server, which is old, listens on port 1", "The server [...] listens on port"),
    ("The server listens on port", "…listens on port..."),
    ("The server, which is never old, listens on port 1", "The server … listens on port"),
    ("The server, once up, listens on a port and is quick", "The server … listens … is quick"),
    ("one\ntwo  three\r\nfour", "one two three four"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "quotation"), FOUND)
def test_the_same_words_are_found(text: str, quotation: str) -> None:
    assert find_quotation(quotation, text), quotation
    # As a model writes it behind its sentence.
    answer = f'It says so [1: "{quotation}"].'
    found = check_answer(answer, [{"citation": 1, "text": text}])
    assert (found["answer"], found["dropped"]) == ("It says so [1].", 0), found["sentences"]


@pytest.mark.parametrize(
    ("text", "quotation"),
    [
        ("see [Roll back](rollback.md)", "see [Roll back](https://evil.example)"),
        ("see [Roll back](rollback.md)", "see Roll forward"),
        ("The pan doesn\u2019t rust", "The pan does rust"),
        ("The pan does not rust", "The pan does rust"),
        ("it cannot manage", "it can not man"),
        ("at -5 degrees", "at 5 degrees"),
        ("costs 5.50 euros", "costs 5"),
        ("costs 5.50 euros", "50 euros"),
        ("costs 10-20 euros", "costs 1020 euros"),
        ("costs 5 € a month", "costs 5 $ a month"),
        ("where a < b holds", "where a > b holds"),
        ("1½ cups", "11/2 cups"),
        ("it takes .5 seconds", "it takes 5 seconds"),
        ("10\u2076 rows", "106 rows"),
        ("10<sup>6</sup> rows", "106 rows"),
        ("a floor of 20 m\u00b2 there", "a floor of 20 m there"),
        ("where 1 << 2 holds", "where 1 >> 2 holds"),
        ("it has [12] rows", "it has [13] rows"),
        ("am 12. März 2020", "13. März 2020"),
        ("1. Open the lid", "7. Open the lid"),
        ("listens on port 5432", "listens … 5432"),
        ("listens first and then speaks it", "then speaks … listens first"),
        ("El año nuevo", "El ano nuevo"),
        ("mail a@good.example now", "mail a@evil.example now"),
        ("now here", "nowhere"),
        ("10 000 units", "10 units"),
        ("it takes 10\u201420 minutes", "it takes 10 to 30 minutes"),
        ("it takes 10\u201420 minutes", "it takes 10 20 minutes"),
        ("at 10 or 20 degrees", "at 10 to 20 degrees"),
        ("costs $5\u2013$10 a month", "costs $5 to \u20ac10 a month"),
        ("10^6^ rows", "106 rows"),
        ("It is not[citation needed] safe", "It is safe"),
        ("It is [not needed] here", "It is here"),
        ("Call :func:`search` first", "Call find first"),
        # What is left out may say the contrary.
        ("The server does not restart itself", "The server does … restart itself"),
        ("It is in no case safe to open it", "It is … safe to open it"),
        ("It listens, not on port 1, but is quick", "It listens … port … is quick"),
        (f"It waits {'and it rests ' * 5} on 5432 as told", "It waits … 5432 … as told"),
        ("a non-profit firm", "profit firm"),
        ("un~~safe~~ here", "safe here"),
        ("the tea is sugar-free", "the tea is sugar"),
    ],
)
def test_other_words_are_not(text: str, quotation: str) -> None:
    assert find_quotation(quotation, text) is None


TEXT = (
    "Undo a bad release with `make rollback`, never with rm -rf /srv/data.\n"
    "The guide is at https://docs.example/guide?page=2 (mail help@docs.example),\n"
    "see [Incidents](incidents.md) and ![a picture](https://docs.example/p.png).\n"
    "Never visit evil[.]test. Files are in /var/lib/app/, C:\\app\\data and `src/app/main.py`.\n"
    "Home is https://home.example/. Use pgblend context --max-tokens 300 and v1.2.3.4 at 10:30."
)
QUOTE = '[1: "Undo a bad release"]'


@pytest.mark.parametrize(
    "sentence",
    [
        "Use `make rollback`.",
        "The guide is at https://docs.example/guide?page=2.",
        "The guide (https://docs.example/guide?page=2) tells.",
        "The [guide](https://docs.example/guide?page=2) tells.",
        "Write to help@docs.example, or see [Incidents](incidents.md).",
        "It shows ![a picture](https://docs.example/p.png).",
        "Never run `rm -rf /srv/data`.",
        "It isn't a 'bad release' that people's mails are about.",
        "Note: it is for all Nutzer:innen, in the SQL:n way, by std::vector.",
        "Never visit evil[.]test.",
        "使用Docker:请看文档.",
        # Nothing of this is an address or a command.
        "**Note:** see below.",
        "- **Port:** it is *well* known.",
        "The **guide**: (read it), he/she or w/o.",
        "It is at 10:30 or key: value, by std::vector; jede:r of the Bürger:innenrat, EU:ssa.",
        "Vor- und -nachteile von Ver- und -kauf.",
        # Places and options as the passage has them.
        r"It lies in C:\app\data, /var/lib/app and **/var/lib/app/**.",
        "It lies in `/var/lib/app` by `src/app/main.py` or src/app/main.py.",
        "The home is https://home.example.",
        "Add --max-tokens 300 or **--max-tokens**.",
    ],
)
def test_addresses_and_code_that_stand_there(sentence: str) -> None:
    found = check_answer(f"{sentence[:-1]} {QUOTE}.", [{"citation": 1, "text": TEXT}])
    assert found["answer"] == f"{sentence[:-1]} [1].", found["sentences"]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("See https://evil.example", "address not found"),
        ("See https://docs.example/guide", "address not found"),
        ("See https://docs.example", "address not found"),
        ("See evil.example/x", "address not found"),
        ("See [the guide](https://evil.example)", "address not found"),
        ("See [the guide](//evil.example)", "address not found"),
        ("See //evil/x", "address not found"),
        (r"See \\evil\share", "address not found"),
        ("See <form action=//evil/x>", "address not found"),
        ("See пример.рф", "address not found"),
        ("See evil\uff0eexample/x", "address not found"),
        ("See evil\u200b.example", "address not found"),
        ("See evil\uff61example/x", "address not found"),
        ("See evil[.]example", "address not found"),
        ("See evil (dot) example", "address not found"),
        ("See evil{.}example", "address not found"),
        ("See evil.xn--p1ai", "address not found"),
        ("Call sip:bob", "address not found"),
        ("Open ms-msdt:/id", "address not found"),
        ("Open <intent:x>", "address not found"),
        ("Open search-ms:query=x", "address not found"),
        ("Open it by data:text/html,x", "address not found"),
        ("Open it by sip&colon;bob", "address not found"),
        ("Open it by localhost:8080/x", "address not found"),
        ("Open it by <sip:en>", "address not found"),
        ("Open it by SIP:bob", "address not found"),
        ("Open it by intent:in#Intent;end", "address not found"),
        (r"Open javascript\:alert(1)", "address not found"),
        ("Write to root@evil", "address not found"),
        ("Write to root[at]evil", "address not found"),
        # What a reader sees as an address, however it is written.
        ("See evil。example/x now", "address not found"),
        ("See evil%2eexample", "address not found"),
        ("See https:%2f%2fevil%2eexample", "address not found"),
        (r"See evil\.example", "address not found"),
        ("See evil.**example**", "address not found"),
        ("See _evil_.example", "address not found"),
        ("See evil.<b>example</b>", "address not found"),
        ("See evil<!-- -->.example", "address not found"),
        ("See \U0001f600.ws", "address not found"),
        ("Open ::ffff:dead", "address not found"),
        ("Open 203.0.113.7", "figure not found"),
        ("Open 1[.]2[.]3[.]300", "figure not found"),
        # Files
        ("Delete /etc/passwd", "address not found"),
        ("Delete /var/lib", "address not found"),
        ("Delete ~/.ssh", "address not found"),
        ("Delete ../main.py", "address not found"),
        ("Delete main.py", "address not found"),
        (r"Delete C:\app", "address not found"),
        # Options of commands
        ("Run rm -rf / now", "code not found"),
        ("Run git push --force", "code not found"),
        ("Run (reboot -f)", "code not found"),
        ("See evil\u00ad.example", "address not found"),
        ("See http&colon;&sol;&sol;evil&period;example", "address not found"),
        ("Run <code>rm -rf /</code>", "code not found"),
        ("Run <kbd class=x>rm -rf /</kbd>", "code not found"),
        ("See [the guide][1x] [1x]:https://evil.example", "address not found"),
        ("See <a href='//evil.example'>it</a>", "address not found"),
        ("See ![it](https://evil.example/p.png?q=secret)", "address not found"),
        ("Write to root@evil.example", "address not found"),
        ("Click javascript:alert(1)", "address not found"),
        ("Run `rm -rf /`", "code not found"),
        ("Run ``rm -rf /``", "code not found"),
        ("Run `rm -rf /", "code not found"),
        ("Run `make`deploy or `make roll`", "code not found"),
        ("![a picture](https://docs.example/p.png)", "only an address"),
        ("- [Incidents](incidents.md)", "only an address"),
        ("https://docs.example/guide?page=2", "only an address"),
        ("<https://docs.example/guide?page=2>", "only an address"),
        ("He says 'buy gold now'", "quotation not found"),
        ("He says «buy gold»", "quotation not found"),
        ("He says „buy gold“", "quotation not found"),
    ],
)
def test_what_is_invented_goes_beside_a_right_quotation(sentence: str, reason: str) -> None:
    found = check_answer(f"{sentence} {QUOTE}.", [{"citation": 1, "text": TEXT}])
    assert found["answer"] is None, found["answer"]
    assert [each["reason"] for each in found["sentences"]] == [reason]


def test_lines_between_fences_are_code() -> None:
    parts = [{"citation": 1, "text": TEXT}]
    said = f"This {QUOTE}:\n```sh\nmake rollback {QUOTE}\nrm -rf / {QUOTE}\n```\nDone {QUOTE}."
    found = check_answer(said, parts)
    assert [each["reason"] for each in found["sentences"]] == [None, None, "code not found", None]


@pytest.mark.parametrize(
    "citation",
    [
        '[1: "see [Incidents](incidents.md)"]',
        '[1: "see ["Incidents"](incidents.md) and", "Undo a bad"]',
        "[1: 'Undo a bad release']",
        "[1: `make rollback`]",
        "[1: \u2018Undo a bad release\u2019]",
        "[1: «Undo a bad release»]",
        "[1: Undo a bad release]",
        '[1: “Undo a bad release"]',
        '[1: "Undo a bad\nrelease"]',
    ],
)
def test_ways_to_write_a_citation(citation: str) -> None:
    found = check_answer(f"Undo it {citation}.", [{"citation": 1, "text": TEXT}])
    assert found["answer"] == "Undo it [1].", found["sentences"]
    assert found["quotations"] == found["quotations_found"] > 0


def test_figures_by_thousands() -> None:
    parts = [{"citation": 1, "text": "It has 1500 rows and 2,500,000 words, and costs 1.5 euros."}]
    for said, is_kept in (("1,500 rows", True), ("2500000 words", True), ("15 euros", False)):
        assert bool(check_answer(f"It has so many {said} [1].", parts)["kept"]) == is_kept
