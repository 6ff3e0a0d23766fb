"""Whom this process serves: its owner alone, or strangers on a host; and what they may ask for.

One setting, ATTNVIZ_HOSTED: 1 is a host, 0 is not, and where it is not set the surroundings say.
Read once, when the process starts. Two more settings are for the owner of a host: ATTNVIZ_MODELS
adds models to the list, ATTNVIZ_MEMORY_MB says how much memory there is.
"""

import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attnviz.models.catalog import CATALOG

# Small, in safetensors, and known to whoever learns about attention. The catalog is always allowed.
MODELS = (
    "openai-community/gpt2",
    "distilbert/distilgpt2",
    "google-bert/bert-base-uncased",
    "distilbert/distilbert-base-uncased",
    "FacebookAI/roberta-base",
    "google-t5/t5-small",
    "EleutherAI/pythia-70m",
    "HuggingFaceTB/SmolLM2-135M-Instruct",
)
COMMUNITY_CLOUD_BYTES = 2_700_000_000  # where an app is stopped, whatever the machine has
_SIGNS = ("DYNO", "SPACE_ID", "RENDER", "RAILWAY_ENVIRONMENT", "FLY_APP_NAME", "K_SERVICE", "PORT")
_CLOUD_FOLDER = "/mount/src"  # where Community Cloud puts every app

log = logging.getLogger("attnviz.dashboard")


@dataclass(frozen=True)
class Host:
    """What this process allows its readers. As it stands: its owner's machine.

    Attributes:
        hosted: it serves strangers.
        models: Hub ids that may be loaded beside the catalog; "owner/*" is all of an owner's, and
            "*" every model.
        folders: model folders of this machine may be opened.
        max_models: in memory at the same time.
        max_capture_bytes: of all captures, and what was worked out from them.
        max_file_bytes: of all files made for downloads.
        max_characters: of a text, refused before a tokenizer sees it.
        max_tokens: of a text; of a longer one, pages take so many tokens from its beginning.
        longest: tokens of a text on the pages that take a long one as it is.
        max_parameters: of a model; what its files weigh is held against it too.
        memory: bytes this process may take, where that is known from elsewhere than the system.
    """

    hosted: bool = False
    models: tuple[str, ...] = ("*",)
    folders: bool = False
    max_models: int = 2
    max_capture_bytes: int = 1100 * 2**20  # room for one text of the longest and its beginning
    max_file_bytes: int = 256 * 2**20
    max_characters: int = 60_000
    max_tokens: int = 1_024
    longest: int = 8_192
    max_parameters: int = 1_000_000_000
    memory: int | None = None

    def allows(self, model: str) -> bool:
        """Whether a catalog name or a Hub id may be loaded here. Folders are not asked about."""
        return model in CATALOG or any(_fits(model, allowed) for allowed in self.models)

    @property
    def listed(self) -> tuple[str, ...]:
        """The Hub ids that are allowed by name, for a list to choose from."""
        return tuple(model for model in self.models if "*" not in model)

    @property
    def takes_any(self) -> bool:
        """Whether a reader may type a Hub id that is not listed."""
        return len(self.listed) < len(self.models)


def read_host(environment: Mapping[str, str] = os.environ, place: Path = Path(__file__)) -> Host:
    """The host that the environment and the place of this code speak of.

    >>> read({"PORT": "80"}).hosted, read({"PORT": "80", "ATTNVIZ_HOSTED": "0"}).hosted
    (True, False)
    """
    folders = environment.get("ATTNVIZ_ALLOW_FOLDERS") == "1"
    memory = _megabytes(environment.get("ATTNVIZ_MEMORY_MB", ""))
    if not is_hosted(environment, place):
        return Host(folders=folders, memory=memory)
    if memory is None and _on_community_cloud(environment, place):
        memory = COMMUNITY_CLOUD_BYTES
    return Host(
        hosted=True,
        models=tuple(dict.fromkeys((*MODELS, *_names(environment.get("ATTNVIZ_MODELS", ""))))),
        folders=folders,
        max_models=1,
        max_capture_bytes=500 * 2**20,
        max_file_bytes=64 * 2**20,
        max_characters=30_000,
        max_tokens=1_024,
        longest=4_096,
        max_parameters=200_000_000,
        memory=memory,
    )


def is_hosted(environment: Mapping[str, str], place: Path) -> bool:
    said = environment.get("ATTNVIZ_HOSTED", "").strip()
    if said in ("0", "1"):
        return said == "1"
    if said:  # a slip of the owner's must not open a server
        log.warning("ATTNVIZ_HOSTED is neither 0 nor 1; taken as 1")
        return True
    signs = any(environment.get(name) for name in _SIGNS)
    return signs or _on_community_cloud(environment, place)


def _on_community_cloud(environment: Mapping[str, str], place: Path) -> bool:
    return environment.get("HOSTNAME") == "streamlit" or place.is_relative_to(_CLOUD_FOLDER)


def _fits(model: str, allowed: str) -> bool:
    if allowed == "*":
        return True
    if allowed.endswith("/*"):
        return model.startswith(allowed[:-1])
    return model == allowed


def _names(given: str) -> list[str]:
    return [name for name in re.split(r"[\s,]+", given) if name]


def _megabytes(given: str) -> int | None:
    """Of a whole positive number; None, with a warning, of anything else."""
    if re.fullmatch(r"[1-9][0-9]{0,8}", given.strip()):
        return int(given) * 1_000_000
    if given.strip():
        log.warning("ATTNVIZ_MEMORY_MB is no whole number of megabytes; left aside")
    return None
