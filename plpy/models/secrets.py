"""Keys and tokens are taken out of messages."""

import re
from collections.abc import Iterable

_MASK = "***"
_SHORTEST = 6
_LONGEST_MESSAGE = 20_000
# Patterns are compiled where a message is masked: together they take a millisecond.
_USER_INFO = r"(?<=://)[^\s/@]+@"
# What the keys of known services begin with, tokens, and what follows the names of schemes.
_SHAPES = (
    r"\b(?:sk|pk|rk|hf|gsk|xai|pa|jina|nvapi|tgp|ghp|xox[abp])[-_][\w*.\-]{6,}",
    r"\b(?:AIza|AKIA|ASIA|eyJ|dapi)[\w.\-]{8,}",
    r"\b(?:Bearer|Basic)[ :]+[^\s\"',;]{6,}",
)
_SHAPE = f"(?i){'|'.join(_SHAPES)}"
# A value that is named a key: a letter and a digit are in it, where it is no password.
_IS = r"[\\\"']{0,2}\s{0,3}[:=]\s{0,3}[\\\"']{0,2}"
_VALUE = r"[^\s\"',;&]"
_KEY = r"(?:key|token|secret|credentials?|signature|authorization)\b(?: provided)?"
_PASSWORD = r"pass(?:word|wd|phrase)?"
_MIXED = rf"(?={_VALUE}{{0,200}}\d)(?={_VALUE}{{0,200}}[a-z]){_VALUE}{{6,}}"
_NAMED = rf"(?i)({_KEY}{_IS}){_MIXED}|({_PASSWORD}{_IS}){_VALUE}+"
# Long runs of letters and digits, as keys without a name of their own are; hashes look so too.
_RUN = r"\w{32,}"


def mask_secrets(message: str, known: Iterable[str | None] = ()) -> str:
    """Return the message with *** for what is `known` to be secret or looks like a key.

    Known ones shorter than six characters are left, as they would be found in any text. What
    follows the first 20,000 characters is cut off.
    """
    message = message[:_LONGEST_MESSAGE]
    for secret in known:
        if secret and len(secret) >= _SHORTEST:
            message = message.replace(secret, _MASK)
    message = re.sub(_USER_INFO, _MASK + "@", message)
    message = re.sub(_SHAPE, _MASK, message)
    message = re.sub(_NAMED, lambda match: (match[1] or match[2]) + _MASK, message)
    return re.sub(_RUN, lambda match: _MASK if is_mixed(match[0]) else match[0], message)


def is_mixed(run: str) -> bool:
    """Tell whether both letters and digits are in it."""
    return any(map(str.isdigit, run)) and any(map(str.isalpha, run))
