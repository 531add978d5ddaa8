"""What a value of a setting looks like, in words and JSON, told by the rules that check it."""

from functools import singledispatch

from pgblend.plpy.base import setting_rules
from pgblend.plpy.base.setting_rules import Rule


@singledispatch
def shape(rule: Rule) -> str:
    """Return how a value of this rule is written; a key with ? may be left out."""
    return type(rule).__name__.lower()


@shape.register
def _(rule: setting_rules.Number) -> str:
    return f"{rule.value_type} {rule.minimum:.10g} to {rule.maximum:.10g}"


@shape.register
def _(rule: setting_rules.Flag) -> str:
    return "true or false"


@shape.register
def _(rule: setting_rules.Text) -> str:
    if rule.allowed:
        return " or ".join(f'"{value}"' for value in rule.allowed)
    return "text" if rule.most is None else f"text of at most {rule.most} characters"


@shape.register
def _(rule: setting_rules.Scores) -> str:
    return f'{{"CHUNK_ID": number {rule.minimum} to {rule.maximum}, …}}'


@shape.register
def _(rule: setting_rules.Filter) -> str:
    return "a filter of rows"


@shape.register
def _(rule: setting_rules.Origin) -> str:
    return 'a number, a date of ISO 8601 or "now"'


@shape.register
def _(rule: setting_rules.Nullable) -> str:
    return f"{shape(rule.rule)}, or null"


@shape.register
def _(rule: setting_rules.Items) -> str:
    return f"[{shape(rule.rule)}, …]" + (f" (at most {rule.most})" if rule.most else "")


@shape.register
def _(rule: setting_rules.Fields) -> str:
    parts = [
        f'"{key}"{"" if key in rule.required else "?"}: {shape(one)}'
        for key, one in rule.keys.items()
    ]
    return f"{{{', '.join(parts)}}}"


@shape.register
def _(rule: setting_rules.NumberList) -> str:
    return shape(
        setting_rules.Fields(
            dict.fromkeys(rule.allowed, setting_rules.Number(rule.minimum, rule.maximum))
        )
    )


@shape.register
def _(rule: setting_rules.NumbersOrOne) -> str:
    low, high = f"{rule.minimum:.10g}", f"{rule.maximum:.10g}"
    keys = ", ".join(f'"{key}"' for key in rule.allowed)
    return f"a number {low} to {high}, or an object with the keys {keys} of such numbers"


@shape.register
def _(rule: setting_rules.Kinds) -> str:
    return " or ".join(
        shape(rule.kinds[kind]).replace("{", f'{{"kind": "{kind}", ', 1).replace(", }", "}")
        for kind in rule.kinds
    )
