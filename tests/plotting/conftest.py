import pytest


@pytest.fixture
def ax():
    figure = pytest.importorskip("matplotlib.figure")
    return figure.Figure(figsize=(5.2, 3.4), layout="constrained").subplots()
