"""The adapter to Inspect AI: models act through the ``computer`` tool, logs keep evidence, results are read back."""

from ._prices import price_list
from ._regrade import regrade
from ._run import Progress, RunIncomplete, run
from ._task import build_task, sample_id, samples, split_sample_id
from .human import HumanSession, play
from .results import LogDir, read_log_dir, read_results

__all__ = [
    "HumanSession",
    "LogDir",
    "Progress",
    "RunIncomplete",
    "build_task",
    "play",
    "price_list",
    "read_log_dir",
    "read_results",
    "regrade",
    "run",
    "sample_id",
    "samples",
    "split_sample_id",
]
