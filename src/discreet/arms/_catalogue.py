"""Environments by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches

from discreet._checks import numbers
from discreet.arms._arranged import Arranged
from discreet.arms._base import Environment
from discreet.arms._bernoulli import Bernoulli
from discreet.arms._beta import Beta
from discreet.arms._capped import Capped
from discreet.arms._clipped import Clipped
from discreet.arms._delayed import Delayed
from discreet.arms._gaussian import Gaussian
from discreet.arms._mixed import Mixed
from discreet.arms._moving import Drifting, Switching
from discreet.arms._sampler import Sampler
from discreet.arms._tables import RewardList, RewardTable
from discreet.arms._trial import Replay
from discreet.arms._two_point import TwoPoint
from discreet.arms._uniform import Uniform
from discreet.errors import InvalidArgument

_BY_MEANS: dict[str, tuple[Callable[..., Environment], tuple[str, ...]]] = {
    "bernoulli": (Bernoulli, ()),
    "gaussian": (Gaussian, ("sd",)),
    "beta": (Beta.of_means, ("concentration",)),
    "two-point": (TwoPoint.of_means, ()),
    "uniform": (Uniform.of_means, ("half_width",)),
}
ENVIRONMENTS = tuple(_BY_MEANS)
"""The names that `environment` knows."""

_ALL: dict[str, type[Environment]] = {
    kind.name: kind
    for kind in (
        Bernoulli,
        Gaussian,
        Beta,
        TwoPoint,
        Uniform,
        Mixed,
        Arranged,
        Clipped,
        Capped,
        Sampler,
        RewardList,
        RewardTable,
        Replay,
        Drifting,
        Switching,
        Delayed,
    )
}


def environment(name: str, means: Sequence[float], **options: object) -> Environment:
    """An environment from the name of its reward distributions and the means of its arms.

    Args:
        name: "bernoulli"; "gaussian" (option sd, default 1); "beta" (concentration, default 2:
            a = 2m, b = 2 - 2m); "two-point" (even odds of max(0, 2m - 1) and min(1, 2m)); or
            "uniform" (half_width, default 0.5: the widest interval around m inside [0, 1], up
            to it).
        means: The mean reward of every arm, at least two.
        **options: Those named above.

    Returns:
        The environment.

    Raises:
        InvalidArgument: If the name, a mean or an option is not known.

    Example:
        >>> import discreet
        >>> discreet.environment("beta", [0.7, 0.5]).means
        (0.7, 0.5)
    """
    make, known = _BY_MEANS[_named("name", name, ENVIRONMENTS)]
    for option in options:
        if option not in known:
            fix = f"drop it; {name} knows {', '.join(known) or 'no option'}"
            raise InvalidArgument("option", f"be one of the {name} environment's", option, fix)
    values = numbers("means", means)
    if len(values) < 2:
        raise InvalidArgument("means", "name at least two arms", means, "pass one mean per arm")
    return make(values, **options)


def environment_from_dict(settings: object) -> Environment:
    """The environment whose `to_dict` gave these settings.

    Args:
        settings: What `to_dict` gave.

    Returns:
        The environment.

    Raises:
        InvalidArgument: If an argument breaks its rule.

    Example:
        >>> import discreet
        >>> from discreet.arms import environment_from_dict
        >>> environment_from_dict(discreet.Bernoulli([0.7, 0.5]).to_dict())
        Bernoulli(means=(0.7, 0.5))
    """
    fix = "pass what Environment.to_dict returned"
    if not isinstance(settings, Mapping) or "environment" not in settings:
        raise InvalidArgument("settings", "be a mapping with a key 'environment'", settings, fix)
    kind = _ALL[_named("environment", settings["environment"], tuple(_ALL))]
    rest = {key: value for key, value in settings.items() if key != "environment"}
    try:
        return kind.from_settings(rest)
    except (AttributeError, KeyError, TypeError) as error:
        rule = f"hold the settings of {kind.__name__} ({type(error).__name__}: {error})"
        raise InvalidArgument("settings", rule, dict(settings), fix) from error


def _named(argument: str, name: object, known: tuple[str, ...]) -> str:
    spelled = str(name).lower().replace("_", "-")
    if spelled in known:
        return spelled
    close = get_close_matches(spelled, known, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(known)}"
    raise InvalidArgument(argument, "be the name of an environment", name, hint)
