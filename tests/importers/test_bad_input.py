"""What real files get wrong: no bad line is fatal, none is lost in silence."""

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from importers.small import Result, assistant, call, import_file, result, text, user
from sojourn.importers import Progress
from sojourn.importers import lines as line_reading
from sojourn.importers.claude_code import read_claude_code
from sojourn.record import File, Text

Imports = Callable[..., Result]


@pytest.mark.design("R-14")
def test_glued_objects_on_one_line_are_both_imported(imports: Imports) -> None:
    glued = json.dumps(user("one", "u1")) + json.dumps(user("two", "u2"))
    found = imports(glued, user("three", "u3"))
    assert [said[2] for said in found.said()] == ["one", "two", "three"]
    assert (found.used, found.skipped) == ({1, 2}, [])


@pytest.mark.design("R-14")
def test_a_cut_last_line_is_told_and_the_rest_stays(imports: Imports) -> None:
    found = imports(user("one"), json.dumps(user("two"))[:60], end=b"")
    assert [said[2] for said in found.said()] == ["one"]
    assert [(s.line, s.reason.split(":")[0]) for s in found.skipped] == [(2, "cut last line")]
    assert found.used == {1}


@pytest.mark.design("R-14")
def test_a_cut_inside_a_character_is_told_as_such(imports: Imports) -> None:
    whole = json.dumps(user("größe"), ensure_ascii=False).encode()
    cut = whole[: whole.index("ö".encode()) + 1]
    found = imports(user("one"), cut, end=b"")
    assert [s.line for s in found.skipped] == [2, 2]
    assert found.skipped[0].reason == "repaired: cut inside a character, replaced by U+FFFD"
    assert found.skipped[1].reason.startswith("cut last line")


@pytest.mark.design("R-14")
def test_bytes_that_are_not_utf8_are_replaced_and_told(imports: Imports) -> None:
    found = imports(json.dumps(user("a#b")).encode().replace(b"#", b"\xff"))
    assert found.said() == [("user", "", "a\ufffdb")]
    assert [s.reason for s in found.skipped] == ["repaired: bytes that are not UTF-8, replaced by U+FFFD"]
    assert found.used == {1}


@pytest.mark.design("R-14")
def test_nul_runs_are_left_out_around_a_record_and_told_alone(imports: Imports) -> None:
    found = imports(b"\0" * 500, b"\0\0\0" + json.dumps(user("one")).encode())
    assert found.said() == [("user", "", "one")]
    assert [(s.line, s.reason) for s in found.skipped] == [
        (1, "500 NUL bytes and nothing else"),
        (2, "repaired: 3 NUL bytes left out"),
    ]


@pytest.mark.design("R-14")
@pytest.mark.report(67)
def test_only_lf_ends_a_line(imports: Imports) -> None:
    odd = "a\u2028b\u2029c\u0085d\x0be\x0cf\rg"
    line = json.dumps(user(odd), ensure_ascii=False)
    assert "\u2028" in line
    found = imports(line)
    assert found.said() == [("user", "", odd)]
    assert (found.skipped, found.done.lines) == ([], 1)


@pytest.mark.design("R-14")
@pytest.mark.report(67)
def test_raw_control_characters_and_nul_in_a_text_are_kept(imports: Imports) -> None:
    found = imports(json.dumps(user("a#b~c")).encode().replace(b"#", b"\0").replace(b"~", b"\x01"))
    assert found.said() == [("user", "", "a\0b\x01c")]


@pytest.mark.design("R-14")
@pytest.mark.report(67)
def test_half_a_surrogate_pair_is_replaced_and_told(imports: Imports) -> None:
    found = imports(json.dumps(user("a#b")).replace("#", "\\ud83d"), user("whole \U0001f600"))
    assert [said[2] for said in found.said()] == ["a\ufffdb", "whole \U0001f600"]
    assert [(s.line, s.reason) for s in found.skipped] == [(1, "repaired: half a surrogate pair, replaced by U+FFFD")]


@pytest.mark.design("R-14")
def test_numbers_that_json_does_not_know_are_kept_as_text(imports: Imports) -> None:
    line = json.dumps(assistant(call("t1", n=1.5))).replace("1.5", "NaN")
    found = imports(user("one"), line)
    assert found.messages[1].parts[0].arguments == {"n": "nan"}
    assert [s.reason for s in found.skipped] == ["repaired: a number that JSON does not know, kept as text"]


@pytest.mark.design("R-14")
@pytest.mark.report(107)
def test_a_record_glued_to_a_broken_one_is_saved(imports: Imports) -> None:
    broken = json.dumps(user("lost"))[:-9]
    found = imports(user("one"), broken + json.dumps(user("two", "u2")), user("three", "u3"))
    assert [said[2] for said in found.said()] == ["one", "two", "three"]
    assert [s.line for s in found.skipped] == [2]
    assert found.skipped[0].reason.startswith("not JSON from column ")


@pytest.mark.design("R-14")
def test_a_whole_object_inside_a_cut_line_is_no_record(imports: Imports) -> None:
    nested = {"type": "progress", "data": {"message": user("inner")}, "tail": "xxxxxxxx"}
    found = imports(user("one"), json.dumps(nested)[:-4])
    assert [said[2] for said in found.said()] == ["one"]
    assert [s.line for s in found.skipped] == [2]


@pytest.mark.design("R-14")
def test_garbage_of_every_kind_has_its_line_and_reason(imports: Imports) -> None:
    found = imports(
        user("one"), "garbage", "42", '"text"', "[1]", "{}", {"type": "never-seen"}, "", "   ", "[" * 50_000,
        {"type": "user", "message": "error"}, {"type": "user", "message": {"role": "user"}}, user("last"),
    )  # fmt: skip
    assert [said[2] for said in found.said()] == ["one", "last"]
    assert found.used == {1, 13}
    assert [(s.line, s.reason) for s in found.skipped] == [
        (2, "not JSON from column 1: Expecting value"),
        (3, "not a JSON object"),
        (4, "not a JSON object"),
        (5, "not a JSON object"),
        (6, "a record without a type"),
        (7, "unknown record type: never-seen"),
        (10, "JSON nested too deeply"),
        (11, "user line without a message object"),
        (12, "user message without content"),
    ]
    assert (found.done.lines, found.done.counts.messages) == (13, 3)


@pytest.mark.design("R-14", "R-8")
@pytest.mark.report(68)
def test_a_line_of_12_megabytes_is_read_and_its_result_is_a_blob(imports: Imports) -> None:
    big = "x" * 5_000 + "y" * (12 * 1024 * 1024) + "z" * 3_000
    found = imports(user("one"), assistant(call("t1")), user([result("t1", big)]), user("two"))
    (file,) = found.messages[1].parts[0].result
    assert isinstance(file, File)
    assert (file.media_type, file.size) == ("text/plain", len(big))
    assert found.imported[1].blobs[file.blob] == big.encode()
    left_out = len(big) - 6_000
    assert file.excerpt == f"{big[:4_000]}\n[... {left_out:,} characters left out, in the record ...]\n{big[-2_000:]}"
    assert [said[2] for said in found.said()][0::2] == ["one", "two"]
    assert any(isinstance(record, Progress) and record.bytes_read > len(big) for record in found.records)


@pytest.mark.design("R-8")
def test_a_result_of_exactly_one_mebibyte_stays_text(imports: Imports) -> None:
    for length, kind in ((1024 * 1024, Text), (1024 * 1024 + 1, File)):
        found = imports(assistant(call("t1")), user([result("t1", "x" * length)]), user("end"))
        assert isinstance(found.messages[0].parts[0].result[0], kind)
    wide = "é" * (512 * 1024)
    found = imports(assistant(call("t1")), user([result("t1", wide)]), user("end"))
    assert found.messages[0].parts[0].result == (Text(wide),)
    found = imports(assistant(call("t1")), user([result("t1", wide + "é")]), user("end"))
    assert isinstance(found.messages[0].parts[0].result[0], File)


@pytest.mark.design("R-14")
def test_a_line_beyond_the_limit_is_skipped_without_being_held(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reading, "MAX_LINE", 4_000)
    found = imports(user("one"), user("x" * 20_000), user("y" * 4_000), user("two"))
    assert [said[2] for said in found.said()] == ["one", "two"]
    assert [s.line for s in found.skipped] == [2, 3]
    assert "longer than 4,000 bytes" in found.skipped[0].reason
    assert (found.done.lines, found.used) == (4, {1, 4})


@pytest.mark.design("R-14")
def test_a_grown_file_begins_with_the_records_it_had(tmp_path: Path) -> None:
    lines = [
        user("one", "u1"), assistant(call("t1"), id="m1"), user([result("t1")], "u2"),
        assistant(text("done"), id="m2"), user("two", "u3"), assistant(text("more"), id="m3"),
    ]  # fmt: skip
    path = tmp_path / "s1.jsonl"
    messages = []
    for upto in (3, 5, 6):
        path.write_text("".join(json.dumps(line) + "\n" for line in lines[:upto]))
        messages.append(import_file(path).messages)
    assert [len(found) for found in messages] == [2, 4, 5]
    assert messages[1][:2] == messages[0]
    assert messages[2][:4] == messages[1]


@pytest.mark.design("R-14")
def test_a_late_result_changes_only_its_own_message(tmp_path: Path) -> None:
    path = tmp_path / "s1.jsonl"
    lines = [user("one", "u1"), assistant(call("t1"), id="m1"), user("two", "u2"), user([result("t1", "late")], "u3")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[:3]))
    before = import_file(path).messages
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    after = import_file(path).messages
    assert (before[0], before[2]) == (after[0], after[2])
    assert before[1].parts[0].state == "interrupted"
    assert (after[1].parts[0].state, after[1].parts[0].result) == ("completed", (Text("late"),))


@pytest.mark.design("R-14")
def test_a_byte_order_mark_is_no_damage(imports: Imports) -> None:
    found = imports(b"\xef\xbb\xbf" + json.dumps(user("one")).encode(), user("two"))
    assert ([said[2] for said in found.said()], found.skipped) == (["one", "two"], [])
    assert imports(b"\xef\xbb\xbf" + json.dumps(user("one")).encode()).used == {1}


@pytest.mark.design("R-14")
@pytest.mark.report(68)
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(turns: int) -> int:
        path = tmp_path / f"{turns}.jsonl"
        with path.open("w") as file:
            for n in range(turns):
                for line in (
                    user(f"go {n}", f"u{n}"),
                    assistant(call(f"t{n}"), id=f"m{n}"),
                    user([result(f"t{n}", "x" * 2_000)]),
                    assistant(text("y" * 500), id=f"n{n}"),
                ):
                    file.write(json.dumps(line) + "\n")
        tracemalloc.start()
        for _ in read_claude_code(str(path)):
            pass
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    per_turn = (peak(1_200) - peak(300)) / 900  # of about 3,400 bytes; the ids that are remembered have a bound too
    assert per_turn < 600
