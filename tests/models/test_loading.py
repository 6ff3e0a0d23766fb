"""Loading from a folder: what is read, what is refused, and who shares what."""

import builtins
import gc
import json
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

import attnviz
from attnviz.errors import BadInput, ModelRefused, TooLarge, UnsupportedModel
from attnviz.models import loading

IDS = torch.tensor([[5, 6, 7, 8, 9, 10]])


def logits(model: attnviz.LoadedModel) -> torch.Tensor:
    with torch.no_grad():
        return model.hf(IDS).logits


def test_a_folder_loads_ready_to_run(llama_folder: Path) -> None:
    """idiap/fast-transformers#131, huggingface/transformers#31468"""
    model = attnviz.load(llama_folder)
    assert not model.hf.training
    assert model.info.name == "tiny-llama"
    assert model.info.revision.startswith("content:")
    assert (model.info.layers, model.info.heads, model.info.kv_heads) == (3, 4, 2)
    assert (model.info.dtype, model.info.attention) == ("float32", "sdpa")
    assert model.tokenizer("the cat sat")["input_ids"] == [1, 2, 3]
    assert torch.equal(logits(model), logits(model))
    assert attnviz.load(str(llama_folder)) is model


def test_weights_outlive_the_temporary_view(llama_folder: Path) -> None:
    import safetensors.torch

    model = attnviz.load(llama_folder)
    stored = safetensors.torch.load_file(llama_folder / "model.safetensors")
    assert torch.equal(model.hf.lm_head.weight, stored["lm_head.weight"])


# What a config may try, and what must come of it.


@pytest.fixture
def no_kernels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list of the kernel repositories that transformers reached for."""
    from transformers import modeling_utils

    reached: list[str] = []

    def reach(implementation: str, *args: Any, **kwargs: Any) -> None:
        reached.append(implementation)
        raise ImportError("a kernel was asked for")

    monkeypatch.setattr(modeling_utils, "lazy_import_flash_attention", reach)
    return reached


KERNEL_KEYS = ["attn_implementation", "_attn_implementation", "_attn_implementation_internal"]


@pytest.mark.parametrize("key", KERNEL_KEYS)
def test_a_config_cannot_name_a_kernel_to_fetch(
    llama_folder: Path, edit_config: Any, no_kernels: list[str], key: str
) -> None:
    """huggingface/transformers#46708, pydantic/pydantic-ai#6310, NVIDIA/Model-Optimizer#1746"""
    before = logits(attnviz.load(llama_folder))
    edit_config(llama_folder, **{key: "someone/evil-kernel"})
    modules = set(sys.modules)
    model = attnviz.load(llama_folder)
    assert no_kernels == []
    assert not any("evil" in name or "kernels" == name for name in set(sys.modules) - modules)
    assert model.info.attention == "sdpa"
    assert torch.equal(logits(model), before)


def test_the_plain_loader_would_have_reached_for_the_kernel(
    llama_folder: Path, edit_config: Any, no_kernels: list[str]
) -> None:
    """huggingface/transformers#46708: if this no longer holds, the trap above has moved."""
    from transformers import AutoModel

    edit_config(llama_folder, _attn_implementation="someone/evil-kernel")
    with pytest.raises(ImportError):
        AutoModel.from_pretrained(llama_folder, attn_implementation="eager")
    assert no_kernels == ["someone/evil-kernel"]


def test_a_kernel_named_in_an_inner_config_is_not_fetched_either(
    tmp_path: Path, edit_config: Any, no_kernels: list[str]
) -> None:
    """huggingface/transformers#46708"""
    from transformers import EncoderDecoderConfig, EncoderDecoderModel
    from transformers.models.bert import BertConfig

    small = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 37, "vocab_size": 99}
    encoder = BertConfig(num_hidden_layers=2, **small)
    decoder = BertConfig(num_hidden_layers=3, **small)
    config = EncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id = config.pad_token_id = 0
    EncoderDecoderModel(config).save_pretrained(tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    raw["decoder"]["_attn_implementation"] = "someone/evil-kernel"
    raw["encoder"]["trust_remote_code"] = True
    edit_config(tmp_path, **raw)
    model = attnviz.load(tmp_path)
    assert no_kernels == []
    assert (model.info.kind, model.info.layers) == ("encoder-decoder", 3)


@pytest.fixture
def trap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question on standard input fails the test instead of hanging it."""

    def ask(*args: object) -> str:
        raise AssertionError("a question was asked")

    monkeypatch.setattr(builtins, "input", ask)


def plant_code(folder: Path, mark: Path) -> dict[str, str]:
    code = f"open({str(mark)!r}, 'w').close()\n"
    for name in ("configuration_x.py", "modeling_x.py", "tokenization_x.py"):
        (folder / name).write_text(code)
    return {
        "AutoConfig": "configuration_x.XConfig",
        "AutoModel": "modeling_x.XModel",
        "AutoModelForCausalLM": "modeling_x.XForCausalLM",
    }


def test_code_beside_a_known_model_is_not_run(
    llama_folder: Path, edit_config: Any, tmp_path: Path, trap: None
) -> None:
    """ogx-ai/ogx#6309, tmalsburg/llm_surprisal#12"""
    before = logits(attnviz.load(llama_folder))
    mark = tmp_path / "ran"
    auto_map = plant_code(llama_folder, mark)
    edit_config(llama_folder, auto_map=auto_map, trust_remote_code=True)
    tokenizer_map = {"AutoTokenizer": ["tokenization_x.XTokenizer", None]}
    edit_config(llama_folder, "tokenizer_config.json", auto_map=tokenizer_map)
    model = attnviz.load(llama_folder)
    assert not mark.exists()
    assert type(model.hf).__module__.startswith("transformers.")
    assert torch.equal(logits(model), before)
    assert model.tokenizer("the cat")["input_ids"] == [1, 2]
    assert any("was not run" in note for note in model.notes)


def test_code_for_an_unknown_model_is_not_run_and_the_model_refused(
    llama_folder: Path, edit_config: Any, tmp_path: Path, trap: None
) -> None:
    """ogx-ai/ogx#6309, tomaarsen/SpanMarkerNER#87"""
    mark = tmp_path / "ran"
    edit_config(llama_folder, model_type="x", auto_map=plant_code(llama_folder, mark))
    with pytest.raises(UnsupportedModel, match="code of its own, which attnviz never runs"):
        attnviz.load(llama_folder)
    assert not mark.exists()


def test_trust_in_an_inner_config_counts_for_nothing(
    llama_folder: Path, edit_config: Any, tmp_path: Path, trap: None
) -> None:
    """ogx-ai/ogx#6309, ggml-org/llama.cpp#13246"""
    mark = tmp_path / "ran"
    auto_map = plant_code(llama_folder, mark)
    inner = {"trust_remote_code": True, "auto_map": auto_map, "model_type": "x"}
    edit_config(llama_folder, text_config=inner, decoder=inner)
    try:
        attnviz.load(llama_folder)
    except UnsupportedModel:
        pass  # a plain refusal will do as well
    assert not mark.exists()


def test_transformers_is_shown_harmless_files_only(
    llama_folder: Path, edit_config: Any, tmp_path: Path
) -> None:
    """huggingface/transformers#46708, ogx-ai/ogx#6309"""
    from attnviz.models import checkpoint

    auto_map = plant_code(llama_folder, tmp_path / "ran")
    edit_config(llama_folder, auto_map=auto_map, _attn_implementation="someone/evil-kernel")
    for name in ("pytorch_model.bin", "x.gguf", "other.safetensors", ".metadata"):
        (llama_folder / name).write_bytes(b"x")
    with checkpoint.open_safe_view(llama_folder, checkpoint.read_config(llama_folder)) as view:
        assert {path.name for path in view.iterdir()} == {
            "config.json",
            "generation_config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        }
        text = (view / "config.json").read_text()
    assert "evil" not in text and "auto_map" not in text
    assert not view.exists()


@pytest.fixture
def foreign_vocabulary(llama_folder: Path, tmp_path: Path) -> Path:
    """A tokenizer outside the model's folder, which the model's own files point at."""
    outside = tmp_path / "outside.json"
    own = json.loads((llama_folder / "tokenizer.json").read_text())
    own["model"]["vocab"] = {"[UNK]": 0, "secret": 1}
    outside.write_text(json.dumps(own))
    return outside


def test_a_tokenizer_cannot_name_a_file_elsewhere(
    llama_folder: Path, foreign_vocabulary: Path, edit_config: Any
) -> None:
    """huggingface/transformers#47176"""
    names = {"tokenizer_file": str(foreign_vocabulary), "vocab_file": str(foreign_vocabulary)}
    (llama_folder / "special_tokens_map.json").write_text(json.dumps(names))
    edit_config(llama_folder, "tokenizer_config.json", **names)
    vocabulary = attnviz.load(llama_folder).tokenizer.get_vocab()
    assert "secret" not in vocabulary and "cat" in vocabulary


def test_the_plain_loader_would_have_opened_the_file_elsewhere(
    llama_folder: Path, foreign_vocabulary: Path
) -> None:
    """huggingface/transformers#47176: if this no longer holds, the trap above has moved."""
    from transformers import AutoTokenizer

    names = {"tokenizer_file": str(foreign_vocabulary)}
    (llama_folder / "special_tokens_map.json").write_text(json.dumps(names))
    assert "secret" in AutoTokenizer.from_pretrained(llama_folder).get_vocab()


def test_a_folder_is_loaded_without_any_network(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mudler/LocalAI#9395"""
    import socket

    def connect(*args: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    assert attnviz.load(llama_folder).tokenizer is not None


# Pickles.


class Evil:
    """Unpickling this makes a file."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> Any:
        return open, (self.mark, "w")


@pytest.mark.parametrize("harmless", [True, False])
def test_pickled_weights_are_refused_and_never_opened(
    llama_folder: Path, tmp_path: Path, harmless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface/transformers#37785, vllm-project/vllm#12366"""
    import safetensors.torch

    mark = tmp_path / "ran"
    weights = llama_folder / "model.safetensors"
    bin_file = llama_folder / "pytorch_model.bin"
    if harmless:
        torch.save(safetensors.torch.load_file(weights), bin_file)
    else:
        bin_file.write_bytes(pickle.dumps({"x": Evil(mark)}))
    weights.unlink()

    def opened(*args: object, **kwargs: object) -> None:
        raise AssertionError("a pickle was opened")

    monkeypatch.setattr(torch, "load", opened)
    with pytest.raises(ModelRefused, match="safetensors only"):
        attnviz.load(llama_folder)
    assert not mark.exists()


def test_pickles_beside_safetensors_are_left_alone(
    llama_folder: Path, tmp_path: Path, edit_config: Any
) -> None:
    """vllm-project/vllm#12366"""
    mark = tmp_path / "ran"
    for name in ("pytorch_model.bin", "__0_0.distcp", ".metadata", "training_args.bin"):
        (llama_folder / name).write_bytes(pickle.dumps(Evil(mark)))
    edit_config(llama_folder, transformers_weights="pytorch_model.bin")
    assert attnviz.load(llama_folder).info.layers == 3
    assert not mark.exists()


def test_an_index_cannot_lead_out_of_the_folder(llama_folder: Path) -> None:
    (llama_folder / "model.safetensors").rename(llama_folder.parent / "model.safetensors")
    for target in ("../model.safetensors", "/etc/passwd", "pytorch_model.bin"):
        index = {"metadata": {}, "weight_map": {"lm_head.weight": target}}
        (llama_folder / "model.safetensors.index.json").write_text(json.dumps(index))
        with pytest.raises(ModelRefused, match="same folder"):
            attnviz.load(llama_folder)


# Broken and unsuitable folders.


def test_a_folder_without_config_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match=r"no config\.json"):
        attnviz.load(tmp_path)


@pytest.mark.parametrize("content", ["", "[]", "{", "\x00\xff", "[" * 100_000])
def test_a_damaged_config_is_named(llama_folder: Path, content: str) -> None:
    (llama_folder / "config.json").write_text(content, encoding="latin-1")
    with pytest.raises(ModelRefused, match=r"config\.json cannot be read"):
        attnviz.load(llama_folder)


@pytest.mark.parametrize("kept", [0, 7, 100, -1])
def test_weights_cut_short_are_never_taken_for_whole(llama_folder: Path, kept: int) -> None:
    weights = llama_folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])
    with pytest.raises(ModelRefused, match="cut short or damaged"):
        attnviz.load(llama_folder)


def test_a_header_that_claims_to_be_endless_is_not_believed(llama_folder: Path) -> None:
    (llama_folder / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(ModelRefused, match="cut short or damaged"):
        attnviz.load(llama_folder)


def test_weights_of_another_shape_are_refused(llama_folder: Path, edit_config: Any) -> None:
    edit_config(llama_folder, hidden_size=64)
    with pytest.raises(ModelRefused, match="could not be loaded"):
        attnviz.load(llama_folder)


def test_weights_that_are_not_this_models_are_refused(llama_folder: Path) -> None:
    import safetensors.torch

    tensors = safetensors.torch.load_file(llama_folder / "model.safetensors")
    other = {f"somewhere.else.{name}": value for name, value in tensors.items()}
    safetensors.torch.save_file(other, llama_folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelRefused, match="lacks 30 of"):
        attnviz.load(llama_folder)


def test_a_model_saved_without_its_head_makes_no_predictions(llama_folder: Path) -> None:
    import safetensors.torch

    tensors = safetensors.torch.load_file(llama_folder / "model.safetensors")
    del tensors["lm_head.weight"]
    safetensors.torch.save_file(tensors, llama_folder / "model.safetensors", {"format": "pt"})
    model = attnviz.load(llama_folder)
    assert model.info.architecture == "LlamaModel"
    assert any("lacks the model's head" in note for note in model.notes)
    assert torch.equal(model.hf.embed_tokens.weight, tensors["model.embed_tokens.weight"])


def test_an_encoder_saved_without_a_pooler_is_whole(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(tmp_path)
    assert attnviz.load(tmp_path).info.architecture == "BertModel"


def test_an_adapter_is_told_from_a_model(llama_folder: Path) -> None:
    (llama_folder / "adapter_config.json").write_text('{"base_model_name_or_path": "x/y"}')
    with pytest.raises(UnsupportedModel, match="adapter"):
        attnviz.load(llama_folder)


def test_a_quantised_model_is_refused_by_name(llama_folder: Path, edit_config: Any) -> None:
    edit_config(llama_folder, quantization_config={"quant_method": "gptq", "bits": 4})
    with pytest.raises(UnsupportedModel, match="quantised"):
        attnviz.load(llama_folder)


@pytest.mark.parametrize("model_type", ["mamba", "rwkv", "fnet"])
def test_a_model_without_attention_is_refused_by_name(
    llama_folder: Path, edit_config: Any, model_type: str
) -> None:
    """TransformerLensOrg/TransformerLens#1403, ML-GSAI/LLaDA#114"""
    edit_config(llama_folder, model_type=model_type, architectures=None)
    with pytest.raises(UnsupportedModel, match="no attention weights"):
        attnviz.load(llama_folder)


@pytest.mark.parametrize(
    ("model_type", "needs"),
    [("vit", "an image"), ("clip", "an image beside the text"), ("whisper", "sound")],
)
def test_a_model_that_needs_more_than_text_says_what(
    llama_folder: Path, edit_config: Any, model_type: str, needs: str
) -> None:
    """zjysteven/VLM-Visualizer#2, seilk/LocalizationHeads#6"""
    config = {"model_type": model_type, "architectures": None}
    (llama_folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UnsupportedModel, match=f"needs {needs}"):
        attnviz.load(llama_folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"num_hidden_layers": 1_000_000}, "1,000,000 layers"),
        ({"num_hidden_layers": 1e9}, "1,000,000,000 layers"),
        ({"decoder": {"text_config": {"n_layer": 5000}}}, "5,000 layers"),
        ({"num_local_experts": 100_000}, "100,000 experts"),
    ],
)
def test_absurd_sizes_are_refused_without_a_limit_too(
    llama_folder: Path, edit_config: Any, changes: dict[str, Any], words: str
) -> None:
    """streamlit/docs#893"""
    edit_config(llama_folder, **changes)
    with pytest.raises(TooLarge, match=words):
        attnviz.load(llama_folder)


def test_a_folder_without_a_tokenizer_loads_without_one(llama_folder: Path) -> None:
    for path in llama_folder.glob("tokenizer*"):
        path.unlink()
    model = attnviz.load(llama_folder)
    assert model.tokenizer is None
    assert any("without a tokenizer" in note for note in model.notes)


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "gemma2"])
def test_an_empty_tokenizer_is_not_made_up(tmp_path: Path, model_type: str) -> None:
    """To such a one every word is unknown, and the picture would show a row of [UNK]."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    config = AutoConfig.for_model(
        model_type,
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
    )
    AutoModel.from_config(config).save_pretrained(tmp_path)
    assert len(AutoTokenizer.from_pretrained(tmp_path)) < 10  # what the library makes up
    model = attnviz.load(tmp_path)
    assert model.tokenizer is None
    assert any("without a tokenizer" in note for note in model.notes)


def test_a_tokenizer_of_bytes_needs_no_file(tmp_path: Path) -> None:
    from transformers import ByT5Tokenizer, T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=400, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4)
    T5ForConditionalGeneration(config).save_pretrained(tmp_path)
    ByT5Tokenizer().save_pretrained(tmp_path)
    assert attnviz.load(tmp_path).tokenizer("a")["input_ids"] == [100, 1]


def test_a_broken_tokenizer_is_said_to_be_so(llama_folder: Path) -> None:
    (llama_folder / "tokenizer.json").write_text('{"version": "1.0"')
    model = attnviz.load(llama_folder)
    assert model.tokenizer is None
    assert any("could not be read" in note for note in model.notes)


def test_a_model_that_does_not_fit_into_memory_says_so(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lin-jun-xiang/docGPT-langchain#2"""
    from transformers import LlamaForCausalLM

    def full(*args: object, **kwargs: object) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")

    monkeypatch.setattr(LlamaForCausalLM, "from_pretrained", full)
    with pytest.raises(TooLarge, match="does not fit into memory"):
        attnviz.load(llama_folder)


# The class.


@pytest.mark.parametrize(
    ("saved", "loaded"),
    [
        ("BertForPreTraining", "BertForMaskedLM"),
        ("BertForMaskedLM", "BertForMaskedLM"),
        ("BertForSequenceClassification", "BertModel"),
        ("BertModel", "BertModel"),
        ("BertLMHeadModel", "BertLMHeadModel"),
    ],
)
def test_the_language_model_head_is_kept_where_there_is_one(
    tmp_path: Path, saved: str, loaded: str
) -> None:
    import transformers

    config = transformers.BertConfig(
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=37,
        is_decoder=saved == "BertLMHeadModel",
    )
    getattr(transformers, saved)(config).save_pretrained(tmp_path)
    assert attnviz.load(tmp_path).info.architecture == loaded


# Numbers.


def test_float32_is_the_default_and_auto_keeps_what_was_saved(
    tmp_path: Path, make_llama: Any
) -> None:
    """illuin-tech/colpali#3"""
    make_llama().to(torch.bfloat16).save_pretrained(tmp_path)
    assert attnviz.load(tmp_path).info.dtype == "float32"
    assert attnviz.load(tmp_path, dtype="auto").info.dtype == "bfloat16"
    assert attnviz.load(tmp_path, dtype=torch.float64).hf.dtype == torch.float64
    assert attnviz.load(tmp_path, dtype="bfloat16").hf.dtype == torch.bfloat16
    with pytest.raises(BadInput, match="not a dtype"):
        attnviz.load(tmp_path, dtype="int8")


def test_a_changed_folder_is_loaded_anew(llama_folder: Path, make_llama: Any) -> None:
    first = attnviz.load(llama_folder)
    make_llama(num_hidden_layers=2).save_pretrained(llama_folder)
    second = attnviz.load(llama_folder)
    assert second.info.layers == 2
    assert second.info.revision != first.info.revision


def test_the_revision_of_a_folder_follows_its_content_alone(
    llama_folder: Path, tmp_path: Path, make_llama: Any
) -> None:
    import shutil

    first = attnviz.load(llama_folder).info.revision
    copy = Path(shutil.copytree(llama_folder, tmp_path / "elsewhere"))
    (copy / "model.safetensors").touch()
    assert attnviz.load(copy).info.revision == first
    trained = make_llama()
    with torch.no_grad():
        trained.lm_head.weight += 1e-3
    trained.save_pretrained(copy)
    changed = attnviz.load(copy)
    assert changed.info.revision != first
    assert torch.equal(changed.hf.lm_head.weight, trained.lm_head.weight)


def test_a_revision_without_a_repository_is_refused(llama_folder: Path) -> None:
    for name in (llama_folder, "planted-circuit"):
        with pytest.raises(BadInput, match="revision"):
            attnviz.load(name, revision="main")


# Sharing.


def test_ten_who_ask_at_once_get_one_load(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """streamlit/streamlit#8009"""
    loads: list[int] = []
    real = loading.read_model
    all_asked = threading.Barrier(10)

    def slow(*args: Any, **options: Any) -> Any:
        loads.append(1)
        threading.Event().wait(0.3)
        return real(*args, **options)

    def ask(_: int) -> attnviz.LoadedModel:
        all_asked.wait()
        return attnviz.load(llama_folder)

    monkeypatch.setattr(loading, "read_model", slow)
    with ThreadPoolExecutor(10) as pool:
        models = list(pool.map(ask, range(10)))
    assert len(loads) == 1
    assert all(model is models[0] for model in models)


def test_two_models_are_not_read_at_the_same_time(
    tmp_path: Path, make_llama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """statgarten/playdoh#7"""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        make_llama().save_pretrained(folder)
    real = loading.read_model
    inside: list[int] = []
    most: list[int] = []

    def slow(*args: Any, **options: Any) -> Any:
        inside.append(1)
        most.append(len(inside))
        threading.Event().wait(0.2)
        inside.pop()
        return real(*args, **options)

    monkeypatch.setattr(loading, "read_model", slow)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(attnviz.load, folders))
    assert most == [1, 1]


def test_who_waits_is_told_so(llama_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = loading.read_model
    started, go_on = threading.Event(), threading.Event()
    told: list[str] = []

    def slow(*args: Any, **options: Any) -> Any:
        started.set()
        go_on.wait(10)
        return real(*args, **options)

    def tell(words: str, fraction: float | None) -> None:
        told.append(words)
        go_on.set()

    monkeypatch.setattr(loading, "read_model", slow)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(attnviz.load, llama_folder)
        started.wait(10)
        second = attnviz.load(llama_folder, progress=tell)
        assert second is first.result()
    assert told == ["Waiting for another load to finish"]


def test_a_failed_load_is_not_given_to_the_others(
    llama_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """streamlit/streamlit#8009"""
    real = loading.read_model
    calls: list[int] = []

    def fails_first(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise ModelRefused("no", "once", "again")
        return real(*args, **options)

    monkeypatch.setattr(loading, "read_model", fails_first)

    def ask(_: int) -> Any:
        try:
            return attnviz.load(llama_folder)
        except ModelRefused as error:
            return error

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert sum(isinstance(answer, ModelRefused) for answer in answers) == 1
    assert len(calls) == 2


def test_models_that_nobody_holds_are_freed(tmp_path: Path, make_llama: Any) -> None:
    """Lin-jun-xiang/docGPT-langchain#2, statgarten/playdoh#7"""
    others = len(loading._LOADED)  # held by other tests of this run
    folders = []
    for size in range(8):
        folders.append(tmp_path / str(size))
        make_llama(num_hidden_layers=1 + size % 3).save_pretrained(folders[-1])
    alive: list[weakref.ref[Any]] = []
    for _ in range(4):
        for folder in folders:
            held = attnviz.load(folder)
            alive.append(weakref.ref(held.hf))
        gc.collect()
        assert sum(ref() is not None for ref in alive) == 1  # the last one, still held
    del held
    gc.collect()
    assert all(ref() is None for ref in alive)
    assert len(loading._LOADED) <= others


def test_importing_the_catalog_does_not_import_torch() -> None:
    import subprocess

    code = (
        "import sys, attnviz, attnviz.models, attnviz.models.catalog, attnviz.models.source\n"
        "assert not {'torch', 'transformers', 'huggingface_hub'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
