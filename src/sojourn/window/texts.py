"""Engine texts that the model reads in an opening.

Every line of the engine's begins with ``MARK`` or is a section's heading; no other text has such lines
(``document.settled``, ``recent_user.quoted``).
"""

MARK = "[sojourn]"

LABEL = (
    f"{MARK} This message opens a new context window: the engine's words, not the user's. '> ' quotes the user. Documents\n"
    "with a File: line are loaded: search that file for details, do not read it whole."
)
LABEL_SHORT = f"{MARK} Written by the engine, not the user: what this session carries over. '> ' quotes the user."

PLACE = f"{MARK} Checkpoint: {{path}}"
TOPIC = f"{MARK} Current topic: {{topic}}"

CONTINUES = f"{MARK} This session continues from a {{kind}}{{boundary}}."
BOUNDARY = "; the boundary was at {boundary}"
RECORD = "Nothing was deleted: `history search <words>`, `history read m<seq>`. Do not recap."

ANSWER_USER = "The newest message of the user is not answered yet: answer it now. Requests marked answered are finished."
MID_LOOP = "You are in the middle of your work: go on with the results below."
OPEN_TASK = 'The task "{name}" is open.'
OPEN_TASK_NEXT = "Its next action: {next_action}."
OPEN_TASK_PROGRESS = "Before you stop, compare your work with its progress file {progress_file}."
OPEN_TASK_PLAIN = "Before you stop, compare your work with what the task asks for."
WAIT = "Nothing is asked of you now: wait for the user, do not restart or repeat finished work."

READ_ON = f"{MARK} cut here to fit: read on in {{path}} from line {{line}}"
READ_ON_UNNAMED = f"{MARK} cut here to fit: the text goes on from its line {{line}}"
NOTES_CUT = f"{MARK} {{count}} older lines left out: {{path}} has them"
NOTES_CUT_UNNAMED = f"{MARK} {{count}} older lines left out"
LINES_CUT = f"{MARK} {{count}} more left out to fit"
HEADINGS_CUT = f"{MARK} {{count}} more headings left out to fit"
ITEMS_CUT = f"{MARK} {{count}} items left out to fit: `history search <words>` finds them"

USER_ENTRY = "m{seq} ({status}):"
USER_OMISSION = f"{MARK} {{tokens}} tokens left out; whole: history read m{{seq}}"
USER_ATTACHED = "attached to m{seq}: {names}"
USERS_CUT = f"{MARK} {{count}} older messages of the user left out to fit: `history search <words>` finds them"

DIGEST_CUT = f"{MARK} {{count}} earlier lines left out: `history read` shows them"
DIGEST_INTERRUPTED = (
    f"{MARK} Calls marked interrupted were stopped: their outcome is unknown. Check what they did, then run again what is"
    " still needed: {calls}"
)

TAIL_OMISSION = f"{MARK} {{tokens}} tokens left out here; whole: history read m{{seq}}"

WORKING_REST = "also in use: {names}"

TASKS_CUT = f"{MARK} left out to fit: {{counts}}"

MODE_ASK = "Mode ask: what changes files or runs commands is put before the user first."
MODE_ACCEPT_EDITS = "Mode accept-edits: edits of files are allowed, commands are put before the user first."
MODE_PLAN = "Mode plan: look and plan, change nothing, until the user leaves plan mode."
MODE_FULL = "Mode full: edits and commands are allowed."
MODE_OTHER = "Mode {mode} is in force."
SKILLS_ACTIVE = "Skills in use: {names}. Their text is out of view: load one with the skill tool before you rely on it."
PLAN_DECIDED = "DECIDED: the user accepted the plan below{said}. Carry it out; do not plan it again."
PLAN_STEPS = "Its steps so far:"
PLAN_OMISSION = "[... {characters} characters left out; whole: {where} ...]"
