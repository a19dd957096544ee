"""What other files of gapmin are made with: any object, under the rules of model files, beside facts of one's own."""

from gapmin.saved._archive import ContentError, ModelFileError, read_file, write_file
from gapmin.saved._archive import parse as parse_json
from gapmin.saved._content import build_object, check_object, open_archive, pack_object
from gapmin.saved._facts import import_skops
from gapmin.saved._learner import learner_types

__all__ = [
    "ContentError",
    "ModelFileError",
    "build_object",
    "check_object",
    "import_skops",
    "learner_types",
    "open_archive",
    "pack_object",
    "parse_json",
    "read_file",
    "write_file",
]
