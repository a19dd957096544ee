"""Files that were altered, cut short, or made elsewhere, and things that are no files of ours."""

from __future__ import annotations

import io
import os
import pickle
import zipfile

import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

import gapmin
from gapmin import __version__
from gapmin.saved import ModelFileError, load_model, save_model
from gapmin.saved._archive import seal

PATIENT = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def refused(path):
    """The one line with which a file is refused; anything but a refusal fails."""
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(str(path))
    assert ": " in line  # a remedy
    return line


@PATIENT
@given(place=st.integers(0, 10**9), flip=st.integers(1, 255))
def test_any_byte_that_is_changed_anywhere_is_found(saved_tree, place, flip):
    content = bytearray(saved_tree.read_bytes())
    content[place % len(content)] ^= flip
    bad = saved_tree.with_name("bad.skops")
    bad.write_bytes(content)
    refused(bad)


@PATIENT
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_short_anywhere_is_refused(saved_tree, share):
    content = saved_tree.read_bytes()
    bad = saved_tree.with_name("bad.skops")
    bad.write_bytes(content[: int(share * len(content))])
    refused(bad)


def test_a_file_with_something_after_it_is_refused(saved_tree):
    saved_tree.write_bytes(saved_tree.read_bytes() + b"\0")
    assert "end is missing" in refused(saved_tree)


def test_a_member_that_is_not_what_gapmin_json_says_is_named(saved_tree, craft, tmp_path):
    def facts(said):
        said["members"]["schema.json"] = "0" * 64

    assert "'schema.json' was altered (checksum)" in refused(craft(saved_tree, tmp_path / "bad.skops", facts=facts))


def test_an_untouched_copy_loads(saved_tree, craft, tmp_path):
    assert load_model(craft(saved_tree, tmp_path / "copy.skops")).about == {"rows": 80}


@pytest.mark.parametrize(
    ("name", "version", "fine"),
    [
        ("gapmin", "0.0.9", False),
        ("gapmin", "1.1.0", False),
        ("gapmin", "0.10.0", False),
        ("gapmin", "newest", False),
        ("gapmin", ".".join([*gapmin.__version__.split(".")[:2], "999"]), True),
        ("scikit-learn", "1.0.2", False),
        ("scikit-learn", "99.0", False),
        ("numpy", "1.0.0", True),
        ("python", "3.11.0", True),
    ],
)
def test_versions_that_do_not_go_together_are_refused_with_both(name, version, fine, saved_tree, craft, tmp_path):
    def facts(said):
        said["versions"][name] = version

    path = craft(saved_tree, tmp_path / "other.skops", facts=facts)
    if fine:
        assert load_model(path).versions[name] == version
        return
    line = refused(path)
    assert version in line
    assert load_model(saved_tree).versions[name] in line
    assert "pip install" in line
    assert "fit the model again" in line


def test_a_patch_release_of_scikit_learn_passes_without_a_warning(saved_tree, craft, objects, tmp_path, recwarn):
    def schema(tree):
        tree["content"]["content"]["_sklearn_version"]["content"] = '"1.9.77"'

    load_model(craft(saved_tree, tmp_path / "patch.skops", schema=schema))
    assert not recwarn.list


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 5}, "format 5"),
        ({"format": 0}, "format"),
        ({"format": True}, "format"),
        ({"format": "4"}, "format"),
        ({"schema": ["a"]}, "entries"),
        ({"about": None}, "entries"),
        ({"versions": {"gapmin": "0.1.0"}}, "versions"),
        ({"members": {}}, "members"),
        ({"more": 1}, "entries"),
    ],
    ids=str,
)
def test_facts_of_a_wrong_kind_are_refused(change, said, saved_tree, craft, tmp_path):
    assert said in refused(craft(saved_tree, tmp_path / "bad.skops", facts=lambda facts: facts | change))


@pytest.mark.parametrize(
    ("versions", "writer"),
    [({"gapmin": "0.0.9"}, "0.0.9"), ({"gapmin": "0\n9"}, "0 9"), ({}, "unknown"), (1, "unknown")],
)
@pytest.mark.parametrize("number", [1, 2])
def test_a_file_of_an_earlier_format_says_who_wrote_it_and_what_to_do(
    number, versions, writer, saved_tree, craft, tmp_path
):
    change = {"format": number, "versions": versions}
    line = refused(craft(saved_tree, tmp_path / "old.skops", facts=lambda facts: facts | change))
    assert f"it was written by gapmin {writer} in format {number}, and gapmin {__version__} reads format 4" in line
    assert line.endswith(": fit the model again")


@pytest.mark.parametrize("text", [b"", b"[]", b"{", b'{"format": NaN}', b'{"format": 1, "format": 1}', b"[" * 100_000])
@pytest.mark.parametrize("name", ["gapmin.json", "schema.json"])
def test_json_that_is_none_is_refused(text, name, saved_tree, craft, tmp_path):
    refused(craft(saved_tree, tmp_path / "bad.skops", raw={name: text}))


@pytest.mark.parametrize(
    "name", ["../outside.npy", "/etc/outside.npy", "a/1.npy", "code.pkl", "1.bin", "x.npz", "1.NPY"]
)
def test_members_that_no_model_has_are_refused(name, saved_tree, craft, tmp_path):
    assert name in refused(craft(saved_tree, tmp_path / "bad.skops", arrays={name: b"0"}))
    assert sorted(os.listdir(tmp_path)) == ["bad.skops", "tree.skops"]


def test_an_array_that_nobody_asks_for_is_refused(saved_tree, craft, tmp_path):
    assert "'777.npy'" in refused(craft(saved_tree, tmp_path / "bad.skops", arrays={"777.npy": b"0"}))


@pytest.mark.parametrize("name", ["schema.json", "1.npy"])
def test_a_member_that_inflates_beyond_reason_is_refused_unread(name, saved_tree, craft, tmp_path, monkeypatch):
    plain = zipfile.ZipFile.writestr

    def deflating(self, member, content, *options):
        plain(self, member, content, zipfile.ZIP_DEFLATED if member == name else zipfile.ZIP_STORED)

    monkeypatch.setattr(zipfile.ZipFile, "writestr", deflating)
    bad = craft(saved_tree, tmp_path / "bomb.skops", raw={name: b" " * 50_000_000})
    assert bad.stat().st_size < 100_000
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda self, member: pytest.fail(f"{member} was inflated"))
    assert f"its member '{name}' inflates from" in refused(bad)


def test_a_member_twice_is_refused(saved_tree, tmp_path):
    with zipfile.ZipFile(saved_tree, "a") as archive:
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("schema.json", "{}")
        archive.comment = b"gapmin sha256 " + b"0" * 64
    saved_tree.write_bytes(seal(saved_tree.read_bytes()))
    assert "two members" in refused(saved_tree)


def test_things_that_are_no_files_of_ours(tmp_path, rows):
    assert "does not exist" in refused(tmp_path / "none.skops")
    assert "is a folder" in refused(tmp_path)
    bad = tmp_path / "bad.skops"
    for content, said in (
        (b"", "is empty"),
        (pickle.dumps(Ridge()), "not a model file"),
        (b"a,b\n1,2\n", "not a model file"),
        (b"PK\x03\x04", "end is missing"),
        (skops.io.dumps(Ridge().fit(rows["X"], rows["numbers"])), "not written by this gapmin"),
    ):
        bad.write_bytes(content)
        assert said in refused(bad)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("payload.pkl", pickle.dumps(Ridge()))
    bad.write_bytes(buffer.getvalue())
    assert "not written by this gapmin" in refused(bad)
    os.mkfifo(tmp_path / "pipe")
    assert "regular file" in refused(tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(saved_tree):
    saved_tree.chmod(0)
    assert "permissions" in refused(saved_tree)


def test_a_name_that_the_system_refuses(tmp_path):
    assert "cannot be read" in refused(tmp_path / ("n" * 300))


def test_a_link_is_followed_and_stays_a_link(saved_tree, tmp_path, rows):
    link = tmp_path / "link.skops"
    link.symlink_to(saved_tree)
    save_model(Ridge().fit(rows["X"], rows["numbers"]), link)
    assert link.is_symlink()
    assert isinstance(load_model(saved_tree).model, Ridge)
