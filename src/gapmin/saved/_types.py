"""The types that a model file may hold. Literal names: a new class is restored only after somebody has put it here.

What belongs here: classes whose methods call no function that they were given, and that hand nothing of their state to
compiled code unless `_compiled.py` checks it. That leaves out, of what skops would trust by itself, every function,
method, ``partial`` and ``operator`` object. It also leaves out nearest neighbours and support vector machines (compiled
code that follows stored indices), sparse and masked arrays, bytes, sets, and everything else that is not named below.
"""

from __future__ import annotations


def _of(module: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{module}.{name}" for name in names)


GAPMIN_ESTIMATORS = (
    *_of("gapmin.boosting.adaboost", "AdaBoostClassifier", "AdaBoostRegressor"),
    *_of("gapmin.boosting.gapboost", "GapBoostClassifier", "GapBoostRegressor"),
    *_of("gapmin.boosting.tradaboost", "TrAdaBoostClassifier", "TrAdaBoostRegressor"),
    "gapmin.boosting.transferboost.TransferBoostClassifier",
    "gapmin.linear._logistic.WeightedLogisticRegression",
    *_of("gapmin.linear.feature_transfer", "FeatureTransferClassifier", "FeatureTransferRegressor"),
    *_of("gapmin.linear.gap_projection", "GapProjectionClassifier", "GapProjectionRegressor"),
    *_of("gapmin.linear.gap_weighting", "GapWeightingClassifier", "GapWeightingRegressor"),
    *_of("gapmin.linear.hypothesis_transfer", "HypothesisTransferClassifier", "HypothesisTransferRegressor"),
    *_of("gapmin.linear.instance_weighting", "InstanceWeightingClassifier", "InstanceWeightingRegressor"),
    *_of("gapmin.linear.parameter_sharing", "ParameterSharingClassifier", "ParameterSharingRegressor"),
    *_of("gapmin.linear.task_covariance", "TaskCovarianceClassifier", "TaskCovarianceRegressor"),
    *_of("gapmin.linear.task_weighting", "TaskWeightingClassifier", "TaskWeightingRegressor"),
    *_of("gapmin.transfer.pooling", "WeightedPoolingClassifier", "WeightedPoolingRegressor"),
    *_of("gapmin.transfer.transfer_cv", "TransferClassifierCV", "TransferRegressorCV"),
)
"""Every public estimator but the networks, which have a format of their own (`gapmin.deep`)."""

KERNEL_ESTIMATORS = (
    "gapmin.transfer.kernel.KernelClassifier",
    "gapmin.transfer.kernel.KernelRegressor",
)

FITTED_LEARNER = "gapmin.transfer._fitting.FittedLearner"
DATE_FEATURES, TEXT_FEATURES = _of("gapmin.study.features", "DateFeatures", "TextFeatures")
MIXTURE = "gapmin.transfer.mixture.HypothesisMixture"

GAPMIN_PARTS = (
    *KERNEL_ESTIMATORS,
    "gapmin.domains.TargetKFold",
    "gapmin.domains.TargetShuffleSplit",
    "gapmin.gap.PerformanceGap",
    "gapmin.linear._setting.Facts",
    DATE_FEATURES,
    TEXT_FEATURES,
    FITTED_LEARNER,
    MIXTURE,
    *_of("gapmin.transfer.result", "Evidence", "Hypothesis", "Score", "SourceVerdict"),
)
"""What fitted estimators of gapmin hold: results and splitters, plain values all, means of models, and preparation."""

TREE_ESTIMATORS = _of(
    "sklearn.tree._classes",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
)

STAGED_ESTIMATORS = _of("sklearn.ensemble._gb", "GradientBoostingClassifier", "GradientBoostingRegressor")

HISTOGRAM_ESTIMATORS = (
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier",
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingRegressor",
)

SKLEARN_ESTIMATORS = (
    *TREE_ESTIMATORS,
    *HISTOGRAM_ESTIMATORS,
    *STAGED_ESTIMATORS,
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.decomposition._pca.PCA",
    "sklearn.decomposition._truncated_svd.TruncatedSVD",
    *_of("sklearn.dummy", "DummyClassifier", "DummyRegressor"),
    *_of("sklearn.ensemble._forest", "ExtraTreesClassifier", "ExtraTreesRegressor"),
    *_of("sklearn.ensemble._forest", "RandomForestClassifier", "RandomForestRegressor"),
    "sklearn.feature_selection._variance_threshold.VarianceThreshold",
    "sklearn.frozen._frozen.FrozenEstimator",
    *_of("sklearn.impute._base", "MissingIndicator", "SimpleImputer"),
    *_of("sklearn.linear_model", "_base.LinearRegression", "_logistic.LogisticRegression", "_ridge.Ridge"),
    "sklearn.pipeline.Pipeline",
    *_of("sklearn.preprocessing._data", "MaxAbsScaler", "MinMaxScaler", "Normalizer", "RobustScaler", "StandardScaler"),
    *_of("sklearn.preprocessing._encoders", "OneHotEncoder", "OrdinalEncoder"),
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.preprocessing._label.LabelEncoder",
)

_LOSSES = (
    "AbsoluteError",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "PinballLoss",
)

SKLEARN_PARTS = (
    *_of("sklearn._loss.link", "HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit"),
    *_of("sklearn._loss.loss", *_LOSSES),
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
)
"""What gradient boosting holds."""

COMPILED_LOSSES = _of("sklearn._loss._loss", *(f"Cy{name}" for name in _LOSSES))

TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
RANDOM_STATE = "numpy.random.mtrand.RandomState"
RANDOM_GENERATOR = "numpy.random._generator.Generator"

NUMPY_SCALARS = (
    *_of("numpy", "bool", "bool_", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "str_"),
    *_of("numpy", "uint16", "uint32", "uint64", "uint8"),
)

KEYS = ("builtins.float", "builtins.int", "builtins.str", *NUMPY_SCALARS[2:])
"""Types that keys of dictionaries may have; not the booleans, which skops restores as True whatever they were."""

ESTIMATORS = (*GAPMIN_ESTIMATORS, *SKLEARN_ESTIMATORS)

ALLOWED: dict[str, tuple[str, ...]] = {
    "DTypeNode": ("numpy.dtype",),
    "DictNode": ("builtins.dict",),
    "JsonNode": ("builtins.str",),
    "ListNode": ("builtins.list",),
    "LossNode": COMPILED_LOSSES,
    "NdArrayNode": ("numpy.ndarray", *NUMPY_SCALARS),
    "ObjectNode": (*ESTIMATORS, *GAPMIN_PARTS, *SKLEARN_PARTS),
    "RandomGeneratorNode": (RANDOM_GENERATOR,),
    "RandomStateNode": (RANDOM_STATE,),
    "SliceNode": ("builtins.slice",),
    "TupleNode": ("builtins.tuple",),
    "TypeNode": ("builtins.bool", "builtins.float", "builtins.int", "builtins.str", *NUMPY_SCALARS),
}
"""The types that each of skops' loaders may be asked for. Other loaders, such as that of functions, may not be named.

`TREE` and `PREDICTOR` are not here: they are let in only where their estimator keeps them, once checked against it.
"""

TRUSTED: tuple[str, ...] = tuple(sorted({TREE, PREDICTOR, *(name for names in ALLOWED.values() for name in names)}))
"""Every type that a model file may hold, by its qualified name."""

NODE_FIELDS: dict[str, set[str]] = {
    "DictNode": {"content", "key_types"},
    "JsonNode": {"content", "is_json"},
    "LossNode": {"__reduce__", "content"},
    "TreeNode": {"__reduce__", "content"},
    "TypeNode": set(),
}
"""What a node has beside its type and its number, where that is not its content alone."""

_ENCODE_BEFORE = "encode the categories in a pipeline before it"
MUST_BE_NONE: dict[str, dict[str, str]] = {
    "sklearn.pipeline.Pipeline": {"memory": "use memory=None"},  # a folder of pickles
    "sklearn.preprocessing._function_transformer.FunctionTransformer": {
        "func": "use a transformer that holds no function",
        "inverse_func": "use a transformer that holds no function",
    },
    **{each: {"init": "use init=None"} for each in STAGED_ESTIMATORS},
    **{each: {"_preprocessor": _ENCODE_BEFORE, "is_categorical_": _ENCODE_BEFORE} for each in HISTOGRAM_ESTIMATORS},
}
"""Attributes that hold functions, or paths to pickles, and what to do about them."""
