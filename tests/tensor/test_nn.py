"""Functions for networks: values and gradients are torch's, extremes are finite, and wrong arguments are told."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.tensor import nn

torch: Any = pytest.importorskip("torch")
F = torch.nn.functional
RNG = np.random.default_rng(7)
# Without rewriting: what is checked are the formulas as they are written.
PLAIN = tt.Mode("vm", None)


def evaluate(outputs: Any) -> Any:
    return function([], outputs, mode=PLAIN)()


def check(ours: Any, theirs: Any, *arrays: np.ndarray, rtol: float = 1e-10, atol: float = 1e-12) -> None:
    """Compare values, and gradients of a weighted sum by each array of floats."""
    mine = [shared(a) for a in arrays]
    yours = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    y, wanted = ours(*mine), theirs(*yours)
    weights = np.linspace(0.5, 1.5, wanted.numel()).reshape(tuple(wanted.shape))
    (wanted * torch.tensor(weights)).sum().backward()
    floats = [(m, t) for m, t in zip(mine, yours, strict=True) if t.requires_grad]
    slopes = tt.grad((y * weights).sum(), [m for m, _ in floats], disconnected_inputs="ignore")
    value, *gradients = evaluate([y, *slopes])
    np.testing.assert_allclose(value, wanted.detach().numpy(), rtol=rtol, atol=atol)
    for gradient, (_, t) in zip(gradients, floats, strict=True):
        np.testing.assert_allclose(gradient, 0 if t.grad is None else t.grad.numpy(), rtol=rtol, atol=atol)


X = np.array([-700.0, -20.0, -3.0, -1.5, -1e-3, 0.0, 1e-3, 0.7, 3.0, 6.0, 20.0, 700.0])
ACTIVATIONS = {
    "relu": F.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu, "elu": F.elu, "selu": F.selu, "celu": F.celu,
    "gelu": F.gelu, "silu": F.silu, "swish": F.silu, "mish": F.mish, "softplus": F.softplus, "softsign": F.softsign,
    "hard_tanh": F.hardtanh, "hard_sigmoid": F.hardsigmoid, "hard_swish": F.hardswish, "log_sigmoid": F.logsigmoid,
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    # Slopes at kinks are checked apart: torch chooses either side.
    points = X if name not in {"hard_sigmoid", "hard_swish", "selu", "elu", "celu"} else X[(X != 0) & (abs(X) != 3)]
    # torch's softplus is cut at 20, its gelu loses the tail, a constant of its hard_sigmoid is a float32.
    check(
        getattr(nn, name),
        ACTIVATIONS[name],
        points,
        rtol=1e-7 if name in {"softplus", "hard_sigmoid"} else 1e-10,
        atol=1e-9,
    )


def test_activations_with_parameters() -> None:
    check(lambda x: nn.gelu(x, "tanh"), lambda x: F.gelu(x, approximate="tanh"), X)
    check(lambda x: nn.elu(x, 0.3), lambda x: F.elu(x, 0.3), X[X != 0])
    check(lambda x: nn.celu(x, 0.3), lambda x: F.celu(x, 0.3), X[X != 0], rtol=1e-6, atol=1e-6)
    check(lambda x: nn.softplus(x, 3.0), lambda x: F.softplus(x, 3.0), X / 40, rtol=1e-8)
    check(nn.leaky_relu, F.prelu, X, np.array([0.3]))
    check(lambda x: nn.glu(x, 0), lambda x: F.glu(x, 0), X)
    assert evaluate(nn.relu(np.array([-1, 2]))).tolist() == [0, 2]
    assert np.isnan(evaluate(nn.relu([np.nan]))).all()
    one_hot = evaluate(nn.one_hot(np.array([[0, 2], [-1, 3]]), 3, axis=1, dtype="float32"))
    assert one_hot.shape == (2, 3, 2)
    assert one_hot.dtype == "float32"
    assert one_hot.sum(axis=1).tolist() == [[1.0, 1.0], [0.0, 0.0]]
    wrong: Any
    for wrong in (
        lambda: nn.gelu(X, "exact"), lambda: nn.glu(X[:3]), lambda: nn.one_hot(X, 3), lambda: nn.hard_tanh(X, 1, 0),
        lambda: nn.silu(tt.zmatrix()),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=r"gelu: |glu: |one_hot: x|hard_tanh: |silu: "):
            wrong()


A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
P, T = RNG.uniform(0.05, 0.95, (3, 4)), RNG.uniform(size=(3, 4))
SHARES = T / T.sum(axis=1, keepdims=True)
LOSSES: dict[str, tuple[Any, Any, Any]] = {
    "mse": (nn.mse, F.mse_loss, (A, B)),
    "mae": (nn.mae, F.l1_loss, (A, B)),
    "huber": (lambda a, b: nn.huber(a, b, 0.7), lambda a, b: F.huber_loss(a, b, delta=0.7), (A, B)),
    "smooth_l1": (lambda a, b: nn.smooth_l1(a, b, 0.7), lambda a, b: F.smooth_l1_loss(a, b, beta=0.7), (A, B)),
    "bce": (nn.binary_cross_entropy, F.binary_cross_entropy, (P, T)),
    "bce_sum": (
        lambda p, t: nn.binary_cross_entropy(p, t, weight=P, reduction="sum"),
        lambda p, t: F.binary_cross_entropy(p, t, weight=torch.tensor(P), reduction="sum"), (P, T),
    ),
    "bce_logits": (nn.binary_cross_entropy_with_logits, F.binary_cross_entropy_with_logits, (A * 50, T)),
    "bce_positive": (
        lambda a, t: nn.binary_cross_entropy_with_logits(a, t, positive_weight=[1.0, 2.0, 3.0, 4.0], reduction="none"),
        lambda a, t: F.binary_cross_entropy_with_logits(
            a, t, pos_weight=torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64), reduction="none"
        ), (A, T),
    ),
    "kl": (
        lambda a, t: nn.kl_divergence(nn.log_softmax(a, axis=1), t),
        lambda a, t: F.kl_div(F.log_softmax(a, 1), t, reduction="batchmean"), (A, SHARES),
    ),
    "kl_log": (
        lambda a, b: nn.kl_divergence(a, b, log_target=True, axis=None),
        lambda a, b: F.kl_div(a, b, log_target=True, reduction="none").mean(), (A, B),
    ),
    "cosine": (nn.cosine_similarity, lambda a, b: F.cosine_similarity(a, b, dim=-1), (A, B)),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name: str) -> None:
    ours, theirs, arrays = LOSSES[name]
    check(ours, theirs, *arrays)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize(
    ("reduction", "smoothing", "ignored"), [("mean", 0.0, None), ("mean", 0.2, 1), ("sum", 0.2, None), ("none", 0.1, 1)]
)
def test_cross_entropy(reduction: str, smoothing: float, ignored: int | None, is_weighted: bool) -> None:
    labels = np.array([[0, 1], [3, 1], [2, 0]])
    weight = np.array([1.0, 2.0, 0.5, 3.0]) if is_weighted else None
    theirs = None if weight is None else torch.tensor(weight)
    options: Any = {"reduction": reduction, "label_smoothing": smoothing}
    skip: Any = {} if ignored is None else {"ignore_index": ignored}
    check(
        lambda x: nn.cross_entropy(x, labels, weight=weight, axis=1, **skip, **options),
        lambda x: F.cross_entropy(x, torch.tensor(labels), theirs, **skip, **options),
        RNG.normal(size=(3, 4, 2)) * 10,
    )
    check(
        lambda x, t: nn.cross_entropy(x, t, weight=weight, **options),
        lambda x, t: F.cross_entropy(x, t, theirs, **options),
        A, SHARES,
    )  # fmt: skip
    if not smoothing:
        check(
            lambda x: nn.nll(x, labels[:, 0], reduction=reduction, **skip),
            lambda x: F.nll_loss(x, torch.tensor(labels[:, 0]), reduction=reduction, **skip), A,
        )  # fmt: skip


def test_losses_at_extremes_and_with_wrong_arguments() -> None:
    x = tt.dvector("x")
    far = np.array([-1e4, 1e4])
    cost = nn.binary_cross_entropy_with_logits(x, [1.0, 0.0], reduction="sum")
    assert [v.tolist() for v in function([x], [cost, tt.grad(cost, x)], mode=PLAIN)(far)] == [2e4, [-1.0, 1.0]]
    cost = nn.cross_entropy(x, 0)
    assert [v.tolist() for v in function([x], [cost, tt.grad(cost, x)], mode=PLAIN)(far)] == [2e4, [-1.0, 1.0]]
    assert evaluate(nn.hinge([0.5, 3.0], [1.0, -1.0], reduction="none")).tolist() == [0.5, 4.0]
    zeros = tt.dvector("z")
    slope = tt.grad(nn.cosine_similarity(zeros, [1.0, 2.0]), zeros)
    assert np.isfinite(slope.eval({zeros: [0.0, 0.0]})).all()
    wrong: Any
    for wrong in (
        lambda: nn.mse(A, B, reduction="all"), lambda: nn.huber(A, B, delta=-1.0),
        lambda: nn.cross_entropy(A, SHARES, ignore_index=1), lambda: nn.cross_entropy(A, [[0]]),
        lambda: nn.cross_entropy(A, [0, 1, 2], label_smoothing=2.0), lambda: nn.cross_entropy(A, SHARES[0]),
        lambda: nn.cross_entropy(A, [0, 1, 2], weight=1.0), lambda: nn.cross_entropy(A, [0], axis=5),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError, IndexError), match=r"^(mse|huber|cross_entropy)"):
            wrong()


IMAGE = RNG.normal(size=(2, 4, 3, 2)) * 5 + 1
SCALE, SHIFT = RNG.normal(size=4), RNG.normal(size=4)


def test_normalization() -> None:
    w, b = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2))
    check(
        lambda x, w, b: nn.layer_norm(x, w, b, axis=(-2, -1)),
        lambda x, w, b: F.layer_norm(x, (3, 2), w, b),
        IMAGE,
        w,
        b,
    )
    check(nn.rms_norm, lambda x, w: F.rms_norm(x, (2,), w), IMAGE, w[0])
    check(lambda x, w, b: nn.group_norm(x, 2, w, b), lambda x, w, b: F.group_norm(x, 2, w, b), IMAGE, SCALE, SHIFT)
    check(
        nn.instance_norm, lambda x, w, b: F.instance_norm(x, weight=w, bias=b), IMAGE, SCALE,
        SHIFT,
    )  # fmt: skip
    mean, variance = RNG.normal(size=4), RNG.uniform(1, 2, 4)
    check(
        lambda x, w, b: nn.batch_norm(x, mean, variance, w, b),
        lambda x, w, b: F.batch_norm(x, torch.tensor(mean), torch.tensor(variance), w, b), IMAGE, SCALE, SHIFT,
    )  # fmt: skip
    wrong: Any
    for wrong in (lambda: nn.group_norm(IMAGE, 3), lambda: nn.instance_norm(A), lambda: nn.group_norm(A[0], 1)):
        with pytest.raises(ValueError, match=r"^(group|instance)_norm: "):
            wrong()


def test_batch_norm_in_training_moves_the_running_values() -> None:
    mean, variance = shared(np.zeros(4)), shared(np.ones(4))
    theirs = torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    y, updates = nn.batch_norm(IMAGE, mean, variance, SCALE, SHIFT, training=True)
    train = function([], y, updates=updates, mode=PLAIN)
    for _ in range(2):
        wanted = F.batch_norm(torch.tensor(IMAGE), *theirs, torch.tensor(SCALE), torch.tensor(SHIFT), training=True)
        np.testing.assert_allclose(train(), wanted.numpy())
    np.testing.assert_allclose(mean.get_value(), theirs[0].numpy())
    np.testing.assert_allclose(variance.get_value(), theirs[1].numpy())
    with pytest.raises(ValueError, match="running_mean must be a shared variable in training"):
        nn.batch_norm(IMAGE, SCALE, SHIFT, training=True)


def test_dropout_keeps_the_mean_and_draws_anew() -> None:
    stream = tt.random.RandomStream(1)
    f = function([], nn.dropout(tt.ones((100, 100)), 0.25, stream), mode=PLAIN)
    first, second = f(), f()
    assert abs(first.mean() - 1) < 0.03
    assert set(np.unique(first).round(6)) == {0.0, 1.333333}
    assert not np.array_equal(first, second)
    generator = tt.random.shared_rng(seed=2)
    after, kept = nn.dropout(A, 0.5, generator)
    g = function([], kept, updates={generator: after}, mode=PLAIN)
    assert not np.array_equal(g(), g())
    assert np.array_equal(evaluate(nn.dropout(A, 0.5, None, training=False)), A)
    assert not evaluate(nn.dropout(A, 1.0, stream)).any()
    wrong: Any
    for wrong in (
        lambda: nn.dropout(A, 1.5, stream), lambda: nn.dropout(A, 0.5),
        lambda: nn.dropout(A, 0.5, 3),  # type: ignore[arg-type]  # the error that is tested
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"^dropout: (rate|rng) must be"):
            wrong()


def test_embedding() -> None:
    places = np.array([[2, 0], [2, 1]])
    check(
        lambda t: nn.embedding(places, t, padding_index=2),
        lambda t: F.embedding(torch.tensor(places), t, padding_idx=2), A,
    )  # fmt: skip


Q, K, V = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(2, 5, 4)), RNG.normal(size=(2, 5, 6))


def test_attention() -> None:
    attention, theirs = nn.scaled_dot_product_attention, F.scaled_dot_product_attention
    mask = RNG.uniform(size=(3, 5)) < 0.7
    mask[:, 0] = True
    bias = RNG.normal(size=(3, 5))
    check(attention, theirs, Q, K, V)
    check(lambda q, k, v: attention(q, k, v, mask), lambda q, k, v: theirs(q, k, v, torch.tensor(mask)), Q, K, V)
    check(
        lambda q, k, v: attention(q, k, v, bias, scale=2.0),
        lambda q, k, v: theirs(q, k, v, torch.tensor(bias), scale=2.0),
        Q,
        K,
        V,
    )
    check(lambda q, k, v: attention(q, k, v, causal=True), lambda q, k, v: theirs(q, k, v, is_causal=True), Q, K, V)
    q = shared(Q)
    nothing = attention(q, K, V, np.zeros((3, 5), bool))
    values = evaluate([nothing, tt.grad(nothing.sum(), q)])
    assert not values[0].any()
    assert not values[1].any()


def test_multi_head_attention() -> None:
    module = torch.nn.MultiheadAttention(4, 2, batch_first=True, dtype=torch.float64)
    weights, bias = module.in_proj_weight.detach().numpy(), RNG.normal(size=12)
    module.in_proj_bias.data = torch.tensor(bias)
    params = {"output": module.out_proj.weight.detach().numpy().T, "output_bias": module.out_proj.bias.detach().numpy()}
    for i, name in enumerate(("query", "key", "value")):
        params |= {name: weights[4 * i : 4 * i + 4].T, f"{name}_bias": bias[4 * i : 4 * i + 4]}
    check(
        lambda q, k: nn.multi_head_attention(q, k, k, params, 2),
        lambda q, k: module(q, k, k, need_weights=False)[0], Q, K,
    )  # fmt: skip
    with pytest.raises(ValueError, match="params must be a dict with the matrices query, key, value, output"):
        nn.multi_head_attention(Q, K, V, {"query": Q}, 2)


def test_initialisers_have_their_variances() -> None:
    stream = tt.random.RandomStream(3)
    wanted: dict[Any, float] = {
        nn.glorot_uniform: 2 / 300, nn.glorot_normal: 2 / 300, nn.xavier_normal: 2 / 300, nn.he_uniform: 2 / 100,
        nn.he_normal: 2 / 100, nn.kaiming_uniform: 2 / 100, nn.lecun_uniform: 1 / 100, nn.lecun_normal: 1 / 100,
    }  # fmt: skip
    values = evaluate([f(stream, (100, 200)) for f in wanted])
    for value, variance in zip(values, wanted.values(), strict=True):
        assert value.shape == (100, 200)
        assert value.var() == pytest.approx(variance, rel=0.05)
    window = evaluate(nn.he_normal(stream, (30, 20, 3, 3), in_axis=1, out_axis=0, dtype="float32"))
    assert window.dtype == "float32"
    assert window.var() == pytest.approx(2 / 180, rel=0.1)
    for shape in ((4, 6), (6, 4), (4, 3, 2)):
        q = evaluate(nn.orthogonal(stream, shape, gain=2.0)).reshape(shape[0], -1)
        product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(product, 4 * np.eye(min(q.shape)), atol=1e-12)
    assert abs(evaluate(nn.truncated_normal(stream, 500, std=2.0, lower=-1.0, upper=0.5))).max() <= 1.0
    generator = tt.random.shared_rng(seed=2)
    after, values = nn.glorot_normal(generator, (2, 3))
    assert after.type == generator.type
    wrong: Any
    for wrong in (
        lambda: nn.glorot_normal(stream, 3),
        lambda: nn.he_normal(None, (2, 3)),  # type: ignore[arg-type]  # the error that is tested
        lambda: nn.truncated_normal(stream, 3, lower=1.0, upper=0.0),
        lambda: nn.lecun_normal(stream, (2, 3), in_axis=4),
    ):
        with pytest.raises(ValueError, match=r"^(glorot_normal|he_normal|truncated_normal|lecun_normal): "):
            wrong()


O = torch.optim  # noqa: E741 - as F
OPTIMIZERS: dict[str, tuple[Any, Any]] = {
    "sgd": (lambda c, p: nn.sgd(c, p, 0.1), lambda p: O.SGD(p, 0.1)),
    "momentum": (lambda c, p: nn.sgd(c, p, 0.1, 0.9), lambda p: O.SGD(p, 0.1, 0.9)),
    "nesterov": (
        lambda c, p: nn.sgd(c, p, 0.1, 0.9, nesterov=True, weight_decay=0.1),
        lambda p: O.SGD(p, 0.1, 0.9, nesterov=True, weight_decay=0.1),
    ),
    "adam": (lambda c, p: nn.adam(c, p, 0.1, weight_decay=0.2), lambda p: O.Adam(p, 0.1, weight_decay=0.2)),
    "amsgrad": (lambda c, p: nn.adam(c, p, 0.1, amsgrad=True), lambda p: O.Adam(p, 0.1, amsgrad=True)),
    "adamw": (nn.adamw, O.AdamW),
    "nadam": (nn.nadam, O.NAdam),
    "rmsprop": (nn.rmsprop, O.RMSprop),
    "rmsprop_all": (
        lambda c, p: nn.rmsprop(c, p, 0.01, momentum=0.5, centered=True, weight_decay=0.1),
        lambda p: O.RMSprop(p, 0.01, momentum=0.5, centered=True, weight_decay=0.1),
    ),
    "adagrad": (
        lambda c, p: nn.adagrad(c, p, 0.1, 0.2, rate_decay=0.1),
        lambda p: O.Adagrad(p, 0.1, 0.1, initial_accumulator_value=0.2),
    ),
    "adadelta": (nn.adadelta, O.Adadelta),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_as_those_of_torch(name: str) -> None:
    ours, theirs = OPTIMIZERS[name]
    params = {"w": shared(A, name="w"), "b": [shared(SCALE, name="b")]}
    w, b = (torch.tensor(x, requires_grad=True) for x in (A, SCALE))
    step = function([], updates=ours(((params["w"] ** 2 + params["b"][0]) ** 2).sum(), params), mode=PLAIN)
    optimizer = theirs([w, b])
    for _ in range(4):
        step()
        optimizer.zero_grad()
        ((w**2 + b) ** 2).sum().backward()
        optimizer.step()
    np.testing.assert_allclose(params["w"].get_value(), w.detach().numpy(), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(params["b"][0].get_value(), b.detach().numpy(), rtol=1e-9)


def test_lion_steps_as_the_paper_says() -> None:
    w = shared(SCALE)
    step = function([], updates=nn.lion((w**2).sum(), w, 0.1, weight_decay=0.3), mode=PLAIN)
    x, m = SCALE.copy(), np.zeros(4)
    for _ in range(3):
        step()
        g = 2 * x
        x, m = x - 0.1 * (np.sign(0.9 * m + 0.1 * g) + 0.3 * x), 0.99 * m + 0.01 * g
    np.testing.assert_allclose(w.get_value(), x)


def test_optimizers_keep_dtypes_and_take_schedules_and_clipped_gradients() -> None:
    params = {"w": shared(A.astype("float32")), "b": shared(np.float32(0.0))}
    cost = ((params["w"] + params["b"]) ** 2).sum()
    gradients = nn.clip_by_norm(tt.grad(cost, params), 1.0)
    for make in (nn.sgd, nn.adam, nn.nadam, nn.lion, nn.rmsprop):
        updates = make(gradients, params, learning_rate=nn.linear_warmup(nn.cosine_decay(0.1, 10), 2))
        assert all(old.dtype == new.dtype for old, new in updates.items())
        function([], updates=updates, mode=PLAIN)()
    norm = evaluate(nn.global_norm(gradients))
    assert norm == pytest.approx(1.0, rel=1e-5)
    assert [float(x) for x in evaluate(nn.clip_by_norm([0.3, 0.4], 1.0))] == [0.3, 0.4]
    assert evaluate(nn.clip_by_norm([tt.zeros(2)], 1.0))[0].tolist() == [0.0, 0.0]
    assert evaluate(nn.clip_by_value([np.array([3.0, -3.0, 0.1])], 1.0))[0].tolist() == [1.0, -1.0, 0.1]
    rate = shared(0.1)
    w = shared(1.0)
    step = function([], w, updates=nn.sgd(w, w, rate), mode=PLAIN)
    step()
    rate.set_value(0.5)
    assert [float(step()) for _ in range(2)] == [0.9, 0.4]
    wrong: Any
    for wrong in (lambda: nn.adam(cost, {"w": 3}), lambda: nn.adam(cost, [w, w]), lambda: nn.sgd(cost, shared(1)),
                  lambda: nn.sgd({"v": w}, {"w": w}), lambda: nn.lbfgs(cost, [])):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=r"^(adam|sgd|lbfgs): "):
            wrong()


def test_schedules_are_those_of_torch() -> None:
    def theirs(make: Any, count: int) -> list[float]:
        optimizer = O.SGD([torch.zeros(1, requires_grad=True)], 0.1)
        schedule, rates = make(optimizer), []
        for _ in range(count):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        return rates

    S = O.lr_scheduler  # noqa: N806 - as F
    pairs = [
        (nn.exponential_decay(0.1, 0.9), lambda o: S.ExponentialLR(o, 0.9), 5),
        (nn.step_decay(0.1, 2, 0.5), lambda o: S.StepLR(o, 2, 0.5), 6),
        (nn.cosine_decay(0.1, 5, 0.01), lambda o: S.CosineAnnealingLR(o, 5, 0.01), 6),
        (nn.piecewise_constant([2, 4], [0.1, 0.05, 0.025]), lambda o: S.MultiStepLR(o, [2, 4], 0.5), 6),
        (nn.linear_warmup(0.1, 4, 0.05), lambda o: S.LinearLR(o, 0.5, 1.0, 4), 6),
    ]
    step = tt.lscalar("step")
    ours = function([step], [schedule(step) for schedule, _, _ in pairs], mode=PLAIN)
    for i, (_, make, count) in enumerate(pairs):
        np.testing.assert_allclose([ours(k)[i] for k in range(count)], theirs(make, count), rtol=1e-12)


def test_lbfgs_finds_minima() -> None:
    def rosen(x: Any) -> Any:
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    start = np.linspace(-1.2, 1.0, 6)
    params = {"a": shared(start[:2]), "b": [shared(start[2:])]}
    cost = rosen(tt.concatenate([params["a"], *params["b"]]))
    step = function([], cost, updates=nn.lbfgs(cost, params), mode=PLAIN)
    costs = [float(step()) for _ in range(60)]
    assert all(b <= a for a, b in itertools.pairwise(costs))
    wanted = scipy.optimize.minimize(rosen, start, method="L-BFGS-B", tol=1e-14).x
    np.testing.assert_allclose([*params["a"].get_value(), *params["b"][0].get_value()], wanted, atol=1e-4)
    w = shared(3.0)
    flat = function([], w, updates=nn.lbfgs(w * 0, w), mode=PLAIN)
    assert [float(flat()) for _ in range(2)] == [3.0, 3.0]
