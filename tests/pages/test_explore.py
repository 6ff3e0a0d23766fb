"""The Explore page: what it shows, what it takes, what it says when it cannot."""

import json
import time

import pytest

import attnviz
from attnviz.models.catalog import CATALOG
from dashboard.server.model_holder import Stopped
from dashboard.session import backend
from tests import tiny
from tests.fixtures_tokenizers import byte_level_bpe, wordpiece

PLANTED = {"model": "planted-circuit"}


def link(app):
    """The address bar, as {name: value}."""
    return {
        name: value if isinstance(value, str) else value[-1]
        for name, value in app.query_params.items()
    }


def said(app):
    """Every plain text on the page, in one string."""
    return "\n".join(element.value for element in app.text)


def markdown(app):
    """Everything on the page that is read as Markdown, or could be."""
    kinds = (app.markdown, app.caption, app.title, app.header, app.error, app.warning, app.info)
    return "\n".join(element.value for kind in kinds for element in kind)


def charts(app):
    return [element.proto for element in app.get("vega_lite_chart")]


def tiny_model(name="GPT2LMHeadModel", tokenizer=None, **options):
    tokenizer = tokenizer or byte_level_bpe()
    options.setdefault("vocab_size", len(tokenizer))
    return attnviz.wrap(tiny.hf(name, **options), tokenizer, name="tiny")


def tiny_link(model, **more):
    """A visitor with the default model swapped for a tiny one, so that no click is asked for."""
    return {"models": {"smollm2-135m": model}, **more}


def test_the_default_model_opens_at_a_head_that_does_something(open_app, smollm2):
    app = open_app({"smollm2-135m": smollm2})
    assert not app.exception and not app.error
    assert app.title[0].value == "SmolLM2 135M, layer 17, head 5"
    assert dict(app.query_params) == {}  # a bare address stays bare
    facts = app.text[0].value
    for part in ("19 tokens", "float32", "scale 0.125", "3 key/value heads for 9"):
        assert part in facts
    last = app.selectbox(key="pick_query")
    assert last.value == 18 and "brass" in last.options[18]
    head = backend.get_head(
        backend.Ask("smollm2-135m", CATALOG["smollm2-135m"].default_text), "decoder", 17, 5
    )
    assert head.weights[18].argmax() == 6 and head.weights[18, 6] > 0.5  # "clock", after "brass"


def test_the_encoder_opens_at_a_head_that_does_something(open_app, minilm):
    app = open_app({"minilm-l6": minilm}, model="minilm-l6")
    assert app.title[0].value == "MiniLM L6, layer 2, head 9"
    place = app.selectbox(key="pick_query").value
    head = backend.get_head(
        backend.Ask("minilm-l6", CATALOG["minilm-l6"].default_text), "encoder", 2, 9
    )
    best = int(head.weights[place].argmax())
    assert best != place and head.key_tokens[best].id == head.query_tokens[place].id


def test_a_load_is_shown_while_it_lasts(open_app, monkeypatch):
    labels = []
    monkeypatch.setattr(
        "dashboard.session.page_capture._plain", lambda words: labels.append(words) or "Downloading"
    )

    def load(name, tell):
        tell("Downloading the model", 0.5)
        time.sleep(0.5)
        return attnviz.load("planted-circuit")

    monkeypatch.setattr(backend, "load_model", load)
    app = open_app(**PLANTED)
    assert "Downloading the model" in labels
    assert charts(app) and not app.exception


def test_a_stopped_load_waits_for_a_click(open_app, monkeypatch):
    answers = [Stopped(what="Loading was stopped."), None]

    def load(name, tell):
        if (answer := answers.pop(0)) is not None:
            raise answer
        return attnviz.load("planted-circuit")

    monkeypatch.setattr(backend, "load_model", load)
    app = open_app(**PLANTED)
    assert "stopped" in app.info[0].value and not charts(app) and not app.error
    app.run()
    assert not charts(app), "another run alone does not load it again"
    app.button(key="agree").click().run()
    assert charts(app)


def test_back_and_forward_count_and_a_late_address_does_not(open_app):
    """streamlit/streamlit#2370: state in the address lags one step."""
    app = open_app(**PLANTED, layer="0", head="1")
    before = link(app)
    app.button(key="next_head").click().run()
    after = link(app)
    for name, value in before.items():  # the reader goes back: the browser sends what was there
        app.query_params[name] = value
    app.run()
    assert app.title[0].value.endswith("layer 0, head 1")
    app.button(key="next_head").click().run()
    assert link(app) == after
    for name, value in before.items():  # a click that came before the browser had the address
        app.query_params[name] = value
    app.button(key="next_layer").click().run()
    assert app.title[0].value.endswith("layer 1, head 2")


def test_the_selection_comes_along_to_another_page_and_back(open_app):
    app = open_app(**PLANTED, layer="0", head="1", query="3")
    before = link(app)
    for page in ("check_a_matrix", "explore"):
        app.query_params.clear()  # as a click in the menu does
        app.switch_page(f"../pages/{page}.py").run()
        assert not app.exception
        assert link(app) == before
        assert app.text_area(key="text_box").value == before["text"]
        assert app.selectbox(key="pick_model").value == "planted-circuit"
    assert app.title[0].value.endswith("layer 0, head 1")
    for name, value in {"layer": 0, "head": 1, "query": 3}.items():
        assert app.selectbox(key=f"pick_{name}").value == value


def test_steps_and_pickers_move_through_the_heads_and_the_address_follows(open_app):
    """streamlit/streamlit#2370, #7961: state in the address lags one step, or loses other keys."""
    app = open_app(**PLANTED, utm="mail")
    app.button(key="next_head").click().run()
    assert app.title[0].value.endswith("layer 1, head 1")
    assert (link(app)["layer"], link(app)["head"]) == ("1", "1")
    app.button(key="next_head").click().run()
    assert link(app)["head"] == "2"
    assert app.button(key="next_head").disabled
    app.button(key="previous_layer").click().run()
    assert app.title[0].value.endswith("layer 0, head 2")
    app.selectbox(key="pick_head").select(0).run()
    assert (link(app)["layer"], link(app)["head"]) == ("0", "0")
    assert link(app)["utm"] == "mail"
    assert app.button(key="previous_head").disabled and app.button(key="previous_layer").disabled


def test_the_row_is_chosen_by_picker_and_by_step(open_app):
    app = open_app(**PLANTED)
    app.selectbox(key="pick_query").select(3).run()
    assert link(app)["query"] == "3"
    app.button(key="previous_query").click().run()
    assert link(app)["query"] == "2"
    assert app.selectbox(key="pick_query").value == 2


def test_a_link_opens_the_same_picture(open_app):
    """streamlit/streamlit#7961: a copied link opens something else."""
    text = "日本 😀 a&b=c #d +e%20"
    first = open_app(**PLANTED)
    first.text_area(key="text_box").set_value(text)
    first.button(key="run").click().run()
    first.button(key="previous_layer").click().run()
    first.selectbox(key="pick_by").select("signed_share").run()
    first.selectbox(key="pick_stage").select("dot").run()
    second = open_app(**link(first))
    assert second.text_area(key="text_box").value == text
    assert link(second) == link(first)
    assert [c.spec for c in charts(second)] == [c.spec for c in charts(first)]
    assert [d.data.data for c in charts(second) for d in c.datasets] == [
        d.data.data for c in charts(first) for d in c.datasets
    ]


def test_typing_runs_nothing_until_run(open_app):
    app = open_app(**PLANTED)
    before = charts(app)[0].spec
    app.text_area(key="text_box").set_value("blue cat")
    app.button(key="run").click().run()
    assert link(app)["text"] == "blue cat"
    assert charts(app)[0].spec != before or app.selectbox(key="pick_query").value == 2


def test_an_example_takes_the_place_of_the_text(open_app):
    from dashboard.widgets.example_texts import EXAMPLES

    app = open_app(**PLANTED, text=EXAMPLES["Code"])
    assert app.text_area(key="text_box").value == EXAMPLES["Code"]
    assert not app.error


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"layer": "99"}, ["layer (this model has layers 0 to 1)"]),
        ({"layer": "99", "head": "-1", "temp": "abc"}, ["layer", "head"]),
        ({"query": "77"}, ["query (this text has tokens 0 to 8)"]),
        ({"stage": "capped"}, ["stage (this head has no such step)"]),
        ({"by": "<script>alert(1)</script>"}, ["by"]),
        ({"head": ["1", "2"]}, ["head (it is given more than once)"]),
        ({"order": "x" * 10_000}, ["order"]),
    ],
)
def test_a_bad_link_opens_at_the_default_with_one_notice(open_app, given, named):
    """streamlit/streamlit#3685, #302: values in the address bar outside the allowed range."""
    app = open_app(**PLANTED, **given)
    assert not app.exception and not app.error
    assert len(app.warning) == 1
    for part in named:
        assert part in app.warning[0].value
    assert "script>" not in markdown(app) and "xxx" not in markdown(app)
    assert app.title[0].value == "Planted circuit, layer 1, head 0"
    for name in given:
        if name != "temp":
            assert link(app).get(name) in (None, "1", "0", "8")
    app.button(key="next_head").click().run()
    assert not app.warning, "the notice goes at the reader's first change"


def test_a_link_to_a_model_outside_the_catalog_waits_for_a_click(open_app, monkeypatch):
    """streamlit/streamlit#3685: a link must not start a download or a run by itself."""
    loaded = []

    def load(name, tell):
        loaded.append(name)
        return attnviz.load("planted-circuit")

    monkeypatch.setattr(backend, "load_model", load)
    app = open_app(model="evil/x", layer="1", head="2", text="red fox")
    assert loaded == [] and not charts(app)
    assert app.code[0].value == "evil/x" and "evil/x" not in markdown(app)
    assert link(app)["model"] == "evil/x"
    app.button(key="agree").click().run()
    assert loaded == ["evil/x"]
    assert app.title[0].value == "x, layer 1, head 2"
    assert app.text_area(key="text_box").value == "red fox"


def test_another_visitor_is_asked_even_where_the_model_is_there(open_app, monkeypatch):
    monkeypatch.setattr(backend, "load_model", lambda n, tell: attnviz.load("planted-circuit"))
    app = open_app(model="evil/x")
    app.button(key="agree").click().run()
    assert charts(app)
    other = type(app).from_file(app._script_path, default_timeout=60)
    other.query_params["model"] = "evil/x"
    other.run()
    assert not charts(other) and other.button(key="agree")


def test_declining_opens_the_default_model(open_app, monkeypatch):
    monkeypatch.setattr(backend, "load_model", lambda n, tell: attnviz.load("planted-circuit"))
    app = open_app(model="evil/x", text="red fox")
    app.button(key="decline").click().run()
    assert app.title[0].value.startswith("SmolLM2 135M")
    assert app.text_area(key="text_box").value == "red fox"


def test_addresses_and_paths_are_no_model_names(open_app):
    """mudler/LocalAI#9395, FoundationAgents/MetaGPT#1934: names that reached hosts and files."""
    app = open_app(**PLANTED)
    app.selectbox(key="pick_model").select("another").run()
    answers = set()
    metadata = "http://169.254.169.254/x"
    for name in (metadata, "../../etc", "/etc", "/etc/passwd", "file:///x", "a/b/c", "x" * 300, ""):
        app.text_input(key="other_name").set_value(name)
        app.button(key="load_other").click().run()
        assert app.error[0].value == "This input cannot be used" and not app.exception
        answers.add(said(app))
    assert len(answers) == 1, "the answer tells nothing about this machine's disk"
    assert "not a model name" in answers.pop()
    assert charts(app) and app.title[0].value.startswith("Planted circuit")
    assert app.text_area(key="text_box").value == CATALOG["planted-circuit"].default_text


def test_text_is_never_read_as_markup(open_app):
    """streamlit/streamlit#8726, #8099, #2231, #8546: words lost, dollars turned to formulas."""
    text = "[CLS] costs $5 or $6 :sunglasses ** __init__ a~~b~~ # x <b>bold</b>"
    app = open_app(**PLANTED, text=text)
    assert app.text_area(key="text_box").value == text
    for piece in ("costs", "sunglasses", "__init__", "~~b~~", "<b>"):
        assert piece not in markdown(app)
    labels = [button.label for button in app.button] + [box.label for box in app.selectbox]
    assert not any("costs" in label for label in labels)
    long = open_app(**PLANTED, text="**$x$ :red[y]** " * 300)
    assert long.error and "red[" not in markdown(long)


def test_an_error_echoes_a_name_as_it_is(open_app, monkeypatch):
    """ggml-org/llama.cpp#21677, streamlit/streamlit#8546: raw answers in error boxes."""

    def load(name, tell):
        raise attnviz.ModelNotFound(f"The Hub has no model {name}.", "*why*", "$do$ <b>this</b>")

    monkeypatch.setattr(backend, "load_model", load)
    app = open_app(**PLANTED)
    assert app.error[0].value == "The model was not found"
    assert "*why*" in said(app) and "$do$ <b>this</b>" in said(app)
    assert "<b>" not in markdown(app) and "*why*" not in markdown(app)


def test_what_nobody_expected_gives_a_code_and_no_internals(open_app, monkeypatch, caplog):
    """ggml-org/llama.cpp#21677, tmalsburg/llm_surprisal#12: tokens, paths, tracebacks on a page."""

    def load(name, tell):
        raise RuntimeError("hf_secret123 at /home/owner/cache")

    monkeypatch.setattr(backend, "load_model", load)
    app = open_app(**PLANTED)
    everything = said(app) + markdown(app)
    assert not app.exception
    assert "secret" not in everything and "/home" not in everything
    code = said(app).rsplit(": ", 1)[-1]
    assert len(code) == 6
    assert code in caplog.text and "hf_secret123" in caplog.text
    assert app.text_area(key="text_box").value == CATALOG["planted-circuit"].default_text


def test_a_failed_load_is_tried_again(open_app, monkeypatch):
    answers = [attnviz.ModelNotFound("gone"), None]

    def load(name, tell):
        if (answer := answers.pop(0)) is not None:
            raise answer
        return attnviz.load("planted-circuit")

    monkeypatch.setattr(backend, "load_model", load)
    app = open_app(**PLANTED)
    assert app.error
    app.run()
    assert not app.error and charts(app)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_blank_text_in_a_tokenizer_that_drops_it(open_app, text):
    """ndif-team/nnsight#608, huggingface/transformers#3678: an empty prompt, a reshape error."""
    model = tiny_model("BertModel", wordpiece())
    app = open_app(**tiny_link(model, text=text))
    assert not app.exception and not app.error
    assert "2 tokens" in app.text[0].value
    if text:
        assert "dropped" in said(app)


def test_blank_text_in_a_byte_level_tokenizer(open_app):
    """elixir-nx/bumblebee#373: an empty prompt."""
    empty = open_app(**tiny_link(tiny_model(), text=""))
    assert not empty.exception and empty.error and not charts(empty)
    assert "no tokens" in said(empty).lower()
    spaces = open_app(**tiny_link(tiny_model(), text="   "))
    assert not spaces.error and "3 tokens" in spaces.text[0].value
    assert "␣" in spaces.selectbox(key="pick_query").options[0]


@pytest.mark.parametrize("name", ["GPT2LMHeadModel", "BertModel"])
def test_a_text_past_the_models_places_is_refused_with_an_offer_to_cut(open_app, name):
    """huggingface/transformers#2446, #5611: an index error that names nothing."""
    size = {"n_positions": 16} if name.startswith("GPT2") else {"max_position_embeddings": 16}
    model = tiny_model(name, byte_level_bpe(), **size)
    text = " ".join("abcdefghijklmnopqrst"[:10])  # letters and spaces, more than 16 tokens
    text = "xyzxyzxyzxyzxyzxyzxy"
    app = open_app(**tiny_link(model, text=text))
    assert app.error and not charts(app)
    assert "20 tokens" in said(app) and "16" in said(app)
    assert app.text_area(key="text_box").value == text
    assert "leave 4 out" in app.button(key="cut").label
    app.button(key="cut").click().run()
    assert not app.error and charts(app)
    assert "16 tokens" in app.text[0].value
    assert "4 tokens at its end are left out" in said(app)
    assert link(app)["cut"] == "on" and app.text_area(key="text_box").value == text


def test_a_rotary_model_runs_past_its_trained_length_and_says_so(open_app):
    """huggingface/transformers#2371: silence."""
    model = tiny_model("LlamaForCausalLM", max_position_embeddings=16)
    app = open_app(**tiny_link(model, text="xyzxyzxyzxyzxyzxyzxy"))
    assert not app.error and "20 tokens" in app.text[0].value
    assert "trained" in said(app)


@pytest.mark.parametrize("text", ["a" * 400_000, "_" * 70_000])
def test_a_huge_word_is_refused_before_anything_reads_it(open_app, monkeypatch, text):
    """openai/tiktoken#195, nltk/nltk#2866: one unbroken word of hundreds of kilobytes."""
    app = open_app(**PLANTED)

    def never(*given, **options):
        raise AssertionError("nothing may read this text")

    for name in ("load_model", "run_model", "check_tokens"):
        monkeypatch.setattr(backend, name, never)
    app.text_area(key="text_box").set_value(text)  # the box's own limit holds in a browser only
    app.button(key="run").click().run()
    assert app.error[0].value == "This is too large to show" and not app.exception
    assert f"{len(text):,} characters" in said(app)


def test_a_link_with_a_huge_text_opens_at_the_default_text(open_app):
    """streamlit/streamlit#3685: a value in the address bar outside the allowed range."""
    app = open_app(**PLANTED, text="a" * 70_000)
    assert "text (it is over 60,000 characters)" in app.warning[0].value
    assert app.text_area(key="text_box").value == CATALOG["planted-circuit"].default_text


def test_a_text_of_too_many_tokens_is_refused_with_an_offer_to_cut(open_app, monkeypatch):
    """huggingface/transformers#2446: a text over the limit."""
    monkeypatch.setattr(backend, "LONGEST", {"": 20})
    app = open_app(**PLANTED, text="red fox " * 15)
    assert app.error and not charts(app)
    assert "32 tokens, and 20 can be shown" in said(app)
    app.button(key="cut").click().run()
    assert not app.error and "20 tokens" in app.text[0].value


def test_a_model_without_attention_is_named_and_leaves_no_empty_chart(open_app):
    """TransformerLensOrg/TransformerLens#1403, ML-GSAI/LLaDA#114: no attention at all."""
    import transformers

    config = transformers.MambaConfig(
        vocab_size=len(byte_level_bpe()), hidden_size=32, num_hidden_layers=2, state_size=4
    )

    model = attnviz.wrap(transformers.MambaForCausalLM(config), byte_level_bpe(), name="tiny")
    app = open_app(**tiny_link(model, text="the cat"))
    assert app.error[0].value == "This model cannot be shown" and not charts(app)
    assert "attention" in said(app)


@pytest.mark.parametrize("name", ["ViTModel", "CLIPModel"])
def test_a_model_that_needs_an_image_says_so(open_app, monkeypatch, tmp_path, name):
    """zjysteven/VLM-Visualizer#2: an attribute error on a value that is not there."""
    import transformers

    small = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    image = small | {"image_size": 32, "patch_size": 8}
    options = image if name == "ViTModel" else {"text_config": small, "vision_config": image}
    cls = getattr(transformers, name)
    cls(cls.config_class(**options)).save_pretrained(tmp_path)
    monkeypatch.setattr(backend, "FOLDERS_ALLOWED", True)
    app = open_app(model=str(tmp_path), text="the cat")
    app.button(key="agree").click().run()
    assert app.error[0].value == "This model cannot be shown" and not app.exception
    assert "needs an image" in said(app) and not charts(app)


def test_stacks_of_an_encoder_decoder_have_their_own_layers_and_heads(open_app):
    """huggingface/transformers#16232, jessevig/bertviz#67: two stacks need not be alike."""
    model = tiny_model("BartForConditionalGeneration", byte_level_bpe())
    app = open_app(**tiny_link(model, text="the cat", stack="encoder", layer="1", head="3"))
    assert app.selectbox(key="pick_layer").options == ["0", "1"]
    assert app.selectbox(key="pick_head").options == ["0", "1", "2", "3"]
    assert app.title[0].value.endswith("encoder, layer 1, head 3")
    for stack in ("decoder", "cross"):
        app.selectbox(key="pick_stack").select(stack).run()
        assert not app.exception and not app.error and not app.warning
        assert app.selectbox(key="pick_layer").options == ["0", "1", "2"]
        assert app.selectbox(key="pick_head").options == ["0", "1"]
        assert (link(app)["stack"], link(app)["head"]) == (stack, "0")


def test_the_last_of_twelve_layers_is_layer_eleven_everywhere(open_app):
    """EleutherAI/sparsify#16: is layer 24 the 24th or the 25th."""
    model = tiny_model("LlamaForCausalLM", num_hidden_layers=12)
    app = open_app(**tiny_link(model, text="the cat", layer="11", head="3"))
    assert app.title[0].value.endswith("layer 11, head 3")
    assert app.selectbox(key="pick_layer").options[-1] == "11"
    assert app.button(key="next_layer").disabled
    assert "count from 0" in app.text[0].value
    assert "layer 11, head 3" in charts(app)[-1].alt.lower()
    beyond = open_app(**tiny_link(model, text="the cat", layer="12"))
    assert "layers 0 to 11" in beyond.warning[0].value


def test_the_table_says_masked_instead_of_a_number(open_app):
    app = open_app(**PLANTED, query="3")
    app.session_state["row_open"] = True
    app.run()
    frame = app.dataframe[0].value
    assert list(frame["Mask"][:4]) == [""] * 4
    assert set(frame["Mask"][4:]) == {"masked: future"}
    for column in ("Score", "Weight", "Norm through W_O"):
        assert frame[column][:4].notna().all() and frame[column][4:].isna().all()
    assert abs(frame["Weight"].sum() - 1) < 1e-5


def test_how_to_read_gives_the_check_with_its_number(open_app):
    app = open_app(**PLANTED)
    app.session_state["help_open"] = True
    app.run()
    assert "differ from the head's output" in said(app)
    for title in ("Value norm", "Norm through W_O", "Signed share"):
        assert title in said(app)


def test_every_chart_has_a_text_and_every_pick_a_widget(open_app):
    app = open_app(**PLANTED)
    assert len(charts(app)) == 2
    for chart in charts(app):
        assert len(chart.alt) > 40
    for key in ("pick_query", "pick_layer", "pick_head", "pick_stage", "pick_by", "pick_grid"):
        assert app.selectbox(key=key)
    for chart in charts(app):
        json.loads(chart.spec)


def test_a_mark_typed_in_the_text_can_be_read_as_the_letters_it_is_written_with(open_app):
    """vllm-project/vllm#11691, google-deepmind/gemma#770, open-webui/open-webui#27094"""
    app = open_app(**PLANTED, text="red fox")
    assert "pick_plain" not in [toggle.key for toggle in app.toggle]
    app = open_app(**PLANTED, text="red <s> fox")
    assert "5 tokens" in said(app) and "Read as control tokens, not as text: <s>." in said(app)
    app.toggle(key="pick_plain").set_value(True).run()
    assert "7 tokens" in said(app)
    assert "Read as plain text, not as control tokens: <s>." in said(app)
    assert link(app)["plain"] == "on"
    again = open_app(**link(app))
    assert "7 tokens" in said(again)
    again.toggle(key="pick_plain").set_value(False).run()
    assert "5 tokens" in said(again) and "plain" not in link(again)
