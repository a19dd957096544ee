"""Files of networks to be altered, and a process that reads them under limits."""

import json
import os
import re
import struct
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd

from gapmin.deep import MultitaskClassifier

# PyTorch is imported once; each file is read in a process of its own, forked from there, with little memory and time.
SERVER = """
import json, os, resource, sys, warnings
import torch
from gapmin.deep import MultitaskClassifier

warnings.simplefilter("error")
torch.set_num_threads(1)
MultitaskClassifier.load(sys.argv[1])  # what is imported late, is to be imported before the forks
for line in sys.stdin:
    child = os.fork()
    if not child:
        with open("/proc/self/statm") as file:
            taken = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + 256 * 2**20,) * 2)
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
        try:
            MultitaskClassifier.load(json.loads(line))
            said = ["loaded", ""]
        except BaseException as error:
            said = [type(error).__name__, str(error)]
        print(json.dumps(said), flush=True)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        print(json.dumps(["killed", str(status)]), flush=True)
"""


def fitted(objective="uniform", **params):
    X = pd.DataFrame({"one": [0.0, 1.0, 2.0, 3.0], "two": [1.0, 0.0, 1.0, 0.0]})
    settings = {"head_hidden": 2, "epochs": 1, "device": "cpu", "random_state": 0, **params}
    return MultitaskClassifier(objective, **settings).fit(X, ["no", "yes"] * 2, sample_task=["a", "a", "b", "b"])


class Content:
    """What a file holds, to be changed and written again by hand: safetensors itself would not write most of it."""

    def __init__(self, content, key="gapmin"):
        self.key = key
        (length,) = struct.unpack("<Q", content[:8])
        self.header, self.data = json.loads(content[8 : 8 + length]), content[8 + length :]
        self.said = json.loads(self.header["__metadata__"][key])

    def write(self, path, said=None, header=None, length=None):
        self.header["__metadata__"][self.key] = json.dumps(self.said) if said is None else said
        text = json.dumps(self.header).encode() if header is None else header
        path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + self.data)
        return path

    def replace(self, name, array):
        """Give a tensor another type or shape, behind all others."""
        raw, kinds = (
            np.ascontiguousarray(array).tobytes(),
            {"f4": "F32", "f8": "F64", "f2": "F16", "i4": "I32", "u1": "U8"},
        )
        begin, end = self.header[name]["data_offsets"]
        self.data = self.data[:begin] + self.data[end:] + raw
        del self.header[name]
        for each in self.header.values():
            if "data_offsets" in each and each["data_offsets"][0] >= end:
                each["data_offsets"] = [place - (end - begin) for place in each["data_offsets"]]
        place = [len(self.data) - len(raw), len(self.data)]
        self.header[name] = {"dtype": kinds[array.dtype.str[1:]], "shape": list(array.shape), "data_offsets": place}


@contextmanager
def loading(original):
    """Yield a function that loads a file in a process of its own; it returns the name of the error and its text."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, original],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:

        def load(path):
            print(json.dumps(str(path)), file=server.stdin, flush=True)
            return tuple(json.loads(server.stdout.readline()))

        yield load
        server.stdin.close()


def assert_refused(found, path, fault):
    kind, text = found
    assert kind == "ValueError", found
    assert text.startswith(str(path))
    assert re.search(fault, text), text
    assert re.search(": (fit|give|install|read|save) ", text), text
    assert "\n" not in text
    assert len(text) < 600
