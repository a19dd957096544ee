"""Random changes of images: what each does to a picture, and the same pictures however many processes train."""

import pytest
import torch

from gapmin.deep import MultitaskClassifier, RandomFlip, RandomRotation, RandomScale, RandomShift
from gapmin.deep._names import name_of
from gapmin.deep.transforms import move_images, transform_batch

PICTURES = torch.arange(2 * 3 * 5 * 5, dtype=torch.float32).view(2, 3, 5, 5)


def moved(transform, images, *numbers):
    """Apply a transform with the random numbers given for every image."""
    return move_images([transform], images, torch.tensor([list(numbers)] * len(images)))


def test_a_shift_by_whole_pixels_moves_every_pixel():
    # 1 is as far as it goes: what is shown at a place was two pixels further right and down.
    found = moved(RandomShift(2), PICTURES, 1.0, 1.0)
    torch.testing.assert_close(found[:, :, :3, :3], PICTURES[:, :, 2:, 2:])
    torch.testing.assert_close(found[:, :, 4, 4], PICTURES[:, :, 4, 4])  # the border is repeated


def test_a_rotation_by_90_degrees_is_that_of_torch():
    found = moved(RandomRotation(90), PICTURES, 1.0)
    back = moved(RandomRotation(90), PICTURES, 0.0)
    torch.testing.assert_close(found, torch.rot90(PICTURES, 1, (2, 3)), atol=1e-3, rtol=0)
    torch.testing.assert_close(torch.rot90(found, 2, (2, 3)), back, atol=1e-3, rtol=0)


def test_a_rotation_keeps_distances_in_pictures_that_are_not_square():
    matrix = RandomRotation(30).matrices(torch.tensor([[1.0]]), (20, 40))[0]
    pixels = torch.diag(torch.tensor([20.0, 10.0]))  # half the width and half the height
    turn = pixels @ matrix[:2, :2] @ pixels.inverse()
    torch.testing.assert_close(turn @ turn.T, torch.eye(2))


def test_a_flip_is_a_mirror_and_happens_as_often_as_it_says():
    torch.testing.assert_close(moved(RandomFlip(), PICTURES, 0.4), PICTURES.flip(3), atol=1e-3, rtol=0)
    torch.testing.assert_close(moved(RandomFlip(), PICTURES, 0.6), PICTURES, atol=1e-3, rtol=0)


def test_a_picture_twice_as_large_shows_its_middle():
    image = torch.zeros(1, 1, 8, 8)
    image[..., 3:5, 3:5] = 1
    assert moved(RandomScale(1, 2), image, 1.0).sum() == pytest.approx(16, rel=0.3)
    assert moved(RandomScale(1, 2), image, 0.0).sum() == pytest.approx(4)


def test_several_at_once_are_one_after_the_other():
    steps = [RandomFlip(1.0), RandomShift(1)]
    draws = torch.tensor([[0.0, 1.0, 0.5]] * 2)
    # The last named is the first to look up a place: the picture is flipped, and then shifted.
    one_by_one = moved(steps[1], moved(steps[0], PICTURES, 0.0), 1.0, 0.5)
    at_once = move_images(steps, PICTURES, draws)
    torch.testing.assert_close(at_once[..., 1:-1], one_by_one[..., 1:-1], atol=1e-3, rtol=0)


@pytest.mark.parametrize("n_processes", [1, 2, 3])
def test_processes_see_the_pictures_of_one(n_processes):
    images, steps = torch.rand(7, 1, 6, 6), [RandomShift(1), RandomRotation(20), RandomScale(), RandomFlip()]
    whole = transform_batch(steps, images, 7, (0, 1, 2), 0, 1)
    for rank in range(n_processes):
        mine = transform_batch(steps, images[rank::n_processes], 7, (0, 1, 2), rank, n_processes)
        torch.testing.assert_close(mine, whole[rank::n_processes])
    assert not torch.equal(whole, transform_batch(steps, images, 7, (0, 1, 3), 0, 1))


def test_random_numbers_of_the_users_go_on_as_if_nothing_had_been():
    before = torch.get_rng_state()
    x = torch.zeros(4, 3)
    found = transform_batch(lambda rows: rows + torch.randn_like(rows), x, 4, (5,), 0, 1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(found, transform_batch(lambda rows: rows + torch.randn_like(rows), x, 4, (5,), 0, 1))


@pytest.mark.parametrize(
    ("transform", "message"),
    [
        (RandomShift(2), r"moves images .* rows of shape \(4,\): leave it out, or give a function of rows"),
        (lambda rows: rows[:1], r"turns a batch of shape \(8, 4\) .* into \(1, 4\)"),
        (lambda rows: rows.double(), r"float64: return a tensor like the one that was given"),
        (lambda rows: rows.tolist(), "into list"),
    ],
)
def test_a_transform_that_does_not_fit_is_named(transform, message):
    X = torch.arange(32.0).view(8, 4)
    with pytest.raises(ValueError, match=message):
        MultitaskClassifier(epochs=1, batch_size=8, augment=transform, device="cpu").fit(X, [0, 1] * 4)


@pytest.mark.parametrize("wrong", [lambda: RandomShift(-1), lambda: RandomRotation(200), lambda: RandomScale(2, 1)])
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match="give a number of"):
        wrong()


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"augment has 'flip': give callables"):
        MultitaskClassifier(epochs=1, augment=["flip"], device="cpu").fit([[0.0], [1.0]] * 2, [0, 1] * 2)


def test_names_have_no_address():
    assert name_of([RandomShift(3), moved]) == f"[RandomShift(pixels=3), {__name__}.moved]"
