"""Appendix A in small, on a CPU: the attainable maximum is reached, under the promise, in the exact network."""

import json
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest
import torch
from paper.appendix_a import certifying
from paper.appendix_a.attainable import attainable, identical
from paper.appendix_a.certifying import certify_tasks
from paper.appendix_a.experiment import one_task
from paper.appendix_a.forms import constrained_layers, new_trunk, on_pixels
from paper.appendix_a.images import Images
from paper.appendix_a.memorising import memorise
from paper.appendix_a.proving import certificate_facts, falling_probability, frozen_facts
from paper.appendix_a.recipes import OURS
from paper.appendix_a.tables import _certificates, _goodness
from paper.appendix_a.tasks import TASKS, make_task
from paper.appendix_a.whitening import Whitening
from paper.results_file import read_results

from monolip import FrozenNetwork
from monolip.certify import certify
from monolip.nn import TemperatureCrossEntropy

SMALL = OURS.but(
    width=32, batch=50, round_steps=20, warm_up=20, rate=1e-2, seconds=300.0
)  # steps decide, not a busy machine


def small_images(count=80, values=40):
    """Smooth random pictures, among them three identical ones with the labels 3, 5 and 5."""
    rng = np.random.default_rng(1)
    pixels = (rng.random((count, values)).cumsum(axis=1) * 255 / values).astype(np.uint8)
    labels = rng.integers(10, size=count)
    pixels[1:3] = pixels[0]
    labels[:3] = 3, 5, 5
    return Images("small", pixels, labels, 10)


def brute_force(labels, goodness):
    """The most rows any set of answers gets right if class 0, once given, stays the answer for larger goodness."""
    order = np.argsort(goodness)
    count = 0
    for cut in range(len(labels) + 1):
        count = max(count, (labels[order[:cut]] != 0).sum() + (labels[order[cut:]] == 0).sum())
    return count


def test_identical_images_get_one_answer():
    images = small_images()
    keep = attainable(images.pixels, images.labels)
    assert keep.sum() == 79
    assert not keep[0]


def test_repeated_images_are_counted_with_their_labels():
    images = small_images()
    assert identical(images.pixels, images.labels) == {"repeated": 1, "with_other_labels": 1, "most_copies": 3}
    assert identical(images.pixels[3:], images.labels[3:]) == {"repeated": 0, "with_other_labels": 0, "most_copies": 1}


def test_goodness_may_separate_identical_images_but_class_0_must_stay():
    rng = np.random.default_rng(0)
    for _ in range(200):
        labels, goodness = rng.integers(3, size=5), rng.permutation(5) / 5
        keep = attainable(np.zeros((5, 2), np.uint8), labels, goodness)
        assert keep.sum() == brute_force(labels, goodness)
        zeros, others = goodness[keep & (labels == 0)], goodness[keep & (labels != 0)]
        assert not len(zeros) or not len(others) or zeros.min() > others.max()


@pytest.mark.parametrize("form", ["paper", "convex"])
def test_whitening_folds_into_a_network_of_the_same_bound(form):
    torch.manual_seed(0)
    task = make_task("mnist true", small_images())
    pixels = torch.tensor(task.inputs())
    whitening = Whitening.of(pixels, 1e-4)
    assert float(whitening.matrix.abs().sum(0).max()) <= 1.0
    trunk = new_trunk(form, 40, 10, 32).double()
    with torch.no_grad():
        constrained_layers(trunk)[0].weight.mul_(50.0)  # far beyond the cap
    folded = on_pixels(trunk, whitening, task)
    u = (pixels - whitening.mean) @ whitening.matrix
    assert torch.allclose(folded(pixels), trunk(u), atol=1e-12)
    assert constrained_layers(folded)[0].weight.detach().abs().max() <= 1.0
    low, high = folded.freeze().slope_range
    assert low.min() >= -1.0
    assert high.max() <= 1.0


@pytest.mark.parametrize("name", ["mnist random", "cifar101 threshold", "cifar101 coin, random"])
def test_every_image_is_right_that_can_be_right(name):
    task = make_task(name, small_images())
    run = memorise(task, SMALL)
    assert run.right == task.possible.sum()
    frozen = run.network.freeze()
    answers = frozen.evaluate(task.inputs()).argmax(axis=1)
    assert (answers == task.labels)[task.possible].all()
    assert frozen_facts(frozen, task, run.smallest_margins[:5])["closest_right"] == 5
    assert run.curve[-1][2] == run.right


def test_the_probability_of_class_0_never_falls_and_would_under_the_original_guarantee():
    ours = make_task("cifar101 coin, random", small_images())
    theirs = make_task("cifar101 coin, random", small_images(), guarantee="logit")
    lower, upper = ours.slopes.lower[-1], ours.slopes.upper[-1]
    assert lower[0] >= upper[1:].max()  # f_0 - f_j rises for every j
    assert theirs.slopes.lower[-1, 0] >= 0 > theirs.slopes.lower[-1, 0] - theirs.slopes.upper[-1, 1:].max()
    facts = [falling_probability(memorise(task, SMALL).network, task, 256.0) for task in (ours, theirs)]
    assert facts[0]["largest_fall"] == 0.0
    assert facts[1]["largest_fall"] > 0.01


def test_one_task_is_told_as_json_and_its_certificate_is_checked(tmp_path):
    task = make_task("mnist random", small_images(values=8))
    told = one_task(task, SMALL.but(width=8, seconds=1.0), "cpu", 1, 20, tmp_path / "network.safetensors")
    assert told["attainable"] <= told["images"] == 80
    assert told["published"]["epochs"] == 20.0
    facts = certificate_facts(tmp_path / "network.safetensors")
    assert facts["digest"] == told["frozen"]["digest"] == certify(_load(tmp_path)).digest
    assert facts["claims"] == 80
    assert facts["steepest"] <= 1.0
    assert facts["checker"].startswith("PROVED")


def test_a_small_run_is_limited_by_steps_and_says_what_it_misses(tmp_path, capsys):
    from paper.appendix_a.experiment import SMALL as FAST

    assert FAST["seconds"] > 1e6  # the clock decides nothing
    task = make_task("mnist random", small_images())
    told = one_task(task, SMALL.but(width=8, seconds=1e9, steps=40), "cpu", 1, 20, tmp_path / "network.safetensors")
    (run,) = told["runs"]
    assert run["steps"] == 40
    wrong = told["attainable"] - run["right"]
    assert wrong > 0
    assert f"misses its maximum: {wrong} of {told['attainable']} still wrong" in capsys.readouterr().out


def certified(tmp_path):
    """What `certify_tasks` writes about two small networks."""
    tasks = [make_task(name, small_images(values=8)) for name in ("cifar101 threshold", "cifar100 true")]
    ours, file = SMALL.but(width=8, seconds=0.5), tmp_path / "certificates.json"
    with ThreadPoolExecutor(1) as workers:
        certify_tasks(tasks, ours, device="cpu", workers=workers, networks=tmp_path, file=file)
    return json.loads(file.read_text())


def test_certificates_are_those_of_the_networks_told_and_cover_the_goodness(tmp_path):
    found = certified(tmp_path)["tasks"]
    assert [len(_load(tmp_path, f"{name}.safetensors").slopes.lower) for name in found] == [9, 8]
    for name, own in found.items():
        frozen = _load(tmp_path, f"{name}.safetensors")
        assert own["certificate"]["digest"] == own["frozen"]["digest"] == frozen.digest
        assert own["certificate"]["claims"] == frozen.n_features * frozen.n_outputs
        assert own["certificate"]["checker"].startswith("PROVED")
    goodness = found["cifar101 threshold"]["certificate"]["goodness"]
    assert goodness["class_0"]["directions"] == ["increasing"]
    assert goodness["others"]["directions"] == ["decreasing"]
    assert goodness["class_0"]["slopes"][0] >= 0.0 >= goodness["others"]["slopes"][1]
    assert "goodness" not in found["cifar100 true"]["certificate"]


def test_the_text_claims_no_more_than_is_certified():
    goodness = {
        "class_0": {"directions": ["increasing"], "slopes": [1.59e-5, 0.4]},
        "others": {"directions": ["decreasing"], "slopes": [-0.9, -1.2e-5]},
    }
    timed = {"claims": 310_000, "seconds": {"written": 110.2, "checked": 340.0}}
    tasks = {
        "cifar101 threshold": {"frozen": {"goodness_class_0": [0, 1]}, "certificate": {**timed, "goodness": goodness}},
        "mnist true": {"frozen": {}, "certificate": {"claims": 7_840}},
    }
    assert _certificates(tasks) == (
        "of all 2 networks, 317,840 intervals in all "
        "(one with 310,000 or more was written in 110 to 110 s and checked in 340 to 340 s, several beside each other)"
    )
    assert _goodness(tasks) == (
        "f₀ increasing and every other logit decreasing, bit for bit, in 1 of 1 networks; "
        "every f₀ - f_j has a slope of at least 2.7e-05"
    )
    del tasks["mnist true"]["certificate"]
    assert _certificates(tasks).startswith("of 1 of 2 networks, 310,000 intervals")


def test_only_complete_results_of_the_same_machine_are_merged(tmp_path, monkeypatch):
    found = certified(tmp_path)
    name, kept = "cifar100 true", {"attainable": 80, "runs": [{}, {"right": 80}], "frozen": {}, "published": {}}
    stored = {"numbers": {"device": "CPU", "tasks": {name: kept}}}
    written = []
    monkeypatch.setattr(certifying, "read_results", lambda _: deepcopy(stored))
    monkeypatch.setattr(certifying, "write_results", lambda _, content: written.append(content))
    own = found["tasks"].pop(name)
    own["run"]["right"] = 80
    found["tasks"] = {name: own}
    file = tmp_path / "found.json"
    file.write_text(json.dumps(found))
    assert certifying.merge(file) == [name]
    task = written[0]["numbers"]["tasks"][name]
    assert task["certificate"]["digest"] == task["frozen"]["digest"]
    assert task["runs"] == [own["run"], {"right": 80}]
    for change in (
        lambda content: content.update(device="another"),
        lambda content: content["tasks"][name]["run"].update(right=79),
        lambda content: content["tasks"][name]["certificate"].update(digest="of another network"),
        lambda content: content["tasks"][name].pop("certificate"),
    ):
        other = deepcopy(found)
        change(other)
        file.write_text(json.dumps(other))
        with pytest.raises(ValueError, match=r"; got .*; run it"):
            certifying.merge(file)
    assert len(written) == 1


def test_committed_results_are_what_the_text_says_of_all_tasks():
    numbers = read_results("appendix_a")["numbers"]
    assert list(numbers["tasks"]) == list(TASKS)
    for task in numbers["tasks"].values():
        certificate, frozen = task["certificate"], task["frozen"]
        assert {run["right"] for run in task["runs"]} == {task["attainable"]}
        assert max(run["seconds"] for run in task["runs"]) < 60.0
        assert frozen["closest_right"] == frozen["closest_images"] == 200
        assert certificate["checker"] == f"PROVED: real+ordered claims about network {frozen['digest']}"
        assert certificate["steepest"] <= frozen["steepest"] <= 1.0
        assert frozen.get("probability", {"falling": 0})["falling"] == frozen.get("falling_steps", 0) == 0


def _load(folder, name="network.safetensors"):
    return FrozenNetwork.load(folder / name)


def test_tasks_have_the_labels_they_say():
    images = small_images()
    for name in TASKS:
        task = make_task(name, images)
        assert set(task.labels) <= set(range(task.n_classes))
        assert task.slopes.n_features == task.n_inputs
    threshold = make_task("cifar101 threshold", images)
    assert np.array_equal(threshold.labels == 0, threshold.goodness > 0.5)
    assert np.array_equal(threshold.labels[threshold.labels > 0] - 1, images.labels[threshold.labels > 0])


def test_the_loss_is_the_public_one():
    f, y = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1])
    expected = -torch.log_softmax(256.0 * f, -1)[torch.arange(5), y].mean()
    assert torch.allclose(TemperatureCrossEntropy(256.0)(f, y), expected)
