"""Difficulty of images and texts, learned for real by tiny encoders."""

import json
import shutil
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from ogive import DeepDifficultyRegressor, load
from ogive.difficulty import deep_regressor
from ogive.difficulty import encoders as deep_encoders
from ogive.difficulty.deep_regressor import rate_share
from ogive.errors import FileError, InputError, MissingExtraError

if not all(find_spec(name) for name in ("torch", "transformers", "safetensors")):
    pytest.skip("the extra 'deep' is not installed", allow_module_level=True)

WORDS = {"cat": 0.0, "sun": 0.1, "walk": 0.2, "tree": 0.3, "tensor": 1.2, "entropy": 1.4}
TINY = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
QUICK = {"device": "cpu", "epochs": 12, "learning_rate": 3e-3, "encoder_learning_rate": 1e-3}


@pytest.fixture(scope="module", autouse=True)
def _torch_on_one_thread():
    """Seconds of imports wait for the first test; tiny tensors are slower on several threads."""
    global torch, transformers
    import torch
    import transformers

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def images():
    """Digits; the more ink, the harder. Shuffled, because they come writer by writer."""
    pixels = np.random.default_rng(1).permutation(load_digits().images)
    return _halves((pixels * 15).astype(np.uint8), 4 * pixels.mean(axis=(1, 2)) / 5 - 3)


@pytest.fixture(scope="module")
def texts():
    """Short sentences; the more words of science, the harder."""
    draws = np.random.default_rng(3)
    names, weights = list(WORDS), np.array(list(WORDS.values()))
    rows = [draws.integers(0, len(names), draws.integers(3, 9)) for _ in range(1000)]
    sentences = [" ".join(names[word] for word in row) for row in rows]
    return _halves(sentences, [weights[row].mean() + 0.05 * draws.normal() for row in rows])


def _halves(items, difficulty):
    difficulty = np.asarray(difficulty)
    return SimpleNamespace(
        X=items[:400], y=difficulty[:400], new=items[400:1000], truth=difficulty[400:1000]
    )


@pytest.fixture(scope="module")
def image_folder(tmp_path_factory):
    """An untrained vision transformer as Hugging Face stores it."""
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        **TINY, intermediate_size=64, image_size=8, patch_size=4, num_channels=1
    )
    return _stored(transformers.ViTModel(config), tmp_path_factory.mktemp("vit"))


@pytest.fixture(scope="module")
def text_folder(tmp_path_factory):
    """An untrained BERT with a tokenizer of six words."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("bert")
    _tokenizer().save_pretrained(folder)
    config = transformers.BertConfig(
        **TINY, intermediate_size=64, vocab_size=16, max_position_embeddings=16
    )
    return _stored(transformers.BertModel(config), folder)


def _tokenizer(special=True):
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, **{w: 3 + k for k, w in enumerate(WORDS)}}
    unknown = {"unk_token": "[UNK]"}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, **unknown))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if special:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A", special_tokens=[("[CLS]", 2)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, **unknown | {"pad_token": "[PAD]"}
    )


def _stored(model, folder):
    with deep_encoders.quiet(transformers):
        model.save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def fitted(images, texts, image_folder, text_folder):
    """Makes each regressor once: (kind, encoder, fine-tuned) -> the regressor and its data."""
    seen = {}

    def get(kind, encoder, fine_tune=False):
        key = (kind, encoder, fine_tune)
        data = images if kind == "image" else texts
        if key not in seen:
            folder = image_folder if kind == "image" else text_folder
            chosen = folder if encoder == "folder" else None
            made = DeepDifficultyRegressor(chosen, kind=kind, fine_tune=fine_tune, **QUICK)
            seen[key] = made.fit(data.X, data.y)
        return seen[key], data

    return get


KINDS = pytest.mark.parametrize("kind", ["image", "text"])
WAYS = pytest.mark.parametrize(
    ("encoder", "fine_tune"), [("folder", False), ("folder", True), (None, False)]
)


@pytest.mark.slow
@KINDS
@WAYS
def test_it_learns_what_makes_new_items_hard(fitted, kind, encoder, fine_tune):
    regressor, data = fitted(kind, encoder, fine_tune)
    assert spearmanr(regressor.predict(data.new), data.truth).statistic > 0.7
    assert regressor.losses_[-1] < regressor.losses_[0] / 2


@KINDS
@WAYS
def test_intervals_hold_about_as_many_new_items_as_promised(fitted, kind, encoder, fine_tune):
    regressor, data = fitted(kind, encoder, fine_tune)
    low, high = regressor.predict_interval(data.new, confidence=0.9)
    # 80 items held out and 600 new ones: the share itself has a deviation of 0.035.
    assert 0.80 < np.mean((low <= data.truth) & (data.truth <= high)) < 0.99
    narrow, wide = regressor.predict_interval(data.new[:1], confidence=0.5)
    assert 0 < wide - narrow < high[0] - low[0]


@pytest.mark.slow
@KINDS
def test_the_same_seed_gives_the_same_predictions_and_another_does_not(fitted, kind):
    regressor, data = fitted(kind, "folder", True)
    torch.rand(7)  # the caller's own draws must not matter
    again = clone(regressor).fit(data.X, data.y)
    np.testing.assert_array_equal(again.predict(data.new), regressor.predict(data.new))
    other = clone(regressor).set_params(random_state=1, epochs=1).fit(data.X, data.y)
    assert not np.allclose(other.predict(data.new), regressor.predict(data.new))


def test_the_random_numbers_of_the_caller_are_left_alone(texts):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    DeepDifficultyRegressor(kind="text", epochs=1, device="cpu").fit(texts.X[:20], texts.y[:20])
    assert torch.equal(torch.rand(3), expected)


@KINDS
@WAYS
def test_a_saved_regressor_predicts_the_same(fitted, tmp_path, kind, encoder, fine_tune):
    regressor, data = fitted(kind, encoder, fine_tune)
    regressor.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved", device="cpu")
    np.testing.assert_array_equal(loaded.predict(data.new), regressor.predict(data.new))
    np.testing.assert_array_equal(
        loaded.predict_interval(data.new), regressor.predict_interval(data.new)
    )
    assert loaded.get_params() == regressor.get_params()
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]
    endings = {file.suffix for file in (tmp_path / "saved").rglob("*") if file.is_file()}
    assert endings == {".json", ".safetensors"}


def test_a_frozen_encoder_stays_as_it_was_and_a_fine_tuned_one_does_not(fitted, text_folder):
    with deep_encoders.quiet(transformers):
        before = transformers.AutoModel.from_pretrained(text_folder).state_dict()
    name = "encoder.layer.0.output.dense.weight"
    frozen = fitted("text", "folder")[0].encoder_.module.state_dict()
    tuned = fitted("text", "folder", True)[0].encoder_.module.state_dict()
    assert torch.equal(frozen[name], before[name])
    assert not torch.equal(tuned[name], before[name])


def test_a_frozen_encoder_reads_each_item_once(texts):
    seen = []

    class Counting(torch.nn.Module):
        def forward(self, sentences):
            seen.extend(sentences)
            return torch.tensor([[len(s) / 9, s.count("t")] for s in sentences])

    made = DeepDifficultyRegressor(Counting(), kind="text", epochs=4, device="cpu")
    made.fit(texts.X[:50], texts.y[:50])
    assert sorted(seen) == sorted(texts.X[:50])  # 40 to learn from, 10 to measure errors


def test_a_module_of_the_caller_is_copied_saved_and_needed_to_load(images, tmp_path):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8))
    before = module[1].weight.clone()
    made = DeepDifficultyRegressor(module, fine_tune=True, **QUICK).fit(images.X, images.y)
    assert spearmanr(made.predict(images.new), images.truth).statistic > 0.7
    assert torch.equal(module[1].weight, before)
    made.save(tmp_path / "saved")
    with pytest.raises(FileError, match="encoder=<a module of the same architecture>"):
        load(tmp_path / "saved")
    loaded = load(tmp_path / "saved", encoder=module, device="cpu")
    np.testing.assert_array_equal(loaded.predict(images.new), made.predict(images.new))


def test_cross_validation_of_scikit_learn_takes_texts(texts):
    made = DeepDifficultyRegressor(kind="text", **QUICK)
    assert cross_val_score(made, texts.X[:200], texts.y[:200], cv=2).min() > 0.0


def test_progress_hears_of_every_epoch(texts):
    heard = []
    made = DeepDifficultyRegressor(
        kind="text", epochs=3, device="cpu", progress=lambda *words: heard.append(words)
    )
    made.fit(texts.X[:20], texts.y[:20])
    assert [words[:2] for words in heard] == [(1, 3), (2, 3), (3, 3)]
    assert [words[2] for words in heard] == [f"loss {loss:.4g}" for loss in made.losses_]


@given(st.integers(1, 30), st.integers(0, 40), st.integers(1, 9))
def test_the_learning_rate_climbs_then_falls(epochs, warm_up, per_epoch):
    n_steps = epochs * per_epoch
    shares = [rate_share(step, per_epoch, epochs, warm_up) for step in range(n_steps)]
    top = int(np.argmax(shares))
    assert shares[top] == pytest.approx(1.0)
    assert min(shares) > 0
    assert np.all(np.diff(shares[: top + 1]) > 0)
    assert np.all(np.diff(shares[top + 1 :]) < 0)


# Images


def test_images_of_different_sizes_are_brought_to_one(fitted, images):
    regressor, _ = fitted("image", None)
    double = [image.repeat(2, axis=0).repeat(2, axis=1) for image in images.new[:100]]
    mixed = [*double[:50], *images.new[50:100]]
    found = regressor.predict(mixed)
    np.testing.assert_allclose(found[50:], regressor.predict(images.new[50:100]), atol=1e-4)
    assert spearmanr(found, images.truth[:100]).statistic > 0.7
    trained = clone(regressor).set_params(epochs=1).fit(mixed, images.truth[:100])
    assert trained.encoder_.pixels.size in {(8, 8), (16, 16)}


def test_large_images_are_made_small_for_the_built_in_encoder(images):
    wide = np.zeros((10, 100, 200, 3), dtype=np.uint8)
    wide[:, :, :100] = np.arange(10)[:, None, None, None]
    made = DeepDifficultyRegressor(epochs=1, device="cpu").fit(wide, np.arange(10))
    assert made.encoder_.pixels.size == (32, 64)


def test_grey_images_suit_an_encoder_of_colour_and_colour_one_of_grey(fitted, images):
    regressor, _ = fitted("image", "folder")
    grey = regressor.predict(images.new[:20])
    colour = regressor.predict(np.repeat(images.new[:20, :, :, None], 3, axis=3))
    np.testing.assert_allclose(colour, grey, atol=1e-4)


def test_float_images_give_what_the_same_bytes_give(fitted, images):
    regressor, _ = fitted("image", "folder")
    scaled = clone(regressor).fit(images.X / 255.0, images.y)
    np.testing.assert_allclose(
        scaled.predict(images.new / 255.0), regressor.predict(images.new), atol=0.02
    )
    with pytest.raises(InputError, match="one scale"):
        scaled.predict(images.new)


def test_the_scale_of_the_preprocessor_is_used(image_folder, images, tmp_path):
    folder = shutil.copytree(image_folder, tmp_path / "vit")
    scale = {"image_mean": [0.25], "image_std": [0.125], "size": {"height": 99, "width": 99}}
    (folder / "preprocessor_config.json").write_text(json.dumps(scale))
    made = DeepDifficultyRegressor(folder, epochs=1, device="cpu").fit(images.X[:20], images.y[:20])
    pixels = made.encoder_.pixels
    assert (pixels.mean, pixels.deviation, pixels.size) == ((0.25,), (0.125,), (8, 8))


def test_what_is_no_image_is_refused(subtests):
    cases = [
        (np.zeros((5, 4)), r"shape \(5, 4\)"),
        (np.zeros((5, 0, 4)), "without pixels"),
        (np.full((5, 4, 4), np.nan), "NaN"),
        (np.zeros((5, 3, 8, 8)), "channels first"),
        (np.full((5, 4, 4), "a"), "numbers"),
        ([np.zeros(4)] * 5, "Item 1 of X"),
        (np.zeros((0, 4, 4)), "no items"),
        (7, "array of images"),
        (pd.DataFrame(np.zeros((5, 64))), "Pass one column"),
        ([np.zeros((4, 4)), *[np.zeros((4, 4), dtype=np.uint8)] * 4], "one scale"),
        ([np.zeros((4, 4, 2)), *[np.zeros((4, 4, 3))] * 4], "2 channels"),
    ]
    for X, message in cases:
        with subtests.test(X=X, message=message), pytest.raises(InputError, match=message):
            DeepDifficultyRegressor(epochs=1, device="cpu").fit(X, [1, 2, 3, 4, 5])


# Texts


@pytest.mark.parametrize("encoder", ["folder", None])
def test_empty_strings_are_items_without_words(fitted, texts, encoder):
    regressor, _ = fitted("text", encoder)
    alone, beside = regressor.predict(["", "  "]), regressor.predict(["", "cat sun", "  "])
    assert np.isfinite(alone).all()
    np.testing.assert_allclose(alone, beside[[0, 2]], atol=1e-5)
    assert alone[0] == pytest.approx(alone[1], abs=1e-5)


def test_a_text_without_any_token_has_a_zero_embedding(fitted):
    module = fitted("text", "folder")[0].encoder_.module
    bare = deep_encoders.TransformerText(module, _tokenizer(special=False), {}, "cpu")
    with torch.no_grad():
        assert torch.equal(bare.embed(["", ""]), torch.zeros(2, 32))
        some = bare.embed(["", "cat"])
    assert torch.equal(some[0], torch.zeros(32))
    assert some[1].abs().sum() > 0


def test_padding_does_not_change_a_text(fitted):
    regressor, _ = fitted("text", "folder")
    long = "cat sun walk tree tensor entropy cat sun"
    alone, beside = regressor.predict(["cat"]), regressor.predict(["cat", long])
    np.testing.assert_allclose(alone, beside[:1], atol=1e-5)


def test_long_texts_are_read_up_to_the_limit_of_the_encoder(fitted):
    regressor, _ = fitted("text", "folder")
    assert regressor.encoder_.limit == 16
    cut, longer = regressor.predict(["cat " * 15 + "sun " * 5, "cat " * 15 + "entropy " * 50])
    assert cut == pytest.approx(longer, abs=1e-5)


@given(st.text(alphabet="aB1 .é\n\0\u0130\ud800"))
def test_hashing_takes_any_text(text):
    assert all(1 <= bucket <= deep_encoders.BUCKETS for bucket in deep_encoders.hashed(text))


def test_words_keep_their_buckets_from_version_to_version():
    assert deep_encoders.hashed("Cat sun") == [937, 3832, 2862]


def test_what_is_no_text_is_refused(subtests):
    cases = [
        ("one text", "list of strings"),
        (["a", None], "Item 2"),
        ([], "no items"),
        (3, "list of"),
        (pd.DataFrame({"words": ["a", "b"], "n": [1, 2]}), r"2 columns.*one column: X\['words'\]"),
    ]
    for X, message in cases:
        with subtests.test(X=X, message=message), pytest.raises(InputError, match=message):
            DeepDifficultyRegressor(kind="text").fit(X, [1.0, 2.0])


# Other encoders


def test_the_encoder_of_an_encoder_decoder_is_used(texts, tmp_path):
    torch.manual_seed(0)
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=2, vocab_size=16
    )
    _tokenizer().save_pretrained(tmp_path / "t5")
    folder = _stored(transformers.T5Model(config), tmp_path / "t5")
    _survives_saving(DeepDifficultyRegressor(folder, kind="text", **QUICK), texts, tmp_path)


def test_the_vision_tower_of_a_pair_is_used(images, tmp_path):
    torch.manual_seed(0)
    tower = TINY | {"intermediate_size": 32}
    config = transformers.CLIPConfig(
        text_config=tower | {"vocab_size": 16, "bos_token_id": 1, "eos_token_id": 2},
        vision_config=tower | {"image_size": 8, "patch_size": 4},
    )
    folder = _stored(transformers.CLIPModel(config), tmp_path / "clip")
    _survives_saving(DeepDifficultyRegressor(folder, **QUICK), images, tmp_path)


def test_a_convolutional_encoder_takes_images_at_their_own_size(images, tmp_path):
    torch.manual_seed(0)
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_channels=1
    )
    folder = _stored(transformers.ResNetModel(config), tmp_path / "resnet")
    large = SimpleNamespace(**vars(images))  # 8 pixels would shrink to one on the way
    large.X, large.new = (part.repeat(4, 1).repeat(4, 2) for part in (images.X, images.new))
    made = DeepDifficultyRegressor(folder, fine_tune=True, **QUICK)
    _survives_saving(made, large, tmp_path)
    assert made.encoder_.pixels.size == (32, 32)


def test_batch_normalisation_keeps_the_statistics_it_came_with(images):
    module = torch.nn.Sequential(torch.nn.BatchNorm2d(1), torch.nn.Flatten())
    module[0].running_mean.fill_(0.25)
    made = DeepDifficultyRegressor(module, fine_tune=True, epochs=2, device="cpu")
    made.fit(images.X[:50], images.y[:50])
    assert made.encoder_.module[0].running_mean.tolist() == [0.25]


@pytest.mark.parametrize("fine_tune", [False, True])
def test_what_was_learned_on_cuda_predicts_the_same_on_the_cpu(
    texts, text_folder, tmp_path, fine_tune
):
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device here")
    settings = QUICK | {"device": None}
    made = DeepDifficultyRegressor(text_folder, kind="text", fine_tune=fine_tune, **settings)
    made.fit(texts.X, texts.y).save(tmp_path / "saved")
    assert made.device_ == "cuda"
    loaded = load(tmp_path / "saved", device="cpu")
    np.testing.assert_allclose(loaded.predict(texts.new), made.predict(texts.new), atol=0.01)


def _survives_saving(regressor, data, folder):
    regressor.fit(data.X, data.y).save(folder / "saved")
    assert spearmanr(regressor.predict(data.new), data.truth).statistic > 0.5
    loaded = load(folder / "saved", device="cpu")
    np.testing.assert_array_equal(loaded.predict(data.new), regressor.predict(data.new))


# What goes wrong


def test_an_unknown_name_without_network_is_told_at_once(texts, monkeypatch):
    asked = []

    def unreachable(*_words, **settings):
        asked.append(settings["timeout"])
        raise ConnectionError("Name or service not known")

    monkeypatch.setattr("huggingface_hub.HfApi.model_info", unreachable)
    with pytest.raises(InputError, match=r"no network was reached.*path of a folder"):
        DeepDifficultyRegressor("no/such-model", kind="text").fit(texts.X, texts.y)
    assert len(asked) == 1
    assert 0 < asked[0] <= 10


def test_a_name_that_can_be_none_needs_no_network(texts):
    with pytest.raises(InputError, match="no such folder, and no model of this name"):
        DeepDifficultyRegressor("../not here", kind="text").fit(texts.X, texts.y)


@pytest.mark.parametrize("package", ["torch", "safetensors"])
def test_a_missing_package_is_named_with_the_line_to_install_it(texts, monkeypatch, package):
    real = deep_regressor.find_spec
    found = lambda name: None if name == package else real(name)  # noqa: E731
    monkeypatch.setattr(deep_regressor, "find_spec", found)
    with pytest.raises(MissingExtraError, match=rf"'{package}'.*\[deep\]"):
        DeepDifficultyRegressor(kind="text").fit(texts.X, texts.y)


def test_missing_transformers_are_named_only_where_they_are_needed(texts, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "transformers", None)
    made = DeepDifficultyRegressor(kind="text", epochs=1, device="cpu")
    made.fit(texts.X[:20], texts.y[:20])
    with pytest.raises(MissingExtraError, match=r"'transformers'.*\[deep\]"):
        made.set_params(encoder=str(tmp_path)).fit(texts.X[:20], texts.y[:20])


def test_weights_that_are_not_safetensors_are_not_read(text_folder, texts, tmp_path):
    folder = shutil.copytree(text_folder, tmp_path / "bert")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(FileError, match="cannot be loaded"):
        DeepDifficultyRegressor(folder, kind="text").fit(texts.X, texts.y)


def test_weights_that_lack_a_layer_are_refused(text_folder, texts, tmp_path):
    folder = shutil.copytree(text_folder, tmp_path / "bert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(FileError, match="stay random"):
        DeepDifficultyRegressor(folder, kind="text").fit(texts.X, texts.y)


def test_code_that_comes_with_an_encoder_is_not_run(text_folder, texts, tmp_path):
    folder = shutil.copytree(text_folder, tmp_path / "bert")
    (folder / "evil.py").write_text("raise SystemExit('code was run')")
    config = json.loads((folder / "config.json").read_text())
    foreign = {"model_type": "own", "auto_map": {"AutoConfig": "evil.C", "AutoModel": "evil.M"}}
    (folder / "config.json").write_text(json.dumps(config | foreign))
    with pytest.raises(FileError, match="cannot be loaded"):
        DeepDifficultyRegressor(folder, kind="text").fit(texts.X, texts.y)


def test_settings_that_cannot_be_meant_are_refused(subtests, texts):
    cases = [
        ({"kind": "sound"}, "one of: image, text"),
        ({"epochs": 0}, "whole number of at least 1"),
        ({"hidden": 2.5}, "whole number"),
        ({"confidence": 1.0}, "from 0.5 to below 1"),
        ({"confidence": 0.3}, "from 0.5 to below 1"),
        ({"test_size": 0}, "between 0 and 1"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"learning_rate": 1e30}, "diverged"),
        ({"device": "toaster"}, "toaster"),
        ({"encoder": 7}, "torch.nn.Module"),
        ({"encoder": torch.nn.Identity(), "kind": "text"}, "The encoder returned"),
    ]
    for settings, message in cases:
        with subtests.test(settings=settings, message=message):
            made = DeepDifficultyRegressor(
                **{"kind": "text", "device": "cpu", "epochs": 2} | settings
            )
            with pytest.raises(InputError, match=message):
                made.fit(texts.X[:20], texts.y[:20])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 2, 3, 4, 5, np.nan], "item 6"),
        ([1, 2], "one difficulty per item"),
        (["a"] * 6, "y should be numbers"),
    ],
)
def test_difficulties_that_cannot_be_learned_are_refused(y, message):
    with pytest.raises(InputError, match=message):
        DeepDifficultyRegressor(kind="text").fit(list("abcdef"), y)


def test_a_constant_difficulty_is_predicted_with_no_doubt(texts, tmp_path):
    made = DeepDifficultyRegressor(kind="text", epochs=1, device="cpu")
    made.fit(texts.X[:20], np.full(20, 1.5))
    made.save(tmp_path / "saved")
    for regressor in (made, load(tmp_path / "saved", device="cpu")):
        for found in (regressor.predict(texts.new), *regressor.predict_interval(texts.new, 0.5)):
            np.testing.assert_array_equal(found, 1.5)
        (note,) = regressor.notes_
        assert note.startswith("All items are equally hard (1.5), so that difficulty is predicted")


def test_difficulties_that_are_named_follow_their_names(texts):
    made = DeepDifficultyRegressor(kind="text", epochs=1, device="cpu")
    items = pd.Series(texts.X[:40], index=[f"text {k}" for k in range(40)])
    named = pd.Series(texts.y[:40], index=items.index).sample(frac=1, random_state=0)
    plain = clone(made).fit(texts.X[:40], texts.y[:40]).predict(texts.new)
    np.testing.assert_array_equal(made.fit(items, named).predict(texts.new), plain)
    assert made.notes_ == []
    some = made.fit(items, named.drop(["text 3", "text 8"]))
    assert (some.n_items_, some.notes_) == (38, ["Left out (no difficulty): 2 items."])
    with pytest.raises(InputError, match="y names the item 'other 0'"):
        made.fit(items, named.set_axis([f"other {k}" for k in range(40)]))


def test_too_few_items_are_refused_and_few_have_infinite_intervals():
    made = DeepDifficultyRegressor(kind="text", epochs=1, device="cpu")
    with pytest.raises(InputError, match="at least 5"):
        made.fit(["a", "b"], [1.0, 2.0])
    low, high = made.fit(list("abcdef"), range(6)).predict_interval(["a"])
    assert (low[0], high[0]) == (-np.inf, np.inf)


def test_nothing_is_predicted_or_saved_before_fit(tmp_path):
    with pytest.raises(NotFittedError):
        DeepDifficultyRegressor().predict(np.zeros((1, 4, 4)))
    with pytest.raises(NotFittedError):
        DeepDifficultyRegressor().save(tmp_path / "saved")


# Folders that cannot be trusted


@pytest.fixture
def saved(fitted, tmp_path):
    """A saved regressor of texts, to be damaged."""
    fitted("text", "folder")[0].save(tmp_path / "saved")
    return tmp_path / "saved"


def _edited(folder, **changes):
    document = json.loads((folder / "settings.json").read_text())
    (folder / "settings.json").write_text(json.dumps(document | changes))


def _config(folder, **changes):
    document = json.loads((folder / "settings.json").read_text())
    _edited(folder, config=document["config"] | changes)


DAMAGES = {
    "no settings": lambda f: (f / "settings.json").unlink(),
    "settings cut short": lambda f: (f / "settings.json").write_text('{"schema": '),
    "another schema": lambda f: _edited(f, schema="ogive/calibration"),
    "a newer version": lambda f: _edited(f, version=99),
    "no weights": lambda f: (f / "weights.safetensors").unlink(),
    "weights cut short": lambda f: (f / "weights.safetensors").write_bytes(
        (f / "weights.safetensors").read_bytes()[:1000]
    ),
    "a pickle": lambda f: (f / "weights.safetensors").write_bytes(b"\x80\x04cos\nsystem\n."),
    "no tokenizer": lambda f: shutil.rmtree(f / "tokenizer"),
    "a broken tokenizer": lambda f: (f / "tokenizer" / "tokenizer.json").write_text("{}"),
    "another width": lambda f: _edited(f, width=10**9),
    "no width": lambda f: _edited(f, width="many"),
    "unknown parameters": lambda f: _edited(f, parameters={"encoder": None, "evil": 1}),
    "parameters that are a list": lambda f: _edited(f, parameters=[1]),
    "an unknown source": lambda f: _edited(f, source="elsewhere"),
    "no configuration": lambda f: _edited(f, config=None),
    "an unknown model": lambda f: _config(f, model_type="nonsense"),
    "a model without end": lambda f: _config(f, num_hidden_layers=10**12),
    "a model too wide for any memory": lambda f: _config(f, vocab_size=10**12),
    "a negative size": lambda f: _config(f, vocab_size=-4),
    "no residuals": lambda f: _edited(f, residuals=[]),
    "residuals in disorder": lambda f: _edited(f, residuals=[2.0, 1.0]),
    "text for a number": lambda f: _edited(f, center="x"),
}


def test_a_damaged_folder_is_refused_by_name(subtests, fitted, tmp_path_factory):
    for name, damage in DAMAGES.items():
        with subtests.test(name):
            folder = tmp_path_factory.mktemp("damaged") / "saved"
            fitted("text", "folder")[0].save(folder)
            damage(folder)
            with pytest.raises(FileError, match="saved"):
                load(folder, device="cpu")


def test_weights_that_are_no_numbers_are_refused(saved):
    from safetensors.torch import load_file, save_file

    weights = load_file(saved / "weights.safetensors")
    weights["head.1.weight"][0, 0] = float("nan")
    save_file(weights, saved / "weights.safetensors")
    with pytest.raises(FileError, match="NaN or infinite"):
        load(saved, device="cpu")


def test_a_scale_of_images_that_makes_no_sense_is_refused(fitted, tmp_path):
    fitted("image", None)[0].save(tmp_path / "saved")
    pixels = json.loads((tmp_path / "saved/settings.json").read_text())["pixels"]
    for bad in ({"size": [0, 8]}, {"high": -1.0}, {"mean": []}, {"deviation": [0.0]}):
        _edited(tmp_path / "saved", pixels=pixels | bad)
        with pytest.raises(FileError, match="images"):
            load(tmp_path / "saved", device="cpu")


def test_saving_replaces_a_regressor_and_nothing_else(fitted, saved):
    regressor, data = fitted("text", None)
    regressor.save(saved)
    loaded = load(saved, device="cpu")
    np.testing.assert_array_equal(loaded.predict(data.new), regressor.predict(data.new))
    (saved / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match=r"thesis\.txt"):
        regressor.save(saved)
    with pytest.raises(FileError, match="no directory"):
        regressor.save(saved / "missing" / "deeper")
    assert (saved / "thesis.txt").exists()


def test_a_failed_save_leaves_the_earlier_one(fitted, saved, monkeypatch):
    before = {f.name: f.read_bytes() for f in saved.iterdir() if f.is_file()}

    def full(*_words, **_settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ogive.difficulty.deep_files.write_json", full)
    with pytest.raises(FileError, match="No space left"):
        fitted("text", None)[0].save(saved)
    assert {f.name: f.read_bytes() for f in saved.iterdir() if f.is_file()} == before
    assert [path.name for path in saved.parent.iterdir()] == ["saved"]
