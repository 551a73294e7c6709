"""What goes over the wire under /v1: one type for every body, of which the schema is made too."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ._keys import Role

MOST = 1_000
"""Entries of one batch."""
MOST_ARMS = 1_000
Text = Annotated[str, Meta(min_length=1, max_length=256)]
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Unit = Text | Whole
"""What participants are called; 1 and "1" are different ones."""
Arm = Text | Whole
Id = Annotated[str, Meta(pattern="^[a-z0-9-]{1,64}$", max_length=64)]
Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
Actions = Annotated[
    list[Annotated[list[Number], Meta(min_length=1, max_length=1000)]],
    Meta(min_length=1, max_length=MOST_ARMS),
]


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """A body of a request; what it does not know it refuses."""


class NewExperiment(msgspec.Struct):
    """A plan, flat, as `discreet trial new` takes it: what is not named here is an option of the
    policy (`epsilon`, `rho`, ...) or a setting of a trial (`horizon`, `window`, ...)."""

    id: Id
    arms: Annotated[list[Arm], Meta(min_length=2, max_length=MOST_ARMS)]
    policy: Text | None = None
    design: dict[str, Any] | None = None
    title: Annotated[str, Meta(max_length=256)] = ""
    answers: Literal["private", "public"] = "private"
    """"public": who has answered need not be kept secret, and no deadline is demanded"""
    deadline: Text | None = None
    missing: Number | Text | None = None
    strata: Annotated[list[Arm], Meta(min_length=1, max_length=100)] | None = None


class Experiment(msgspec.Struct):
    """An experiment in the list."""

    id: str
    title: str
    status: str
    simulated: bool
    created: float
    arms: list[str | int]
    strata: list[str | int]
    assigned: int
    releases: int
    next_release: float | None
    guarantee: str
    policy: str
    settings: dict[str, Any]


class Experiments(msgspec.Struct):
    """All experiments that a key may see."""

    experiments: list[Experiment]


class Assign(Body):
    """A participant who needs an arm."""

    unit: Unit
    actions: Actions | None = None
    stratum: Arm | None = None


class AssignMany(Body):
    """Several of them."""

    units: Annotated[list[Assign], Meta(min_length=1, max_length=MOST)]


class Assigned(msgspec.Struct):
    """The arm of a participant. `decision` is a receipt: the same whenever you ask again."""

    arm: str | int
    decision: str


class AssignedOne(msgspec.Struct, omit_defaults=True):
    """The arm of a participant of a batch, or the kind of problem in its place."""

    arm: str | int | None = None
    decision: str = ""
    problem: str = ""


class AssignedMany(msgspec.Struct):
    """In the order of the request."""

    assigned: list[AssignedOne]


class Outcome(Body):
    """What came of a participant."""

    unit: Unit
    outcome: Number


class OutcomeMany(Body):
    """Several outcomes."""

    outcomes: Annotated[list[Outcome], Meta(min_length=1, max_length=MOST)]


class Withdrawal(Body):
    """A participant whose outcome must not be used."""

    unit: Unit


class Exposure(Body):
    """A participant who was shown an arm, by the weights of a version."""

    unit: Unit
    arm: Arm
    version: Annotated[int, Meta(ge=1, le=2**53)]


class Exposures(Body):
    """Participants who were shown an arm without a call: they take places now."""

    exposures: Annotated[list[Exposure], Meta(min_length=1, max_length=MOST)]


class Accepted(msgspec.Struct):
    """The one answer to everything that is recorded."""

    accepted: bool = True


class Weights(msgspec.Struct):
    """The shares of the arms until the next release, and the key of the hash that picks by them."""

    version: int
    arms: list[str | int]
    parts: list[int]
    key: str


class Start(Body):
    """Nothing needs to be said."""


class Stop(Body):
    """Why no more participants are taken."""

    by: Literal["releases", "public", "board"] = "releases"


class OneArm(Body):
    """An arm that comes or goes."""

    arm: Arm
    stratum: Arm | None = None


class Finish(Body):
    """Whether blocks that are not full are erased."""

    discard: bool = False


class Release(msgspec.Struct):
    """What was public at one release."""

    time: float
    arm: str | int
    size: int
    mean: float | None
    assigned: dict[str, int]
    stratum: str | int | None = None


class Releases(msgspec.Struct):
    """The releases so far. Of very long experiments only every other one is kept."""

    generation: int
    releases: list[Release]


class NewKey(Body):
    """A key to be made. `site`: its participants have names of their own."""

    role: Role
    experiment: Id | None = None
    site: Id | None = None
    label: Annotated[str, Meta(max_length=100)] = ""
    days: Annotated[float, Meta(gt=0, le=3650)] | None = None
    """until it expires"""


class Rotation(Body):
    """How long the old key opens everything beside the new one."""

    hours: Annotated[float, Meta(ge=0, le=8760)] = 24.0


class Key(msgspec.Struct):
    """A key without its secret."""

    id: str
    role: str
    experiment: str | None
    site: str | None
    label: str
    created: float
    expires: float | None
    revoked: float | None


class MadeKey(Key):
    """A key with its secret, which is shown this once."""

    key: str = ""


class Keys(msgspec.Struct):
    """The keys of a tenant."""

    keys: list[Key]


class AuditEntry(msgspec.Struct):
    """One entry; `chain` is a code over it and the one before."""

    number: int
    experiment: str | None
    at: float
    actor: str
    action: str
    detail: dict[str, Any]
    chain: str


class Audit(msgspec.Struct):
    """Entries of the audit, oldest first. `whole`: the chain of all of them holds."""

    whole: bool
    entries: list[AuditEntry]


class Curator(msgspec.Struct):
    """How a participant's own device makes one bit of an outcome between `low` and `high`: see
    `curator.js`."""

    keep: int
    """the bit is kept with probability keep/2^53"""
    low: float
    high: float


class Device(msgspec.Struct, omit_defaults=True):
    """What a participant's own device needs to know. `curator`: where it may randomise."""

    experiment: str
    status: str
    arms: list[str | int]
    curator: Curator | None = None


class DeviceReport(Body):
    """What leaves a device: one bit, which was randomised there."""

    experiment: Id
    unit: Unit
    bit: Literal[0, 1]


class Health(msgspec.Struct):
    """Whether the service is up, or ready."""

    status: str


class Evaluation(msgspec.Struct):
    """A request of the OpenFeature Remote Evaluation Protocol."""

    context: dict[str, Any] | None = None


class Evaluated(msgspec.Struct, omit_defaults=True):
    """What a flag is for a participant: its arm."""

    key: str
    reason: str
    variant: str
    value: str | int | bool | msgspec.UnsetType = msgspec.UNSET
    metadata: dict[str, str] = {}


class NotEvaluated(msgspec.Struct):
    """Why a flag has no value."""

    key: str
    errorCode: str  # noqa: N815 - the protocol's name
    errorDetails: str  # noqa: N815


class Flag(msgspec.Struct, omit_defaults=True):
    """What one of several flags is, or why it has no value."""

    key: str
    reason: str = ""
    variant: str = ""
    value: str | int | bool | msgspec.UnsetType = msgspec.UNSET
    metadata: dict[str, str] = {}
    errorCode: str = ""  # noqa: N815
    errorDetails: str = ""  # noqa: N815


class EvaluatedMany(msgspec.Struct):
    """The flags of a participant."""

    flags: list[Flag]


class BadEvaluation(msgspec.Struct):
    """Why nothing was evaluated."""

    errorCode: str  # noqa: N815
    errorDetails: str  # noqa: N815
