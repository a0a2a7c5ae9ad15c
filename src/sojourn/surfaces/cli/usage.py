"""A mistake in the command line itself, in the person's language."""

import click

from sojourn.surfaces.catalogue import say

_VERDICT = " is not "
"""What click says of a value: ``'x' is not one of 'a', 'b'.``"""


def usage_words(error: click.UsageError) -> str:
    """What is wrong; click's own words for what is rare."""
    match error:
        case click.NoSuchOption():
            near = [say("did_you_mean", name=name) for name in (error.possibilities or ())[:1]]
            return " ".join([say("no_option", name=error.option_name), *near])
        case click.MissingParameter() if error.param is not None:
            return say("missing_parameter", name=error.param.get_error_hint(error.ctx))
        case click.BadParameter() if error.param is not None:
            return say("bad_parameter", name=error.param.get_error_hint(error.ctx), reason=_reason(error, error.param.type))
        case _:
            return error.format_message()


def _reason(error: click.BadParameter, kind: object) -> str:
    value, verdict, _ = error.message.partition(_VERDICT)
    if verdict and isinstance(kind, click.Choice):
        return say("not_one_of", value=value, choices=", ".join(map(repr, kind.choices)))
    if verdict and isinstance(kind, click.IntRange):
        return say("no_number_between", value=value, low=kind.min, high=kind.max)
    return error.message
