"""Reading of the engine's logs: the one module here that knows the engine.

What it gives is plain: `Replay` for the pages, `RunSettings` for the reports.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matassay.core import EpisodeResult, MatAssayError, Scalar, scalars

from ._summary import RunSettings

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

#: How the tool's answer to an action begins that was not carried out, and so is no step (`matassay.evals`).
NOT_CARRIED_OUT: Final = "Not carried out"

#: Names under which the episode's record is kept in the sample's store (`matassay.evals`).
RECORD: Final = "Record:"

#: Actions of agents that work by code (`matassay.evals`).
BY_CODE: Final = ("run_code", "malformed_reply", "unusable_call")

#: Settings under clearer names.
NAMES: Final = {
    "observation": "observation mode",
    "screenshots": "screenshots kept in view",
    "private_split": "private split",
}


@dataclass(frozen=True)
class Image:
    """A screenshot."""

    media_type: str
    """MIME type."""
    data: bytes
    """The file."""

    @property
    def key(self) -> str:
        """Digest of the bytes."""
        return hashlib.sha256(self.data).hexdigest()[:24]


@dataclass(frozen=True)
class ReplayStep:
    """One primitive action."""

    number: int
    """1 for the first."""
    action: Mapping[str, Any]
    """As it was sent: ``action`` and its fields, possibly nonsense."""
    error: str | None
    """Why it was refused, if it was."""
    time: float | None
    """Virtual clock after it, s."""
    before: str | None
    """Key of the last screenshot of the whole screen before it: what the agent knew."""
    after: str | None
    """Key of the screenshot after the batch that it belongs to."""
    pointer: tuple[float, float] | None
    """Where the pointer was before it, as far as the actions tell, pixels."""
    says: str = ""
    """What the agent said before it."""
    place: tuple[int, int] = (1, 1)
    """Its number in the batch, and the size of the batch."""
    changes: Mapping[str, Scalar] = field(default_factory=dict)
    """What it changed in the instrument's state; null also for an entry that is gone."""
    code: str | None = None
    """In a workspace, the code that was run, or what the agent wrote in place of it."""
    shown: str = ""
    """In a workspace, what the agent was shown of it."""
    thought: str = ""
    """In a workspace, why the agent did it: its own words, without what its model reasoned before them."""


@dataclass(frozen=True)
class Replay:
    """One episode as it can be shown."""

    result: EpisodeResult
    """How it ended, and whose it is."""
    instruction: str
    """What the agent was told."""
    images: Mapping[str, Image]
    """Screenshots by key."""
    first: str | None
    """Key of the screen at the start."""
    last: str | None
    """Key of the last screenshot of the whole screen."""
    steps: tuple[ReplayStep, ...]
    """In order."""
    closing: str = ""
    """What the agent said at the end."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """What each criterion asks for, where the task is installed."""
    initial: Mapping[str, Scalar] = field(default_factory=dict)
    """Scalar entries of the instrument's state at the start; empty in logs that were written before these were kept."""
    workspace: bool = False
    """Whether the agent worked by code, without a screen."""

    def state(self, step: int) -> dict[str, Scalar]:
        """The instrument's state after so many steps: the changes laid over the initial state."""
        found = dict(self.initial)
        for s in self.steps[:step]:
            found.update(s.changes)
        return found


def find_logs(places: Sequence[Path]) -> list[Path]:
    """Log files among files and folders, in the order of their names, which begin with their dates.

    A folder stands for the logs in it, not for those in folders inside it: these may be another run's. What is named
    like a log there and is no file is left out with a warning.

    Raises
    ------
    MatAssayError
        If a place does not exist.
    """
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            from matassay.evals.results import log_files

            found += log_files(place)
        elif place.is_file():
            found.append(place)
        else:
            raise MatAssayError(f"{place}: there is no such log file or folder")
    return list(dict.fromkeys(found))


def read_settings(places: Sequence[Path]) -> list[RunSettings]:
    """Circumstances of each log, from its header; a log that cannot be read is left out with a warning."""
    from matassay.evals.results import skipped

    found = []
    for path in find_logs(places):
        try:
            found.append(_settings(path))
        except MatAssayError as error:
            skipped(str(path), str(error).removeprefix(f"{path}: "))
    return found


def read_replays(log: Path, sample: str | Sequence[str] | None = None) -> Iterator[Replay]:
    """Episodes of one log file, one at a time, because their pictures are large.

    An episode that is damaged is left out with a warning.

    Parameters
    ----------
    log : Path
        Log file.
    sample : str or sequence of str, optional
        Only the sample of this id; if there is none, those in whose id it stands. Or the samples of these ids, in their
        order.

    Raises
    ------
    MatAssayError
        If the file is no log, or has no such sample.
    """
    from inspect_ai.log import read_eval_log_sample, read_eval_log_sample_summaries

    from matassay.agents import describe
    from matassay.evals.results import read_log, result_of, skipped

    spec = read_log(log, header_only=True).eval
    try:
        found = [(str(s.id), s.uuid) for s in read_eval_log_sample_summaries(str(log))]
    except Exception as error:
        raise MatAssayError(f"{log}: its episodes cannot be read ({describe(error)})") from error
    # In the main thread, Python before 3.13 writes the whole episode as text, pictures and all, when it compares the
    # handlers of Ctrl-C after the engine has read it.
    with ThreadPoolExecutor(max_workers=1) as apart:
        for id, uuid in _wanted(log, found, sample):
            try:
                full = apart.submit(
                    read_eval_log_sample, str(log), uuid=uuid, resolve_attachments="core", exclude_fields={"events"}
                ).result()
                replay = make_replay(full, result_of(full, spec, str(log)))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one, the others are shown
                skipped(f"{log}: episode {id}", describe(error))
                continue
            yield replay


def _wanted(
    log: Path, found: Sequence[tuple[str, str | None]], sample: str | Sequence[str] | None
) -> Sequence[tuple[str, str | None]]:
    """Of the ids and uuids in a log, those that are asked for."""
    if sample is None:
        return found
    if not isinstance(sample, str):
        return [f for id in sample for f in _wanted(log, found, id)]
    wanted = [f for f in found if sample == f[0]] or [f for f in found if sample in f[0]]
    if not wanted:
        raise MatAssayError(f"{log}: no sample {sample!r}; it has: {', '.join(id for id, _ in found) or 'none'}")
    return wanted


def make_replay(sample: EvalSample, result: EpisodeResult) -> Replay:
    """An episode from its sample and its result."""
    reader = _Reader(sample)
    reader.read()
    return Replay(
        result=result,
        instruction=sample.input if isinstance(sample.input, str) else _words(sample.input[-1].content),
        images=reader.images,
        first=reader.first,
        last=reader.screen,
        steps=tuple(reader.steps),
        closing=reader.closing,
        descriptions=_descriptions(result.id),
        initial=scalars(reader.record.get("initial")),
        workspace=reader.workspace or _in_workspace(result.id),
    )


class _Reader:
    """Walks through the messages of a sample and pairs each step with its screenshots, or with its code."""

    def __init__(self, sample: EvalSample) -> None:
        self.sample = sample
        self.images: dict[str, Image] = {}
        self.first: str | None = None
        self.screen: str | None = None
        self.pointer: tuple[float, float] | None = None
        self.steps: list[ReplayStep] = []
        self.closing = ""
        self.record = {k[len(RECORD) :]: v for k, v in (sample.store or {}).items() if k.startswith(RECORD)}
        records = self.record.get("records") or []
        #: Only a workspace keeps what was shown, and only it has steps that are code.
        self.workspace = bool(self.record.get("shown")) or any(_action(r).get("action") in BY_CODE for r in records)

    def read(self) -> None:
        """Find the steps, the pictures and the closing words."""
        if self.workspace:
            self._read_workspace()
        else:
            self._read_screen()

    def _read_workspace(self) -> None:
        """Each call of a tool is a step; in a conversation without any, each reply is."""
        waiting = list(self.record.get("records") or [])
        messages = self.sample.messages
        by_calls = any(m.role == "assistant" and m.tool_calls for m in messages)
        says: list[str] = []
        thoughts: list[str] = []
        for place, message in enumerate(messages):
            if message.role != "assistant":
                continue
            reasoning, text = _parts(message.content)
            calls = list(message.tool_calls or [])
            thought = text if by_calls or not waiting else _thought(text)
            says += [t for t in (reasoning, thought) if t]
            thoughts += [thought] if thought else []
            # After the last step come calls that were not carried out, and closing words.
            number = min(len(calls) if by_calls else 1, len(waiting))
            for i in range(number):
                shown = _answer(messages[place + 1 :], calls[i].id if by_calls else None)
                first = i == 0
                self._cell(
                    waiting.pop(0),
                    text,
                    "\n\n".join(says) if first else "",
                    "\n\n".join(thoughts) if first else "",
                    (i + 1, number),
                    shown,
                )
            if number:
                says, thoughts = [], []
        for rest in waiting:  # the conversation was lost meanwhile
            self._cell(rest, "", "", "", (1, 1), None)
        self.closing = "\n\n".join(says)

    def _cell(
        self,
        record: Mapping[str, Any],
        reply: str,
        says: str,
        thought: str,
        place: tuple[int, int],
        shown: str | None,
    ) -> None:
        action = _action(record)
        error = record.get("error")
        code = action.get("code", action.get("reply"))
        if code is None:
            code = reply if action.get("action") == "malformed_reply" else json.dumps(action, indent=1, default=str)
        self.steps.append(
            ReplayStep(
                number=int(record.get("step") or len(self.steps) + 1),
                action=action,
                error=str(error) if error is not None else None,
                time=_float(record.get("time")),
                before=None,
                after=None,
                pointer=None,
                says=says,
                place=place,
                changes=scalars(record.get("changes")),
                code=str(code),
                shown=self._shown(record) if shown is None else shown,
                thought=thought,
            )
        )

    def _read_screen(self) -> None:
        # The steps of one turn led to one screenshot. Turns are numbered upwards, with gaps where a person acted.
        turns: dict[int, list[Mapping[str, Any]]] = {}
        for r in self.record.get("records") or []:
            turns.setdefault(int(r.get("turn") or 0), []).append(r)
        waiting = [turns[n] for n in sorted(turns)]
        says = ""
        for message in self.sample.messages:
            text = _words(message.content)
            if message.role == "assistant":
                says = "\n\n".join(t for t in (says, text) if t)
                continue
            pictures = _pictures(message.content)
            if not pictures:
                continue
            key = self._keep(pictures[-1])
            if self.first is None:
                self.first = self.screen = key
            elif waiting and not text.startswith(NOT_CARRIED_OUT):
                self._turn(waiting.pop(0), key, says)
                says = ""
        # Steps whose screenshot never came, because the world broke meanwhile.
        for rest in waiting:
            self._turn(rest, None, says)
            says = ""
        self.closing = says

    def _turn(self, records: Sequence[Mapping[str, Any]], after: str | None, says: str) -> None:
        before = self.screen
        for i, r in enumerate(records, 1):
            action = _action(r)
            error = r.get("error")
            self.steps.append(
                ReplayStep(
                    number=int(r.get("step") or len(self.steps) + 1),
                    action=action,
                    error=str(error) if error is not None else None,
                    time=_float(r.get("time")),
                    before=before,
                    after=after,
                    pointer=self.pointer,
                    says=says if i == 1 else "",
                    place=(i, len(records)),
                    changes=scalars(r.get("changes")),
                )
            )
            if error is None:
                self.pointer = _point(action.get("coordinate")) or self.pointer
        # What a zoom shows is not the screen, so nothing is drawn on it.
        if after is not None and not (records and self.steps[-1].action.get("action") == "zoom"):
            self.screen = after

    def _shown(self, record: Mapping[str, Any]) -> str:
        """What the record keeps of an observation; the steps of a workspace are numbered from 1 without gaps."""
        shown, number = self.record.get("shown"), record.get("step")
        if isinstance(shown, list) and isinstance(number, int) and 1 <= number <= len(shown):
            return str(shown[number - 1])
        return ""

    def _keep(self, image: Image) -> str:
        self.images.setdefault(image.key, image)
        return image.key


def _point(value: Any) -> tuple[float, float] | None:
    if isinstance(value, list | tuple) and len(value) == 2:
        x, y = _float(value[0]), _float(value[1])
        if x is not None and y is not None:
            return x, y
    return None


def _float(value: Any) -> float | None:
    if isinstance(value, bool | int | float) and value == value and abs(value) != float("inf"):
        return float(value)
    return None


def _action(record: Mapping[str, Any]) -> dict[str, Any]:
    action = record.get("action")
    return dict(action) if isinstance(action, Mapping) else {"action": str(action)}


def _thought(reply: str) -> str:
    """Why, as a reply of the code loop gives it; empty for a malformed one, which is shown in place of code."""
    from matassay.evals._code_reply import Malformed, read_reply

    try:
        return read_reply(reply).thought.strip()
    except Malformed:
        return ""


def _answer(later: Sequence[Any], call: str | None) -> str | None:
    """What was sent to the agent next: to a call, or to a reply; None if nothing was."""
    for message in later:
        if message.role == "assistant" and call is None:
            return None
        mine = message.role == "user" if call is None else message.role == "tool" and message.tool_call_id == call
        if mine:
            return _words(message.content)
    return None


def _words(content: Any) -> str:
    """Texts of a message; reasoning, where a provider shows it, comes first."""
    return "\n\n".join(p for p in _parts(content) if p)


def _parts(content: Any) -> tuple[str, str]:
    """Reasoning and texts of a message."""
    if isinstance(content, str):
        return "", content.strip()
    texts, reasoning = [], []
    for c in content:
        if c.type == "text":
            texts.append(c.text.strip())
        elif c.type == "reasoning":
            shown = "" if c.redacted else c.reasoning
            reasoning.append((c.summary or shown or "").strip())
    return "\n\n".join(r for r in reasoning if r), "\n\n".join(t for t in texts if t)


def _pictures(content: Any) -> list[Image]:
    if isinstance(content, str):
        return []
    return [p for c in content if c.type == "image" and (p := _picture(c.image)) is not None]


def _picture(uri: str) -> Image | None:
    head, comma, body = uri.partition(",")
    if not (comma and head.startswith("data:image/") and head.endswith(";base64")):
        return None
    media_type = head[len("data:") : -len(";base64")]
    if media_type not in ("image/png", "image/jpeg", "image/webp"):
        return None
    try:
        return Image(media_type, base64.b64decode(body, validate=True))
    except binascii.Error:
        return None


def _descriptions(task: str) -> dict[str, str]:
    from matassay.core import UnknownTask, find_task

    try:
        return {c.name: c.description for c in find_task(task).criteria}
    except UnknownTask:
        return {}


def _in_workspace(task: str) -> bool:
    """Whether the task has no screen; a program that acts by itself leaves no record of it."""
    from matassay.core import Interface, UnknownTask, find_task

    try:
        return find_task(task).interface is Interface.WORKSPACE
    except UnknownTask:
        return False


def _settings(path: Path) -> RunSettings:
    from matassay.evals.results import read_log

    header = read_log(path, header_only=True)
    spec = header.eval
    facts = dict(spec.metadata or {})
    shown: dict[str, Any] = {
        "model": spec.model,
        "agent (scaffold)": facts.get("agent"),
        "status": str(header.status),
        **{NAMES.get(str(k), str(k)): v for k, v in dict(facts.get("settings") or {}).items()},
        **{f"model argument {k}": v for k, v in spec.model_args.items()},
        **{f"package {name}": v for name, v in (spec.packages or {}).items()},
    }
    if spec.revision is not None:
        shown["source"] = f"{spec.revision.commit}{' (changed)' if spec.revision.dirty else ''}"
    shown.update(spec.model_generate_config.model_dump(exclude_none=True, exclude_defaults=True))
    return RunSettings(str(path), spec.created, {k: _plain(k, v) for k, v in shown.items() if _said(k, v)})


def _said(name: str, value: Any) -> bool:
    return value not in (None, "", [], {}) or name == "step_limit"


def _plain(name: str, value: Any) -> str:
    if name == "step_limit" and value is None:
        return "each task's own"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
