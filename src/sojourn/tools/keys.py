"""Names of files that hold keys or passwords (Y-6)."""

from collections.abc import Sequence

_ENV_EXAMPLES = ("example", "sample", "template", "dist")
"""Endings of ``.env`` files that are there to be shown."""
_NAMES = (
    ".env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
    ".netrc", "_netrc", ".git-credentials", ".pypirc", ".npmrc", ".pgpass", ".htpasswd",
    ".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", "gcloud/", "**/.docker/config.json",
)  # fmt: skip
KEY_LINES = (*_NAMES, ".env.*", *(f"!.env.{ending}" for ending in _ENV_EXAMPLES), "!id_*.pub")
"""Lines as of a ``.gitignore``, for names in small letters."""


def _all_but(words: Sequence[str]) -> list[str]:
    """Patterns that together mean every name but these (of which none begins another)."""
    found: dict[str, None] = {}
    for word in words:
        for length in range(len(word)):
            begun = word[:length]
            following = sorted({one[length] for one in words if one.startswith(begun)})
            found[f"{begun}[!{''.join(following)}]*"] = None
            found[begun] = None
        found[f"{word}?*"] = None
    return list(found)


KEY_GLOBS = (*_NAMES, *(f".env.{ending}" for ending in _all_but(_ENV_EXAMPLES)))
"""The same without exceptions, which ripgrep would take for the only files wanted; public keys are among them."""
