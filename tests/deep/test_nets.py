import pytest
import torch
from torch import nn
from torch.nn.functional import batch_norm, conv2d

from gapmin.deep.nets import MLP, AlexNet, LeNet, ResNet18, build_extractor

ALEXNET_FEATURES = {
    "features.0.weight": (64, 3, 11, 11),
    "features.0.bias": (64,),
    "features.3.weight": (192, 64, 5, 5),
    "features.3.bias": (192,),
    "features.6.weight": (384, 192, 3, 3),
    "features.6.bias": (384,),
    "features.8.weight": (256, 384, 3, 3),
    "features.8.bias": (256,),
    "features.10.weight": (256, 256, 3, 3),
    "features.10.bias": (256,),
}
ALEXNET_CLASSIFIER = {
    "classifier.1.weight": (4096, 9216),
    "classifier.1.bias": (4096,),
    "classifier.4.weight": (4096, 4096),
    "classifier.4.bias": (4096,),
}
RESNET18_CONVOLUTIONS = {
    "conv1.weight": (64, 3, 7, 7),
    "layer1.0.conv1.weight": (64, 64, 3, 3),
    "layer1.0.conv2.weight": (64, 64, 3, 3),
    "layer1.1.conv1.weight": (64, 64, 3, 3),
    "layer1.1.conv2.weight": (64, 64, 3, 3),
    "layer2.0.conv1.weight": (128, 64, 3, 3),
    "layer2.0.conv2.weight": (128, 128, 3, 3),
    "layer2.0.downsample.0.weight": (128, 64, 1, 1),
    "layer2.1.conv1.weight": (128, 128, 3, 3),
    "layer2.1.conv2.weight": (128, 128, 3, 3),
    "layer3.0.conv1.weight": (256, 128, 3, 3),
    "layer3.0.conv2.weight": (256, 256, 3, 3),
    "layer3.0.downsample.0.weight": (256, 128, 1, 1),
    "layer3.1.conv1.weight": (256, 256, 3, 3),
    "layer3.1.conv2.weight": (256, 256, 3, 3),
    "layer4.0.conv1.weight": (512, 256, 3, 3),
    "layer4.0.conv2.weight": (512, 512, 3, 3),
    "layer4.0.downsample.0.weight": (512, 256, 1, 1),
    "layer4.1.conv1.weight": (512, 512, 3, 3),
    "layer4.1.conv2.weight": (512, 512, 3, 3),
}
RESNET18_NORMS = {
    "bn1": 64,
    "layer1.0.bn1": 64,
    "layer1.0.bn2": 64,
    "layer1.1.bn1": 64,
    "layer1.1.bn2": 64,
    "layer2.0.bn1": 128,
    "layer2.0.bn2": 128,
    "layer2.0.downsample.1": 128,
    "layer2.1.bn1": 128,
    "layer2.1.bn2": 128,
    "layer3.0.bn1": 256,
    "layer3.0.bn2": 256,
    "layer3.0.downsample.1": 256,
    "layer3.1.bn1": 256,
    "layer3.1.bn2": 256,
    "layer4.0.bn1": 512,
    "layer4.0.bn2": 512,
    "layer4.0.downsample.1": 512,
    "layer4.1.bn1": 512,
    "layer4.1.bn2": 512,
}


def shapes(module):
    return {name: tuple(tensor.shape) for name, tensor in module.state_dict().items()}


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


def test_alexnet_has_torchvision_names_and_shapes():
    with torch.device("meta"):
        whole, features = AlexNet(), AlexNet(features_only=True)
    assert shapes(whole) == ALEXNET_FEATURES | ALEXNET_CLASSIFIER
    assert count(whole) == 61_100_840 - 4_097_000
    assert whole.out_features == 4096
    assert shapes(features) == ALEXNET_FEATURES
    assert features.out_features == 9216


def test_resnet18_has_torchvision_names_and_shapes():
    with torch.device("meta"):
        net = ResNet18()
    expected = dict(RESNET18_CONVOLUTIONS)
    for name, channels in RESNET18_NORMS.items():
        expected |= {f"{name}.{part}": (channels,) for part in ("weight", "bias", "running_mean", "running_var")}
        expected[f"{name}.num_batches_tracked"] = ()
    assert len(expected) == 120
    assert shapes(net) == expected
    assert count(net) == 11_689_512 - 513_000
    assert net.out_features == 512


def test_resnet18_starts_with_torchvision_scale():
    net = ResNet18()
    for module in net.modules():
        if isinstance(module, nn.Conv2d) and module.weight.numel() > 50_000:
            fan_out = module.out_channels * module.kernel_size[0] ** 2
            assert module.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.02)


@pytest.mark.parametrize(
    ("net", "part", "shape"),
    [
        (AlexNet, "features.2", (64, 27, 27)),
        (AlexNet, "features.5", (192, 13, 13)),
        (AlexNet, "features", (256, 6, 6)),
        (ResNet18, "bn1", (64, 112, 112)),
        (ResNet18, "layer1", (64, 56, 56)),
        (ResNet18, "layer2", (128, 28, 28)),
        (ResNet18, "layer3", (256, 14, 14)),
        (ResNet18, "layer4", (512, 7, 7)),
    ],
)
def test_maps_of_images_of_224_pixels(net, part, shape):
    with torch.device("meta"):
        module, images = net(), torch.empty(2, 3, 224, 224)
    seen = []
    module.get_submodule(part).register_forward_hook(lambda *call: seen.append(tuple(call[2].shape)))
    assert module(images).shape == (2, module.out_features)
    assert seen == [(2, *shape)]


@pytest.mark.parametrize("block", [(1, 1), (2, 0)])
def test_a_residual_block_by_hand(block, generator):
    layer, number = block
    net = ResNet18().eval()
    part = net.get_submodule(f"layer{layer}.{number}")
    with torch.no_grad():
        for name, tensor in part.state_dict().items():
            if "bn" in name or "downsample.1" in name:
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
    state = part.state_dict()

    def norm(x, name):
        return batch_norm(x, *(state[f"{name}.{key}"] for key in ("running_mean", "running_var", "weight", "bias")))

    x = torch.randn(2, 64, 9, 9, generator=generator)
    inner = norm(conv2d(x, state["conv1.weight"], stride=layer, padding=1), "bn1").clamp(min=0)
    inner = norm(conv2d(inner, state["conv2.weight"], padding=1), "bn2")
    shortcut = x
    if layer == 2:
        shortcut = norm(conv2d(x, state["downsample.0.weight"], stride=2), "downsample.1")
    before = x.clone()
    torch.testing.assert_close(part(x), (inner + shortcut).clamp(min=0))
    torch.testing.assert_close(x, before, rtol=0, atol=0)


def test_alexnet_ends_after_the_second_relu(generator):
    net = AlexNet().eval()
    images = torch.randn(2, 3, 63, 63, generator=generator)
    with torch.no_grad():
        z = net(images)
        pooled = net.avgpool(net.features(images)).reshape(2, 9216)
        hidden = (pooled @ net.classifier[1].weight.T + net.classifier[1].bias).clamp(min=0)
        expected = (hidden @ net.classifier[4].weight.T + net.classifier[4].bias).clamp(min=0)
    torch.testing.assert_close(z, expected, rtol=1e-4, atol=1e-6)


def test_dropout_of_alexnet_is_the_given_one():
    with torch.device("meta"):
        net = AlexNet(dropout=0.25)
    assert [part.p for part in net.modules() if isinstance(part, nn.Dropout)] == [0.25, 0.25]


def test_lenet_is_the_one_of_appendix_c():
    net = LeNet()
    assert shapes(net) == {
        "conv1.weight": (32, 1, 5, 5),
        "conv1.bias": (32,),
        "conv2.weight": (64, 32, 5, 5),
        "conv2.bias": (64,),
    }
    assert net.out_features == 2304
    assert net(torch.zeros(3, 1, 28, 28)).shape == (3, 2304)


@pytest.mark.parametrize(("channels", "size"), [(1, 28), (3, 32), (3, (7, 12)), (2, (20, 9))])
def test_pooling_before_the_relu_changes_nothing(channels, size, generator):
    first, printed = LeNet(channels, size), LeNet(channels, size, pool_first=False)
    printed.load_state_dict(first.state_dict())
    height, width = (size, size) if isinstance(size, int) else size
    x = torch.randn(4, channels, height, width, generator=generator)
    x_first, x_printed = x.clone().requires_grad_(), x.clone().requires_grad_()
    z_first, z_printed = first(x_first), printed(x_printed)
    assert z_first.shape == (4, first.out_features)
    assert (z_first > 0).any()
    assert (z_first == 0).any()
    assert torch.equal(z_first, z_printed)

    of_z = torch.randn(z_first.shape, generator=generator)
    z_first.backward(of_z)
    z_printed.backward(of_z)
    assert torch.equal(x_first.grad, x_printed.grad)
    for one, other in zip(first.parameters(), printed.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)


@pytest.mark.parametrize("pool_first", [True, False])
def test_lenet_clips_at_zero(pool_first):
    net = LeNet(pool_first=pool_first)
    with torch.no_grad():
        net.conv1.bias.fill_(-100)
        net.conv2.weight.fill_(1)
        net.conv2.bias.fill_(1)
    assert torch.equal(net(torch.zeros(1, 1, 28, 28)), torch.ones(1, 2304))


@pytest.mark.parametrize("size", [6, (28, 6), (2, 28)])
def test_images_too_small_for_lenet(size):
    with pytest.raises(ValueError, match=r"are too small for LeNet: give 7 x 7 pixels"):
        LeNet(1, size)


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (LeNet, (3, 1, 28, 28)),
        (lambda: LeNet(3, 32), (3, 3, 32, 32)),
        (lambda: AlexNet(features_only=True), (2, 3, 64, 64)),
        (ResNet18, (2, 3, 33, 33)),
    ],
)
def test_memory_format_does_not_matter(net, shape, generator):
    module = net().eval()
    x = torch.randn(shape, generator=generator)
    expected = module(x)
    last = x.contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(module(last), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(module.to(memory_format=torch.channels_last)(last), expected, rtol=1e-4, atol=1e-5)


def test_mlp_by_hand(generator):
    net = MLP(4, (5, 3), activation="tanh")
    first, _, second, _ = net.layers
    x = torch.randn(6, 4, generator=generator)
    hidden = torch.tanh(x @ first.weight.T + first.bias)
    torch.testing.assert_close(net(x), torch.tanh(hidden @ second.weight.T + second.bias))
    assert net.out_features == 3


def test_an_mlp_without_layers_is_the_identity():
    net = MLP(4, hidden=())
    x = torch.arange(8.0).reshape(2, 4)
    assert torch.equal(net(x), x)
    assert net.out_features == 4
    assert not list(net.parameters())


def test_mlp_refuses_what_it_cannot_build():
    with pytest.raises(ValueError, match=r"activation is 'sigmoidal': use one of 'relu', 'elu'"):
        MLP(4, activation="sigmoidal")
    with pytest.raises(ValueError, match=r"hidden \(3, 0\): give widths of at least 1"):
        MLP(4, (3, 0))


@pytest.mark.parametrize(
    ("name", "shape", "kind", "out_features"),
    [
        ("lenet", (1, 28, 28), LeNet, 2304),
        ("lenet", (3, 16, 28), LeNet, 64 * 3 * 6),
        ("alexnet", (3, 63, 80), AlexNet, 4096),
        ("resnet18", (3, 32, 32), ResNet18, 512),
        ("mlp", (7,), MLP, 128),
    ],
)
def test_named_extractors(name, shape, kind, out_features):
    net = build_extractor(name, shape)
    assert type(net) is kind
    assert net.out_features == out_features
    assert net.eval()(torch.zeros(2, *shape)).shape == (2, out_features)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("vgg", (3, 64, 64), r"extractor is 'vgg': use one of 'lenet', 'alexnet', 'resnet18', 'mlp'"),
        (None, (3, 64, 64), r"extractor is None: use one of"),
        (nn.Flatten, (3, 64, 64), r"Flatten.*or an nn.Module"),
        ("mlp", (1, 28, 28), r"'mlp' takes rows of features, not rows of shape \(1, 28, 28\): use 'lenet'"),
        ("lenet", (784,), r"'lenet' takes images .* not rows of shape \(784,\): use 'mlp'"),
        ("lenet", (28, 28), r"not rows of shape \(28, 28\): .* X\[:, None\]"),
        ("lenet", (1, 5, 28), r"images of 5 x 28 are too small for LeNet"),
        ("alexnet", (1, 64, 64), r"'alexnet' takes images of 3 channels, not 1"),
        ("resnet18", (4, 64, 64), r"'resnet18' takes images of 3 channels, not 4"),
        ("alexnet", (3, 62, 64), r"images of 62 x 64 are too small for AlexNet: give 63 x 63"),
    ],
)
def test_extractors_that_do_not_fit_the_rows(name, shape, message):
    with pytest.raises(ValueError, match=message):
        build_extractor(name, shape)


def test_a_module_of_the_users_own_is_copied_and_measured():
    own = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Dropout(0.5), nn.BatchNorm2d(4), nn.Flatten())
    own[1].eval()
    net = build_extractor(own, (3, 6, 6))
    assert net.out_features == 4 * 4 * 4
    assert not hasattr(own, "out_features")
    assert [part.training for part in net] == [True, False, True, True]
    assert net.training
    assert net[2].num_batches_tracked == 0
    with torch.no_grad():
        net[0].weight.fill_(7)
    assert not (own[0].weight == 7).any()


def test_a_module_that_says_another_width_than_it_has_or_takes_other_rows_is_refused():
    wrong = nn.Sequential(nn.Linear(5, 3))
    wrong.out_features = 11
    with pytest.raises(ValueError, match="out_features=11, but makes 3 features"):
        build_extractor(wrong, (5,))
    with pytest.raises(ValueError, match=r"fails on rows of shape \(4,\)"):
        build_extractor(nn.Linear(3, 2), (4,))


def test_modules_of_another_precision_and_lazy_ones():
    assert build_extractor(nn.Sequential(nn.Linear(5, 3).double()), (5,)).out_features == 3
    net = build_extractor(nn.Sequential(nn.LazyLinear(6)), (5,))
    assert net.out_features == 6
    assert net[0].weight.shape == (6, 5)


class Pair(nn.Module):
    def forward(self, x):
        return x, x


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Sequential(nn.Conv2d(3, 4, 3)), r"into \(2, 4, 4, 4\), not into \(2, features\): end it with nn.Flatten"),
        (nn.Flatten(0), r"into \(216,\), not into"),
        (nn.Flatten(0, 2), r"into \(36, 6\), not into"),
        (Pair(), r"into tuple, not into"),
        (nn.Sequential(nn.Flatten(), nn.Linear(5, 3)), r"the extractor fails on rows of shape \(3, 6, 6\): .*108"),
    ],
)
def test_modules_that_give_no_rows_of_features(module, message):
    with pytest.raises(ValueError, match=message):
        build_extractor(module, (3, 6, 6))
