"""The paper's protocol, on a small PACS: whole networks on images, the published split, rows set aside."""

from __future__ import annotations

import numpy as np
import pytest

from gapmin import cli
from gapmin.reproduce.cells import cell
from gapmin.reproduce.store import Store

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

TASKS = ("art_painting", "cartoon", "photo", "sketch")
CLASSES = ("dog", "horse")
N_IMAGES, N_TRAIN = 14, 11
"""Of each class, in all and in the training list."""


@pytest.fixture
def pacs(monkeypatch, tmp_path):
    """The published layout with few images, and AlexNet with weights that are not the published ones."""
    from gapmin.deep.nets import AlexNet
    from gapmin.reproduce import networks

    data = tmp_path / "data"
    monkeypatch.setenv("GAPMIN_DATA", str(data))
    monkeypatch.setenv("GAPMIN_OFFLINE", "1")
    monkeypatch.setattr(networks, "PACS_SIZE", 64)
    monkeypatch.setattr(networks, "pretrained", lambda name: AlexNet())
    networks.setup.cache_clear()
    rng = np.random.default_rng(0)
    for task in TASKS:
        lines = []
        for number, label in enumerate(CLASSES, start=1):
            for k in range(N_IMAGES):
                path = data / "pacs/kfold" / task / label / f"pic_{k:03}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rng.integers(256, size=(70, 70, 3)).astype(np.uint8)).save(path)
                lines.append((k, f"{task}/{label}/{path.name} {number}\n"))
        (data / f"pacs/{task}_train_kfold.txt").write_text("".join(line for k, line in lines if k < N_TRAIN))
        (data / f"pacs/{task}_test_kfold.txt").write_text("".join(line for _, line in lines))
    yield data
    networks.setup.cache_clear()


def test_the_published_lists_say_who_trains_validates_and_tests(pacs):
    from gapmin.reproduce import networks

    problem, _, batch_size, validation = networks.setup("PACS", "paper")
    assert batch_size == 64
    split = problem.split(0, 0.1)
    for task in TASKS:
        # A tenth of the 22 images of the training list train, the others of the list test.
        assert (split.sample_task == task).sum() == 2
        assert (split.sample_task_test == task).sum() == 2 * N_TRAIN - 2
        assert len(validation[task][1]) == 2 * (N_IMAGES - N_TRAIN)
    train, test, aside = (
        {image.tobytes() for image in images}
        for images in (split.X, split.X_test, np.concatenate([X for X, _ in validation.values()]))
    )
    assert not train & test
    assert not aside & (train | test)
    assert len(train | test | aside) == 4 * 2 * N_IMAGES


def test_a_whole_network_is_trained_on_images(pacs):
    from gapmin.reproduce import networks

    one = cell("multitask", "PACS", "gapMTNN printed", 0, 0, train=0.1, epochs=1, protocol="paper")
    clf = networks.classifier(one)
    pixels, alexnet = clf.extractor
    images = networks.draw(one).X
    assert images.dtype == np.uint8
    seen = pixels(networks.torch.tensor(images).float())
    assert abs(float(seen.mean())) < 1  # noise around the middle grey: mean near 0.2, deviation near 1.3
    assert 0.5 < float(seen.std()) < 2
    assert all(parameter.requires_grad for parameter in alexnet.parameters())
    found = networks.measure(one)
    assert list(found.parts) == list(TASKS)
    assert (found.n_train, found.n_test) == (8, 80)


OFFICE = {
    "Office-31": ("office31/{}/images", ("amazon", "dslr", "webcam"), 16),
    "Office-Home": ("OfficeHomeDataset_10072016/{}", ("Art", "Clipart", "Product", "Real World"), 24),
}


@pytest.mark.parametrize("name", OFFICE)
def test_office_is_trained_whole_with_rows_set_aside_and_its_own_batch_size(name, monkeypatch, tmp_path):
    from gapmin.deep.nets import ResNet18
    from gapmin.reproduce import networks

    folder, tasks, batch_size = OFFICE[name]
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path))
    monkeypatch.setattr(networks, "OFFICE_SIZE", 32)
    monkeypatch.setattr(networks, "pretrained", lambda name: {"resnet18": ResNet18}[name]())
    networks.setup.cache_clear()
    rng = np.random.default_rng(0)
    for task in tasks:
        for label in CLASSES:
            for k in range(20):
                path = tmp_path / folder.format(task) / label / f"frame_{k:04}.jpg"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(rng.integers(256, size=(40, 30, 3)).astype(np.uint8)).save(path)
    one = cell("multitask", name, "gapMTNN printed", 0, 0, train=0.1, epochs=1, protocol="paper")
    clf = networks.classifier(one)
    assert clf.batch_size == batch_size
    assert all(parameter.requires_grad for parameter in clf.extractor.parameters())
    # Of 40 images of a task a tenth is set aside; a tenth of the other 36 trains, and the rest tests.
    _, _, _, validation = networks.setup(name, "paper")
    assert [len(y) for _, y in validation.values()] == [4] * len(tasks)
    found = networks.measure(one)
    assert found.extra["rows"] == dict.fromkeys(tasks, (4, 32))
    aside = {image.tobytes() for X, _ in validation.values() for image in X}
    drawn = networks.draw(one)
    assert not aside & {image.tobytes() for images in (drawn.X, drawn.X_test) for image in images}
    networks.setup.cache_clear()


def test_the_archive_of_small_images_is_not_the_paper_s_protocol(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("GAPMIN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GAPMIN_OFFLINE", "1")
    (tmp_path / "data/pacs").mkdir(parents=True)
    (tmp_path / "data/pacs/pacs-128-q90.tar").write_bytes(b"")
    for task in TASKS:
        for part in ("train", "test"):
            (tmp_path / f"data/pacs/{task}_{part}_kfold.txt").write_text("")
    out = tmp_path / "results"
    assert cli._run(["reproduce", "table5", "--protocol", "paper", "--out", str(out)]) == 2
    assert "needs the published images of PACS, of 227 x 227 pixels" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.slow
def test_a_small_grid_of_the_paper_s_protocol_from_the_command_line(pacs, tmp_path, capsys):
    out = tmp_path / "results"
    command = [
        "reproduce",
        "table5",
        "--protocol",
        "paper",
        "--quick",
        "--epochs",
        "1",
        "--jobs",
        "1",
        "--out",
        str(out),
    ]
    assert cli._run(command) == 0
    assert "8 cells run" in capsys.readouterr().out
    assert {outcome.cell.values["protocol"] for outcome in Store(out).read().outcomes.values()} == {"paper"}
    page = (out / "table5.md").read_text()
    assert "Protocol: paper." in page
    assert "Epochs 1 of the paper's 120, draws 1 of 10." in page
    assert "With --protocol small: " in page
    assert cli._run(command) == 0
    assert "0 cells run, 8 kept from before" in capsys.readouterr().out
