"""PyTorch's own files, looked through before they are read: tensors, the names of their types, and nothing else.

`torch.load(weights_only=True)` runs no code, but calls some functions of Python, such as ``bytearray(10**12)``, and
inflates what is deflated. Here the pickles are only taken apart.
"""

from __future__ import annotations

import io
import pickletools
import re
import zipfile

_TENSORS = re.compile(
    r"collections OrderedDict"
    r"|torch\._utils _rebuild_(tensor|tensor_v2|tensor_v3|parameter|sparse_tensor)"
    r"|torch\.serialization _get_layout"
    r"|torch\.nn\.parameter Parameter"
    r"|torch(\.storage|\.cuda)? \w*Storage"
    r"|torch (Size|b?float\d+\w*|u?int\d+|bool|complex\d+)"
)
_BY_OTHER_WAYS = ("STACK_GLOBAL", "INST", "OBJ", "EXT1", "EXT2", "EXT4", "NEWOBJ", "NEWOBJ_EX")
_LEGACY_PICKLES = 5  # a magic number, the protocol, the machine, the tensors, and which storages follow


class HoldsObjectsError(ValueError):
    """There are Python objects beside tensors."""


def check_pickles(content: bytes) -> None:
    """Refuse a file of PyTorch that names anything but tensors, or takes more memory than it has bytes.

    Examples
    --------
    >>> import pickle
    >>> check_pickles(pickle.dumps([print], protocol=2))
    Traceback (most recent call last):
        ...
    gapmin.deep._pickles.HoldsObjectsError: __builtin__ print
    """
    if not content.startswith(b"PK"):
        stream = io.BytesIO(content)
        for _ in range(_LEGACY_PICKLES):
            _check_pickle(stream)
        return
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if len({member.filename.casefold() for member in members}) < len(members):
            raise ValueError("it has two members of one name")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed, which PyTorch never does")
        for member in members:
            if member.filename.casefold().endswith(".pkl"):
                _check_pickle(io.BytesIO(archive.read(member)))


def _check_pickle(stream: io.BytesIO) -> None:
    for opcode, argument, _ in pickletools.genops(stream):
        named = opcode.name == "GLOBAL" and not _TENSORS.fullmatch(str(argument))
        if named or opcode.name in _BY_OTHER_WAYS:
            raise HoldsObjectsError(argument)
