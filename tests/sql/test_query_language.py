"""The language of a query, told by its stop words or its script."""

import pytest

from support.database import Database


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("which port does the server listen on", "en"),
        ("how do I undo a transaction?", "en"),
        ("wie mache ich ein Update wieder rückgängig", "de"),
        ("comment est-ce que je peux annuler une transaction", "fr"),
        ("come si fa a configurare il server della rete", "it"),
        ("cómo puedo deshacer una transacción en la base", "es"),
        ("hoe kan ik een transactie ongedaan maken", "nl"),
        ("как мне отменить эту транзакцию", "ru"),
        ("取引を元に戻す方法", "ja"),
        ("서버는 어떤 포트를 사용합니까", "ko"),
        ("如何撤销事务", "zh"),
        ("วิธียกเลิกธุรกรรม", "th"),
        ("wine production", "und"),
        ("ERR-1042", "und"),
        ("in", "und"),  # a stop word of many
        ("", "und"),
        ("'; DROP TABLE x; --", "und"),
    ],
)
def test_it_is_told(db: Database, query: str, language: str) -> None:
    assert db.value("SELECT pgblend._query_language(%s)", query) == language
