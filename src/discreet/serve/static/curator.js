// The participant's own curator: an outcome becomes one random bit on the device, and only that bit
// leaves it. For experiments whose policy is in the local model with bits (ldp-ucb-b).
const STEPS = 2 ** 20;

/** The bit of an outcome of so many steps of 2^-20, from three random words of 32 bits. */
export function randomised(units, keep, words) {
  const bit = words[0] >>> 12 < units;
  const draw = (words[1] & 0x1fffff) * 2 ** 32 + words[2];
  return Number(bit === draw < keep);
}

/** An outcome in steps of 2^-20 of its range. */
export function unitsOf(outcome, low, high) {
  const share = (outcome - low) / (high - low);
  if (!(share >= 0 && share <= 1)) throw new RangeError("the outcome is outside of the planned range");
  return Math.floor(share * STEPS + 0.5);
}

const memory = new Map(); // where the device keeps nothing, the page does
const kept = {
  getItem: (name) => memory.get(name) ?? null,
  setItem: (name, value) => void memory.set(name, value),
};

function storageOf(given) {
  if (given) return given;
  try {
    const found = globalThis.localStorage;
    if (found) return found;
  } catch { /* the browser forbids it */ }
  return kept;
}

export class Curator {
  #url; #key; #fetch; #storage; #words; #plans = new Map();

  constructor({ url, key, fetch = globalThis.fetch, storage, words }) {
    this.#url = url.replace(/\/$/, "");
    this.#key = key;
    this.#fetch = (...request) => fetch(...request);
    this.#storage = storageOf(storage);
    this.#words = words ?? (() => crypto.getRandomValues(new Uint32Array(3)));
  }

  /** What the service says of an experiment; `curator` is null if it takes no bits. */
  async plan(experiment) {
    if (!this.#plans.has(experiment)) {
      const answer = await this.#ask("GET", `/v1/device/${encodeURIComponent(experiment)}`);
      if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
      this.#plans.set(experiment, await answer.json());
    }
    return this.#plans.get(experiment);
  }

  /** The bit of a participant: drawn once, kept, and the same ever after. */
  async bit(experiment, unit, outcome) {
    const { curator } = await this.plan(experiment);
    if (!curator) throw new Error("this experiment takes no bits from devices");
    const name = `discreet ${JSON.stringify([this.#url, experiment, unit])}`;
    const draw = () => {
      const before = this.#storage.getItem(name);
      if (before === "0" || before === "1") return Number(before);
      const units = unitsOf(outcome, curator.low, curator.high);
      const drawn = randomised(units, curator.keep, this.#words());
      this.#storage.setItem(name, String(drawn)); // before it is sent: a retry must not draw again
      return drawn;
    };
    // two windows of one device must not draw one each
    const locks = globalThis.navigator?.locks;
    return locks ? locks.request(name, draw) : draw();
  }

  /** Randomise, and send the bit. Calling again, after a failure too, sends the same bit. */
  async report(experiment, unit, outcome) {
    const bit = await this.bit(experiment, unit, outcome);
    const answer = await this.#ask("POST", "/v1/device/reports", { experiment, unit, bit });
    if (answer.status !== 202) throw new Error(`the service answered ${answer.status}`);
    return bit;
  }

  #ask(method, path, body) {
    const headers = { authorization: `Bearer ${this.#key}` };
    if (body) headers["content-type"] = "application/json";
    return this.#fetch(this.#url + path, {
      method, headers, body: body && JSON.stringify(body), credentials: "omit", cache: "no-store",
    });
  }
}
