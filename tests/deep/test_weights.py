import hashlib
import os
import pickle
import urllib.error

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from gapmin.deep import weights
from gapmin.deep.nets import AlexNet, LeNet, ResNet18
from gapmin.deep.weights import find_weights, load_weights, pretrained


def random_state(module, **more):
    """Return a state dict of the module's shapes, with other values, which takes little room in a file."""
    state = {name: torch.rand(()).to(tensor.dtype).expand(tensor.shape) for name, tensor in module.state_dict().items()}
    return state | {name.replace("__", "."): torch.zeros(shape) for name, shape in more.items()}


def save_as_published(state, folder, stem):
    """Save under a name with the first digits of the checksum, as torchvision's files have."""
    torch.save(state, folder / "weights.pth")
    digits = hashlib.sha256((folder / "weights.pth").read_bytes()).hexdigest()[:8]
    return (folder / "weights.pth").rename(folder / f"{stem}-{digits}.pth")


def assert_holds(module, state):
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, state[name]), name


@pytest.fixture
def unchanged():
    """Give a network, and look afterwards that nothing in it has changed."""
    net = LeNet()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    yield net
    assert_holds(net, before)


@pytest.fixture
def own_folders(monkeypatch, tmp_path):
    """Keep torch's cache and the data folder apart from the machine's own."""
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    (tmp_path / "data" / "weights").mkdir(parents=True)
    return tmp_path / "data" / "weights", tmp_path / "torch" / "hub" / "checkpoints"


@pytest.mark.parametrize("zipped", [True, False])
def test_a_resnet18_in_torchvision_format(tmp_path, zipped):
    net = ResNet18()
    state = random_state(net, fc__weight=(1000, 512), fc__bias=(1000,))
    torch.save(state, tmp_path / "r.pth", _use_new_zipfile_serialization=zipped)
    load_weights(net, tmp_path / "r.pth")
    assert_holds(net, state)


def test_an_alexnet_in_torchvision_format(tmp_path):
    net = AlexNet()
    state = random_state(net, classifier__6__weight=(1000, 4096), classifier__6__bias=(1000,))
    path = save_as_published(state, tmp_path, "alexnet-owt")
    load_weights(net, path)
    assert_holds(net, state)


def test_counters_of_batches_may_be_missing(tmp_path):
    net = ResNet18()
    state = random_state(net)
    old = {name: tensor for name, tensor in state.items() if not name.endswith("num_batches_tracked")}
    assert len(old) == 100
    torch.save(old, tmp_path / "old.pth")
    load_weights(net, tmp_path / "old.pth")
    assert torch.equal(net.bn1.running_var, state["bn1.running_var"])
    assert net.bn1.num_batches_tracked == 0


@pytest.mark.parametrize("suffix", [".pth", ".pt", ".safetensors", ".npz"])
def test_formats(tmp_path, suffix):
    net = LeNet()
    state = {name: torch.rand(tensor.shape) for name, tensor in net.state_dict().items()}
    path = tmp_path / f"lenet{suffix}"
    if suffix == ".safetensors":
        save_file(state, path)
    elif suffix == ".npz":
        np.savez(path, **{name: tensor.numpy() for name, tensor in state.items()})
    else:
        torch.save(state, path)
    load_weights(net, path)
    assert_holds(net, state)
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in net.parameters())


def test_weights_take_the_precision_of_the_module(tmp_path):
    net = LeNet().double()
    torch.save(random_state(LeNet().half()), tmp_path / "half.pth")
    load_weights(net, tmp_path / "half.pth")
    assert net.conv1.weight.dtype == torch.float64


@pytest.mark.parametrize("n_digits", [8, 17, 64])
def test_a_checksum_that_is_given(tmp_path, unchanged, n_digits):
    path = tmp_path / "lenet.pth"
    torch.save(unchanged.state_dict(), path)
    digits = hashlib.sha256(path.read_bytes()).hexdigest()[:n_digits]
    load_weights(unchanged, path, sha256=digits)
    load_weights(unchanged, path, sha256=digits.upper())
    wrong = digits[:-1] + ("0" if digits[-1] != "0" else "1")
    with pytest.raises(ValueError, match=rf"SHA-256 {digits}, not the expected {wrong}: download the file again$"):
        load_weights(unchanged, path, sha256=wrong)


@pytest.mark.parametrize("sha256", ["1234567", "", "not-a-hash", "0" * 65])
def test_a_checksum_that_is_none(tmp_path, unchanged, sha256):
    torch.save(random_state(unchanged), tmp_path / "lenet.pth")
    with pytest.raises(ValueError, match="give the 64 hexadecimal digits, or the first 8"):
        load_weights(unchanged, tmp_path / "lenet.pth", sha256=sha256)


def test_an_altered_byte_is_refused(tmp_path, unchanged):
    path = save_as_published({name: torch.rand(t.shape) for name, t in unchanged.state_dict().items()}, tmp_path, "l")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    digits = path.stem[-8:]
    with pytest.raises(ValueError, match=rf"not the expected {digits}: download .* again, or rename it"):
        load_weights(unchanged, path)


def test_a_checksum_that_is_given_goes_before_the_name(tmp_path):
    net = LeNet()
    state = random_state(net)
    path = tmp_path / "lenet-20240131.pth"
    torch.save(state, path)
    load_weights(net, path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert_holds(net, state)


class RunsCode:
    def __reduce__(self):
        return os.mkdir, ("this-was-run",)


@pytest.mark.parametrize("content", [{"a": RunsCode()}, nn.Linear(2, 2)], ids=["code", "module"])
def test_code_is_refused(tmp_path, unchanged, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    torch.save(content, "code.pth")
    with pytest.raises(ValueError, match=r"code.pth holds Python objects .* is refused: save module.state_dict\(\)"):
        load_weights(unchanged, "code.pth")
    assert [path.name for path in tmp_path.iterdir()] == ["code.pth"]


@pytest.mark.parametrize("suffix", [".pth", ".pt", ".safetensors", ".npz"])
@pytest.mark.parametrize(
    "content",
    [b"", b"<html>404 Not Found</html>", bytes(range(255, 0, -1)), pickle.dumps([1, 2], 2)[:-1]],
    ids=["empty", "page", "noise", "cut"],
)
def test_garbage_is_no_weight_file(tmp_path, unchanged, suffix, content):
    path = tmp_path / f"garbage{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"garbage{suffix} is not a {suffix} file of weights, or is damaged"):
        load_weights(unchanged, path)


def test_arrays_of_objects_are_refused(tmp_path, unchanged, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("objects.npz", a=np.array([RunsCode()]))
    with pytest.raises(ValueError, match=r"objects.npz is not a .npz file of weights"):
        load_weights(unchanged, "objects.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["objects.npz"]


@pytest.mark.parametrize(
    "content",
    [torch.ones(3), {"state_dict": {"a": torch.ones(3)}}, {"conv1.weight": torch.ones(3).to_sparse()}],
    ids=["tensor", "nested", "sparse"],
)
def test_other_things_than_tensors_by_name(tmp_path, unchanged, content):
    torch.save(content, tmp_path / "other.pth")
    with pytest.raises(ValueError, match=r"other.pth does not hold tensors by name: save module.state_dict\(\)"):
        load_weights(unchanged, tmp_path / "other.pth")


def test_files_that_are_not_there(tmp_path, unchanged):
    with pytest.raises(FileNotFoundError, match=r"none.pth is not there"):
        load_weights(unchanged, tmp_path / "none.pth")
    with pytest.raises(FileNotFoundError, match="is a folder"):
        load_weights(unchanged, tmp_path)
    (tmp_path / "weights.h5").touch()
    with pytest.raises(ValueError, match=r"weights.h5 is of no known format: give one of .pth, .pt, .safetensors"):
        load_weights(unchanged, tmp_path / "weights.h5")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"conv2.bias": None}, r"lacks conv2.bias: "),
        ({"conv2.bias": None, "conv1.bias": None}, r"lacks conv1.bias and 1 more entries: "),
        ({"conv3.bias": torch.ones(3)}, r"has conv3.bias, which the module lacks: "),
        ({"fcx.bias": torch.ones(3)}, r"has fcx.bias, which the module lacks: "),
        ({"conv2.bias": torch.ones(32)}, r"conv2.bias has the shape \(32,\) in .* and \(64,\) in the module"),
        ({"conv2.bias": torch.ones(64, dtype=torch.int64)}, r"conv2.bias is torch.int64 in .* and torch.float32 in"),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(tmp_path, unchanged, change, message):
    state = random_state(unchanged) | change
    torch.save({name: tensor for name, tensor in state.items() if tensor is not None}, tmp_path / "lenet.pth")
    with pytest.raises(ValueError, match=message):
        load_weights(unchanged, tmp_path / "lenet.pth")


def test_a_prefix_loads_a_part(tmp_path):
    net = nn.ModuleDict({"features": nn.Linear(3, 2), "classifier": nn.Linear(2, 2)})
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    whole = random_state(net)
    part = {name: tensor for name, tensor in whole.items() if name.startswith("features.")}
    torch.save(part, tmp_path / "part.pth")
    torch.save(whole | {"other.weight": torch.ones(2)}, tmp_path / "whole.pth")

    with pytest.raises(ValueError, match=r"lacks classifier.bias and 1 more"):
        load_weights(net, tmp_path / "part.pth")
    with pytest.raises(ValueError, match=r"has no entry that starts with 'feature_'"):
        load_weights(net, tmp_path / "part.pth", prefix="feature_")
    assert_holds(net, before)
    for file in ("part.pth", "whole.pth"):
        net.load_state_dict(before)
        load_weights(net, tmp_path / file, prefix="features.")
        assert_holds(net, before | part)

    torch.save({"features.weight": whole["features.weight"]}, tmp_path / "less.pth")
    with pytest.raises(ValueError, match=r"lacks features.bias"):
        load_weights(net, tmp_path / "less.pth", prefix="features.")


def test_the_data_folder_is_searched_before_the_cache(own_folders, monkeypatch):
    monkeypatch.setattr(torch.hub, "download_url_to_file", lambda *_, **__: pytest.fail("nothing to download"))
    data, cache = own_folders
    cache.mkdir(parents=True)
    (cache / "resnet18-f37072fd.pth").touch()
    assert find_weights("resnet18") == cache / "resnet18-f37072fd.pth"
    (data / "resnet18-f37072fd.pth").touch()
    assert find_weights("resnet18") == data / "resnet18-f37072fd.pth"
    (data / "alexnet_features.npz").touch()
    assert find_weights("alexnet-features") == data / "alexnet_features.npz"


def test_a_file_that_is_nowhere_is_downloaded(own_folders, monkeypatch):
    calls = []

    def download(url, path, hash_prefix, progress):
        calls.append((url, hash_prefix, progress))
        open(path, "wb").close()

    monkeypatch.setattr(torch.hub, "download_url_to_file", download)
    assert find_weights("alexnet") == own_folders[1] / "alexnet-owt-7be5be79.pth"
    assert find_weights("alexnet").is_file()
    assert calls == [("https://download.pytorch.org/models/alexnet-owt-7be5be79.pth", "7be5be79", False)]


def test_a_machine_without_network_is_told_where_to_put_the_file(own_folders, monkeypatch):
    def download(*_, **__):
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(torch.hub, "download_url_to_file", download)
    data, cache = own_folders
    with pytest.raises(FileNotFoundError) as caught:
        find_weights("resnet18")
    for part in (
        "https://download.pytorch.org/models/resnet18-f37072fd.pth",
        "no network",
        str(cache / "resnet18-f37072fd.pth"),
        str(data / "resnet18-f37072fd.pth"),
    ):
        assert part in str(caught.value)


def test_a_download_that_is_damaged_is_refused(own_folders, monkeypatch):
    def serve_from(folder):
        (folder / "resnet18-f37072fd.pth").write_bytes(b"cut short")
        monkeypatch.setattr(weights, "_URL", folder.as_uri() + "/")

    serve_from(own_folders[0].parent)
    with pytest.raises(ValueError, match=r"has not arrived whole .*expected \"f37072fd\".*download it again"):
        find_weights("resnet18")
    assert not list(own_folders[1].iterdir())


@pytest.mark.parametrize("set_to", [None, "elsewhere"])
def test_alexnet_features_are_never_downloaded(own_folders, monkeypatch, set_to):
    monkeypatch.setattr(torch.hub, "download_url_to_file", lambda *_, **__: pytest.fail("nothing to download"))
    if set_to is None:
        monkeypatch.delenv("GAPMIN_DATA")
    with pytest.raises(FileNotFoundError, match=r"weights/alexnet_features.npz is not there: set GAPMIN_DATA"):
        find_weights("alexnet-features")


@pytest.mark.parametrize("name", ["alexnet-features", "resnet18"])
def test_pretrained_from_a_file(own_folders, monkeypatch, name):
    if name == "resnet18":
        state = random_state(ResNet18(), fc__weight=(1000, 512), fc__bias=(1000,))
        path = save_as_published(state, own_folders[0], "resnet18")
        monkeypatch.setitem(weights._WEIGHT_FILES, "resnet18", path.name)
    else:
        state = random_state(AlexNet(features_only=True))
        np.savez(own_folders[0] / "alexnet_features.npz", **{key: value.numpy() for key, value in state.items()})
    net = pretrained(name)
    assert net.out_features == {"resnet18": 512, "alexnet-features": 9216}[name]
    assert_holds(net, state)


def test_a_published_name_with_other_content_is_refused(own_folders):
    torch.save(random_state(ResNet18()), own_folders[0] / "resnet18-f37072fd.pth")
    with pytest.raises(ValueError, match="not the expected f37072fd"):
        pretrained("resnet18")


@pytest.mark.data
def test_the_real_convolutions_of_alexnet():
    net = pretrained("alexnet-features").eval()
    with np.load(find_weights("alexnet-features")) as arrays:
        assert_holds(net, {name: torch.from_numpy(array) for name, array in arrays.items()})
    generator = torch.Generator().manual_seed(0)
    images = torch.randn(4, 3, 128, 128, generator=generator)
    with torch.no_grad():
        z = net(images)
    assert z.shape == (4, 9216)
    assert torch.isfinite(z).all()
    assert 0.05 < (z > 0).float().mean() < 0.95

    # The same convolutions into a net with its fully connected layers, which keep their start.
    whole = AlexNet()
    start = whole.classifier[1].weight.clone()
    load_weights(whole, find_weights("alexnet-features"), prefix="features.")
    assert torch.equal(whole.features[0].weight, net.features[0].weight)
    assert torch.equal(whole.classifier[1].weight, start)
