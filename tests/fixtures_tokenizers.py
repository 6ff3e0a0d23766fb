"""Small tokenizers of the kinds there are, built in memory: no download, the same every time."""

from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

_CORPUS = ["The cat sat on the mat. The dog ate the cat's hat.\nHello world"] * 5
_CHAT = "{{ bos_token }}{% for m in messages %}{{ m['role'] }} {{ m['content'] }}{% endfor %}"


def byte_level_bpe(**options: object) -> PreTrainedTokenizerFast:
    """As GPT-2's: trained on two sentences, all 256 bytes, no start token of its own."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"],
        show_progress=False,
    )
    backend.train_from_iterator(_CORPUS, trainer)
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=end, eos_token=end, unk_token=end, **options
    )


def trimming_bpe() -> PreTrainedTokenizerFast:
    """As RoBERTa's: byte-level, a space put in front, offsets that leave spaces out, NFC."""
    backend = Tokenizer.from_str(byte_level_bpe().backend_tokenizer.to_str())
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    backend.add_special_tokens(["<s>", "</s>", AddedToken("<mask>", lstrip=True)])
    backend.post_processor = processors.RobertaProcessing(
        ("</s>", backend.token_to_id("</s>")),
        ("<s>", backend.token_to_id("<s>")),
        trim_offsets=True,
        add_prefix_space=True,
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token="<s>", eos_token="</s>", mask_token="<mask>"
    )


def wordpiece() -> PreTrainedTokenizerFast:
    """As BERT's: lower case, [CLS] and [SEP] around one text or two, about ten words."""
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat un ##happy . e a b ab".split()
    backend = Tokenizer(
        models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def sentencepiece(*, pads_every_part: bool = False) -> PreTrainedTokenizerFast:
    """As Llama's: `▁` for a space, a piece for each byte, an automatic start token, a template.

    pads_every_part puts a space in front of whatever follows a control token as well, as older
    files of the kind do.
    """
    control = ["<unk>", "<s>", "</s>"]
    lone_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    words = "▁ t h e c a s l o w r d H i u ▁t ▁th ▁the ▁c ▁ca ▁cat ▁w".split()
    entries = [*control, *lone_bytes, *words]
    merges = ["▁ t", "▁t h", "▁th e", "▁ c", "▁c a", "▁ca t", "▁ w"]
    backend = Tokenizer(
        models.BPE(
            {entry: i for i, entry in enumerate(entries)},
            [(merge.split()[0], merge.split()[1]) for merge in merges],
            byte_fallback=True,
            unk_token="<unk>",
            fuse_unk=True,
        )
    )
    steps = [decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    if pads_every_part:
        backend.normalizer = normalizers.Sequence(
            [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        )
        backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), *steps])
    else:
        backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
        backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), *steps])
    backend.add_special_tokens([AddedToken(token, normalized=False) for token in control])
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        chat_template=_CHAT,
    )


def unigram() -> PreTrainedTokenizerFast:
    """As T5's: a unigram vocabulary with `▁`, compatibility characters rewritten, no bytes."""
    pieces = [("<unk>", 0.0), ("▁the", -1.0), ("▁", -2.0), ("the", -2.5), ("a", -3.0), ("1", -4.0)]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0))
    backend.normalizer = normalizers.NFKC()
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    backend.add_special_tokens(["<unk>"])
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")
