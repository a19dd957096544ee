import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from gapmin.deep.images import IMAGENET_MEAN, IMAGENET_STD, ImageFolder


def save(path, colour=(255, 0, 51), size=(6, 4), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).convert(mode).save(path)


@pytest.fixture
def folder(tmp_path):
    """Lay out two classes in the ways that real folders have: capitals, subfolders, files of other kinds."""
    root = tmp_path / "images"
    save(root / "dog" / "b.PNG", (0, 0, 0))
    save(root / "dog" / "a.png", (255, 255, 255))
    save(root / "dog" / "more" / "a.bmp", (0, 255, 0))
    save(root / "Cat" / "1.png")
    (root / "Cat" / "notes.txt").write_text("no image")
    (root / "Cat" / "._1.png").write_bytes(b"what a Mac leaves")
    (root / ".cache").mkdir()
    (root / "readme.md").touch()
    return root


def test_the_order_of_torchvision(folder):
    images = ImageFolder(folder)
    assert images.classes == ["Cat", "dog"]
    assert images.class_to_idx == {"Cat": 0, "dog": 1}
    assert images.targets == [0, 1, 1, 1]
    assert images.samples == [
        (str(folder / "Cat" / "1.png"), 0),
        (str(folder / "dog" / "a.png"), 1),
        (str(folder / "dog" / "b.PNG"), 1),
        (str(folder / "dog" / "more" / "a.bmp"), 1),
    ]
    assert len(images) == 4
    assert repr(images) == f"<ImageFolder {str(folder)!r}: 4 images, 2 classes>"


def test_pixels_between_zero_and_one(folder):
    x, y = ImageFolder(folder)[0]
    assert x.dtype == torch.float32
    assert x.shape == (3, 4, 6)
    assert x.is_contiguous()
    assert y == 0
    torch.testing.assert_close(x, torch.tensor([1, 0, 0.2]).reshape(3, 1, 1).expand(3, 4, 6))


def test_pixels_stay_in_their_places(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    (tmp_path / "one").mkdir()
    Image.fromarray(pixels).save(tmp_path / "one" / "1.png")
    x, _ = ImageFolder(tmp_path)[0]
    np.testing.assert_allclose(x.numpy(), pixels.transpose(2, 0, 1) / 255, rtol=1e-6)
    resized, _ = ImageFolder(tmp_path, size=3)[0]
    expected = np.asarray(Image.fromarray(pixels).resize((3, 3), Image.Resampling.BILINEAR))
    np.testing.assert_allclose(resized.numpy(), expected.transpose(2, 0, 1) / 255, rtol=1e-6)


def test_normalised_as_the_published_networks_want_it(folder):
    x, _ = ImageFolder(folder, size=5, mean=IMAGENET_MEAN, std=IMAGENET_STD)[0]
    assert x.shape == (3, 5, 5)
    expected = [(1 - 0.485) / 0.229, (0 - 0.456) / 0.224, (0.2 - 0.406) / 0.225]
    torch.testing.assert_close(x[:, 2, 3], torch.tensor(expected))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "CMYK", "1"])
def test_every_image_becomes_rgb(tmp_path, mode):
    save(tmp_path / "one" / ("1.jpg" if mode == "CMYK" else "1.png"), (255, 255, 255), mode=mode)
    x, _ = ImageFolder(tmp_path)[0]
    torch.testing.assert_close(x, torch.ones(3, 4, 6), rtol=0, atol=0.02)


def test_batches_from_workers(folder):
    loader = DataLoader(ImageFolder(folder, size=8), batch_size=4, num_workers=1)
    ((x, y),) = loader
    assert x.shape == (4, 3, 8, 8)
    assert y.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("damage", ["text", "cut", "gone"])
def test_an_unreadable_file_is_named(folder, damage):
    images = ImageFolder(folder)
    file = folder / "dog" / "a.png"
    content = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(b"no image" if damage == "text" else content[: len(content) // 2])
    images[0]
    with pytest.raises(ValueError, match=r"dog.a\.png cannot be read as an image \(.+\): replace or remove it"):
        images[1]


def test_folders_without_images(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a folder: give the one that holds a folder for each"):
        ImageFolder(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="holds no folder with images"):
        ImageFolder(tmp_path)
    (tmp_path / "cat").mkdir()
    save(tmp_path / "not-in-a-class.png")
    with pytest.raises(FileNotFoundError, match="holds no folder with images"):
        ImageFolder(tmp_path)
    save(tmp_path / "dog" / "1.png")
    with pytest.raises(FileNotFoundError, match=r"cat holds no images: fill or remove the folder"):
        ImageFolder(tmp_path)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 0}, r"size is 0: give the pixels of a side"),
        ({"mean": (0.5, 0.5)}, r"mean is \(0.5, 0.5\): give three numbers"),
        ({"std": 0.5}, r"std is 0.5: give three numbers"),
        ({"std": (1, 0, 1)}, r"std is \(1.0, 0.0, 1.0\): give three numbers above 0"),
    ],
)
def test_parameters_that_make_no_sense(folder, parameters, message):
    with pytest.raises(ValueError, match=message):
        ImageFolder(folder, **parameters)


def test_without_pillow_the_install_is_named(folder, monkeypatch):
    images = ImageFolder(folder)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r'pip install -e "\.\[deep\]"'):
        images[0]
