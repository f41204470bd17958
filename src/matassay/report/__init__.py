"""Reports and replays: from rows of results and logs to tables, plots and pages."""

from ._conditions import Overrule, Overrules, idle_overrules, run_key
from ._overrule import find_overrules, read_overrules
from ._replay import replay_html, write_replay
from ._report import ReportFiles, report_csv, report_html, report_json, write_report
from ._statistics import Interval, bounds, pass_at_k, pass_hat_k, success_interval, wilson
from ._steps import Replay
from ._summary import Row, RunSettings, Subject, Summary, summarise

__all__ = [
    "Interval",
    "Overrule",
    "Overrules",
    "Replay",
    "ReportFiles",
    "Row",
    "RunSettings",
    "Subject",
    "Summary",
    "bounds",
    "find_overrules",
    "idle_overrules",
    "pass_at_k",
    "pass_hat_k",
    "read_overrules",
    "replay_html",
    "report_csv",
    "report_html",
    "report_json",
    "run_key",
    "success_interval",
    "summarise",
    "wilson",
    "write_replay",
    "write_report",
]
