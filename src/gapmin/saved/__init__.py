"""Fitted models in files that hold no code: skops, a literal list of types, and checks before anything is built."""

from gapmin.saved._archive import ModelFileError
from gapmin.saved._model import SavedModel, load_model, save_model
from gapmin.saved._types import TRUSTED

__all__ = ["TRUSTED", "ModelFileError", "SavedModel", "load_model", "save_model"]
