"""Experiments as feature flags, and outcomes as tracking events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import (
    FlagNotFoundError,
    GeneralError,
    InvalidContextError,
    TargetingKeyMissingError,
    TypeMismatchError,
)
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.provider import AbstractProvider, Metadata
from openfeature.track import TrackingEventDetails

from .._checks import Name
from ..client import Client
from ..client._talk import SWITCH, of
from ..errors import DiscreetError, InvalidArgument, ServiceError

T = TypeVar("T")
LOG = logging.getLogger("discreet.openfeature")


class DiscreetProvider(AbstractProvider):
    """Arms of experiments as values of flags.

    Args:
        url, key: Of the service, and a key of a site.
        timeout: Seconds for an evaluation; then the caller's default is shown.
        every: Seconds between the moments at which tracking events are sent.
        events: Experiments that an event is the outcome of, where it does not have the name of
            one: `{"purchase": ["checkout-colour", "checkout-text"]}`.

    A string or integer flag is the name of the arm. A boolean flag is an experiment whose arms are
    "on" and "off", or "true" and "false". If the service is away, or the experiment takes no more
    participants, the caller's default is shown with the reason DEFAULT, and that participant's
    outcomes are not recorded.

    `track(experiment, context, details)` is an outcome: `details.value`, or 1 for an event without
    a value. It only queues; `shutdown` sends what waits. With several providers at once `track`
    reaches all of them: outcomes are private only if this one alone gets them.
    """

    def __init__(
        self, url: str, key: str, *, timeout: float = 2.0, every: float = 1.0,
        events: Mapping[str, Sequence[str]] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._client = Client(url, key, timeout=timeout, every=every)
        self._events = {name: tuple(flags) for name, flags in (events or {}).items()}
        self._arms: dict[str, tuple[Name, ...]] = {}

    def get_metadata(self) -> Metadata:
        """Its name."""
        return Metadata(name="discreet")

    def shutdown(self) -> None:
        """Send what waits."""
        self._client.close()

    # --- flags ------------------------------------------------------------------------------------

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """The name of an arm."""
        return self._resolved(flag_key, default_value, evaluation_context, _text)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """An arm that is a whole number."""
        return self._resolved(flag_key, default_value, evaluation_context, _whole)

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """An arm of a switch."""
        return self._resolved(flag_key, default_value, evaluation_context, _state)

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """No arm is one."""
        return self._resolved(flag_key, default_value, evaluation_context, _nothing)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[Any] | Mapping[str, Any],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Sequence[Any] | Mapping[str, Any]]:
        """No arm is one."""
        return self._resolved(flag_key, default_value, evaluation_context, _nothing)

    def _resolved(
        self, flag: str, default: T, context: EvaluationContext | None,
        value_of: Callable[[Name], T | None],
    ) -> FlagResolutionDetails[T]:  # fmt: skip
        unit = None if context is None else context.targeting_key
        if context is None or not unit:
            raise TargetingKeyMissingError("the context needs a targeting key")
        try:
            # looked at before anybody takes a place: who is shown a default must not have an arm
            if any(value_of(arm) is None for arm in self._arms_of(flag)):
                raise TypeMismatchError("the arms of this experiment are of another type")
            more = context.attributes
            talk = self._client._talk.assign(
                flag, unit, more.get("actions"), _name(more.get("stratum")), None
            )
            if self._client._talk.is_fallen_back(flag, unit):
                return FlagResolutionDetails(default, reason=Reason.DEFAULT)
            arm = self._client._run(talk)
        except InvalidArgument as error:
            raise InvalidContextError(str(error)) from None
        except ServiceError as error:
            if error.status == 404:
                raise FlagNotFoundError("there is no such experiment") from None
            if error.status in (401, 403):
                raise GeneralError("the key does not open this experiment") from None
            return self._default(flag, unit, default)
        except DiscreetError:
            return self._default(flag, unit, default)
        value = value_of(arm)
        if value is None:  # an arm was added, of another type
            return self._default(flag, unit, default)
        return FlagResolutionDetails(value, reason=Reason.SPLIT, variant=str(arm))

    def _default(self, flag: str, unit: Name, default: T) -> FlagResolutionDetails[T]:
        self._client._talk.fall_back(flag, unit)
        return FlagResolutionDetails(default, reason=Reason.DEFAULT)

    def _arms_of(self, flag: str) -> tuple[Name, ...]:
        if flag not in self._arms:
            shown = self._client._run(self._client._talk.ask("GET", of(flag)))
            self._arms[flag] = tuple(shown["arms"])
        return self._arms[flag]

    # --- outcomes ---------------------------------------------------------------------------------

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Queue an outcome. Never blocks, never raises."""
        unit = None if evaluation_context is None else evaluation_context.targeting_key
        value = None if tracking_event_details is None else tracking_event_details.value
        if not unit:
            LOG.warning("an event without a targeting key was not recorded")
            return
        for flag in self._events.get(tracking_event_name, (tracking_event_name,)):
            try:
                self._client._note(flag, "outcomes", unit, 1.0 if value is None else value)
            except DiscreetError:
                LOG.warning("an event with a value that is no number was not recorded")


def _name(value: object) -> Name | None:
    return value if isinstance(value, str | int) else None


def _text(arm: Name) -> str | None:
    return arm if isinstance(arm, str) else None


def _whole(arm: Name) -> int | None:
    return arm if isinstance(arm, int) else None


def _state(arm: Name) -> bool | None:
    return SWITCH.get(arm.lower()) if isinstance(arm, str) else None


def _nothing(arm: Name) -> Any:
    return None
