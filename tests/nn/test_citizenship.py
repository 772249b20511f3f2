"""monolip's modules are ordinary PyTorch modules: whatever works with nn.Linear works with them."""

from __future__ import annotations

import copy
import io
import os
import pickle
import time
from datetime import timedelta

import pytest
import safetensors.torch
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.func import functional_call, jacfwd, jacrev, vmap
from torch.nn.parallel import DistributedDataParallel
from torch.testing import assert_close

from monolip import Norm, SlopeBounds, SlopeSet
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded, WithFreeBranch

from .attack import jacobian, slack, two_sided

COMPILED = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile warns about torch


def build(kind, seed=0):
    torch.manual_seed(seed)
    columns = SlopeBounds([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0]], [[1.0, 1.0, 2.0], [1.0, 2.0, 1.0]])
    ordered = SlopeSet(SlopeBounds.from_monotonic_cst([1, 1], 2.0)).at_least(0, 1)
    return {
        "paper": lambda: SlopeBounded.mlp(two_sided(2), hidden=(8, 8), bound=3.0),
        "householder": lambda: SlopeBounded.mlp(two_sided(2), hidden=(8, 8), activation="householder"),
        "L1": lambda: SlopeBounded.mlp(two_sided(2), hidden=(8, 8), norms=Norm.L1_TO_L1, budget="layers"),
        "columns": lambda: SlopeBounded.mlp(columns, 3, hidden=(8, 8), group_size=4),
        "lipschitz": lambda: LipschitzMLP(2, 2, (8, 8), enforce="step"),
        "convex": lambda: ConvexMLP(two_sided(2), hidden=(8, 8)),
        "convex columns": lambda: ConvexMLP(columns, 3, hidden=(8, 8), group_size=None),
        "convex set": lambda: ConvexMLP(ordered, hidden=(8, 8)),
    }[kind]()


KINDS = ["paper", "householder", "L1", "columns", "lipschitz", "convex", "convex columns", "convex set"]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def test_state_dict_keys_are_plain():
    assert list(build("householder").state_dict()) == [
        "_extra_state",
        "trunks.0._extra_state",
        "trunks.0.layers.0.weight",
        "trunks.0.layers.0.bias",
        "trunks.0.layers.0._extra_state",
        "trunks.0.layers.1.directions",
        "trunks.0.layers.2.weight",
        "trunks.0.layers.2.bias",
        "trunks.0.layers.2._extra_state",
        "trunks.0.layers.3.directions",
        "trunks.0.layers.4.weight",
        "trunks.0.layers.4.bias",
        "trunks.0.layers.4._extra_state",
    ]
    assert list(ConvexMLP(two_sided(2), hidden=(4,)).state_dict()) == [
        "_extra_state",
        "trunks.0.layers.0.weight",
        "trunks.0.layers.0.bias",
        "trunks.0.layers.0._extra_state",
        "trunks.0.layers.2.weight",
        "trunks.0.layers.2.bias",
        "trunks.0.layers.2._extra_state",
    ]


def through_torch_save(state):
    stream = io.BytesIO()
    torch.save(state, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=True)


@pytest.mark.parametrize(
    "carry",
    [dict, through_torch_save, lambda state: safetensors.torch.load(safetensors.torch.save(state))],
    ids=["dict", "torch.save and load(weights_only=True)", "safetensors"],
)
def test_a_state_dict_travels_and_restores_the_function(kind, carry):
    model, other = build(kind), build(kind, seed=1)
    x = torch.randn(20, 2)
    assert not torch.equal(model(x), other(x))
    other.load_state_dict(carry(model.state_dict()))
    assert torch.equal(model(x), other(x))


@pytest.mark.parametrize("training", [True, False])
def test_pickle_deepcopy_and_torch_save_of_the_module(kind, training):
    model, x = build(kind).train(training), torch.randn(20, 2)
    with torch.no_grad():
        expected = model(x)  # fills the cache in eval mode
        stream = io.BytesIO()
        torch.save(model, stream)
        stream.seek(0)
        copies = (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(stream, weights_only=False))
        for twin in copies:
            assert torch.equal(twin(x), expected)
            assert twin.training is training
            next(twin.parameters()).data.mul_(0.1)
            assert torch.equal(model(x), expected)


@COMPILED
@pytest.mark.parametrize("training", [True, False])
def test_torch_compile_has_no_graph_break(kind, training):
    torch._dynamo.reset()
    model, x = build(kind).train(training), torch.randn(20, 2)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)
    if training:
        compiled(x).square().sum().backward()
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        model.zero_grad()
        model(x).square().sum().backward()
        for ours, plain in zip(gradients, [p.grad for p in model.parameters() if p.grad is not None], strict=True):
            assert_close(ours, plain, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        next(model.parameters()).mul_(0.5)
        assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)


@COMPILED
def test_a_compiled_model_sees_that_products_may_now_be_reduced():
    torch._dynamo.reset()
    model, x = build("paper").eval(), torch.randn(20, 2)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        compiled(x)
        try:
            torch.set_float32_matmul_precision("medium")
            assert torch.equal(compiled(x), model(x))
        finally:
            torch.set_float32_matmul_precision("highest")


@COMPILED
@pytest.mark.slow
def test_the_default_compiler_agrees(kind):
    torch._dynamo.reset()
    model, x = build(kind), torch.randn(20, 2)
    assert_close(torch.compile(model, fullgraph=True)(x), model(x), rtol=1e-4, atol=1e-4)


@COMPILED
def test_torch_export(kind):
    model, x = build(kind).eval(), torch.randn(20, 2)
    exported = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    for n in (20, 7):
        rows = torch.randn(n, 2)
        assert_close(exported.module()(rows), model(rows), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # jacfwd warns about torch
@pytest.mark.parametrize("training", [True, False])
def test_torch_func(kind, training):
    model, x = build(kind).train(training), torch.randn(10, 2)
    slopes = vmap(jacrev(model))(x)
    assert_close(slopes, jacobian(model, x), rtol=1e-5, atol=1e-5)
    assert_close(vmap(jacfwd(model))(x), slopes, rtol=1e-5, atol=1e-5)
    assert_close(vmap(model)(x), model(x), rtol=1e-5, atol=1e-5)
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(given):
        return functional_call(model, given, (x,)).square().sum()

    by_func = torch.func.grad(loss)(parameters)
    model.zero_grad()
    model(x).square().sum().backward()
    for name, parameter in model.named_parameters():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        assert_close(by_func[name], expected, rtol=1e-4, atol=1e-4)
    per_sample = vmap(torch.func.grad(lambda p, row: functional_call(model, p, (row,)).sum()), (None, 0))(parameters, x)
    assert all(value.shape[0] == 10 for value in per_sample.values())


def test_inside_nn_sequential_and_a_plain_training_loop(kind):
    model = build(kind)
    stack = nn.Sequential(nn.Identity(), model, nn.Sigmoid())
    optimizer = torch.optim.AdamW(stack.parameters(), 1e-2)
    x = torch.randn(64, 2)
    y = (x.sum(1, keepdim=True) > 0).float().expand(64, model.out_features)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy(stack(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]


def test_requires_grad_freezes_and_thaws(kind):
    model, x = build(kind), torch.randn(4, 2)
    model.requires_grad_(False)
    leaf = x.clone().requires_grad_()
    model(leaf).sum().backward()
    assert leaf.grad is not None
    assert all(p.grad is None for p in model.parameters())
    model.requires_grad_(True)
    model(x).sum().backward()
    assert any(p.grad is not None for p in model.parameters())


def test_moving_changes_parameters_and_constants_together(kind):
    model, x = build(kind), torch.randn(4, 2)
    expected = model(x)
    model.double()
    assert {t.dtype for t in (*model.parameters(), *model.buffers())} == {torch.float64}
    assert_close(model(x).float(), expected, rtol=1e-4, atol=1e-4)
    assert_close(model.to("cpu", torch.float32)(x), expected, rtol=1e-4, atol=1e-4)
    meta = copy.deepcopy(model).to("meta")
    assert meta(x.to("meta")).shape == expected.shape
    assert meta.eval()(x.to("meta")).shape == expected.shape


@pytest.mark.parametrize("shape", [(2,), (0, 2), (1, 2), (5, 2), (3, 4, 2), (2, 0, 3, 2)])
@pytest.mark.parametrize("training", [True, False])
def test_any_leading_shape_and_empty_batches(kind, shape, training):
    model, x = build(kind).train(training), torch.randn(shape)
    y = model(x)
    assert y.shape == (*shape[:-1], model.out_features)
    flat = model(x.reshape(-1, 2))
    assert_close(y.reshape(-1, model.out_features), flat, rtol=1e-5, atol=1e-6)
    y.sum().backward()


def test_inputs_of_the_other_float_type_are_converted(kind):
    model, x = build(kind), torch.randn(4, 2)
    assert model(x.double()).dtype == torch.float32
    assert model.double()(x).dtype == torch.float64
    assert_close(model(x), model(x.double()))


def test_a_wrapped_branch_is_a_citizen_too():
    f = WithFreeBranch(build("convex"), nn.Linear(3, 1), 1)
    x, u = torch.randn(6, 1), torch.randn(6, 3)
    twin = pickle.loads(pickle.dumps(f))
    assert torch.equal(twin(x, u), f(x, u))
    exported = torch.export.export(f.eval(), (x, u))
    assert_close(exported.module()(x, u), f(x, u))


def train_one_rank(rank, folder):
    """Two processes, gloo: different data, one model; gradients and weights must stay the same on both."""
    torch.set_num_threads(1)
    meeting = f"file://{folder}/meeting"  # no server that one rank could take down before the other has left
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=2, timeout=timedelta(seconds=60))
    try:
        for kind in ("paper", "householder", "lipschitz", "convex"):
            model = DistributedDataParallel(build(kind, seed=rank))  # starts from rank 0's weights
            optimizer = torch.optim.SGD(model.parameters(), 0.5)
            torch.manual_seed(100 + rank)
            for _ in range(3):
                optimizer.zero_grad()
                model(torch.randn(16, 2)).square().mean().backward()
                optimizer.step()
            gradients = {n: p.grad for n, p in model.module.named_parameters() if p.grad is not None}
            state = {"state": model.module.state_dict(), "gradients": gradients}
            torch.save(state, os.path.join(folder, f"{kind}-{rank}.pt"))
        dist.barrier()
    finally:
        dist.destroy_process_group()


def test_distributed_data_parallel_synchronises_gradients_and_keeps_the_promise(tmp_path):
    ranks = mp.spawn(train_one_rank, (str(tmp_path),), nprocs=2, join=False)
    deadline = time.monotonic() + 90
    while not ranks.join(timeout=5) and time.monotonic() < deadline:
        pass  # a rank that fails raises here
    for process in ranks.processes:  # torch sometimes hangs on leaving a group; what is tested lies on disk by then
        process.kill()
    for kind in ("paper", "householder", "lipschitz", "convex"):
        mine, theirs = (torch.load(tmp_path / f"{kind}-{rank}.pt", weights_only=True) for rank in (0, 1))
        for part in ("gradients", "state"):
            assert mine[part].keys() == theirs[part].keys()
            for name in mine[part]:
                assert_close(mine[part][name], theirs[part][name], rtol=1e-6, atol=1e-7)
        model = build(kind)
        model.load_state_dict(mine["state"])
        slopes = model.slopes if kind != "lipschitz" else SlopeBounds([-1.0] * 2, [1.0] * 2)
        assert slopes.contains(jacobian(model, torch.randn(200, 2)), atol=slack(slopes, torch.float32))
