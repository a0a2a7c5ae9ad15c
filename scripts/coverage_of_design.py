"""Which numbered design items and public reports have no test.

Items are the bold numbers at the head of a paragraph in ``docs/design/*.md`` (``**W-5**``, ``**N1**``), reports the
numbered lines of
``docs/design/reports.md``; an item that says "not built yet" is listed apart. Exit code 1 where a built item has no test.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ITEM = re.compile(r"^\*\*([A-Z](?:-R|-)?\d+[a-z]?)\b([^\n]*)", re.MULTILINE)
_REPORT = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_LATER = "not built yet"


def marked(kind: str) -> set[str]:
    """Arguments of every ``@pytest.mark.<kind>(...)`` and ``pytestmark`` in tests/."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == kind:
                found |= {str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)}
    return found


def main() -> int:
    """Prints the table; answers 1 where something built has no test, or a test names what is not in the docs."""
    items: dict[str, str] = {}
    for path in sorted((ROOT / "docs" / "design").glob("*.md")):
        if path.name != "reports.md":
            text = path.read_text("utf-8")
            heads = list(_ITEM.finditer(text))
            for head, following in zip(heads, [*heads[1:], None], strict=False):
                items[head[1]] = text[head.start() : following.start() if following else len(text)]
    reports = dict(_REPORT.findall((ROOT / "docs" / "design" / "reports.md").read_text("utf-8")))
    tested, played = marked("design"), marked("report")
    built = {item for item, text in items.items() if _LATER not in text}
    missing = sorted(built - tested)
    unplayed = sorted((n for n, text in reports.items() if _LATER not in text and n not in played), key=int)
    unknown = sorted((tested - set(items)) | {f"report {n}" for n in played - set(reports)})
    print(f"design items: {len(items)} in docs/design, {len(built)} built, {len(built & tested)} with a test")
    print(f"public reports: {len(reports)} listed, {len(played & set(reports))} with a test")
    print("built, without a test: " + (" ".join(missing) or "none"))
    print("reports without a test: " + (" ".join(unplayed) or "none"))
    print("not built yet: " + " ".join(sorted(set(items) - built)))
    print("tests name what the docs do not have: " + (", ".join(unknown) or "none"))
    return 1 if missing or unplayed or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
