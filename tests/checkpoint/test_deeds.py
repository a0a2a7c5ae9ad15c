"""What was done: files, commands, errors, plans, notes."""

import pytest

from checkpoint.telling import calls, edits, found, reads, runs, says, texts, user
from sojourn.base import ItemStatus, Section
from sojourn.record import Message, Touch


@pytest.mark.design("K-10")
def test_a_file_is_one_line_with_its_last_action() -> None:
    items = found(
        user("go"),
        reads("src/a.py", lines=(1, 40)),
        edits("src/a.py", new="def flush(queue):\n    pass", lines=(10, 12)),
        reads("src/b.py", lines=(5, 9)),
    )
    assert sorted(texts(items, Section.FILES)) == [
        "`src/a.py` Edit(file_path) m3 lines 1-40: def flush(queue):",
        "`src/b.py` Read(file_path) m4 lines 5-9",
    ]


@pytest.mark.design("K-10")
def test_a_read_after_a_change_does_not_hide_the_change() -> None:
    items = found(user("go"), edits("a.py", new="value = compute()", lines=(3, 4)), reads("a.py", lines=(1, 99)))
    assert texts(items, Section.FILES) == ["`a.py` Edit(file_path) m3 lines 3-4: value = compute()"]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("second", "told"),
    [((250, 260), "1-260"), ((251, 260), "251-260"), (None, None)],
)
def test_reads_close_to_each_other_are_one_range(second: tuple[int, int] | None, told: str | None) -> None:
    items = found(user("go"), reads("a.py", lines=(1, 50)), reads("a.py", lines=second))
    assert texts(items, Section.FILES) == [f"`a.py` Read(file_path) m3{f' lines {told}' if told else ''}"]


@pytest.mark.design("K-10")
def test_a_failed_call_touches_nothing() -> None:
    items = found(
        user("go"), calls("Read", "no such file", failed=True, file_path="ghost.py", touches=(Touch("ghost.py", "read"),))
    )
    assert texts(items, Section.FILES) == []


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("name", "call"), [("write_file", "write_file(path)"), ("str_replace", "str_replace(path)"), ("view", "view(path)")]
)
def test_without_recorded_touches_the_arguments_tell(name: str, call: str) -> None:
    assert texts(found(user("go"), calls(name, "ok", path="x/y.go")), Section.FILES) == [f"`x/y.go` {call} m2"]
    assert texts(found(user("go"), calls("ponder", "ok", path="x/y.go")), Section.FILES) == []


@pytest.mark.design("K-2", "K-10")
def test_a_newer_action_supersedes_the_line_of_the_file() -> None:
    first = found(user("go"), reads("a.py"))
    second = found(edits("a.py", new="limit = 40 * 2"), items=first, after=2)
    assert texts(second, Section.FILES) == ["`a.py` Edit(file_path) m3: limit = 40 * 2"]
    assert texts(second, Section.FILES, ItemStatus.SUPERSEDED) == ["`a.py` Read(file_path) m2"]


@pytest.mark.design("K-10")
def test_changed_files_weigh_more_than_read_ones() -> None:
    items = found(user("go"), reads("a.py"), edits("b.py"))
    weight = {item.text.split("`")[1]: item.weight for item in items if item.section is Section.FILES}
    assert weight["b.py"] > weight["a.py"]


@pytest.mark.design("K-10")
def test_commands_end_with_their_status() -> None:
    items = found(
        user("go"),
        runs("cd app && pytest tests/unit -q", "3 passed in 0.2s"),
        runs("make build", "Exit code 2\ncc: missing file", failed=True),
        runs("ls -la", "total 4"),
    )
    assert sorted(texts(items, Section.RESOURCES)) == [
        "ran `make build`: exit 2, cc: missing file",
        "ran `pytest tests/unit -q`: completed, 3 passed in 0.2s",
    ]


@pytest.mark.design("K-2", "K-10")
def test_the_newest_run_of_a_command_stands() -> None:
    first = found(user("go"), runs("make build", "Exit code 2\nbroken", failed=True))
    second = found(runs("make build", "all good"), items=first, after=2)
    assert texts(second, Section.RESOURCES) == ["ran `make build`: completed, all good"]
    assert texts(second, Section.RESOURCES, ItemStatus.SUPERSEDED) == ["ran `make build`: exit 2, broken"]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("Exit code 137\nkilled", 137),
        ("killed\nProcess exited with code 3", 3),
        ('{"output":"x","metadata":{"exit_code":4}}', 4),
    ],
)
def test_exit_status_in_the_wording_of_several_tools(output: str, status: int) -> None:
    (text,) = texts(found(user("go"), runs("./deploy.sh", output)), Section.RESOURCES)
    assert text.startswith(f"ran `./deploy.sh`: exit {status}, ")


@pytest.mark.design("K-10")
def test_a_status_that_nobody_told_is_not_made_up() -> None:
    assert texts(found(user("go"), runs("./deploy.sh", "fine")), Section.RESOURCES) == ["ran `./deploy.sh`: completed, fine"]
    assert texts(found(user("go"), runs("./deploy.sh", "no", failed=True)), Section.RESOURCES) == [
        "ran `./deploy.sh`: failed, no"
    ]
    assert texts(found(user("go"), runs("./deploy.sh")), Section.RESOURCES) == ["ran `./deploy.sh`: completed"]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git checkout -b feat/retry", "Switched to a new branch 'feat/retry'"),
        ("git switch feat/retry", ""),
        ("git status", "On branch feat/retry\nnothing to commit"),
        ("git branch --show-current", "feat/retry\n"),
    ],
)
def test_branch(command: str, output: str) -> None:
    assert "branch: feat/retry" in texts(found(user("go"), runs(command, output)), Section.RESOURCES)


@pytest.mark.design("K-10")
def test_a_failed_switch_changes_no_branch() -> None:
    items = found(user("go"), runs("git switch main", "ok"), runs("git switch nowhere", "Exit code 1\nfatal: no", failed=True))
    assert [text for text in texts(items, Section.RESOURCES) if text.startswith("branch")] == ["branch: main"]


@pytest.mark.design("K-10")
def test_running_process_and_its_port_until_it_is_killed() -> None:
    start = runs("npm run dev", "pid 4242\nListening on http://localhost:5173/", run_in_background=True)
    items = found(user("go"), start)
    assert "running `npm run dev`: pid 4242" in texts(items, Section.RESOURCES)
    assert "port 5173: Listening on http://localhost:5173/" in texts(items, Section.RESOURCES)
    killed = found(user("go"), start, runs("kill 4242", ""))
    assert "running `npm run dev`: killed m3" in texts(killed, Section.RESOURCES)
    assert "running `npm run dev`: pid 4242" not in texts(killed, Section.RESOURCES)


@pytest.mark.design("K-10")
def test_port_in_the_words_of_the_user() -> None:
    assert "port 8081: 服务的端口是 8081" in texts(found(user("服务的端口是 8081")), Section.RESOURCES)


@pytest.mark.design("K-10")
def test_an_error_with_what_fixed_it() -> None:
    items = found(
        user("go"),
        runs("pytest tests/test_queue.py", "Exit code 1\nE   KeyError: 'job_id'\n1 failed", failed=True),
        edits("src/queue.py"),
        runs("pytest tests/test_queue.py", "1 passed"),
        edits("src/later.py"),
    )
    assert texts(items, Section.ERRORS) == [
        "E KeyError: 'job_id' (`pytest tests/test_queue.py`)"
        " -> changed `src/queue.py` m3, `pytest tests/test_queue.py` passed m4"
    ]
    (error,) = [item for item in items if item.section is Section.ERRORS]
    assert error.sources == (2, 4)


@pytest.mark.design("K-10")
def test_an_open_error_has_no_fix() -> None:
    items = found(user("go"), runs("make", "Exit code 2\nfatal: no rule to make target 'x'", failed=True))
    assert texts(items, Section.ERRORS) == ["fatal: no rule to make target 'x' (`make`)"]


@pytest.mark.design("K-10")
def test_the_last_line_of_a_stack_says_what_went_wrong() -> None:
    stack = (
        'Exit code 1\nTraceback (most recent call last):\n  File "a.py", line 3\nRuntimeError: first\nValueError: bad width 12'
    )
    assert texts(found(user("go"), runs("python a.py", stack, failed=True)), Section.ERRORS) == [
        "ValueError: bad width 12 (`python a.py`)"
    ]


@pytest.mark.design("K-10")
def test_one_error_met_twice_is_one_item_by_its_newest() -> None:
    def broken(seconds: int) -> Message:
        return runs("make", f"Exit code 2\nerror: timeout after {seconds} s", failed=True)

    items = found(user("go"), broken(30), broken(31))
    assert texts(items, Section.ERRORS) == ["error: timeout after 31 s (`make`)"]
    (once,) = [item for item in found(user("go"), broken(31)) if item.section is Section.ERRORS]
    (twice,) = [item for item in items if item.section is Section.ERRORS]
    assert twice.weight == pytest.approx(once.weight + 0.4)
    assert twice.sources == (3,)


@pytest.mark.design("K-10")
def test_output_that_only_speaks_of_errors_is_none() -> None:
    assert texts(found(user("go"), reads("log.py", "class KeyError: pass\nerror: sample")), Section.ERRORS) == []


@pytest.mark.design("K-10")
@pytest.mark.report(3)
@pytest.mark.parametrize(
    ("name", "key", "label"),
    [("TodoWrite", "todos", "content"), ("update_plan", "plan", "step")],
)
def test_the_newest_plan_is_the_frontier(name: str, key: str, label: str) -> None:
    def plan(*states: str) -> Message:
        return calls(name, "ok", **{key: [{label: f"Phase {i}", "status": state} for i, state in enumerate(states, 1)]})

    items = found(user("go"), plan("in_progress", "pending", "pending"), plan("completed", "in_progress", "pending"))
    assert texts(items, Section.FRONTIER) == ["under way: Phase 2", "remaining: Phase 3", "done: Phase 1"]
    assert texts(items, Section.NEXT) == ["Phase 2"]
    later = found(plan("completed", "completed", "in_progress"), items=items, after=3)
    assert texts(later, Section.FRONTIER) == ["under way: Phase 3", "done: Phase 2", "done: Phase 1"] or texts(
        later, Section.FRONTIER
    ) == ["under way: Phase 3", "done: Phase 1", "done: Phase 2"]
    assert sorted(texts(later, Section.FRONTIER, ItemStatus.SUPERSEDED)) == ["remaining: Phase 3", "under way: Phase 2"]
    assert texts(later, Section.NEXT) == ["Phase 3"]
    assert texts(later, Section.NEXT, ItemStatus.SUPERSEDED) == ["Phase 2"]


@pytest.mark.design("K-2", "K-10")
def test_a_whole_new_plan_replaces_the_old_steps() -> None:
    first = found(user("go"), calls("TodoWrite", "ok", todos=[{"content": "Old way", "status": "pending"}]))
    second = found(calls("TodoWrite", "ok", todos=[{"content": "New way", "status": "pending"}]), items=first, after=2)
    assert texts(second, Section.FRONTIER) == ["remaining: New way"]
    assert texts(second, Section.FRONTIER, ItemStatus.SUPERSEDED) == ["remaining: Old way"]


@pytest.mark.design("K-10")
def test_tasks_made_and_changed_one_by_one() -> None:
    items = found(
        user("go"),
        calls("TaskCreate", "Task #7 created", subject="Write the migration"),
        calls("TaskCreate", "Task #8 created", subject="Run the migration"),
        calls("TaskUpdate", "ok", taskId="7", status="completed"),
    )
    assert texts(items, Section.FRONTIER) == ["remaining: Run the migration", "done: Write the migration"]


@pytest.mark.design("K-10")
def test_boxes_and_words_of_the_assistant() -> None:
    items = found(
        user("go"), says("State:\n- [x] parser\n- [ ] writer\n\nAll tests pass now.\n还剩两个模块没有迁移到新的接口上。")
    )
    assert set(texts(items, Section.FRONTIER)) == {
        "done: parser",
        "remaining: writer",
        "done: All tests pass now.",
        "remaining: 还剩两个模块没有迁移到新的接口上。",
    }


@pytest.mark.design("K-10")
@pytest.mark.parametrize("text", ["Let me look at the remaining files first.", "There are no outstanding comments on it."])
def test_nothing_left_is_not_told_as_left(text: str) -> None:
    assert texts(found(user("go"), says(text)), Section.FRONTIER) == []


@pytest.mark.design("K-10")
@pytest.mark.report(8)
def test_no_next_step_while_the_user_is_waited_for() -> None:
    first = found(user("go"), calls("Read", "x", text="Let me read the config loader.", file_path="c.py"))
    assert texts(first, Section.NEXT) == ["Let me read the config loader."]
    second = found(says("All settled. Let me know what comes next."), items=first, after=2)
    assert texts(second, Section.NEXT) == []
    assert texts(second, Section.NEXT, ItemStatus.DONE) == ["Let me read the config loader."]


@pytest.mark.design("K-10")
@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("    12→# NOTE: the index is rebuilt at midnight.", "# NOTE: the index is rebuilt at midnight."),
        ("// WARNING(ops): never run twice.", "// WARNING(ops): never run twice."),
        ("# 注意：这里的锁不可重入。", "# 注意：这里的锁不可重入。"),
        ("  7\t// TODO - drop the shim in 3.2.", "// TODO - drop the shim in 3.2."),
    ],
)
def test_tagged_comments_are_kept(line: str, kept: str) -> None:
    assert kept in texts(found(user("go"), reads("a.py", f"x = 1\n{line}\ny = 2")), Section.KNOWLEDGE)


@pytest.mark.design("K-10")
def test_a_tagged_line_of_a_log_weighs_less_than_a_comment() -> None:
    def weight(*messages: Message) -> float:
        (item,) = [item for item in found(user("go"), *messages) if item.section is Section.KNOWLEDGE and "cold" in item.text]
        return item.weight

    assert weight(reads("a.py", "# NOTE: the cache is cold.")) == 1.2
    assert weight(runs("cat a.py", "# WARNING: the cache is cold.")) == 2.0
    assert weight(reads("a.py", "# NOTE: the cache is cold."), edits("a.py")) == 1.8
    assert weight(runs("make", "WARNING: the cache is cold.")) == 0.3


@pytest.mark.design("K-10")
def test_a_tagged_comment_goes_on_to_the_next_line() -> None:
    items = found(user("go"), reads("a.py", "# FIXME: the cache is shared\n# between tenants.\nx = 1"))
    assert "# FIXME: the cache is shared between tenants." in texts(items, Section.KNOWLEDGE)


@pytest.mark.design("K-10")
@pytest.mark.parametrize("line", ["TODOS = []", "a note: nothing", "DEBUG: on", "NOTEBOOK: x"])
def test_untagged_lines_are_no_notes(line: str) -> None:
    assert line not in texts(found(user("go"), reads("a.py", f"{line}\n")), Section.KNOWLEDGE)
