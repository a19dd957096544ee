import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file of that name and content into the test's folder, and return its path."""

    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
