// What a page gains from scripts: it follows releases, and tells the value of a mark. Nothing else.
const main = document.querySelector("main");

async function renew(words) {
  if (main.contains(document.activeElement) && document.activeElement.closest("form")) return false;
  const answer = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return false;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  if (!fresh) return false;
  main.replaceChildren(...fresh.childNodes);
  for (const name of ["data-shown"]) main.setAttribute(name, fresh.getAttribute(name) ?? "");
  const news = document.getElementById("news");
  if (news && words) news.textContent = words;
  return true;
}

if (main.dataset.watch) {
  const events = new EventSource(main.dataset.watch);
  let waiting = 0;
  events.addEventListener("release", (event) => {
    const number = Number(event.lastEventId);
    if (number <= Number(main.dataset.shown)) return;
    clearTimeout(waiting); // several at once are shown together
    waiting = setTimeout(() => renew(`Release ${number} has just come.`), 300);
  });
  addEventListener("pagehide", () => events.close());
}
if (main.dataset.every) setInterval(() => renew(""), 1000 * Number(main.dataset.every));

main.addEventListener("pointerover", (event) => {
  const tip = event.target.closest?.("section")?.querySelector(".tip");
  if (tip) tip.textContent = event.target.dataset?.tip ?? "";
});
