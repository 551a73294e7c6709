"""The pages in a browser: the four looks, keyboard, no scripts, print, releases as they come.

The system's Chromium is used (Debian: `chromium`); without it nothing here is tested. What axe-core
would say is asked of it where DISCREET_AXE names its `axe.min.js`; the checks below always run.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from grown import serving_grown
from served import PLAN, Served

sync = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: NO page is seen by a browser"
)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: NO page is seen by a browser"
)
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
PAGES = ("/", "/?wall", "/e/reminders", "/e/leaflet", "/e/reminders/plan", "/e/reminders/log",
         "/e/survey/device", "/e/reminders?blind", "/budgets", "/audit", "/keys",
         "/why")  # fmt: skip
LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving_grown(tmp_path_factory.mktemp("browsed") / "data") as served:
        yield served


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


def look(chromium: Any, served: Served, width: int = 1280, **options: Any) -> Any:
    """A page of somebody who has logged in, with all that went wrong on it."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
    page = context.new_page()
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda said: page.wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda asked: page.wrong.append(asked.url)
            if not asked.url.startswith((served.url, "data:")) else None)  # fmt: skip
    page.goto(f"{served.url}/")
    page.fill("#key", served.admin)
    page.press("#key", "Enter")
    page.wait_for_selector("text=Log out")
    return page


CHECKS = """() => {
  const found = [];
  const seen = (e) => e.checkVisibility && e.checkVisibility({ visibilityProperty: true });
  const named = (e) => (e.getAttribute("aria-label") || "").trim() || e.innerText?.trim()
    || [...(e.labels ?? [])].map((l) => l.innerText).join("").trim()
    || (e.getAttribute("aria-labelledby") ?? "").split(" ").map((i) => document.getElementById(i)?.textContent ?? "").join("").trim();
  if (document.documentElement.lang !== "en") found.push("no language");
  if (!document.title) found.push("no title");
  for (const name of ["header", "main", "footer"])
    if (document.querySelectorAll(name).length !== 1) found.push(`not one ${name}`);
  if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
  let before = 0;
  for (const h of document.querySelectorAll("h1,h2,h3,h4")) {
    const level = Number(h.tagName[1]);
    if (level > before + 1) found.push(`heading ${h.innerText} skips a level`);
    before = level;
  }
  for (const e of document.querySelectorAll("a,button,input:not([type=hidden]),select,summary,[role=region],[role=img]"))
    if (seen(e) && !named(e)) found.push(`no name: ${e.outerHTML.slice(0, 90)}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`id twice: ${id}`);
  for (const e of document.querySelectorAll("li")) if (!["UL", "OL"].includes(e.parentElement.tagName)) found.push("li outside of a list");
  for (const e of document.querySelectorAll("th")) if (!e.scope) found.push("th without scope");
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const c = rgb(getComputedStyle(at).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  let pairs = 0;
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !seen(e) || ["STYLE", "SCRIPT", "NOSCRIPT", "OPTION", "TITLE", "DESC"].includes(e.tagName.toUpperCase())) continue;
    const style = getComputedStyle(e);
    const front = rgb(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(front), light(behind(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    pairs += 1;
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`contrast ${ratio.toFixed(2)}: ${e.textContent.trim().slice(0, 40)}`);
  }
  if (pairs < 5) found.push("hardly any text was looked at");
  if (document.documentElement.scrollWidth > innerWidth) found.push(`wider than the screen: ${document.documentElement.scrollWidth}`);
  return found;
}"""  # noqa: E501


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_four_looks(old: Served, chromium: Any, width: int, scheme: str) -> None:
    """Landmarks, names, headings, contrast, and nothing wider than the screen, on every page."""
    page = look(chromium, old, width, color_scheme=scheme)
    for path in PAGES:
        page.goto(old.url + path)
        assert page.evaluate(CHECKS) == [], path
        if folder := os.environ.get("DISCREET_LOOKS"):
            name = path.strip("/").replace("/", "-").replace("?", "-") or "home"
            page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=True)
    assert page.wrong == []
    page.context.close()


def test_the_checks_see_what_is_wrong(old: Served, chromium: Any) -> None:
    page = look(chromium, old)
    page.evaluate("""() => {
      document.querySelector("main").insertAdjacentHTML("beforeend",
        "<h4>far</h4><button></button><p id=main>a</p><table><tr><th>x</th></tr></table>");
      document.querySelector("h1").style.color = "#ddd";
      document.querySelector("footer").remove();
    }""")
    found = " ".join(page.evaluate(CHECKS))
    for words in ("skips a level", "no name", "id twice", "without scope", "contrast", "footer"):
        assert words in found
    page.context.close()


@pytest.mark.skipif("DISCREET_AXE" not in os.environ, reason="DISCREET_AXE names no axe.min.js")
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_axe_finds_nothing(old: Served, chromium: Any, width: int, scheme: str) -> None:
    page = look(chromium, old, width, color_scheme=scheme, bypass_csp=True)
    for path in PAGES:
        page.goto(old.url + path)
        page.add_script_tag(path=os.environ["DISCREET_AXE"])
        found = page.evaluate("async () => (await axe.run()).violations")
        told = [(one["id"], [n["html"][:120] for n in one["nodes"][:3]]) for one in found]
        assert told == [], path
    page.context.close()


def test_the_keyboard_reaches_everything(old: Served, chromium: Any) -> None:
    page = look(chromium, old)
    page.goto(f"{old.url}/e/reminders")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    page.goto(f"{old.url}/e/reminders")
    wanted, reached = (
        page.evaluate(
            """() => document.querySelectorAll("a[href],summary,[tabindex='0']").length"""
        ),
        set(),
    )
    for _ in range(3 * wanted):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.outerHTML.slice(0, 300)"))
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none" or page.evaluate("document.activeElement === document.body")
        if page.evaluate("document.activeElement.innerText") == "Stop…":
            page.keyboard.press("Enter")
            page.wait_for_selector("text=Stop it", state="visible")
            break
    else:
        pytest.fail("Stop… was not reached")
    assert len(reached) > 8
    page.context.close()


def test_without_scripts_all_is_there(old: Served, chromium: Any) -> None:
    page = look(chromium, old, java_script_enabled=False)
    page.goto(f"{old.url}/e/reminders")
    text = page.inner_text("main")
    for words in (
        "Text message",
        "Where the arms stand",
        "By arm",
        "Checks",
        "Not shown to anybody",
    ):
        assert words in text
    assert page.locator("svg.chart.w").count() == 3
    page.click("text=Stop…")  # it opens without a script
    assert page.is_visible("text=Stop it")
    page.context.close()


def test_it_prints(old: Served, chromium: Any) -> None:
    page = look(chromium, old)
    page.goto(f"{old.url}/e/reminders")
    page.emulate_media(media="print")
    assert not page.is_visible("header")
    assert not page.is_visible(".acts")
    assert page.is_visible("text=Where the arms stand")
    assert page.pdf()[:5] == b"%PDF-"
    page.context.close()


def test_a_release_comes_to_the_page(old: Served, chromium: Any) -> None:
    """Nothing is reloaded by hand; and an answer alone changes nothing."""
    old.post("/v1/experiments", {**PLAN, "id": "live", "deadline": "3 s", "title": "Live"})
    old.post("/v1/experiments/live/start", {})
    page = look(chromium, old)
    page.goto(f"{old.url}/e/live")
    assert "No arm leads yet" in page.inner_text("main")
    asked = {"units": [{"unit": f"p{k}"} for k in range(120)]}
    path = "/v1/experiments/live"
    arms = old.post(f"{path}/assign/batch", asked, old.site)["assigned"]
    told = [{"unit": f"p{k}", "outcome": float(one["arm"] == "A")} for k, one in enumerate(arms)]
    old.post(f"{path}/outcomes/batch", {"outcomes": told}, old.site)
    page.wait_for_timeout(600)
    assert page.get_attribute("main", "data-shown") == "0"
    page.wait_for_selector("text=has just come", timeout=20_000)
    assert int(page.get_attribute("main", "data-shown")) >= 1
    shown = old.get(f"{path}/report")["releases"]
    page.wait_for_function("n => document.querySelector('main').dataset.shown == n", arg=shown)
    assert page.wrong == []
    page.context.close()


def test_a_mark_tells_its_value(old: Served, chromium: Any) -> None:
    page = look(chromium, old)
    page.goto(f"{old.url}/e/reminders")
    page.locator("svg.w .rel").last.hover(force=True)
    assert page.inner_text(".tip").endswith("%")
    page.context.close()


def test_a_participant_plays_their_own_curator(old: Served, chromium: Any) -> None:
    """In the browser: one bit leaves it, twice the same."""
    page = look(chromium, old)
    page.goto(f"{old.url}/e/survey/device")
    sent: list[dict[str, Any]] = []
    page.on("request", lambda asked: sent.append(asked.post_data_json)
            if asked.url.endswith("/v1/device/reports") else None)  # fmt: skip
    page.fill("#device-key", old.key("device", experiment="survey"))
    page.click("button:has-text('Take part')")
    page.wait_for_selector("text=This device has the arm")
    page.click("[data-outcome='1']")
    page.wait_for_selector("#left:has-text('bit')")
    first = page.inner_text("#bit")
    with page.expect_response("**/v1/device/reports"):
        page.click("[data-outcome='0']")
    assert page.inner_text("#bit") == first
    assert len(sent) == 2
    assert sent[0] == sent[1]
    assert set(sent[0]) == {"experiment", "unit", "bit"}
    assert sent[0]["bit"] == int(first)
    assert page.wrong == []
    page.context.close()
