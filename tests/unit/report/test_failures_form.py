"""The form of causes in a browser: what is saved, and what stands in the way of saving."""

from __future__ import annotations

import dataclasses
import html
import json
import re
import shutil
from pathlib import Path

import pytest

from matassay.core import EpisodeResult, Failure
from matassay.report import Overrule, find_overrules, read_overrules, run_key, write_report
from tests.unit.report.rows import row

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


GONE = "instruments/xrd/old@full#0|gui|maker/gone"


def written(tmp_path: Path, failed: list[EpisodeResult], **said: Overrule) -> Path:
    """The form after people have said something of some runs."""
    entries = [{"run": run, **dataclasses.asdict(o)} for run, o in said.items()]
    (tmp_path / "failures.json").write_text(json.dumps({"overrules": entries}))
    page = write_report(failed, tmp_path, overrules=find_overrules([tmp_path])).failures
    assert page is not None
    return page


def test_the_form_holds_what_was_said_before(tmp_path: Path) -> None:
    failed = [row(success=False, seed=n, failures={"loaded": "format"}) for n in (0, 1)]
    said = {
        run_key(failed[1]): Overrule(Failure.LIMIT, 'Ada "A" <b>', "hung"),
        GONE: Overrule(Failure.FORMAT, "Bo", "x"),
    }
    form = written(tmp_path, failed, **said).read_text()
    (set_row,) = re.findall(r"<tr data-run[^>]*class=\"set\"[^>]*>", form)
    assert html.escape(run_key(failed[1])) in set_row
    assert 'data-set="limit"' in set_row
    assert 'value="hung"' in form
    assert "Ada &#34;A&#34; &lt;b&gt;" in form
    (others,) = re.findall(r'id="others">(.*?)</script>', form)
    assert [e["run"] for e in json.loads(others)] == [GONE]


def test_runs_of_one_name_stand_in_the_form_once(tmp_path: Path) -> None:
    failed = [row(success=False, log=f"logs/{n}.eval", failures={"loaded": "format"}) for n in (0, 1)]
    assert written(tmp_path, failed).read_text().count("<tr data-run") == 1


@pytest.mark.skipif(BROWSER is None, reason="no browser on this machine")
async def test_what_people_say_goes_from_the_form_into_the_next_report_and_form(tmp_path: Path) -> None:
    from playwright.async_api import async_playwright

    failed = [row(success=False, seed=n, failures={"loaded": "format"}) for n in range(3)]
    earlier = {run_key(failed[2]): Overrule(Failure.LIMIT, "Ada", "hung"), GONE: Overrule(Failure.FORMAT, "Bo", "x")}
    page_file = written(tmp_path, failed, **earlier)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = await browser.new_page()
        page.set_default_timeout(10_000)
        await page.goto(page_file.as_uri())
        first, second, third = (page.locator("tr[data-run]").nth(n) for n in range(3))
        assert await third.locator("select").input_value() == "limit"
        assert await third.locator("input").input_value() == "hung"
        who = page.locator("input[name=by]")
        assert await who.evaluate("e => e.checkValidity()")  # nothing new is said yet
        await first.locator("select").select_option("limit")
        assert await first.locator("input").evaluate("e => !e.checkValidity()")
        await first.locator("select").select_option("format")  # set back: needs no words
        await second.locator("select").select_option("software_usage")
        await second.locator("input").fill("wrong flag")
        assert await who.evaluate("e => !e.checkValidity()")
        await who.fill("me")
        async with page.expect_download() as waiting:
            await page.click("button")
        await (await waiting.value).save_as(tmp_path / "failures.json")
        await browser.close()
    found = read_overrules(tmp_path / "failures.json")
    assert found == {**earlier, run_key(failed[1]): Overrule(Failure.SOFTWARE_USAGE, "me", "wrong flag")}
    files = write_report(failed, tmp_path, overrules=find_overrules([tmp_path]))
    (told,) = json.loads(files.json.read_text())["failures"]
    assert {name: n for name, n in told["counts"].items() if n} == {"format": 1, "software_usage": 1, "limit": 1}
    assert told["overruled"] == 2
    assert files.failures is not None
    assert 'value="wrong flag"' in files.failures.read_text()
