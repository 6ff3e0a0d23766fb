"""Ways to get at a model's attention, in a process of their own that does them when asked.

    python -m tests.bench.worker WAY FOLDER

loads the model as the way needs it, then reads lines of JSON: "way", this or another that needs
the model in the same form, and "ids", the tokens. It answers each with a line:

    seconds, work    by the clock; of the processor, all threads together
    bytes            of what is kept, or sent to a browser
    peak             bytes of memory at most, above the process after a first short call
    process          bytes of the whole process at most

The ways of other libraries need nothing of this one: they run in an environment of their own.
"""

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dashboard.server import heap

Way = Callable[[Any, Sequence[int]], int]
"""Does it once; the bytes kept or sent."""


_LAST: dict[str, Any] = {}


def attnviz_capture(model: Any, ids: Sequence[int]) -> int:
    """attnviz.capture: queries, keys and values of all heads."""
    import attnviz

    _LAST.clear()  # one capture is held at a time
    _LAST.update(ids=list(ids), capture=attnviz.capture(model, input_ids=list(ids)))
    return _LAST["capture"].nbytes


def attnviz_head(model: Any, ids: Sequence[int]) -> int:
    """A capture, and the picture of one head as its page sends it."""
    import attnviz
    from attnviz import charts

    head = _some_head(attnviz.capture(model, input_ids=list(ids)))
    return len(charts.explore(head, query=len(ids) - 1).to_json(indent=None))


def attnviz_maps(model: Any, ids: Sequence[int]) -> int:
    """A capture, and the small maps of all heads as their page sends them."""
    import numpy as np

    import attnviz
    from attnviz.charts.small_maps import mosaic
    from attnviz.detectors import thumbnails

    maps = thumbnails(attnviz.capture(model, input_ids=list(ids)))
    everywhere = np.ones(maps.cells.shape[:2], bool)
    return len(mosaic(maps, layer=5, head=1, shown=everywhere).to_json(indent=None))


def one_head(model: Any, ids: Sequence[int]) -> int:
    """All scores and weights of one head, of the capture made last if it is of the same text."""
    if list(ids) != _LAST.get("ids"):
        attnviz_capture(model, ids)
    head = _some_head(_LAST["capture"])
    return head.scores.nbytes + head.weights.nbytes


def _some_head(capture: Any) -> Any:
    layers = capture.layers()
    return capture.head(layers[len(layers) // 2], 0)


def output_attentions(model: Any, ids: Sequence[int]) -> int:
    """transformers' own way: all attention matrices, by plain attention."""
    return sum(layer.nbytes for layer in _attentions(model, ids))


def bertviz_head_view(model: Any, ids: Sequence[int]) -> int:
    """BertViz: all attention matrices, and the page of its head view."""
    from bertviz import head_view

    hf, tokenizer = model
    tokens = tokenizer.convert_ids_to_tokens(list(ids))
    page = head_view(_attentions((hf, tokenizer), ids), tokens, html_action="return")
    return len(page.data)


def transformer_lens_all(model: Any, ids: Sequence[int]) -> int:
    """TransformerLens: run_with_cache, everything that it caches unless told otherwise."""
    return _lens(model, ids)


def transformer_lens_attention(model: Any, ids: Sequence[int]) -> int:
    """TransformerLens: run_with_cache, scores and weights only."""
    return _lens(model, ids, lambda name: name.endswith(("hook_attn_scores", "hook_pattern")))


def _lens(model: Any, ids: Sequence[int], names: Callable[[str], bool] | None = None) -> int:
    import torch

    more = {} if names is None else {"names_filter": names}
    with torch.no_grad():
        _, cache = model.run_with_cache(torch.tensor([list(ids)]), **more)
    storages = {}  # several names may share one piece of memory, which is counted once
    for value in cache.values():
        if isinstance(value, torch.Tensor):
            storage = value.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def _attentions(model: Any, ids: Sequence[int]) -> Any:
    import torch

    with torch.no_grad():
        return model[0](
            torch.tensor([list(ids)]), output_attentions=True, use_cache=False, logits_to_keep=1
        ).attentions


def _load_attnviz(folder: str) -> Any:
    import attnviz

    return attnviz.load(folder)


def _load_plain(folder: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    given = {"local_files_only": True, "trust_remote_code": False}
    hf = AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, use_safetensors=True, **given
    )
    return hf.eval(), AutoTokenizer.from_pretrained(folder, **given)


def _load_lens(folder: str) -> Any:
    from transformer_lens.model_bridge import TransformerBridge

    hf, tokenizer = _load_plain(folder)
    return TransformerBridge.boot_transformers(folder, hf_model=hf, tokenizer=tokenizer)


WAYS: dict[str, tuple[Callable[[str], Any], Way]] = {
    "capture": (_load_attnviz, attnviz_capture),
    "one_head": (_load_attnviz, one_head),
    "head": (_load_attnviz, attnviz_head),
    "maps": (_load_attnviz, attnviz_maps),
    "output_attentions": (_load_plain, output_attentions),
    "bertviz": (_load_plain, bertviz_head_view),
    "lens": (_load_lens, transformer_lens_all),
    "lens_attention": (_load_lens, transformer_lens_attention),
}


class Meter:
    """Time and memory of calls, above what the process took after the first."""

    def __init__(self) -> None:
        self._base: int | None = None

    def take(self, call: Callable[[], int]) -> dict[str, float]:
        """Call it, and say what it took."""
        _start_peak()
        start, work = time.perf_counter(), time.process_time()
        count = call()
        seconds, work = time.perf_counter() - start, time.process_time() - work
        process = peak()
        gc.collect()
        heap.give_back()  # what one call leaves free is no part of the next one's peak
        if self._base is None:
            self._base = _status("VmRSS") or process
        above = max(0, process - self._base)
        return {
            "seconds": seconds,
            "work": work,
            "bytes": count,
            "peak": above,
            "process": process,
        }


def _start_peak() -> None:
    """Forget the peak so far, where the system lets one."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")


def peak() -> int:
    """The most bytes of memory that the process had, since a call began where that can be told."""
    of_system = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _status("VmHWM") or of_system * (1 if sys.platform == "darwin" else 1024)


_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")


def _status(name: str) -> int | None:
    if not _STATUS.exists():
        return None
    found = [line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:")]
    return int(found[0].split()[1]) * 1024 if found else None


def main(name: str, folder: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries print what is no answer
    heap.keep_small()  # as the dashboard does; for every way
    model, meter = WAYS[name][0](folder), Meter()
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        _, way = WAYS[asked["way"]]
        try:
            answer: dict[str, Any] = meter.take(lambda w=way, ids=asked["ids"]: w(model, ids))
        except Exception as error:  # whatever another library raises is its answer
            words = str(error).splitlines() or [""]
            answer = {"error": f"{type(error).__name__}: {words[0][:200]}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
