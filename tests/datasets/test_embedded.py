import numpy as np

from gapmin.datasets import embedded_problems


def test_every_embedded_problem_can_be_split_and_none_written_to():
    problems = embedded_problems()
    assert len({problem.name for problem in problems}) == len(problems) == 14
    for problem in problems:
        split = next(problem.splits(1))
        assert (split.sample_domain < 0).sum() == problem.train_size
        assert not any(array.flags.writeable for array in (*split, *problem.target, *problem.sources[0]))
        assert np.isfinite(split.X).all()
        if problem.task == "classification":
            np.testing.assert_array_equal(np.unique(split.y), np.unique(problem.y_target))
