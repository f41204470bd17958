"""``matassay verify``."""
from typing import Annotated
import typer
def verify(prefix: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    """Check that tasks are valid."""
