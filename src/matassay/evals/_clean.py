"""What a model may answer with that no log can hold, taken out before anybody sees it."""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

from inspect_ai.model import Model, ModelOutput, ModelUsage
from inspect_ai.model import ModelCall as Call
from pydantic_core import PydanticSerializationError

from matassay.core import plain_json, plain_text

#: What Anthropic's client raises for arguments of a tool that are not JSON: the model's mistake, not the provider's.
NOT_JSON: Final = "Unable to parse tool parameter JSON from model"


def clean_answers(model: Model) -> None:
    """From now on, all that the model answers is plain text and numbers.

    Half a surrogate pair, which JSON can name, fails the writing of the log, and with it every episode of the run. The
    engine records an answer as soon as its provider returns, so it is cleaned there.
    """
    api = model.api
    generate = api.generate
    if "generate" in vars(api):  # done for an earlier episode
        return

    @wraps(generate)
    async def cleaned(*args: Any, **kwargs: Any) -> Any:
        try:
            answer = await generate(*args, **kwargs)
        except ValueError as error:
            if not str(error).startswith(NOT_JSON):
                raise
            return _unparsable(model, str(error))
        if isinstance(answer, tuple):
            output, call = answer
            return _clean(output), _clean_call(call)
        return _clean(answer)

    setattr(api, "generate", cleaned)  # noqa: B010 - mypy does not let a method be assigned


def _unparsable(model: Model, words: str) -> ModelOutput:
    """A call of the tool that the engine answers with an error, and the episode counts as refused."""
    output = ModelOutput.for_tool_call(model.name, "computer", {})
    (call,) = output.choices[0].message.tool_calls or []
    call.parse_error = plain_text(words)[:500]
    output.usage = ModelUsage()
    return output


def _clean(output: Any) -> Any:
    if not isinstance(output, ModelOutput):
        return output  # an exception of the provider
    for choice in output.choices:
        for call in choice.message.tool_calls or []:
            try:
                call.arguments = plain_json(call.arguments)
            except RecursionError:
                call.arguments, call.parse_error = {}, "the arguments are nested too deeply"
    try:
        output.model_dump_json()
    except (PydanticSerializationError, UnicodeEncodeError):
        return ModelOutput.model_validate(plain_json(output.model_dump()))
    return output


def _clean_call(call: Call | None) -> Call | None:
    if call is not None:
        call.request = plain_json(call.request)
        call.response = plain_json(call.response)
    return call
