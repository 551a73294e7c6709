"""`discreet membership gradients`: white-box audits of gradient descent, on real images."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._checks import count
from ..errors import InvalidArgument
from ._options import Json, flag, switch, whole
from ._output import PICTURES, check_path, print_json, print_table, print_text, save_picture

if TYPE_CHECKING:
    from .._types import Array
    from ..membership.gradients._experiments import Experiment, Scale

NAME = "gradients"
SUMMARY = "White-box audits of gradient descent, on real images."
SETS = ("sample", "sample-net", "fashion-mnist", "cifar-10")

Data = Annotated[str, flag("sample or sample-net (shipped), fashion-mnist or cifar-10.", "NAME")]
Folder = Annotated[
    Path | None,
    flag("Folder of the data set; else that of its name under $DISCREET_DATA.", "FOLDER"),
]
Seed = Annotated[int, flag("Random seed, for reproducible results.", "COUNT")]


def epoch(
    data: Data = "sample",
    path: Folder = None,
    games: Annotated[str | None, flag("Games per side; the data set's own.", "COUNT")] = None,
    size: Annotated[
        str | None, flag("Points of a training set; the data set's own.", "COUNT")
    ] = None,
    full: Annotated[
        bool, switch("--full", "CIFAR-10 with 22,272 points instead of 3,200: 15 minutes or more.")
    ] = False,
    seed: Seed = 1,
    plot: Annotated[Path | None, flag("Draw the curves: .png, .svg or .pdf.", "FILE.png")] = None,
    json: Json = False,
) -> None:
    """Play membership games on one epoch of training, for an easy, a median and a hard image.

    The attacker sees every step; the covariance attack and the scalar product are compared.
    """
    check_path("plot", plot, PICTURES)
    count("seed", seed, least=0, fix="use --seed 1")
    experiment, scale = experiment_of(data, path, size, full, seed)
    many = scale.games if games is None else whole("games", games)
    found = experiment.play(many, seed=seed, progress=False if json else None)
    if plot is not None:
        _draw(experiment, found, plot)
    if json:
        print_json(
            {
                "data": data,
                "points": experiment.game.size,
                "steps": experiment.game.steps,
                "games": many,
                "ridge": experiment.references.ridge,
                "references": experiment.references.count,
                "seed": seed,
                "targets": {
                    target: {
                        "leakage": experiment.leakage[target],
                        "image": experiment.places[target],
                        "attacks": {
                            attack: {
                                "auc": scores.auc,
                                "auc_limits": list(scores.auc_limits()),
                                "power_at_0.05": scores.power(0.05),
                            }
                            for (of, attack), scores in found.items()
                            if of == target
                        },
                    }
                    for target in experiment.targets
                },
            }
        )
        return
    print_text(
        f"{experiment.name}: {experiment.game.size:,} points, {experiment.game.steps} steps, "
        f"{many} games per side, ridge {experiment.references.ridge:g}, seed {seed}"
    )
    rows = [
        [target, f"{experiment.leakage[target]:.1f}", attack, f"{scores.auc:.3f}",
         f"{scores.power(0.05):.3f}"]
        for (target, attack), scores in found.items()
    ]  # fmt: skip
    columns = ["target", "leakage m", "attack", "AUC", "power at .05"]
    print_table(columns, rows, right=("leakage m", "AUC", "power at .05"))


def audit(
    noise: Annotated[float, flag("Noise multiplier γ.", "NUMBER")] = 4.0,
    clip: Annotated[float, flag("Clip c of a gradient.", "NUMBER")] = 1.0,
    steps: Annotated[str, flag("Steps of training.", "COUNT")] = "16",
    sampling: Annotated[float, flag("Rate of Poisson batches; 1: all points.", "NUMBER")] = 1.0,
    data: Data = "sample",
    path: Folder = None,
    points: Annotated[str, flag("Points of the data set.", "COUNT")] = "64",
    actual_noise: Annotated[
        float | None,
        flag("The multiplier really used, if the code is to break its claim.", "NUMBER"),
    ] = None,
    runs: Annotated[str, flag("Runs per side of the games.", "COUNT")] = "500",
    canaries: Annotated[str, flag("Canaries of the audit in one run.", "COUNT")] = "200",
    delta: Annotated[float, flag("The δ of ε(δ).", "NUMBER")] = 1e-5,
    confidence: Annotated[float, flag("Probability that a bound holds.", "NUMBER")] = 0.95,
    seed: Seed = 1,
    json: Json = False,
) -> None:
    """Audit DP-SGD on real images: what is claimed, proved, by what, in how many runs.

    Every line holds with the stated confidence on its own. Exit code 1 means that the claim is
    refuted.
    """
    import numpy as np

    from ..membership.gradients import DPSGD, audit_dpsgd
    from ..membership.gradients._experiments import subject

    _check_data(data, path)
    count("seed", seed, least=0, fix="use --seed 1")
    images, model, features = subject(data, path)
    many = whole("points", points)
    if many > len(images):
        raise InvalidArgument(
            "points", f"be at most the {len(images)} images of {data}", many,
            f"use --points {len(images)}",
        )  # fmt: skip
    claimed = DPSGD(
        model, features[:many], images.labels[:many], model.start(np.random.default_rng(seed)),
        clip=clip, noise=noise, steps=whole("steps", steps), sampling=sampling,
    )  # fmt: skip
    table = audit_dpsgd(
        claimed if actual_noise is None else claimed.with_noise(actual_noise),
        claimed=claimed, runs=whole("runs", runs), canaries=whole("canaries", canaries),
        delta=delta, confidence=confidence, seed=seed,
    )  # fmt: skip
    if json:
        print_json(table.to_dict())
    else:
        rows = [
            [f"{line.claimed:.3f}", f"{line.proved:.3f}", line.by, f"{line.runs:,}",
             "violation" if line.is_violation else line.note]
            for line in table.lines
        ]  # fmt: skip
        columns = ["claimed ε", "proved ε", "by", "runs", "note"]
        print_table(columns, rows, right=("claimed ε", "proved ε", "runs"))
        print_text(f"at δ = {delta:g}, each with confidence {confidence:g}, seed {seed}")
    if table.is_violation:
        raise typer.Exit(1)


def canaries(
    data: Data = "sample", path: Folder = None, seed: Seed = 1, json: Json = False
) -> None:
    """Compare canaries by how much they leak from one batch.

    Points by their gradient at the start, gradients at the norm of the easiest point.
    """
    import numpy as np

    from ..membership.gradients import _canaries as kinds

    count("seed", seed, least=0, fix="use --seed 1")
    experiment, scale = experiment_of(data, path, None, False, seed)
    model, known, start = experiment.model, experiment.references, experiment.game.start
    rng = np.random.default_rng(seed)
    points = dict(experiment.targets)
    x, y = points["median"]
    points |= {
        "blank": (kinds.blank(x), y),
        "mislabelled median": (x, kinds.mislabelled(model, start, x, y)),
    }
    gradients = {
        name: model.layer(start, x[None], np.array([y])).dense()[0]
        for name, (x, y) in points.items()
    }
    norm = float(np.linalg.norm(gradients["easiest"]))
    crafted, _ = kinds.canife(
        model, start, model.layer(start, *experiment.fresh), x, y, clip=norm, steps=20
    )
    gradients["CANIFE from the median"] = model.layer(
        start.astype(float), crafted[None], np.array([y])
    ).dense()[0]
    gradients["random direction"] = kinds.random_direction(known.size, norm, rng)
    gradients["best Dirac"] = kinds.dirac(known, norm)
    gradients["best gradient"] = kinds.best_gradient(known, norm)
    rows = [
        (name, float(np.linalg.norm(g)), float(known.distances(g - known.mean)) / scale.batch)
        for name, g in gradients.items()
    ]
    rows.sort(key=lambda row: -row[2])
    if json:
        print_json([{"canary": name, "norm": size, "leakage": leak} for name, size, leak in rows])
        return
    cells = [[name, f"{size:.3g}", f"{leak:,.4g}"] for name, size, leak in rows]
    print_table(["canary", "norm", "leakage m"], cells, right=("norm", "leakage m"))
    print_text(f"m of a batch of {scale.batch}, ridge {known.ridge:g}")


def score(
    references: Annotated[Path, flag("Gradients of references, one per point.", "FILE.npy")],
    canary: Annotated[Path, flag("The canary's gradient: one, or one per step.", "FILE.npy")],
    updates: Annotated[
        Path | None, flag("The gradient that each step showed, one per step.", "FILE.npy")
    ] = None,
    parameters: Annotated[
        Path | None, flag("Or the parameters before, between and after steps.", "FILE.npy")
    ] = None,
    rate: Annotated[float | None, flag("With --parameters: the learning rate.", "NUMBER")] = None,
    batch: Annotated[str, flag("Points of a batch.", "COUNT")] = "64",
    ridge: Annotated[float, flag("Variance of the noise that is assumed.", "NUMBER")] = 1e-4,
    classes: Annotated[
        str | None, flag("Gradients are those of a softmax layer with so many classes.", "COUNT")
    ] = None,
    sampling: Annotated[float | None, flag("Rate of Poisson batches.", "NUMBER")] = None,
    json: Json = False,
) -> None:
    """Score a run of any framework from arrays of gradients: high for members.

    A score of one run says little by itself: hold it against those of runs without the canary.
    """
    from ..membership.gradients import (
        References,
        Trace,
        covariance_steps,
        glir_steps,
        scalar_steps,
    )

    if (updates is None) == (parameters is None) or (parameters is None) != (rate is None):
        raise InvalidArgument(
            "updates", "be given, or else parameters with their rate", str(updates),
            "use --updates FILE.npy, or --parameters FILE.npy --rate 1e-3",
        )  # fmt: skip
    size = whole("batch", batch)
    known = References.of(
        read_array("references", references), ridge=ridge,
        classes=None if classes is None else whole("classes", classes),
    )  # fmt: skip
    own = read_array("canary", canary)
    if parameters is not None and rate is not None:
        seen = Trace.of(read_array("parameters", parameters), rate).updates
    elif updates is not None:
        seen = read_array("updates", updates)
    steps = covariance_steps(known, own, seen, size)
    found = {
        "covariance, sum": steps.combined("sum"),
        "covariance, centred sum": steps.combined("centred sum"),
        "covariance, frozen sum": steps.combined("frozen sum"),
        "covariance, log-mean-exp": steps.combined("log-mean-exp"),
        "covariance, frozen log-mean-exp": steps.combined("frozen log-mean-exp"),
        "covariance, max": steps.combined("max"),
    }
    if sampling is not None:
        found["covariance, poisson"] = steps.combined("poisson", sampling=sampling)
    found["scalar product, sum"] = float(scalar_steps(own, seen).sum())
    found["GLiR, sum"] = float(glir_steps(known, own, seen, size).sum())
    leakage = float(steps.shift.mean())
    if json:
        print_json({"steps": len(seen), "leakage": leakage, "ridge": known.ridge, "scores": found})
        return
    print_text(f"{len(seen)} steps, leakage m = {leakage:.4g} of a batch, ridge {known.ridge:g}")
    cells = [[name, f"{value:,.4g}"] for name, value in found.items()]
    print_table(["score", "value"], cells, right=("value",))


COMMANDS: dict[str, Callable[..., None]] = {
    "epoch": epoch, "audit": audit, "canaries": canaries, "score": score,
}  # fmt: skip
EXAMPLES = {
    "epoch": "discreet membership gradients epoch --data sample --games 10 --json",
    "audit": "discreet membership gradients audit --noise 4 --steps 16 --runs 200",
    "canaries": "discreet membership gradients canaries --data sample",
    "score": "discreet membership gradients score --references references.npy --canary canary.npy "
    "--updates updates.npy",
}
NOTES = {
    "epoch": """\
JSON: `data`, `points`, `steps`, `games` (a side), `references`, `ridge`, `targets`: for each its
`leakage` (m of a batch), its place `image` in the data set, and `attacks`: `auc`, `auc_limits`,
`power_at_0.05`. The covariance of the references is computed once and kept in the folder
`references` of the cache folder ($DISCREET_CACHE, else the user's): 400 MB for Fashion-MNIST.
""",
    "audit": """\
JSON: `lines`, for each `claimed` (the accountant's ε at `delta`), `proved`, `by`, `runs`,
`violation`, `note`; `violation` is true if any line is one, and then the exit code is 1.
""",
    "canaries": """\
JSON: a list of `canary`, `norm` (of its gradient), `leakage` (m of a batch).
""",
    "score": """\
Files are NumPy's .npy, of numbers: references n × d, canary d or T × d, updates T × d, parameters
(T + 1) × d. JSON: `steps`, `leakage` (m of a batch, on average), `ridge`, `scores` by name.
""",
}


def experiment_of(
    data: str, path: Path | None, size: str | None, full: bool, seed: int
) -> tuple[Experiment, Scale]:
    """The experiment on a data set by name."""
    from ..membership.gradients import _experiments as known

    _check_data(data, path)
    if full and data != "cifar-10":
        raise InvalidArgument(
            "full", "be left out: only cifar-10 has a smaller scale", data, "use --data cifar-10"
        )
    scales = {
        "fashion-mnist": known.FASHION,
        "cifar-10": known.CIFAR_FULL if full else known.CIFAR,
    }
    scale = scales.get(data, known.SAMPLE)
    if size is not None:
        scale = replace(scale, size=whole("size", size))
    if data == "fashion-mnist":
        return known.fashion_experiment(path, scale=scale, seed=seed), scale
    if data == "cifar-10":
        return known.cifar_experiment(path, scale=scale, seed=seed), scale
    return known.sample_experiment(scale=scale, seed=seed, net=data == "sample-net"), scale


def _draw(experiment: Experiment, found: dict[Any, Any], path: Path) -> None:
    from ..membership.gradients._pictures import roc_picture

    predicted = {
        name: environment.auc for name, environment in experiment.predicted(frozen=True).items()
    }
    save_picture(roc_picture(found, experiment.leakage, predicted), path, dpi=110)


def read_array(argument: str, path: Path) -> Array:
    """The numbers in a .npy file; nothing in it is run."""
    import numpy as np

    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InvalidArgument(
            argument, f"be a readable .npy file of numbers ({error})", str(path),
            "write it with numpy.save",
        ) from None  # fmt: skip
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "fiu":
        raise InvalidArgument(
            argument, "be one array of real numbers", str(path), "write it with numpy.save"
        )
    return found


def _check_data(data: str, path: Path | None) -> None:
    if data not in SETS:
        raise InvalidArgument("data", f"be one of {', '.join(SETS)}", data, "use --data sample")
    if path is not None and data.startswith("sample"):
        raise InvalidArgument("path", "be left out: the sample is shipped", str(path), "drop it")
