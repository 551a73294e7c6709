// The page on which the participant's own curator is tried: everything happens in this browser.
import { Curator, randomised } from "./curator.js";
const at = document.getElementById("device");
const show = (name, text) => { document.getElementById(name).textContent = text; };
const unit = crypto.randomUUID();
let curator;

document.getElementById("join").addEventListener("submit", async (event) => {
  event.preventDefault();
  const key = document.getElementById("device-key").value.trim();
  curator = new Curator({ url: location.origin, key });
  try {
    const plan = await curator.plan(at.dataset.experiment);
    if (!plan.curator) return show("said", "This experiment takes no bits from devices.");
    const answer = await fetch(`/ofrep/v1/evaluate/flags/${at.dataset.experiment}`, {
      method: "POST", credentials: "omit",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ context: { targetingKey: unit } }),
    });
    const flag = await answer.json();
    if (!flag.variant) return show("said", "The experiment takes nobody now.");
    show("said", `This device has the arm ${flag.variant}.`);
    document.getElementById("asked").hidden = false;
    show("keeps", (100 * plan.curator.keep / 2 ** 53).toFixed(1));
  } catch { show("said", "The service did not take this key."); }
});

for (const button of document.querySelectorAll("[data-outcome]")) {
  button.addEventListener("click", async () => {
    const { curator: range } = await curator.plan(at.dataset.experiment);
    const outcome = button.dataset.outcome === "1" ? range.high : range.low;
    try {
      const bit = await curator.report(at.dataset.experiment, unit, outcome);
      show("bit", bit);
      show("left", JSON.stringify({ experiment: at.dataset.experiment, unit, bit }));
    } catch { show("left", "It was not sent; pressing again sends the same bit."); }
    document.getElementById("sent").hidden = false;
  });
}
