"""The participant's own curator: the module, its Python twin, and what leaves a device."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served import Served

import discreet.serve
from discreet.privacy._source import RESOLUTION
from discreet.serve._device import WHOLE, keep_of, randomised, units_of

STATIC = Path(discreet.serve.__file__).parent / "static"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed: the module is NOT run")
LOCAL: dict[str, Any] = {
    "id": "survey", "policy": "ldp-ucb-b", "epsilon": 1.0, "arms": ["A", "B"], "deadline": "1 s",
    "missing": 0.0,
}  # fmt: skip
BELOW = 6.0
"""|z| of a normal number is above it with probability 2e-9: in all tests here together below
1e-6."""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The modules where node takes them for modules."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "package.json").write_text('{"type": "module"}')
    for name in ("curator.js", "openfeature.js"):
        shutil.copy(STATIC / name, folder / name)
    return folder


def node(folder: Path, script: str, given: object = None) -> Any:
    """What a script prints, as JSON. `given` is what it was told."""
    assert NODE is not None
    begin = 'import { readFileSync } from "node:fs";\nconst given = JSON.parse(readFileSync(0));\n'
    (folder / "script.js").write_text(begin + script)
    done = subprocess.run(
        [NODE, "script.js"], cwd=folder, input=json.dumps(given), text=True, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- the law --------------------------------------------------------------------------------------


@needs_node
def test_the_module_and_its_twin_agree_bit_by_bit(modules: Path) -> None:
    world = np.random.default_rng(1)
    words = world.integers(0, 1 << 32, size=(100_000, 3)).tolist()
    units = world.integers(0, RESOLUTION + 1, size=100_000).tolist()
    keep = keep_of(1.0)
    # the edges: none and all of the outcome, and draws beside the threshold
    high, low = keep >> 32, keep & 0xFFFFFFFF
    edges = [
        ([first << 12, top, bottom], unit)
        for first in (0, RESOLUTION - 1)
        for top, bottom in ((high, low), (high, low - 1), (high | 0xFFE00000, low), (0x1FFFFF, 0))
        for unit in (0, 1, RESOLUTION - 1, RESOLUTION)
    ]
    words += [one for one, _ in edges]
    units += [unit for _, unit in edges]
    script = """
import { randomised } from "./curator.js";
const { words, units, keep } = given;
console.log(JSON.stringify(words.map((w, i) => randomised(units[i], keep, Uint32Array.from(w)))));
"""
    found = node(modules, script, {"words": words, "units": units, "keep": keep})
    twin = [randomised(unit, keep, three) for unit, three in zip(units, words, strict=True)]
    assert found == twin
    assert 0.4 < sum(twin) / len(twin) < 0.6


@needs_node
def test_the_module_rounds_as_its_twin(modules: Path) -> None:
    outcomes = np.random.default_rng(2).uniform(-3.0, 5.0, 2_000).tolist()
    outcomes += [-3.0, 5.0, 1.0]
    script = """
import { unitsOf } from "./curator.js";
const refused = [-3.1, 5.1, NaN].map((y) => { try { unitsOf(y, -3, 5); return 0; } catch { return 1; } });
console.log(JSON.stringify([given.map((y) => unitsOf(y, -3, 5)), refused]));
"""  # noqa: E501
    found, refused = node(modules, script, outcomes)
    assert found == [units_of(y, -3.0, 5.0) for y in outcomes]
    assert refused == [1, 1, 1]
    for wrong in (-3.1, 5.1, math.nan):
        with pytest.raises(ValueError, match="outside"):
            units_of(wrong, -3.0, 5.0)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1.0, 3.0, 20.0, 36.0, 50.0])
def test_the_kept_share_is_never_above_the_claim(epsilon: float) -> None:
    """Exactly: the ratio of the two probabilities is at most e^ε, by a bound from below."""
    keep = keep_of(epsilon)
    assert WHOLE // 2 <= keep < WHOLE
    ratio = Fraction(keep, WHOLE - keep)
    term, total = Fraction(1), Fraction(1)  # partial sums of e^ε = Σ ε^k/k! are below it
    for k in range(1, 400):
        term *= Fraction(epsilon) / k
        total += term
    assert ratio <= total
    if epsilon < 20.0:
        assert float(ratio) == pytest.approx(math.exp(epsilon), rel=1e-6)


@needs_node
def test_the_law_of_the_module(modules: Path) -> None:
    """A million draws of the browser's own randomness, for three outcomes."""
    script = """
import { randomised } from "./curator.js";
const ones = given.units.map((units) => {
  let sum = 0;
  for (let i = 0; i < given.draws; i += 1) {
    sum += randomised(units, given.keep, crypto.getRandomValues(new Uint32Array(3)));
  }
  return sum;
});
console.log(JSON.stringify(ones));
"""
    draws, units, keep = 300_000, [0, RESOLUTION // 3, RESOLUTION], keep_of(1.0)
    found = node(modules, script, {"units": units, "keep": keep, "draws": draws})
    for unit, ones in zip(units, found, strict=True):
        reward, kept = unit / RESOLUTION, keep / WHOLE
        p = reward * kept + (1.0 - reward) * (1.0 - kept)
        assert abs(ones - draws * p) / math.sqrt(draws * p * (1.0 - p)) < BELOW


def plan(served: Served, **changes: Any) -> None:
    """An experiment of the local model."""
    served.post("/v1/experiments", {**LOCAL, **changes})
    served.post("/v1/experiments/survey/start", {})


# --- over HTTP ------------------------------------------------------------------------------------

REPORTS = """
import { Curator } from "./curator.js";
const { url, key } = given;
const log = [];
let fail = false;
const watched = async (to, options) => {
  log.push([options.method, to, options.body ?? null, options.headers]);
  if (fail) throw new TypeError("the network is away");
  return fetch(to, options);
};
const storage = new Map();
const kept = { getItem: (k) => storage.get(k) ?? null, setItem: (k, v) => storage.set(k, v) };
const bits = [];
const curator = () => new Curator({ url, key, fetch: watched, storage: kept });
await curator().plan("survey");
for (const unit of given.units) {
  const first = curator();
  await first.plan("survey");
  fail = true;
  try { await first.report("survey", unit, given.outcome); bits.push("sent"); } catch {}
  fail = false;
  bits.push(await first.report("survey", unit, given.outcome));
  bits.push(await curator().report("survey", unit, 0));  // another page, another outcome
}
console.log(JSON.stringify({ bits, log, stored: [...storage] }));
"""


@needs_node
def test_one_bit_leaves_a_device_and_a_retry_sends_it_again(served: Served, modules: Path) -> None:
    plan(served)
    device = served.key("device", experiment="survey")
    units = [f"6f1c9e0a-{k:04d}" for k in range(12)]
    for unit in units:
        flag = served.call(
            "POST", "/ofrep/v1/evaluate/flags/survey", device, {"context": {"targetingKey": unit}}
        )
        assert flag.json()["variant"] in ("A", "B")
    outcome = 0.7318281828
    found = node(
        modules, REPORTS, {"url": served.url, "key": device, "units": units, "outcome": outcome}
    )
    threes = [found["bits"][k : k + 2] for k in range(0, len(found["bits"]), 2)]
    assert len(threes) == len(units)
    assert all(first == again in (0, 1) for first, again in threes)
    posts = [(to, json.loads(body)) for method, to, body, _ in found["log"] if method == "POST"]
    assert len(posts) == 3 * len(units)
    for to, body in posts:
        assert to == f"{served.url}/v1/device/reports"
        assert set(body) == {"experiment", "unit", "bit"}
        assert body["bit"] in (0, 1)
    for unit in units:  # what was lost, the first, and the second: all the same bit
        assert len({body["bit"] for _, body in posts if body["unit"] == unit}) == 1
    everything = json.dumps(found)
    assert "731828" not in everything
    assert {value for _, value in found["stored"]} <= {"0", "1"}


def test_the_service_stores_the_bit_as_it_came(served: Served) -> None:
    """Randomised once, on the device: the service adds nothing to it."""
    plan(served, deadline="60 s")
    device = served.key("device", experiment="survey")
    sent = {}
    for k in range(40):
        served.assign(f"p{k}", "/v1/experiments/survey")
    for k in range(40):
        sent[f"p{k}"] = k % 2
        body = {"experiment": "survey", "unit": f"p{k}", "bit": k % 2}
        assert served.call("POST", "/v1/device/reports", device, body).status_code == 202
        other = {**body, "bit": 1 - k % 2}  # the first one stands, and the answer is the same
        assert served.call("POST", "/v1/device/reports", device, other).content == (
            b'{"accepted":true}'
        )
    trial: Any = served.service.engine._open["default", "survey"]
    stored = []
    for unit, bit in sent.items():
        pseudonym = served.service.secrets.pseudonym("default", unit)
        member = trial._store.member(pseudonym)
        stored.append((trial._store.blocks[member.block].outcomes[member.slot], bit))
    assert stored == [(bit * RESOLUTION, bit) for _, bit in stored]


@pytest.mark.parametrize("bit", [2, -1, 0.5, "1", None, True, [1], "marker-731828"])
def test_a_report_is_exactly_one_bit(shared_local: Served, bit: object) -> None:
    device = shared_local.key("device", experiment="survey")
    body = {"experiment": "survey", "unit": "p", "bit": bit}
    found = shared_local.call("POST", "/v1/device/reports", device, body)
    assert found.status_code == 422
    assert "731828" not in found.text
    more = {"experiment": "survey", "unit": "p", "bit": 1, "outcome": 0.5}
    assert shared_local.call("POST", "/v1/device/reports", device, more).status_code == 422


@pytest.fixture(scope="module")
def shared_local(shared: Served) -> Served:
    plan(shared)
    shared.plan()
    return shared


def test_who_may_report_and_to_what(shared_local: Served) -> None:
    body = {"experiment": "survey", "unit": "p", "bit": 1}
    for role, status in (("site", 403), ("admin", 403), ("statistician", 403)):
        key = shared_local.key(role)
        assert shared_local.call("POST", "/v1/device/reports", key, body).status_code == status
    device = shared_local.key("device", experiment="exp")
    assert shared_local.call("POST", "/v1/device/reports", device, body).status_code == 404
    other = {**body, "experiment": "exp"}  # a policy with a trusted curator takes no bits
    assert shared_local.call("POST", "/v1/device/reports", device, other).status_code == 409
    assert "curator" not in shared_local.get("/v1/device/exp", device)
    told = shared_local.get("/v1/device/survey", shared_local.key("device"))
    assert told["curator"] == {"keep": keep_of(1.0), "low": 0.0, "high": 1.0}


def test_the_description_says_one_bit(shared_local: Served) -> None:
    shapes = shared_local.get("/v1/openapi.json")["components"]["schemas"]
    assert shapes["DeviceReport"]["properties"]["bit"] == {"enum": [0, 1]}
    assert shapes["DeviceReport"]["additionalProperties"] is False


# --- the provider for the web ---------------------------------------------------------------------

FLAGS = """
import { DiscreetWebProvider } from "./openfeature.js";
const { url, key } = given;
const log = [];
const watched = (to, options) => { log.push([options.method, to, options.body ?? ""]); return fetch(to, options); };
const storage = new Map();
const kept = { getItem: (k) => storage.get(k) ?? null, setItem: (k, v) => storage.set(k, v) };
const provider = new DiscreetWebProvider({ url, key, enrol: given.enrol, fetch: watched, storage: kept });
const before = provider.resolveStringEvaluation("survey", "fallback");
await provider.initialize({ targetingKey: "6f1c9e0a-web" });
const flag = provider.resolveStringEvaluation("survey", "fallback");
const wrong = provider.resolveBooleanEvaluation("survey", false);
const none = provider.resolveStringEvaluation("nothing", "fallback");
await provider.onContextChange({}, { targetingKey: "6f1c9e0a-web" });
const again = provider.resolveStringEvaluation("survey", "fallback");
provider.track("survey", { targetingKey: "6f1c9e0a-web" }, { value: 0.7318281828 });
provider.track("nothing", { targetingKey: "6f1c9e0a-web" }, { value: 0.7318281828 });
await provider.onClose();
const away = new DiscreetWebProvider({ url: "http://127.0.0.1:9", key, enrol: given.enrol });
await away.initialize({ targetingKey: "6f1c9e0a-web" });
const lost = away.resolveStringEvaluation("survey", "fallback");
await provider.onContextChange({}, {});
const anonymous = provider.resolveStringEvaluation("survey", "fallback");
console.log(JSON.stringify({ before, flag, wrong, none, again, lost, anonymous, log }));
"""  # noqa: E501


@needs_node
def test_the_provider_for_the_web(served: Served, modules: Path) -> None:
    """In node, as the web SDK would call it; the SDK itself is not here."""
    plan(served, deadline="60 s")
    device = served.key("device", experiment="survey")
    given = {"url": served.url, "key": device, "enrol": ["survey"]}
    found = node(modules, FLAGS, given)
    assert found["before"] == {"value": "fallback", "reason": "DEFAULT"}
    assert found["flag"]["value"] in ("A", "B")
    assert found["flag"]["reason"] == "SPLIT"
    assert found["again"] == found["flag"]
    assert found["wrong"]["errorCode"] == "TYPE_MISMATCH"
    assert found["none"] == {"value": "fallback", "reason": "DEFAULT"}
    assert found["lost"]["errorCode"] == "PROVIDER_NOT_READY"
    assert found["anonymous"]["errorCode"] == "TARGETING_KEY_MISSING"
    reports = [body for _, to, body in found["log"] if to.endswith("/v1/device/reports")]
    assert len(reports) == 1
    assert json.loads(reports[0])["bit"] in (0, 1)
    assert "731828" not in json.dumps(found)
    assert served.answered("survey") == 1


@needs_node
def test_a_page_that_loads_enrols_nobody(served: Served, modules: Path) -> None:
    plan(served)
    device = served.key("device", experiment="survey")
    found = node(modules, FLAGS, {"url": served.url, "key": device, "enrol": []})
    assert found["flag"] == {"value": "fallback", "reason": "DEFAULT"}
    assert served.get("/v1/experiments/survey")["assigned"] == 0


# --- the page about it ----------------------------------------------------------------------------

SDK = """
let provider, context;
const client = {
  getStringValue: (flag, fallback) => provider.resolveStringEvaluation(flag, fallback, context).value,
  track: (name, details) => provider.track(name, context, details),
};
export const OpenFeature = {
  async setProviderAndWait(given, told) { [provider, context] = [given, told]; await given.initialize(told); },
  getClient: () => client,
};
"""  # noqa: E501
"""The calls that the SDK makes of a provider, in place of the SDK."""


@needs_node
def test_the_scripts_on_the_page_run(served: Served, modules: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "device.md"
    first, second = re.findall(r"^```js\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    served.post("/v1/experiments", {**LOCAL, "arms": ["short", "long"], "deadline": "60 s"})
    served.post("/v1/experiments/survey/start", {})
    package = modules / "node_modules" / "@openfeature" / "web-sdk"
    package.mkdir(parents=True, exist_ok=True)
    (package / "package.json").write_text('{"type": "module", "main": "index.js"}')
    (package / "index.js").write_text(SDK)
    key = served.key("device", experiment="survey")
    told = f"const DEVICE_KEY = {json.dumps(key)}, url = {json.dumps(served.url)};\n"
    given = {"context": {"targetingKey": "one"}}
    served.call("POST", "/ofrep/v1/evaluate/flags/survey", key, given)
    first = first.replace('"https://trial.example"', "url")
    node(modules, f'{told}const participant = "one";\n{first}\nconsole.log("0");')
    more = "await provider.onClose();\nconsole.log(JSON.stringify(arm));"
    arm = node(modules, f'{told}const participant = "two";\n{second}\n{more}')
    assert arm in ("short", "long")
    assert served.answered("survey") == 2


# --- the public provider of the web ---------------------------------------------------------------

OFREP = os.environ.get("DISCREET_OFREP_JS", "")
"""A folder where `npm install @openfeature/ofrep-web-provider @openfeature/web-sdk` was run."""


@needs_node
@pytest.mark.skipif(
    not OFREP, reason="DISCREET_OFREP_JS is not set: the public provider of the web is NOT run"
)
def test_the_public_provider_of_the_web(served: Served) -> None:
    """It asks once, in bulk: only what the context lists takes a place; others have the default."""
    served.plan(deadline="1 day")
    served.plan(id="other", deadline="1 day")
    script = """
import { createRequire } from "node:module";
const require = createRequire(given.folder + "/package.json");
const { OpenFeature } = require("@openfeature/web-sdk");
const { OFREPWebProvider } = require("@openfeature/ofrep-web-provider");
const told = [];
for (let number = 0; number < 2; number += 1) {
  const provider = new OFREPWebProvider({
    baseUrl: given.url, pollInterval: 0, headers: [["authorization", `Bearer ${given.key}`]],
  });
  await OpenFeature.setProviderAndWait(provider, { targetingKey: "p", enrol: ["exp"] });
  const flags = OpenFeature.getClient();
  told.push(["exp", "other"].map((name) => flags.getStringDetails(name, "none")));
  await OpenFeature.clearProviders();
}
console.log(JSON.stringify(told));
process.exit(0);
"""
    folder = Path(tempfile.mkdtemp())
    (folder / "package.json").write_text('{"type": "module"}')
    try:
        found = node(folder, script, {"url": served.url, "key": served.site, "folder": OFREP})
    finally:
        shutil.rmtree(folder)
    assert [one["value"] for one in found[0]] == [served.assign("p"), "none"]
    assert [one["value"] for one in found[1]] == [one["value"] for one in found[0]]
    assert found[0][0]["reason"] == "SPLIT"
    assert served.get("/v1/experiments/other")["assigned"] == 0
