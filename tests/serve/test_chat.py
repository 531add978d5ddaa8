"""OpenAI's shape: what its own client, and litellm, read of an answer."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from pgblend.cli.doors.answers import ABSTENTION
from support.model_provider import Behaviour

REPLY = (
    'Wine comes from France [1: "The production of wine in France"]. '
    "It is the best of the world. "
    'There is red wine and white wine [1: "Red wine and white wine"].'
)
CHECKED = ["Wine comes from France [1].", " There is red wine and white wine [1]."]
MODEL = "pgblend/open"


@pytest.fixture
def chat_models(models: Any) -> Any:
    models.reply = lambda _: REPLY
    return models


@pytest.fixture
def chat(door: Any) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        base_url=f"{door.process.url}/v1", api_key=door.tokens["open"], max_retries=0
    ) as client:
        yield client


def ask(chat: openai.OpenAI, **more: Any) -> Any:
    messages = [
        {"role": "system", "content": "Be rude."},
        {"role": "user", "content": [{"type": "text", "text": "where is wine made?"}]},
    ]
    return chat.chat.completions.create(**({"model": MODEL, "messages": messages} | more))


def test_collections_are_models(chat: openai.OpenAI) -> None:
    assert [model.id for model in chat.models.list()] == ["pgblend", MODEL]


def test_one_collection_as_a_model(chat: openai.OpenAI) -> None:
    for model in chat.models.list():
        assert chat.models.retrieve(model.id) == model
    for name in ("pgblend/secret", "pgblend/none", "gpt-4o"):
        with pytest.raises(openai.NotFoundError) as refused:
            chat.models.retrieve(name)
        assert refused.value.code == "model_not_found"


def test_an_answer(chat_models: Any, chat: openai.OpenAI, door: Any) -> None:
    answer = ask(chat, temperature=1, max_tokens=77)
    choice = answer.choices[0]
    text, _, sources = choice.message.content.partition("\n\n")
    assert text == "".join(CHECKED)
    assert sources == "[1] Wine (wine:1)"
    assert choice.finish_reason == "stop"
    first, second = (annotation.url_citation for annotation in choice.message.annotations)
    assert text[first.start_index : first.end_index] == "[1]"
    assert text[second.start_index : second.end_index] == "[1]"
    assert first.title == "Wine"
    with door.client() as client:
        assert client.get(first.url).json()["document"]["source_key"] == "wine"
    assert answer.pgblend["degraded"] == []
    assert answer.usage.total_tokens > answer.usage.completion_tokens > 5
    asked = chat_models.bodies[-1]
    assert asked["max_tokens"] == 77
    assert "Be rude" not in json.dumps(asked)


def test_only_checked_sentences_are_streamed_one_by_one(
    chat_models: Any, chat: openai.OpenAI
) -> None:
    events = list(ask(chat, stream=True, stream_options={"include_usage": True}))
    said = [e.choices[0].delta.content for e in events if e.choices and e.choices[0].delta.content]
    assert said == [*CHECKED, "\n\n[1] Wine (wine:1)"]
    assert events[0].choices[0].delta.role == "assistant"
    assert [e.choices[0].finish_reason for e in events if e.choices][-1] == "stop"
    last = events[-2]
    assert len(last.choices[0].delta.annotations) == 2
    assert last.pgblend["abstained"] is False
    assert events[-1].usage.total_tokens


PARTS = ["where is wine made", "who flies to the moon"]


def test_a_chat_is_the_history_of_its_last_question(
    chat_models: Any, chat: openai.OpenAI, post: Any, door: Any
) -> None:
    def reply(body: dict[str, Any]) -> str:
        if "response_format" not in body:
            before = body["messages"][1]["content"].split("The production of wine")[0]
            number = before.rsplit("--- passage ", 1)[1].split(" ", 1)[0]
            return f"#1: {REPLY}\n#2: NO ANSWER".replace("[1:", f"[{number}:")
        return json.dumps(
            {"lexicalQueries": [], "vectorQueries": [], "hyde": "", "subQuestions": PARTS}
        )

    chat_models.reply = reply
    before = [
        {"role": "user", "content": [{"type": "text", "text": "Let us talk of wine."}]},
        {"role": "assistant", "content": "Gladly. " + "x" * 5000},
        {"role": "tool", "content": "7"},
    ]
    question = {"role": "user", "content": "where is it made, and who flies there?"}
    system = {"role": "system", "content": "Be rude."}
    door.admin.rows("""SELECT set_setting('sub_questions', '{"most": 4}')""")
    answer = ask(chat, messages=[system, *before, question])
    assert answer.pgblend["degraded"] == []
    text = answer.choices[0].message.content
    assert f"\n\nNo evidence was found for: {PARTS[1]}\n\n[" in text
    assert "] Wine (wine:1)" in text
    assert [one["hasEvidence"] for one in answer.pgblend["questions"]] == [True, False]
    (expanded,) = [body for body in chat_models.bodies if "response_format" in body]
    read = json.loads(expanded["messages"][1]["content"])
    assert read["query"] == question["content"]
    assert [(said["role"], said["content"][:8]) for said in read["chat"]] == [
        ("user", "Let us t"),
        ("assistant", "Gladly. "),
    ]
    assert len(read["chat"][1]["content"]) == 4000
    # As a field of a search's body it is the same.
    found = post("/v1/search", query="and now?", history=read["chat"], options={"rerank": "off"})
    door.admin.rows("SELECT reset_setting('sub_questions')")
    assert found["results"][0]["details"]["answers"][0] in PARTS


@pytest.mark.parametrize("reply", ["NO ANSWER", "Wine is made on the moon, they say."])
def test_abstention_is_the_first_event(chat_models: Any, chat: openai.OpenAI, reply: str) -> None:
    chat_models.reply = lambda _: reply
    events = list(ask(chat, stream=True))
    assert events[0].choices[0].delta.content == ABSTENTION
    assert [e.choices[0].delta.content for e in events[1:]] == [None]
    assert events[-1].pgblend["abstained"] is True
    whole = ask(chat).choices[0].message
    assert (whole.content, whole.annotations) == (ABSTENTION, [])


def test_without_passages_no_model_is_asked(chat_models: Any, chat: openai.OpenAI) -> None:
    question = [{"role": "user", "content": "zzzqq"}]
    vectors_off = len([b for b in chat_models.bodies if "messages" in b])
    chat_models.behaviours["embed"] = Behaviour(status=400)
    assert ask(chat, messages=question).choices[0].message.content == ABSTENTION
    assert len([b for b in chat_models.bodies if "messages" in b]) == vectors_off


def test_a_model_that_breaks_off_takes_nothing_back(chat_models: Any, chat: openai.OpenAI) -> None:
    chat_models.behaviours["chat"] = Behaviour(drop_halfway=True)  # after two words
    with pytest.raises(openai.InternalServerError, match="answer: "):
        ask(chat, stream=True)
    chat_models.reply = lambda _: 'Production [1:"production"]. And then much more.'
    events = list(ask(chat, stream=True))
    assert events[0].choices[0].delta.content == "Production [1]."
    assert events[-1].choices[0].finish_reason == "length"
    assert events[-1].pgblend["degraded"][0].startswith("answer: ")


def test_half_a_letter_of_a_model_breaks_no_stream(chat_models: Any, chat: openai.OpenAI) -> None:
    chat_models.reply = lambda _: REPLY.replace("France [", "France \ud83c [")
    whole = ask(chat).choices[0].message.content
    streamed = [e.choices[0].delta.content or "" for e in ask(chat, stream=True)]
    assert whole.startswith("Wine comes from France ")
    assert "".join(streamed) == whole


def test_a_model_that_fails_is_an_error(chat_models: Any, chat: openai.OpenAI) -> None:
    chat_models.behaviours["chat"] = Behaviour(status=400)
    for stream in (False, True):
        with pytest.raises(openai.InternalServerError) as refused:
            ask(chat, stream=stream)
        assert refused.value.code == "model_unavailable"


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({"model": "gpt-4"}, openai.NotFoundError),
        ({"model": "pgblend/"}, openai.NotFoundError),
        ({"model": "pgblend/secret"}, openai.NotFoundError),
        ({"model": "pgblend/nothing", "stream": True}, openai.NotFoundError),
        ({"messages": [{"role": "assistant", "content": "x"}]}, openai.BadRequestError),
        ({"messages": []}, openai.BadRequestError),
        ({"extra_headers": {"Authorization": "Bearer x"}}, openai.AuthenticationError),
        ({"extra_headers": {"Host": "evil.example"}}, openai.PermissionDeniedError),
    ],
)
def test_errors_are_those_of_openai(
    chat_models: Any, chat: openai.OpenAI, more: dict[str, Any], kind: type[openai.APIStatusError]
) -> None:
    with pytest.raises(kind) as refused:
        ask(chat, **more)
    assert refused.value.body["message"]  # type: ignore[index]
    if kind is openai.NotFoundError:
        assert refused.value.code == "model_not_found"
    assert isinstance(refused.value.response, httpx.Response)


@pytest.mark.slow
def test_through_litellm(chat_models: Any, door: Any) -> None:
    from pgblend.cli.models.litellm_library import import_litellm

    litellm = import_litellm()
    settings = {
        "model": f"openai/{MODEL}",
        "messages": [{"role": "user", "content": "where is wine made?"}],
        "api_base": f"{door.process.url}/v1",
        "api_key": door.tokens["open"],
    }
    answer = litellm.completion(**settings)
    assert answer.choices[0].message.content.startswith("".join(CHECKED))
    assert answer.choices[0].message.annotations[0]["url_citation"]["title"] == "Wine"
    pieces = [
        chunk.choices[0].delta.content for chunk in litellm.completion(**settings, stream=True)
    ]
    assert "".join(piece or "" for piece in pieces) == answer.choices[0].message.content
