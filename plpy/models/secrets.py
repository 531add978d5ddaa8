"""Keys and tokens are taken out of messages."""

import re
from collections.abc import Iterable

_MASK = "***"
_SHORTEST = 6
_LONGEST_MESSAGE = 20_000
_USER_INFO = re.compile(r"(?<=://)[^\s/@]+@")
# What the keys of known services begin with, tokens, and what follows the names of schemes.
_SHAPES = (
    r"\b(?:sk|pk|rk|hf|gsk|xai|pa|jina|nvapi|tgp|ghp|xox[abp])[-_][\w*.\-]{6,}",
    r"\b(?:AIza|AKIA|ASIA|eyJ|dapi)[\w.\-]{8,}",
    r"\b(?:Bearer|Basic)[ :]+[^\s\"',;]{6,}",
)
_SHAPE = re.compile("|".join(_SHAPES), re.IGNORECASE)
# A value that is named a key: a letter and a digit are in it, where it is no password.
_IS = r"[\\\"']{0,2}\s{0,3}[:=]\s{0,3}[\\\"']{0,2}"
_VALUE = r"[^\s\"',;&]"
_KEY = r"(?:key|token|secret|credentials?|signature|authorization)\b(?: provided)?"
_PASSWORD = r"pass(?:word|wd|phrase)?"
_MIXED = rf"(?={_VALUE}{{0,200}}\d)(?={_VALUE}{{0,200}}[a-z]){_VALUE}{{6,}}"
_NAMED = re.compile(rf"({_KEY}{_IS}){_MIXED}|({_PASSWORD}{_IS}){_VALUE}+", re.IGNORECASE)
# Long runs of letters and digits, as keys without a name of their own are; hashes look so too.
_RUN = re.compile(r"\w{32,}")


def mask_secrets(message: str, known: Iterable[str | None] = ()) -> str:
    """Return the message with *** for what is `known` to be secret or looks like a key.

    Known ones shorter than six characters are left, as they would be found in any text; so is what
    follows the first 20,000 characters, which is cut off.
    """
    message = message[:_LONGEST_MESSAGE]
    for secret in known:
        if secret and len(secret) >= _SHORTEST:
            message = message.replace(secret, _MASK)
    message = _USER_INFO.sub(_MASK + "@", message)
    message = _SHAPE.sub(_MASK, message)
    message = _NAMED.sub(lambda match: (match[1] or match[2]) + _MASK, message)
    return _RUN.sub(lambda match: _MASK if is_mixed(match[0]) else match[0], message)


def is_mixed(run: str) -> bool:
    """Tell whether both letters and digits are in it."""
    return any(map(str.isdigit, run)) and any(map(str.isalpha, run))
