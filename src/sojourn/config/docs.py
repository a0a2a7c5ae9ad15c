"""The reference of all settings, made from the model: ``docs/configuration.md`` and ``--help`` (S-9)."""

from typing import Any

from sojourn.config.keys import VARIABLES, catalogue

_HEAD = """\
# Configuration

This page is made from the settings model. Settings are TOML, and later places win over earlier ones:

1. the defaults below;
2. the user's file, `config.toml` in the configuration folder;
3. the project's file, `.sojourn/config.toml` in the project's folder;
4. environment variables;
5. the command line, `--set key=value` on every command (the value as TOML, or a plain word such as `economy` or `40%`).

Unknown keys and values that are not allowed are errors that name the file and the line.
An amount is a number of tokens such as `64000`, `"64K"` or `"1.5M"` (K = 1,000, M = 1,000,000).
Tables with free names (`compaction.max_context`, `checkpoint.push_caps`) merge entry by entry.

```toml
[compaction]
policy = "balanced"

[compaction.max_context]
"anthropic/*" = "400K"
"*" = "80%"

[checkpoint.push_caps]
global_memory = "3K"
```

## Keys

| key | type | default | allowed | meaning | environment |
| --- | --- | --- | --- | --- | --- |
"""

_TAIL = """
## Environment

| variable | meaning |
| --- | --- |
| `SOJOURN_HOME` | Everything lies below this folder: `data/`, `config/`, `cache/`; without it in the platform's folders. |
"""


def reference() -> str:
    """The page as Markdown, with one table row a key."""
    rows = [
        f"| `{key.name}` | {key.kind} | {_value(key.default)} | {_cell(key.allowed)} | {_cell(key.meaning)} |"
        f" {f'`{key.variable}`' if key.variable else ''} |\n"
        for key in catalogue().values()
    ]
    variables = [f"| `{variable}` | {_effect(name, variable)} |\n" for name, variable in VARIABLES.items()]
    return _HEAD + "".join(rows) + _TAIL + "".join(variables)


def _effect(name: str, variable: str) -> str:
    return f"`1`, `true`, `yes` or `on`: `{name} = false`." if "DISABLE" in variable else f"Sets `{name}`."


def _value(default: Any) -> str:
    if default is None:
        return "not set"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        return f"`[{', '.join(chr(34) + str(entry) + chr(34) for entry in default)}]`"
    if isinstance(default, str):
        return f'`"{default}"`'
    return f"`{default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
