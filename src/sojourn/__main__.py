"""``python -m sojourn``."""

from sojourn.surfaces.cli import main

main()
