"""The command line (S-1). ``sojourn --version`` imports no click; each command's module is loaded when it runs."""

import sys


def main() -> None:
    """Entry point: exit code 0 done, 1 the work failed, 2 the user's mistake, 130 interrupted; no tracebacks for people."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from sojourn.__about__ import __version__

        sys.stdout.write(f"sojourn {__version__}\n")
        return
    try:
        from sojourn.surfaces.cli.app import run

        code = run(arguments)
    except KeyboardInterrupt:  # while modules are loaded, or while we end
        code = 130
    sys.exit(code)
