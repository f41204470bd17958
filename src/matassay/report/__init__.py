"""Reports and replays: from rows of results and logs to tables, plots and pages."""

from ._replay import replay_html, write_replay
from ._report import ReportFiles, report_csv, report_html, report_json, write_report
from ._statistics import Interval, bounds, pass_at_k, pass_hat_k, success_interval, wilson
from ._summary import Row, RunSettings, Subject, Summary, summarise

__all__ = [
    "Interval",
    "ReportFiles",
    "Row",
    "RunSettings",
    "Subject",
    "Summary",
    "bounds",
    "pass_at_k",
    "pass_hat_k",
    "replay_html",
    "report_csv",
    "report_html",
    "report_json",
    "success_interval",
    "summarise",
    "wilson",
    "write_replay",
    "write_report",
]
