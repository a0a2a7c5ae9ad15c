"""Configuration: one typed settings model, where it is read from, where things live, and its docs (S-9)."""

from sojourn.config.docs import reference
from sojourn.config.load import Loaded, load
from sojourn.config.paths import Folders, ensure_private, folders, project_folder
from sojourn.config.settings import (
    Amount,
    CheckpointSettings,
    Compaction,
    Instructions,
    Memory,
    ModelSettings,
    Permissions,
    Policy,
    Rebuild,
    Settings,
)

__all__ = [
    "Amount",
    "CheckpointSettings",
    "Compaction",
    "Folders",
    "Instructions",
    "Loaded",
    "Memory",
    "ModelSettings",
    "Permissions",
    "Policy",
    "Rebuild",
    "Settings",
    "ensure_private",
    "folders",
    "load",
    "project_folder",
    "reference",
]
