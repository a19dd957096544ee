import io
import shutil
import sys
import tarfile

import numpy as np
import pytest

from gapmin.datasets import load_office31, load_office_home, load_pacs

Image = pytest.importorskip("PIL.Image")

PACS = ("art_painting", "cartoon", "photo", "sketch")
CLASSES = ("dog", "elephant", "horse")
N_IMAGES = 16
"""Of each class, so that a tenth can hold all three."""


@pytest.fixture
def data(monkeypatch, tmp_path):
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def write_image(path, seed, size=(12, 8), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    channels = () if mode == "L" else (3,)
    pixels = np.random.default_rng(seed).integers(256, size=(size[1], size[0], *channels)).astype(np.uint8)
    Image.fromarray(pixels).save(path, quality=95)


def write_folders(folders, classes=CLASSES, n_images=N_IMAGES, suffix="jpg", size=(12, 8)):
    for task, folder in enumerate(folders):
        for label, name in enumerate(classes):
            for k in range(n_images):
                write_image(folder / name / f"pic_{k:03}.{suffix}", 100 * task + 10 * label + k, size)


def write_pacs(data, size=(12, 8)):
    write_folders([data / "pacs/PACS" / task for task in PACS[:3]], size=size)
    write_folders([data / "pacs/PACS/sketch"], suffix="png", size=size)
    return data / "pacs/PACS"


def write_lists(data, n_train=12):
    for task in PACS:
        suffix = "png" if task == "sketch" else "jpg"
        lines = [
            (k, f"{task}/{name}/pic_{k:03}.{suffix} {label}\n")
            for label, name in enumerate(CLASSES, start=1)
            for k in range(N_IMAGES)
        ]
        (data / f"pacs/{task}_train_kfold.txt").write_text("".join(line for k, line in lines if k < n_train))
        # As published: all images, those that train too.
        (data / f"pacs/{task}_test_kfold.txt").write_text("".join(line for _, line in lines))


def pack(folder, path):
    """The folder as an archive of JPEG files, in an order of its own."""
    with tarfile.open(path, "w") as archive:
        for file in sorted(folder.rglob("*.*"), reverse=True):
            buffer = io.BytesIO()
            Image.open(file).save(buffer, "jpeg", quality=95)
            member = tarfile.TarInfo(str(file.relative_to(folder.parent).with_suffix(".jpg")))
            member.size = buffer.tell()
            buffer.seek(0)
            archive.addfile(member, buffer)


def test_pacs_from_folders(data):
    root = write_pacs(data)
    problem = load_pacs(size=16)
    assert list(problem.tasks) == list(PACS)
    for task, (X, y) in problem.tasks.items():
        assert X.shape == (48, 3, 16, 16)
        assert X.dtype == np.uint8
        assert y.tolist() == sorted(CLASSES * N_IMAGES)
        suffix = "png" if task == "sketch" else "jpg"
        image = Image.open(root / task / "elephant" / f"pic_002.{suffix}").convert("RGB")
        expected = np.asarray(image.resize((16, 16), Image.Resampling.BILINEAR))
        np.testing.assert_array_equal(X[N_IMAGES + 2].transpose(1, 2, 0), expected)
    assert problem.test is None
    assert problem.train_size == 0.1
    assert problem.split(0).X.shape == (4 * 5, 3, 16, 16)


def test_the_published_folder_may_be_called_kfold(data):
    shutil.move(write_pacs(data), data / "pacs/kfold")
    assert load_pacs(size=16).description == "PACS from kfold, random splits"


def test_pacs_from_the_archive_keeps_its_order(data):
    root = write_pacs(data, size=(128, 128))
    pack(root, data / "pacs/pacs-128-q90.tar")
    problem = load_pacs()
    assert problem.description == "PACS from pacs-128-q90.tar, random splits"
    X, y = problem.tasks["photo"]
    assert X.shape == (48, 3, 128, 128)
    assert y.tolist() == sorted(CLASSES * N_IMAGES, reverse=True)
    # Other sizes come from the folder, which has the more pixels as published.
    assert load_pacs(size=64).description == "PACS from PACS, random splits"
    shutil.rmtree(root)
    assert load_pacs(size=64).tasks["photo"][0].shape == (48, 3, 64, 64)


def test_images_keep_their_size_if_it_is_one(data):
    root = write_pacs(data)
    assert load_pacs(size=None).tasks["photo"][0].shape == (48, 3, 8, 12)
    write_image(root / "photo/dog/pic_007.jpg", 0, size=(10, 8))
    with pytest.raises(ValueError, match="PACS holds images of 12 x 8 and of 10 x 8 pixels: give size"):
        load_pacs(size=None)


def test_the_published_split(data):
    root = write_pacs(data)
    write_lists(data)
    problem = load_pacs(size=16)
    assert problem.description == "PACS from PACS, published split"
    everything = load_pacs(size=16, splits="random").tasks
    for task, (X, y) in everything.items():
        trains = np.tile(np.arange(N_IMAGES) < 12, 3)
        np.testing.assert_array_equal(problem.tasks[task][0], X[trains])
        np.testing.assert_array_equal(problem.test[task][0], X[~trains])
        np.testing.assert_array_equal(problem.test[task][1], y[~trains])
    # The sketches of the archive are JPEG files, those of the lists PNG.
    pack(root, data / "pacs/pacs-128-q90.tar")
    shutil.rmtree(root)
    assert load_pacs(size=16, splits="published").test["sketch"][0].shape == (12, 3, 16, 16)


def test_lists_are_needed_only_when_asked_for(data):
    write_pacs(data)
    with pytest.raises(FileNotFoundError, match=r"pacs/art_painting_train_kfold\.txt is not there"):
        load_pacs(size=16, splits="published")
    write_lists(data)
    (data / "pacs/photo_test_kfold.txt").unlink()
    assert load_pacs(size=16).test is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("photo/dog/pic_099.jpg 1", r"photo_train_kfold\.txt lists dog/pic_099, of which there is no image"),
        ("photo/dog/pic_000.jpg 2", r"photo_train_kfold\.txt cannot be read .*numbers a class that has the number 1"),
        ("photo/dog/pic_000.jpg 0", r"photo_train_kfold\.txt cannot be read"),
        ("photo/cat/pic_000.jpg 1", r"photo_train_kfold\.txt cannot be read"),
        ("photo/dog/pic_000.jpg", r"photo_train_kfold\.txt cannot be read"),
        ("nonsense", r"photo_train_kfold\.txt cannot be read"),
        ("", r"photo_train_kfold\.txt lists nothing"),
    ],
)
def test_other_lists_are_refused(data, line, message):
    write_pacs(data)
    write_lists(data)
    (data / "pacs/photo_train_kfold.txt").write_text(line)
    with pytest.raises(ValueError, match=message):
        load_pacs(size=16)


def test_bad_requests_are_refused(data):
    with pytest.raises(FileNotFoundError, match=r"pacs-128-q90\.tar is not there.*domaingeneralization"):
        load_pacs()
    write_pacs(data)
    with pytest.raises(ValueError, match="splits is 'kfold': use one of 'auto', 'published', 'random'"):
        load_pacs(splits="kfold")
    with pytest.raises(ValueError, match="size is 0: give the pixels of a side"):
        load_pacs(size=0)


def test_damaged_images_and_archives_are_named(data):
    root = write_pacs(data)
    damaged = root / "photo/horse/pic_003.jpg"
    content = damaged.read_bytes()
    for bad in (b"", b"no image", content[: len(content) // 2]):
        damaged.write_bytes(bad)
        with pytest.raises(ValueError, match=r"photo/horse/pic_003\.jpg cannot be read .*: put the published file"):
            load_pacs(size=16)
    shutil.rmtree(root)
    archive = data / "pacs/pacs-128-q90.tar"
    for bad in (b"", b"no archive" * 100):
        archive.write_bytes(bad)
        with pytest.raises(ValueError, match=r"pacs-128-q90\.tar (cannot be read|holds no images)"):
            load_pacs()


def test_a_cut_archive_is_refused(data):
    root = write_pacs(data)
    archive = data / "pacs/pacs-128-q90.tar"
    pack(root, archive)
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 2])
    with pytest.raises(ValueError, match=r"pacs-128-q90\.tar (cannot be read|holds no images of .* for)"):
        load_pacs()


def test_a_task_without_a_class_is_refused(data):
    root = write_pacs(data)
    shutil.rmtree(root / "cartoon/elephant")
    with pytest.raises(ValueError, match="PACS holds no images of elephant for cartoon"):
        load_pacs(size=16)


def test_missing_pillow_says_what_to_install(data, monkeypatch):
    write_pacs(data)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'Pillow.*pip install -e "\.\[data\]"'):
        load_pacs(size=16)


def test_office31_in_the_published_layout(data):
    folders = [data / "office31" / task / "images" for task in ("amazon", "dslr", "webcam")]
    write_folders(folders, classes=[f"class_{k:02}" for k in range(31)], n_images=1)
    (folders[0] / "class_00/.DS_Store").touch()
    (folders[0] / "class_00/Thumbs.db").touch()
    write_image(folders[0] / "class_00/grey.jpg", 0, mode="L")
    problem = load_office31(size=20)
    assert {task: X.shape for task, (X, _) in problem.tasks.items()} == {
        "amazon": (32, 3, 20, 20),
        "dslr": (31, 3, 20, 20),
        "webcam": (31, 3, 20, 20),
    }
    assert problem.split(0, 0.2).y.size == 18
    shutil.rmtree(folders[1])
    with pytest.raises(FileNotFoundError, match=r"office31/dslr/images is not there.*Saenko"):
        load_office31()


@pytest.mark.parametrize("last", ["Real World", "Real_World"])
def test_office_home_in_the_published_layout(data, last):
    tasks = ("Art", "Clipart", "Product", last)
    folders = [data / "OfficeHomeDataset_10072016" / task for task in tasks]
    write_folders(folders, classes=("Alarm_Clock", "Backpack", "Batteries"), n_images=2)
    problem = load_office_home(size=20)
    assert list(problem.tasks) == ["Art", "Clipart", "Product", "Real World"]
    for X, y in problem.tasks.values():
        assert X.shape == (6, 3, 20, 20)
        assert y.tolist() == ["Alarm_Clock"] * 2 + ["Backpack"] * 2 + ["Batteries"] * 2


@pytest.mark.data
@pytest.mark.slow
def test_the_published_pacs():
    problem = load_pacs(splits="random")
    sizes = {task: X.shape for task, (X, _) in problem.tasks.items()}
    assert sizes == {task: (n_rows, 3, 128, 128) for task, n_rows in zip(PACS, (2048, 2344, 1670, 3929), strict=True)}
    for X, y in problem.tasks.values():
        assert X.dtype == np.uint8
        assert np.unique(y).tolist() == ["dog", "elephant", "giraffe", "guitar", "horse", "house", "person"]
