"""Files that are no safetensors file, or not quite: refused as such, none of them waited for."""

import json
import os
import struct

import pytest
import torch
from safetensors.torch import save_file

from gapmin.deep._tensorfile import DTYPES, TensorFile, write_tensors
from gapmin.saved.objects import ContentError
from gapmin_support.networkfiles import Content, assert_refused


def said_with(content, old, new):
    text = json.dumps(content.said)
    assert text.count(old) == 1
    return text.replace(old, new)


def test_json_is_read_strictly(load, content, tmp_path):
    for old, new, fault in (
        ('"class":', '"class": "X", "class":', "key 'class' twice"),
        ('"lr_decay": 0.95', '"lr_decay": NaN', "NaN"),
        ('"lr_decay": 0.95', '"lr_decay": 1e999', "infinite"),
        ('"lr_decay": 0.95', f'"lr_decay": {"9" * 5000}', "64 bits"),
        ('"lr_decay": 0.95', f'"lr_decay": {"[" * 100_000}{"]" * 100_000}', "not JSON"),
        ('"lr_decay": 0.95', f'"lr_decay": {"[" * 100}{"]" * 100}', "lr_decay of MultitaskClassifier is"),
        ('"history": [', f'"history": [{{"a": {"[" * 100}{"]" * 100}}}, ', "nested more than"),
        ('"history": [', f'"history": [{"[]," * 10_000_000}', "values, more than"),
        ('"history": [', f'"history": ["{"x" * 2**26}", ', "has .* bytes, more than"),
    ):
        assert_refused(load(content.write(tmp_path / "m", said_with(content, old, new))), tmp_path / "m", fault)


def test_what_the_container_says_of_tensors_must_be_true(load, original, tmp_path):
    def change(**changes):
        content = Content(original.read_bytes())
        content.header["relation"] |= changes
        return content.write(tmp_path / "m")

    size = len(Content(original.read_bytes()).data)
    begin, end = Content(original.read_bytes()).header["relation"]["data_offsets"]
    for changes in (
        {"data_offsets": [begin - 4, end - 4]},
        {"data_offsets": [begin + 4, end + 4]},
        {"data_offsets": [begin, size + 4], "shape": [(size + 4 - begin) // 4]},
        {"data_offsets": [begin, begin + 2**62], "shape": [2**60]},
        {"data_offsets": [end, begin]},
        {"data_offsets": [begin, end, end]},
        {"shape": [2, 2, 2]},
        {"shape": [-2, -2]},
        {"shape": [2, 2.0]},
        {"shape": [1] * 100 + [4]},
        {"dtype": "F7"},
        {"dtype": ["F32"]},
        {"more": 1},
    ):
        assert_refused(load(change(**changes)), tmp_path / "m", "not a model that gapmin saved")


def test_the_bytes_of_the_container_must_be_right(load, original, content, tmp_path):
    text = json.dumps(content.header)
    entry = json.dumps({"relation": content.header["relation"]})[1:-1]
    for said, length, more in (
        (text.replace(entry, f"{entry}, {entry}"), None, b""),
        (text.replace('"gapmin":', '"gapmin": "", "gapmin":'), None, b""),
        (text.replace('{"gapmin":', '{"more": 1, "gapmin":'), None, b""),
        (text, 2**62, b""),
        (text, len(text) - 1, b""),
        (text, 0, b""),
        (text, None, b"more"),
        ("[]", None, b""),
        ('"\ud83d"'.encode("utf-8", "surrogatepass").decode("latin-1"), None, b""),
    ):
        content.write(tmp_path / "m", header=said.encode("latin-1"), length=length)
        with (tmp_path / "m").open("ab") as file:
            file.write(more)
        assert_refused(load(tmp_path / "m"), tmp_path / "m", "not a model that gapmin saved")
    whole = original.read_bytes()
    for keep in (0, 7, 8, 9, 1000, len(whole) // 2, len(whole) - 1):
        (tmp_path / "m").write_bytes(whole[:keep])
        assert_refused(load(tmp_path / "m"), tmp_path / "m", "not a model that gapmin saved")


def test_every_type_of_tensor_comes_back(tmp_path):
    raw = torch.arange(64, dtype=torch.uint8)
    tensors = {str(dtype): (raw % 2 if dtype == torch.bool else raw).view(dtype) for dtype in DTYPES.values()}
    tensors |= {"scalar": torch.tensor(3.0), "empty": torch.zeros(0, 7)}
    write_tensors(tmp_path / "m", tensors, {})
    with TensorFile(tmp_path / "m") as file:
        found = file.read()
    assert found.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert (found[name].dtype, found[name].shape) == (tensor.dtype, tensor.shape)
        assert found[name].reshape(-1).view(torch.uint8).tolist() == tensor.reshape(-1).view(torch.uint8).tolist()


@pytest.mark.parametrize(
    ("said", "data", "fault"),
    [
        ({"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}, b"\1\2", "neither true nor false"),
        ({"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}, b"", "has shape"),
    ],
)
def test_tensors_that_pytorch_could_not_hold_are_refused(said, data, fault, tmp_path):
    text = json.dumps({"a": said}).encode()
    (tmp_path / "m").write_bytes(struct.pack("<Q", len(text)) + text + data)
    with pytest.raises(ContentError, match=fault), TensorFile(tmp_path / "m") as file:
        file.read()


def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path):
    save_file({"a": torch.zeros(100_000)}, tmp_path / "m")
    with TensorFile(tmp_path / "m") as file:
        os.truncate(tmp_path / "m", 100_000)
        with pytest.raises(ContentError, match="cut short"):
            file.read()


def test_a_file_with_a_hole_of_many_bytes_is_not_read(load, original, tmp_path):
    (tmp_path / "m").write_bytes(original.read_bytes())
    os.truncate(tmp_path / "m", 2**40)
    assert_refused(load(tmp_path / "m"), tmp_path / "m", "the file has 10995")


def test_only_regular_files_are_opened(load, original, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name, fault in {
        "pipe": "no regular file",
        "zero": "no regular file",
        "folder": "is a folder",
        "loop": "symbolic links",
    }.items():
        assert_refused(load(tmp_path / name), tmp_path / name, fault)
    assert_refused(load(original / "below"), original / "below", "Not a directory")
    (tmp_path / "link").symlink_to(original)
    assert load(tmp_path / "link") == ("loaded", "")
    (tmp_path / "broken").symlink_to(tmp_path / "none")
    assert load(tmp_path / "broken") == ("FileNotFoundError", f"there is no file {tmp_path / 'broken'}")
