"""The prompts, as data: one file for each task and language."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

Task = Literal["expansion", "hyde"]
_LANGUAGES = ("de", "en")


@dataclass(frozen=True)
class Prompt:
    """A prompt's text and its version, which changes with the text."""

    text: str
    version: str


def prompt_for(task: Task, language: str) -> Prompt:
    """Return the prompt for queries of a language (ISO 639-1), else the one for all languages."""
    return read_prompt(f"{task}-{language if language in _LANGUAGES else 'multilingual'}")


def joined_prompt(prompts: Sequence[Prompt], most: int) -> Prompt:
    """Return one prompt made of several; it ends with how many of something it asks for at most."""
    text = "\n".join([*(prompt.text for prompt in prompts), f"At most: {most}."])
    return Prompt(text, "+".join([*(prompt.version for prompt in prompts), str(most)]))


@cache
def read_prompt(name: str) -> Prompt:
    """Return the prompt in the file of that name."""
    text = (
        resources.files("pgblend.cli.models")
        .joinpath(f"prompt_texts/{name}.txt")
        .read_text("utf-8")
    )
    return Prompt(text, f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}")
