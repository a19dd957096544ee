"""The types that a model file may hold. Literal names: a new class is restored only after somebody has put it here.

What belongs here: classes whose methods call no function that they were given, and that hand nothing of their state to
compiled code unless `_compiled.py` checks it. That leaves out, of what skops would trust by itself, every function,
method, ``partial`` and ``operator`` object, nearest neighbours and support vector machines (compiled code that follows
stored indices), sparse and masked arrays, bytes, sets, and everything else that is not named below.
"""

from __future__ import annotations

GAPMIN_ESTIMATORS = (
    "gapmin.boosting.adaboost.AdaBoostClassifier",
    "gapmin.boosting.adaboost.AdaBoostRegressor",
    "gapmin.boosting.gapboost.GapBoostClassifier",
    "gapmin.boosting.gapboost.GapBoostRegressor",
    "gapmin.boosting.tradaboost.TrAdaBoostClassifier",
    "gapmin.boosting.tradaboost.TrAdaBoostRegressor",
    "gapmin.boosting.transferboost.TransferBoostClassifier",
    "gapmin.linear._logistic.WeightedLogisticRegression",
    "gapmin.linear.feature_transfer.FeatureTransferClassifier",
    "gapmin.linear.feature_transfer.FeatureTransferRegressor",
    "gapmin.linear.gap_weighting.GapWeightingClassifier",
    "gapmin.linear.gap_weighting.GapWeightingRegressor",
    "gapmin.linear.hypothesis_transfer.HypothesisTransferClassifier",
    "gapmin.linear.hypothesis_transfer.HypothesisTransferRegressor",
    "gapmin.linear.instance_weighting.InstanceWeightingClassifier",
    "gapmin.linear.instance_weighting.InstanceWeightingRegressor",
    "gapmin.linear.parameter_sharing.ParameterSharingClassifier",
    "gapmin.linear.parameter_sharing.ParameterSharingRegressor",
    "gapmin.linear.task_covariance.TaskCovarianceClassifier",
    "gapmin.linear.task_covariance.TaskCovarianceRegressor",
    "gapmin.linear.task_weighting.TaskWeightingClassifier",
    "gapmin.linear.task_weighting.TaskWeightingRegressor",
    "gapmin.selection.pooling.WeightedPoolingClassifier",
    "gapmin.selection.pooling.WeightedPoolingRegressor",
    "gapmin.selection.transfer_cv.TransferClassifierCV",
    "gapmin.selection.transfer_cv.TransferRegressorCV",
)
"""Every public estimator but the networks, which have a format of their own (`gapmin.deep`)."""

KERNEL_ESTIMATORS = (
    "gapmin.selection._kernel.KernelClassifier",
    "gapmin.selection._kernel.KernelRegressor",
)

GAPMIN_PARTS = (
    *KERNEL_ESTIMATORS,
    "gapmin.domains.TargetKFold",
    "gapmin.domains.TargetShuffleSplit",
    "gapmin.gap.PerformanceGap",
    "gapmin.linear._setting.Facts",
    "gapmin.selection._blended.BlendedClassifier",
    "gapmin.selection._blended.BlendedRegressor",
    "gapmin.selection._choice.TransferVerdict",
    "gapmin.selection._relevance.RelevanceScaler",
    "gapmin.selection._tempered.TemperedClassifier",
)
"""What fitted estimators of gapmin hold: results and splitters, plain values all, and means of models."""

TREE_ESTIMATORS = (
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._classes.DecisionTreeRegressor",
    "sklearn.tree._classes.ExtraTreeClassifier",
    "sklearn.tree._classes.ExtraTreeRegressor",
)

STAGED_ESTIMATORS = (
    "sklearn.ensemble._gb.GradientBoostingClassifier",
    "sklearn.ensemble._gb.GradientBoostingRegressor",
)

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
    "sklearn.dummy.DummyClassifier",
    "sklearn.dummy.DummyRegressor",
    "sklearn.ensemble._forest.ExtraTreesClassifier",
    "sklearn.ensemble._forest.ExtraTreesRegressor",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.ensemble._forest.RandomForestRegressor",
    "sklearn.feature_selection._variance_threshold.VarianceThreshold",
    "sklearn.frozen._frozen.FrozenEstimator",
    "sklearn.impute._base.MissingIndicator",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.linear_model._base.LinearRegression",
    "sklearn.linear_model._logistic.LogisticRegression",
    "sklearn.linear_model._ridge.Ridge",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.MaxAbsScaler",
    "sklearn.preprocessing._data.MinMaxScaler",
    "sklearn.preprocessing._data.Normalizer",
    "sklearn.preprocessing._data.RobustScaler",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "sklearn.preprocessing._encoders.OrdinalEncoder",
    "sklearn.preprocessing._function_transformer.FunctionTransformer",
    "sklearn.preprocessing._label.LabelEncoder",
)

SKLEARN_PARTS = (
    "sklearn._loss.link.HalfLogitLink",
    "sklearn._loss.link.IdentityLink",
    "sklearn._loss.link.Interval",
    "sklearn._loss.link.LogLink",
    "sklearn._loss.link.LogitLink",
    "sklearn._loss.link.MultinomialLogit",
    "sklearn._loss.loss.AbsoluteError",
    "sklearn._loss.loss.HalfBinomialLoss",
    "sklearn._loss.loss.HalfGammaLoss",
    "sklearn._loss.loss.HalfMultinomialLoss",
    "sklearn._loss.loss.HalfPoissonLoss",
    "sklearn._loss.loss.HalfSquaredError",
    "sklearn._loss.loss.PinballLoss",
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
)
"""What gradient boosting holds."""

COMPILED_LOSSES = (
    "sklearn._loss._loss.CyAbsoluteError",
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn._loss._loss.CyHalfGammaLoss",
    "sklearn._loss._loss.CyHalfMultinomialLoss",
    "sklearn._loss._loss.CyHalfPoissonLoss",
    "sklearn._loss._loss.CyHalfSquaredError",
    "sklearn._loss._loss.CyPinballLoss",
)

TREE = "sklearn.tree._tree.Tree"
PREDICTOR = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
RANDOM_STATE = "numpy.random.mtrand.RandomState"
RANDOM_GENERATOR = "numpy.random._generator.Generator"

NUMPY_SCALARS = (
    "numpy.bool",
    "numpy.bool_",
    "numpy.float16",
    "numpy.float32",
    "numpy.float64",
    "numpy.int16",
    "numpy.int32",
    "numpy.int64",
    "numpy.int8",
    "numpy.str_",
    "numpy.uint16",
    "numpy.uint32",
    "numpy.uint64",
    "numpy.uint8",
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
