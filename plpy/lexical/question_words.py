"""Question words by text search configuration, which stop lists of PostgreSQL lack in part.

They ask for nothing that a passage could have, so none is a misspelt word. Accents may be missing.
They are searched for as any word is: some are titles (Who, Wer).
"""

import unicodedata
from collections.abc import Collection

OF_CONFIGURATION = {
    "arabic": "من ماذا ما متى أين كيف لماذا كم أي هل لمن بماذا علام",
    "armenian": "ով ում ինչ ինչպես ինչու երբ որտեղ ուր որ որքան քանի որոնք",
    "basque": "nor nork zer zein non noiz nola zergatik zenbat nora nondik",
    "bulgarian": "кой кого коя кое кои какво какъв каква какви кога къде откъде защо как колко чий",
    "catalan": "qui què quin quina quins quines quan on com quant quants quanta quantes",
    "croatian": "tko koga komu što kada gdje kamo odakle zašto kako koliko koji koja koje čiji",
    "czech": "kdo koho komu co čeho kdy kde kam odkud proč jak kolik který která které jaký čí",
    "danish": "hvem hvad hvor hvornår hvorfor hvordan hvilken hvilket hvilke hvis hvorhen hvorfra",
    "dutch": "wie wat waar wanneer waarom hoe welk welke hoeveel wiens waarheen waarmee waarvoor",
    "english": "who whom whose what which when where why how whether",
    "esperanto": "kiu kiun kiuj kiujn kio kion kia kian kiaj kies kiam kie kien kiel kial kiom ĉu",
    "estonian": "kes keda kelle mis mida millal kus kuhu kust miks kuidas kui mitu milline",
    "finnish": "kuka ketkä mikä mitkä mitä missä mistä mihin minne milloin koska miksi miten"
    " kuinka kumpi millainen kenen",
    "french": "qui que quoi quel quelle quels quelles quand où comment pourquoi combien lequel"
    " laquelle lesquels lesquelles",
    "german": "wer wen wem wessen was wann warum wieso weshalb weswegen wie wo woher wohin wozu"
    " womit wodurch wofür wogegen woran worauf woraus worin worüber worum wovon wovor wobei"
    " welche welcher welches welchen welchem wieviel wieviele inwiefern inwieweit",
    "greek": "ποιος ποια ποιο ποιοι ποιες ποιον τι πότε πού πώς γιατί πόσο πόσα πόσοι πόσες",
    "hindi": "कौन किसने किसे किसका क्या कब कहाँ कहां क्यों कैसे कैसा कितना कितने कितनी कौनसा",
    "hungarian": "ki kik kit kinek mi mit mik mikor hol hova hová honnan miért hogyan milyen"
    " melyik mennyi hány meddig",
    "indonesian": "siapa apa kapan mana dimana kemana mengapa kenapa bagaimana berapa",
    "irish": "cé cad céard cá cathain conas cén",
    "italian": "chi che cosa quale quali quando dove come perché quanto quanta quanti quante",
    "lithuanian": "kas ko kam ką kuo kada kur kodėl kaip kiek koks kokia kokie kuris kuri kurie",
    "nepali": "को कसले कसलाई कसको के किन कहिले कहाँ कसरी कस्तो कति कुन",
    "norwegian": "hvem hva hvor når hvorfor hvordan hvilken hvilket hvilke hvorhen korleis kven"
    " kva kvifor",
    "polish": "kto kogo komu kim co czego czemu kiedy gdzie dokąd skąd dlaczego czemu jak ile który"
    " która które jaki jaka jakie czyj czy",
    "portuguese": "quem que quê qual quais quando onde aonde como porque porquê quanto quanta"
    " quantos quantas",
    "romanian": "cine ce care când unde cum cât câtă câți câte cui",
    "russian": "кто кого кому кем что чего чему чем какой какая какое какие который которая"
    " которые когда где куда откуда почему зачем как сколько чей чья чьё чьи",
    "serbian": "ko šta što kada gde kuda odakle zašto kako koliko koji koja koje čiji ко шта што"
    " када где куда одакле зашто како колико који која које чији",
    "slovak": "kto koho komu čo čoho kedy kde kam odkiaľ prečo ako koľko ktorý ktorá ktoré aký čí",
    "slovenian": "kdo koga komu kaj česa kdaj kje kam zakaj kako koliko kateri katera katero čigav",
    "spanish": "quién quiénes qué cuál cuáles cuándo dónde adónde cómo cuánto cuánta cuántos"
    " cuántas porqué",
    "swedish": "vem vems vad var vart varifrån när varför hur vilken vilket vilka",
    "tamil": "யார் யாரை யாருக்கு என்ன எது எப்போது எங்கே எங்கு ஏன் எப்படி எத்தனை எவ்வளவு எந்த",
    "turkish": "kim kimi kime kimin ne nerede nereye nereden niçin neden niye nasıl hangi kaç",  # noqa: RUF001
    "ukrainian": "хто кого кому ким що чого чому чим який яка яке які котрий коли де куди звідки"
    " навіщо як скільки чий чия чиє чиї",
    "yiddish": "ווער וועמען וועמענס וואָס ווען וואו וווּ פארוואס פֿאַרוואָס ווי וויפל וועלכער",  # noqa: RUF001
}


def question_words(configs: Collection[str]) -> set[str]:
    """Return the question words of some text search configurations, also without accents."""
    words = {word for config in configs for word in OF_CONFIGURATION.get(config, "").split()}
    return words | {without_accents(word) for word in words}


def without_accents(word: str) -> str:
    """Return a word without accents: cuándo is cuando."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
