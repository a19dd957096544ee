"""Published weights: found or downloaded, checked, and copied into a network."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gapmin._utils.text import one_line
from gapmin.deep._pickles import HoldsObjectsError, check_pickles
from gapmin.deep._plain import ContentError
from gapmin.deep._tensorfile import TensorFile, open_regular
from gapmin.deep.nets import AlexNet, ResNet18

__all__ = ["find_weights", "load_weights", "pretrained"]

_URL = "https://download.pytorch.org/models/"
_WEIGHT_FILES = {
    "alexnet": "alexnet-owt-7be5be79.pth",
    "resnet18": "resnet18-f37072fd.pth",
    "alexnet-features": "alexnet_features.npz",
}
_NETS: dict[str, Callable[[], nn.Module]] = {
    "alexnet": AlexNet,
    "resnet18": ResNet18,
    "alexnet-features": lambda: AlexNet(features_only=True),
}
_LAST_LAYERS = ("fc.", "classifier.6.")


def load_weights(
    module: nn.Module, path: str | os.PathLike[str], *, sha256: str | None = None, prefix: str | None = None
) -> None:
    """Copy the weights of a file into a module; when anything does not fit, nothing is copied.

    Every parameter and buffer of the module must be in the file, and every entry of the file in the module. Exceptions
    are the last layer that our extractors leave out (`fc`, `classifier.6`) and the counters of batches that files from
    before PyTorch 0.4.1 do not have.

    Parameters
    ----------
    module : nn.Module
        The module to load into.
    path : path
        A state dict as `.pth` or `.pt`, or arrays by name as `.safetensors` or `.npz`. Only tensors are read: a
        pickle that would run code is refused.
    sha256 : str, optional
        The file's checksum or its first digits, at least 8. By default the 8 digits in a name like
        `resnet18-f37072fd.pth`, and no check for other names.
    prefix : str, optional
        Load only the entries whose names start so, for example "features." with a file of AlexNet's convolutions.

    Raises
    ------
    FileNotFoundError
        When the file is not there.
    ValueError
        When it cannot be opened, has another checksum, holds no weights, or does not fit the module.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import torch
    >>> from gapmin.deep.nets import LeNet
    >>> from gapmin.deep.weights import load_weights
    >>> saved, net = LeNet(), LeNet()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save(saved.state_dict(), Path(folder) / "lenet.pth")
    ...     load_weights(net, Path(folder) / "lenet.pth")
    >>> torch.equal(net.conv1.weight, saved.conv1.weight)
    True
    """
    path = Path(path)
    content = _content(path)
    _check_sha256(path, content, sha256)
    wanted = {name: tensor for name, tensor in module.state_dict().items() if name.startswith(prefix or "")}
    if not wanted:
        raise ValueError(f"{type(module).__name__} has no entry that starts with {prefix!r}: give another prefix")
    found = {name: entry for name, entry in _entries(path, content).items() if name.startswith(prefix or "")}
    _check_fit(path, wanted, found)
    with _reading(path):
        tensors = {name: found[name].read() for name in wanted.keys() & found.keys()}
    for name, tensor in tensors.items():
        wanted[name].copy_(tensor)


def find_weights(name: str) -> Path:
    """Return the file of published ImageNet weights, downloaded where it is not on this machine.

    It is looked for in `$GAPMIN_DATA/weights`, then among the checkpoints of `torch.hub`, where torchvision keeps
    its own, and last downloaded to there.

    Parameters
    ----------
    name : {"alexnet", "resnet18", "alexnet-features"}
        The last is `alexnet_features.npz`, the five convolutions of AlexNet, and only looked for in `$GAPMIN_DATA`.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        When the file is not there and cannot be downloaded.

    Examples
    --------
    >>> from gapmin.deep.weights import find_weights
    >>> find_weights("resnet18")  # doctest: +SKIP
    PosixPath('/home/me/.cache/torch/hub/checkpoints/resnet18-f37072fd.pth')
    >>> find_weights("vgg")
    Traceback (most recent call last):
        ...
    ValueError: there are no weights named 'vgg': use one of 'alexnet', 'resnet18', 'alexnet-features'
    """
    if name not in _WEIGHT_FILES:
        raise ValueError(f"there are no weights named {name!r}: use one of {', '.join(map(repr, _WEIGHT_FILES))}")
    file = _WEIGHT_FILES[name]
    own = Path(os.environ.get("GAPMIN_DATA") or "$GAPMIN_DATA") / "weights" / file
    if own.is_file():
        return own
    if name == "alexnet-features":
        raise FileNotFoundError(
            f"{own} is not there: set GAPMIN_DATA to the folder that holds weights/{file}, or load the convolutions "
            'of the whole file with load_weights(AlexNet(features_only=True), find_weights("alexnet"), '
            'prefix="features.")'
        )
    cached = Path(torch.hub.get_dir()) / "checkpoints" / file
    if not cached.is_file():
        _download(_URL + file, cached, own)
    return cached


def pretrained(name: str) -> nn.Module:
    """Return an extractor with its ImageNet weights.

    Parameters
    ----------
    name : {"alexnet", "resnet18", "alexnet-features"}
        `AlexNet()`, `ResNet18()` or `AlexNet(features_only=True)`; `find_weights` says where their files come from.

    Returns
    -------
    nn.Module
        With the weights of ImageNet.

    Examples
    --------
    >>> from gapmin.deep.weights import pretrained
    >>> pretrained("resnet18").out_features  # doctest: +SKIP
    512
    >>> pretrained("resnet19")
    Traceback (most recent call last):
        ...
    ValueError: there are no weights named 'resnet19': use one of 'alexnet', 'resnet18', 'alexnet-features'
    """
    path = find_weights(name)
    module = _NETS[name]()
    load_weights(module, path)
    return module


def _download(url: str, path: Path, other_place: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.hub.download_url_to_file(url, str(path), hash_prefix=_digits_in_name(path), progress=False)
    except (OSError, http.client.HTTPException) as error:
        raise FileNotFoundError(
            f"{path.name} is not on this machine and {url} cannot be downloaded ({error}): download it elsewhere and "
            f"put it at {path} or {other_place}"
        ) from error
    except RuntimeError as error:  # torch's word for a wrong checksum
        raise ValueError(f"{url} has not arrived whole ({error}): download it again") from error


def _digits_in_name(path: Path) -> str | None:
    match = re.search(r"-([0-9a-f]{8})\.pth$", path.name)
    return match and match[1]


def _content(path: Path) -> bytes:
    """Return the bytes of a file, read once: what is checked is what is used."""
    if path.is_dir():
        raise FileNotFoundError(f"{path} is a folder: give a file of weights")
    try:
        with open_regular(path) as file:
            return file.read()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} is not there: give a file of weights") from None
    except (OSError, ContentError) as error:
        raise ValueError(f"{path} cannot be read ({one_line(error)}): give a file of weights") from error


def _check_sha256(path: Path, content: bytes, sha256: str | None) -> None:
    expected, advice = sha256, ""
    if expected is None:
        expected, advice = _digits_in_name(path), ", or rename it if the digits in its name are no checksum"
    if expected is None:
        return
    if not re.fullmatch(r"[0-9a-fA-F]{8,64}", expected):
        raise ValueError(f"sha256 is {expected!r}: give the 64 hexadecimal digits, or the first 8 or more of them")
    found = hashlib.sha256(content).hexdigest()
    if not found.startswith(expected.lower()):
        raise ValueError(
            f"{path} has the SHA-256 {found[: len(expected)]}, not the expected {expected}: download the file again"
            + advice
        )


class _StoredWeight(NamedTuple):
    """A tensor in a file: what it is, and a way to read it."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    read: Callable[[], Tensor]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever is raised while a file is read into an error that says what to do."""
    try:
        yield
    except HoldsObjectsError:
        raise ValueError(
            f"{path} holds Python objects beside tensors, which could run code when read, and is refused: save "
            "module.state_dict() and not the module"
        ) from None
    except Exception as error:  # zipfile, NumPy and PyTorch each have errors of their own for damaged bytes
        raise ValueError(
            f"{path} is not a {path.suffix} file of weights, or is damaged: download or save it again"
        ) from error


def _entries(path: Path, content: bytes) -> dict[str, _StoredWeight]:
    """Return what a file holds by name; of formats that allow it, no tensor is read yet."""
    if path.suffix not in _READERS:
        raise ValueError(f"{path} is of no known format: give one of {', '.join(_READERS)}")
    with _reading(path):
        entries = _READERS[path.suffix](content)
    if entries is None:
        raise ValueError(f"{path} does not hold tensors by name: save module.state_dict() alone")
    return entries


def _read_pickle(content: bytes) -> dict[str, _StoredWeight] | None:
    check_pickles(content)
    found = torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
    if not isinstance(found, Mapping) or not all(
        isinstance(name, str) and _is_plain(tensor) for name, tensor in found.items()
    ):
        return None
    return _in_memory(found)


def _in_memory(tensors: Mapping[str, Tensor]) -> dict[str, _StoredWeight]:
    return {
        name: _StoredWeight(tuple(each.shape), each.dtype, partial(torch.as_tensor, each))
        for name, each in tensors.items()
    }


def _is_plain(value: object) -> bool:
    return isinstance(value, Tensor) and value.layout is torch.strided and not value.is_quantized


def _read_safetensors(content: bytes) -> dict[str, _StoredWeight]:
    with TensorFile(io.BytesIO(content)) as file:
        return _in_memory(file.read())


def _read_npz(content: bytes) -> dict[str, _StoredWeight]:
    archive = zipfile.ZipFile(io.BytesIO(content))
    entries = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name in entries or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is there twice, or compressed in a way that NumPy never does")
        with archive.open(member) as file:
            start = io.BytesIO(file.read(2**14))  # a header that is said to be longer is not waited for
        version = np.lib.format.read_magic(start)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, _, dtype = read(start)
        entries[name] = _StoredWeight(
            shape, torch.from_numpy(np.empty(0, dtype)).dtype, partial(_unzip, archive, member)
        )
    return entries


def _unzip(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Tensor:
    with archive.open(member) as file:
        return torch.from_numpy(np.lib.format.read_array(file, allow_pickle=False))


_READERS: dict[str, Callable[[bytes], dict[str, _StoredWeight] | None]] = {
    ".pth": _read_pickle,
    ".pt": _read_pickle,
    ".safetensors": _read_safetensors,
    ".npz": _read_npz,
}


def _check_fit(path: Path, wanted: Mapping[str, Tensor], found: Mapping[str, _StoredWeight]) -> None:
    missing = [name for name in wanted.keys() - found.keys() if not name.endswith("num_batches_tracked")]
    unknown = [name for name in found.keys() - wanted.keys() if not name.startswith(_LAST_LAYERS)]
    if missing or unknown:
        fault = f"lacks {_listed(missing)}" if missing else f"has {_listed(unknown)}, which the module lacks"
        raise ValueError(
            f'{path} {fault}: give the file of this network, or load a part with prefix, as in prefix="features."'
        )
    for name in [name for name in wanted if name in found]:
        ours, theirs = wanted[name], found[name]
        if tuple(ours.shape) != theirs.shape:
            fault = f"has the shape {theirs.shape} in {path} and {tuple(ours.shape)} in the module"
        elif ours.is_floating_point() != theirs.dtype.is_floating_point:
            fault = f"is {theirs.dtype} in {path} and {ours.dtype} in the module"
        else:
            continue
        raise ValueError(f"{name} {fault}: give the file of this network")


def _listed(names: Iterable[str]) -> str:
    first, *others = map(one_line, sorted(names))
    return f"{first} and {len(others)} more entries" if others else first
