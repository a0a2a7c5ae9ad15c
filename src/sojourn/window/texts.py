"""Engine texts that the model reads in an opening.

Every line of the engine's begins with ``MARK`` or is a section's heading; no other text has such lines
(``document.settled``, ``recent_user.quoted``).
"""

MARK = "[sojourn]"

LABEL = (
    f"{MARK} This message opens a new context window. The engine wrote it, not the user. Text behind '> ' is quoted from\n"
    "the user; documents with a File: line are loaded already: search that file for details, do not read it whole again."
)
LABEL_SHORT = f"{MARK} Written by the engine, not the user: what this session carries over. '> ' quotes the user."

PLACE = f"{MARK} Checkpoint: {{path}}"
TOPIC = f"{MARK} Current topic: {{topic}}"

CONTINUES = f"{MARK} This session continues from a {{kind}}."
BOUNDARY = "The boundary was at {boundary}."
RECORD = (
    "Nothing was deleted: `history search <words>` searches the full record, `history read m<seq>` shows a message."
    " Do not recap the text above."
)
RECORD_SHORT = "Full record: `history search <words>`, `history read m<seq>`. Do not recap."

ANSWER_USER = "The newest message of the user is not answered yet: answer it now. Requests marked answered are finished."
MID_LOOP = "You are in the middle of your work: go on with the results below, from where it stopped."
OPEN_TASK = 'The task "{name}" is open.'
OPEN_TASK_NEXT = "Its next action: {next_action}."
OPEN_TASK_PROGRESS = "Before you stop, compare your work with its progress file {progress_file}."
OPEN_TASK_PLAIN = "Before you stop, compare your work with what the task asks for."
WAIT = "The last turn is over and nothing is asked of you now: wait for the user, do not restart or repeat finished work."

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
