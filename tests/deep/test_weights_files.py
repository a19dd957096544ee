"""Files of weights that were made up: refused before they can take memory or be waited for."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from gapmin.deep import load_weights, weights


@pytest.fixture
def unchanged():
    """Give a module, and look afterwards that nothing in it has changed."""
    net = nn.Linear(3, 2)
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    yield net
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


def zipped(path, change=None, **settings):
    """Write a zip again, with other members or another compression."""
    content = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path, "w", **settings) as new:
        members = {name: old.read(name) for name in old.namelist()}
        for name, member in (members if change is None else change(members)).items():
            new.writestr(name, member)


class Memory:
    """Pickles to a call that takes memory and runs no code of anybody's."""

    def __reduce__(self):
        return bytearray, (10**10,)


@pytest.mark.parametrize("new", [True, False])
def test_calls_that_only_take_memory_are_refused(new, tmp_path, unchanged):
    content = {**unchanged.state_dict(), "more": Memory()}
    torch.save(content, tmp_path / "m.pth", _use_new_zipfile_serialization=new)
    with pytest.raises(ValueError, match=r"m.pth holds Python objects .* save module.state_dict\(\)"):
        load_weights(unchanged, tmp_path / "m.pth")


@pytest.mark.parametrize("protocol", [2, 4])
def test_objects_in_any_of_the_pickles_are_refused(protocol, tmp_path, unchanged):
    parts = [0x1950A86A20F9469CFC6C, 1001, {}, {}, []]
    for place in range(5):
        said = [Memory() if place == i else part for i, part in enumerate(parts)]
        (tmp_path / "m.pth").write_bytes(b"".join(pickle.dumps(part, protocol) for part in said))
        with pytest.raises(ValueError, match=r"m.pth holds Python objects"):
            load_weights(unchanged, tmp_path / "m.pth")


def test_pytorchs_files_that_were_compressed_are_refused(tmp_path, unchanged):
    torch.save(unchanged.state_dict(), tmp_path / "m.pth")
    zipped(tmp_path / "m.pth", compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"m.pth is not a .pth file of weights, or is damaged: download or save"):
        load_weights(unchanged, tmp_path / "m.pth")


def test_members_of_one_name_are_refused(tmp_path, unchanged):
    torch.save(unchanged.state_dict(), tmp_path / "m.pth")
    zipped(tmp_path / "m.pth", lambda members: members | {"m/DATA.pkl": members["m/data.pkl"]})
    with pytest.raises(ValueError, match=r"m.pth is not a .pth file of weights"):
        load_weights(unchanged, tmp_path / "m.pth")


@pytest.mark.parametrize("name", ["weight", "more"])
def test_an_array_that_does_not_fit_is_not_inflated(name, tmp_path, unchanged, monkeypatch):
    arrays = {"weight": np.zeros((2, 3)), "bias": np.zeros(2), name: np.zeros((1000, 1000))}
    np.savez_compressed(tmp_path / "m.npz", **arrays)
    monkeypatch.setattr(np.lib.format, "read_array", lambda *_, **__: pytest.fail("an array was read"))
    with pytest.raises(ValueError, match=r"weight has the shape \(1000, 1000\)|m.npz has more"):
        load_weights(unchanged, tmp_path / "m.npz")


@pytest.mark.parametrize("cut", ["weight", "bias"])
def test_an_array_that_is_cut_short_changes_nothing(cut, tmp_path, unchanged):
    np.savez(tmp_path / "m.npz", **{name: np.ones(tensor.shape) for name, tensor in unchanged.state_dict().items()})
    name = f"{cut}.npy"
    zipped(tmp_path / "m.npz", lambda members: members | {name: members[name][:-8]})
    with pytest.raises(ValueError, match=r"m.npz is not a .npz file of weights, or is damaged"):
        load_weights(unchanged, tmp_path / "m.npz")


@pytest.mark.parametrize("compression", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_arrays_compressed_as_numpy_never_does_are_refused(compression, tmp_path, unchanged):
    """A few bytes of LZMA may ask for gigabytes."""
    np.savez(tmp_path / "m.npz", **{name: tensor.numpy() for name, tensor in unchanged.state_dict().items()})
    zipped(tmp_path / "m.npz", compression=compression)
    with pytest.raises(ValueError, match=r"m.npz is not a .npz file of weights"):
        load_weights(unchanged, tmp_path / "m.npz")


@pytest.mark.parametrize("suffix", [".pth", ".safetensors", ".npz"])
def test_only_regular_files_are_opened(suffix, tmp_path, unchanged):
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"loop{suffix}").symlink_to(f"loop{suffix}")
    (tmp_path / f"zero{suffix}").symlink_to("/dev/zero")
    for name in ("pipe", "loop", "zero"):
        with pytest.raises(ValueError, match=rf"{name}{suffix} cannot be read .*: give a file of weights"):
            load_weights(unchanged, tmp_path / f"{name}{suffix}")


@pytest.mark.parametrize("suffix", [".pth", ".safetensors", ".npz"])
def test_what_is_checked_is_what_is_used(suffix, tmp_path, monkeypatch):
    net, path = nn.Linear(3, 2), tmp_path / f"m{suffix}"
    state = {name: torch.ones_like(tensor) for name, tensor in net.state_dict().items()}
    if suffix == ".npz":
        np.savez(path, **{name: tensor.numpy() for name, tensor in state.items()})
    else:
        (torch.save if suffix == ".pth" else save_file)(state, path)
    check = weights._check_sha256

    def swap(*arguments):
        check(*arguments)
        path.write_bytes(b"something else")

    monkeypatch.setattr(weights, "_check_sha256", swap)
    load_weights(net, path)
    assert all(torch.equal(tensor, state[name]) for name, tensor in net.state_dict().items())
