"""The afternoon: a tighter limit, escalation, alerts in two languages, a backfill, a release."""

from sojourn.lab.sample.day import Day
from sojourn.lab.sample.output import check, log, profile, readings, residuals, suite


def afternoon(day: Day) -> None:
    _tighter_limit(day)
    _escalation(day)
    _alert_texts(day)
    _old_readings(day)
    _staging(day)
    _release(day)


def _tighter_limit(day: Day) -> None:
    day.user(
        "Back from lunch. The pilots want it tighter: forget the 0.18, from now on a residual above 0.12 m counts as wrong. "
        "Which gauges fail that over the last three weeks?"
    )
    day.void("tolerance")
    day.fact("tolerance_new", "value", "0.12 m")
    day.run("", "python -m tidewatch.report --residuals --days 21", residuals("weeks", 21, 0.03))
    day.step(
        "It is a threshold, so docs/thresholds.md comes first, by this morning's rule.",
        day.edit(
            "docs/thresholds.md",
            "| clearance_m | 0.80 | 2024-06-01 |\n",
            "| clearance_m | 0.80 | 2024-06-01 |\n| residual_m | 0.12 | 2026-03-12 |\n",
        ),
    )
    day.step("Where does the code hold it?", day.grep("residual"), day.grep("limit=0"))
    day.look("", "src/tidewatch/quality.py")
    day.step(
        "",
        day.edit(
            "src/tidewatch/quality.py",
            'log = logging.getLogger("tidewatch.quality")\n',
            'log = logging.getLogger("tidewatch.quality")\n\nRESIDUAL_LIMIT = 0.12  # metres; docs/thresholds.md\n',
        ),
    )
    day.run(
        "SB-02 in the wind of the 9th: is that the tide or the surge?",
        "python -m tidewatch.surge --station SB-02 --days 4",
        readings("surge", 130),
    )
    day.look("The surge is taken off before the comparison, in this module.", "src/tidewatch/surge.py")
    day.run("", "pytest -v tests/test_quality.py tests/test_surge.py", suite("limits", 47))
    day.step("", day.status())
    day.run("", "make check", check("sixth", 94))
    day.step("", day.commit("quality: residual limit 0.12 m", "70b5ce19"))
    day.done(
        "Over 21 days only SB-02 fails the new limit, on two days with strong wind; its tide is right, the surge "
        "model is late there. "
        "KV-17 holds since this morning's correction. The limit stands in docs/thresholds.md and in `RESIDUAL_LIMIT`."
    )


def _escalation(day: Day) -> None:
    day.user(
        "Now the alerts. If nobody has confirmed one, escalation goes to #harbour-watch after 12 minutes, not 30. "
        "The threshold for clearance stays where it is."
    )
    day.fact("escalation", "value", "escalation goes to #harbour-watch after 12 minutes")
    day.step(
        "First the table, then the code.",
        day.edit(
            "docs/thresholds.md",
            "| residual_m | 0.12 | 2026-03-12 |\n",
            "| residual_m | 0.12 | 2026-03-12 |\n| escalate_minutes | 12 | 2026-03-12 |\n",
        ),
    )
    day.step(
        "",
        day.edit("config/staging.yaml", "escalate_minutes: 30", "escalate_minutes: 12"),
        day.edit("config/production.yaml", "escalate_minutes: 30", "escalate_minutes: 12"),
    )
    day.look("How an alert grows old:", "src/tidewatch/alerts.py")
    day.step("", day.grep("escalate", ""), day.grep("roster", "src/tidewatch/alerts.py"))
    day.look("And the roster: who is on watch when it fires?", "src/tidewatch/calendar.py")
    day.step(
        "The channel was a constant of the old pager; it becomes a setting of the deployment.",
        day.edit(
            "src/tidewatch/alerts.py",
            'log = logging.getLogger("tidewatch.alerts")\n',
            'log = logging.getLogger("tidewatch.alerts")\n\nESCALATION_CHANNEL = "#harbour-watch"\n',
        ),
    )
    day.run("A drill on a copy, with the clock turned.", "python -m tests.drill --alerts 8 --minutes 40", log("drill", 95))
    day.run("", "pytest -v tests/test_alerts.py", suite("escalate", 38))
    day.step("", day.status())
    day.run("", "make check", check("seventh", 96))
    day.step("", day.commit("alerts: escalate to the watch after 12 minutes", "d5a80f3e"))
    day.done("Unconfirmed alerts reach #harbour-watch after 12 minutes; the drill of eight alerts escalated all eight in time.")


def _alert_texts(day: Day) -> None:
    day.user("Good. Now the two languages for the alerts, as I said before lunch. How will you switch it on?")
    day.look("I read the texts once more, to see what has to be said twice.", "src/tidewatch/render.py")
    day.look("The settings must know the flag.", "src/tidewatch/settings.py")
    day.step("", day.grep("render", "src/tidewatch/alerts.py"), day.grep("languages", "config"))
    day.step(
        "Both texts are made before either is sent; where one is missing, nothing leaves and the log says why. I "
        "put it behind the flag "
        "alerts.two_languages, on in staging and off in production until Monday's drill, because the pagers of "
        "the second harbour cut "
        "long messages and nobody has seen yet where.",
        day.edit("config/staging.yaml", "languages: [en]", "languages: [zh, en]\n  two_languages: true"),
        day.edit("config/production.yaml", "languages: [en]", "languages: [zh, en]\n  two_languages: false"),
    )
    day.fact("rollout", "decision", "alerts.two_languages, on in staging and off in production until Monday's drill")
    day.step(
        "",
        day.write(
            "src/tidewatch/texts.py",
            '"""What alerts say, in both languages of the watch."""\n\nTEXTS = {\n'
            '    "clearance_low": {"zh": "{berth} 泊位富余水深 {clearance} 米，低于 {limit} 米，时间 {at}",\n'
            '                      "en": "berth {berth}: {clearance} m under the keel, limit {limit} m, at {at}"},\n'
            '    "gauge_silent": {"zh": "验潮站 {station} 已 {minutes} 分钟无数据",\n'
            '                     "en": "gauge {station} silent for {minutes} min"},\n'
            '    "residual_high": {"zh": "{station} 余水位 {residual} 米，超过 {limit} 米",\n'
            '                      "en": "{station}: residual {residual} m, limit {limit} m"},\n}\n\n\n'
            "class MissingText(Exception):\n"
            '    """An alert that cannot be said in every language of the watch is not sent."""\n\n\n'
            "def both(name: str, languages: list[str], **values: str) -> list[str]:\n"
            "    missing = [language for language in languages if language not in TEXTS.get(name, {})]\n    if missing:\n"
            '        raise MissingText(f"{name} has no text in {missing}")\n'
            "    return [TEXTS[name][language].format(**values) for language in languages]\n",
        ),
    )
    day.step(
        "The alerts take their text from it. Times still go through render_local() only.",
        day.edit(
            "src/tidewatch/alerts.py",
            "from tidewatch.settings import AlertsSettings\n",
            "from tidewatch.render import render_local\nfrom tidewatch.settings import AlertsSettings\nfrom "
            "tidewatch.texts import both\n",
        ),
    )
    day.step(
        "",
        day.write(
            "tests/test_texts.py",
            "import pytest\n\nfrom tidewatch.texts import TEXTS, MissingText, both\n\n\n"
            '@pytest.mark.parametrize("name", TEXTS)\ndef test_every_alert_has_both_languages(name):\n'
            '    assert set(TEXTS[name]) == {"zh", "en"}\n\n\n'
            'def test_a_missing_language_sends_nothing():\n    with pytest.raises(MissingText, match="zh"):\n    '
            '    both("unknown", ["zh", "en"])\n',
        ),
    )
    day.run("", "pytest -v tests/test_texts.py tests/test_alerts.py", suite("texts", 44))
    day.run("What does the longest one look like on a pager?", "python -m tests.drill --alerts 3 --show", log("pager", 50))
    day.look("Reports are read by people too: do they need both?", "src/tidewatch/report.py")
    day.step("", day.status())
    day.run("They go to the office, not to the watch: no. All checks.", "make check", check("eighth", 101))
    day.step("", day.diff("src/tidewatch/alerts.py", "config/production.yaml", "config/staging.yaml"))
    day.step("", day.commit("alerts: both languages or nothing, behind a flag", "18fe6ad5"))
    day.done("Both languages are in, refused where one is missing. The flag is on in staging only, as described.")


def _old_readings(day: Day) -> None:
    day.user(
        "One more big one: the stored predictions of KV-17 since the move are still computed with the old "
        "offset, and the morning report "
        "compares with them. Please recompute them, and check the old readings on the way. Mind the units."
    )
    day.step(
        "Since 2025-11-03, then, with +0.273 m. Rows before batch 20931 are centimetres; which batches does that touch?",
        day.bash("python -m tidewatch.backfill --station KV-17 --since 2025-11-03 --list | head -140", readings("list", 140)),
    )
    day.look("", "src/tidewatch/backfill.py")
    day.look("Conversions:", "src/tidewatch/units.py")
    day.step("Does anything convert on its own?", day.grep("* 10"), day.grep("/ 1000"))
    day.step(
        "One function that knows the batch, so that no caller has to.",
        day.edit(
            "src/tidewatch/units.py",
            'log = logging.getLogger("tidewatch.units")\n',
            'log = logging.getLogger("tidewatch.units")\n\nFIRST_MILLIMETRE_BATCH = 20931\n\n\n'
            "def to_metres(height: int, batch: int) -> float:\n"
            '    """Metres above chart datum; older batches hold centimetres."""\n'
            "    return height / (1000.0 if batch >= FIRST_MILLIMETRE_BATCH else 100.0)\n",
        ),
    )
    day.run("", "pytest -v tests/test_units.py tests/test_backfill.py", suite("units", 52))
    day.run(
        "A dry run over a week.", "python -m tidewatch.backfill --station KV-17 --since 2026-03-05 --dry-run", log("dry", 100)
    )
    day.run(
        "How does the new series compare?",
        "python -m tidewatch.report --residuals --days 14 --from-backfill",
        residuals("refilled", 14, 0.01),
    )
    day.run(
        "And while ingest writes? The lock waits 7500 ms now, so this should be quiet.",
        "python -m tests.soak --writers 2 --backfill KV-17 --seconds 90",
        log("soak two", 120),
    )
    day.look("The schedule must not start a refresh in the middle.", "src/tidewatch/schedule.py")
    day.run("Quiet. The whole range.", "python -m tidewatch.backfill --station KV-17 --since 2025-11-03", log("backfill", 130))
    day.run(
        "Its cost:",
        "python -m tidewatch.backfill --profile-last",
        profile("whole", "    37440    8.402 0.000224   11.930  src/tidewatch/backfill.py:31(run)"),
    )
    day.step("", day.status())
    day.run("", "make check", check("ninth", 104))
    day.step("", day.commit("backfill: KV-17 since the move; units by batch", "5be2907c"))
    day.done(
        "KV-17 is recomputed since 2025-11-03: 37,440 predictions, heights in metres whatever the batch. The "
        "morning report agrees to "
        "0.03 m on every day of the last two weeks."
    )


def _staging(day: Day) -> None:
    day.user("Put it on staging and look at it from outside: health, one prediction, one alert.")
    day.run("", "make deploy TARGET=staging", log("deploy", 40))
    day.run(
        "On the new port.",
        "curl -s localhost:8461/health",
        '{"status":"ok","environment":"staging","revision":"5be2907c","stations":6}',
    )
    day.run("", "curl -s 'localhost:8461/predictions/KV-17?hours=12'", readings("curl", 144))
    day.run(
        "How fast, six gauges at once?",
        "python -m tools.load --url http://localhost:8461 --gauges 6 --requests 200",
        profile("load", "      200    0.018 0.000090    0.171  src/tidewatch/api.py:52(predictions)"),
    )
    day.run(
        "One alert by hand.",
        'curl -s -X POST localhost:8461/drill -d \'{"berth": "B7", "clearance": 0.61}\'',
        '{"sent":["B7 泊位富余水深 0.61 米，低于 0.80 米，时间 16:42",'
        '"berth B7: 0.61 m under the keel, limit 0.80 m, at 16:42"]}',
    )
    day.look("The API still names a field by its old unit; I look whether anybody reads it.", "src/tidewatch/api.py")
    day.look("Clearances go out through the same door.", "src/tidewatch/clearance.py")
    day.step("", day.grep("height_mm"), day.grep("clearance_m", ""))
    day.run("The first quarter of an hour on staging.", "tail -110 var/log/staging.log", log("staging", 110))
    day.done(
        "Staging is healthy on 8461: 171 ms for six gauges, the drill alert came in both languages, nothing odd in the log."
    )


def _release(day: Day) -> None:
    day.user(
        "Perfect. The release freeze starts on 2026-03-19 at 16:00 UTC. Write the release notes for the harbour "
        "office, with what changed "
        "for them and what they have to know, and keep my rules from this morning in mind."
    )
    day.fact("freeze", "value", "release freeze starts on 2026-03-19 at 16:00 UTC")
    day.step(
        "What happened today, by commit:",
        day.bash(
            "git log --oneline -9",
            "\n".join(
                [
                    "5be2907c backfill: KV-17 since the move; units by batch",
                    "18fe6ad5 alerts: both languages or nothing, behind a flag",
                    "d5a80f3e alerts: escalate to the watch after 12 minutes",
                    "70b5ce19 quality: residual limit 0.12 m",
                    "a94e2b70 gateway: wait 31 to 45 s before coming back; staging port",
                    "c3d91f06 harmonics: nodal corrections from a table",
                    "2f68d0c4 ingest: gaps are dropped before packing",
                    "e07b53ad store: wait for the lock, backfill commits a batch at a time",
                ]
            ),
        ),
    )
    day.step(
        "",
        day.write(
            "docs/release-2026-03.md",
            "# tidewatch, March 2026\n\nFreeze: 2026-03-19 16:00 UTC.\n\n## For the watch\n"
            "- KV-17: times were one hour early and heights low since the gauge was moved on 2025-11-03; corrected (9c41e7b2), "
            "recomputed (5be2907c).\n"
            "- A residual above 0.12 m is marked. Unconfirmed alerts go to #harbour-watch after 12 minutes.\n"
            "- 告警文字同时有中文和英文；正式环境在周一演练之后打开 (alerts.two_languages).\n\n## For operators\n"
            "- The store waits up to 7500 ms for its lock (`database is locked` at night).\n"
            "- After a dropped line the gateway client waits 31 to 45 seconds; the limit of 240 requests a "
            "minute is unchanged.\n"
            "- Staging answers on port 8461.\n- No new dependencies; nothing under db/migrations has changed.\n",
        ),
    )
    day.step(
        "Is every number in it the one in the code?",
        day.grep("RESIDUAL_LIMIT"),
        day.grep("BUSY_TIMEOUT"),
        day.grep("ESCALATION"),
    )
    day.step("", day.status())
    day.run("", "make check", check("tenth", 104))
    day.step("", day.commit("docs: release notes for March", "f1c7049b"))
    day.done(
        "The notes are in docs/release-2026-03.md. Your rules held all day: nothing under db/migrations was "
        "touched, `make check` ran "
        "before every commit, times are stored in UTC, no dependency came in. Open for Monday: the drill, then "
        "alerts.two_languages in "
        "production; the freeze is on the 19th at 16:00 UTC."
    )
