"""The tools of an agent in a workspace: what a model is told of them, and the cell that each call becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspect_ai.tool import ToolInfo, ToolParam, ToolParams

_TEXT = "string"
_NUMBER = "number"
_COUNT = "integer"

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {_TEXT: (str,), _NUMBER: (int, float), _COUNT: (int,)}


class UnusableCall(ValueError):
    """A call that cannot be carried out; the text tells the model what to do about it."""


@dataclass(frozen=True)
class _Parameter:
    name: str
    type: str
    description: str
    required: bool = True


@dataclass(frozen=True)
class _Tool:
    name: str
    description: str
    parameters: tuple[_Parameter, ...]
    cell: Callable[[dict[str, Any]], str]

    def info(self) -> ToolInfo:
        properties = {
            p.name: ToolParam(type=p.type, description=p.description)  # type: ignore[arg-type]
            for p in self.parameters
        }
        required = [p.name for p in self.parameters if p.required]
        return ToolInfo(
            name=self.name,
            description=self.description,
            parameters=ToolParams(properties=properties, required=required),
        )


def _called(name: str, *parameters: str) -> Callable[[dict[str, Any]], str]:
    """The cell that calls the helper of this name with the arguments that are given."""

    def cell(given: dict[str, Any]) -> str:
        return f"{name}({', '.join(f'{p}={given[p]!a}' for p in parameters if p in given)})"

    return cell


def _reading(given: dict[str, Any]) -> str:
    whole = f"read_file({given['path']!a})"
    if "first_line" not in given and "last_line" not in given:
        return whole
    first, last = given.get("first_line", 1), given.get("last_line")
    part = f"{max(first - 1, 0)}:{'' if last is None else max(last, 0)}"
    return f"print('\\n'.join({whole}.splitlines()[{part}]))"


_PATH = _Parameter("path", _TEXT, "Name of the file, relative to /workspace or absolute.")
_TIMEOUT = _Parameter("timeout", _NUMBER, "Seconds after which it is stopped.", required=False)

_TOOLS: Final = (
    _Tool(
        "python",
        "Run Python in a process that stays alive: variables, functions and imports are there in the next call. "
        "Answers with what was printed, the value of the last line, the traceback if it raised, and plots.",
        (_Parameter("code", _TEXT, "The code."), _TIMEOUT),
        lambda given: str(given["code"]),
    ),
    _Tool(
        "shell",
        "Run a command with bash in /workspace. Answers with what it printed, and the exit code if that is not 0.",
        (_Parameter("command", _TEXT, "The command."), _TIMEOUT),
        _called("shell", "command", "timeout"),
    ),
    _Tool(
        "read_file",
        "Read a text file, or some of its lines.",
        (
            _PATH,
            _Parameter("first_line", _COUNT, "First line to read, counted from 1.", required=False),
            _Parameter("last_line", _COUNT, "Last line to read.", required=False),
        ),
        _reading,
    ),
    _Tool(
        "write_file",
        "Write a text file; folders on the way are made, a file of that name is replaced.",
        (_PATH, _Parameter("text", _TEXT, "Its whole content.")),
        _called("write_file", "path", "text"),
    ),
    _Tool(
        "search",
        "Find the lines of text files that match a regular expression (Python's).",
        (
            _Parameter("pattern", _TEXT, "The expression."),
            _Parameter("path", _TEXT, "File or folder to search; /workspace by default.", required=False),
        ),
        _called("search", "pattern", "path"),
    ),
    _Tool(
        "final_answer",
        "Declare that the task is done: this ends it. Call it once all files that the task asks for are written.",
        (_Parameter("text", _TEXT, "Closing words.", required=False),),
        _called("final_answer", "text"),
    ),
)

_BY_NAME: Final = {tool.name: tool for tool in _TOOLS}


def tool_infos() -> list[ToolInfo]:
    """What a model is told of the tools."""
    return [tool.info() for tool in _TOOLS]


def cell_of(name: str, arguments: object) -> tuple[str, float | None]:
    """The code that carries out a call, and its time limit in s.

    Raises
    ------
    UnusableCall
        If there is no such tool, or the arguments do not fit.
    """
    tool = _BY_NAME.get(name)
    if tool is None:
        raise UnusableCall(f"there is no tool {name!r:.80}; there are {', '.join(_BY_NAME)}")
    if not isinstance(arguments, Mapping):
        raise UnusableCall(f"{name}: the arguments must be an object")
    given = {key: value for key, value in arguments.items() if value is not None}
    known = {p.name: p for p in tool.parameters}
    if unknown := [key for key in given if key not in known]:
        raise UnusableCall(
            f"{name} has no argument {', '.join(f'{u!r:.80}' for u in unknown)}; it has {', '.join(known)}"
        )
    for parameter in tool.parameters:
        if parameter.name not in given:
            if parameter.required:
                raise UnusableCall(f"{name}: argument {parameter.name} is missing")
            continue
        value = given[parameter.name]
        if isinstance(value, bool) or not isinstance(value, _TYPES[parameter.type]):
            raise UnusableCall(
                f"{name}: argument {parameter.name} must be of type {parameter.type}, got {_brief(value)}"
            )
        if isinstance(value, int) and parameter.type == _COUNT and not 0 <= value <= 1_000_000_000:
            raise UnusableCall(f"{name}: argument {parameter.name} must lie between 0 and 1000000000")
    limit = given.get("timeout")
    if limit is not None and not 0 < limit <= 86_400:
        raise UnusableCall(f"{name}: timeout must lie between 0 and 86400 s")
    return tool.cell(given), float(limit) if limit is not None and tool.name == "python" else None


def _brief(value: object) -> str:
    return f"{type(value).__name__} {value!r:.80}" if isinstance(value, str | float | bool) else type(value).__name__
