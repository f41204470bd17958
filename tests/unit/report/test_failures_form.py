"""The form of causes in a browser: what is saved, and what stands in the way of saving."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from matassay.core import Failure
from matassay.report import read_overrules, run_key, write_report
from tests.unit.report.rows import row

BROWSER = shutil.which("chromium-headless-shell") or shutil.which("chromium")


@pytest.mark.skipif(BROWSER is None, reason="no browser on this machine")
async def test_a_cause_that_is_set_back_needs_no_words(tmp_path: Path) -> None:
    from playwright.async_api import async_playwright

    failed = [row(success=False, seed=n, failures={"loaded": "format"}) for n in range(2)]
    page_file = write_report(failed, tmp_path).failures
    assert page_file is not None
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        page = await browser.new_page()
        page.set_default_timeout(10_000)
        await page.goto(page_file.as_uri())
        await page.fill("input[name=by]", "me")
        first, second = (page.locator("tr[data-run]").nth(n) for n in range(2))
        await first.locator("select").select_option("limit")
        assert await first.locator("input").evaluate("e => !e.checkValidity()")
        await first.locator("select").select_option("format")
        await second.locator("select").select_option("software_usage")
        await second.locator("input").fill("wrong flag")
        async with page.expect_download() as waiting:
            await page.click("button")
        saved = tmp_path / "failures.json"
        await (await waiting.value).save_as(saved)
        await browser.close()
    assert read_overrules(saved) == {run_key(failed[1]): Failure.SOFTWARE_USAGE}
    assert json.loads(saved.read_text())["overrules"][0]["why"] == "wrong flag"
