// A provider for OpenFeature's web SDK: flags are experiments, and outcomes leave as one bit.
//
//   OpenFeature.setProvider(new DiscreetWebProvider({ url, key, enrol: ["survey"] }), { targetingKey });
//
// It asks once, when the context is set, for the arms that the participant has, and takes places only
// in the experiments listed under `enrol`. `track(experiment, context, { value })` is the outcome;
// it is randomised here, and an experiment that takes no bits from devices gets none.
import { Curator } from "./curator.js";

export class DiscreetWebProvider {
  metadata = { name: "discreet" };
  runsOn = "client";
  hooks = [];
  #url; #key; #enrol; #fetch; #curator; #flags = new Map(); #unit; #etag; #failed; #sent = new Set();

  constructor({ url, key, enrol = [], fetch = globalThis.fetch, storage, words }) {
    this.#url = url.replace(/\/$/, "");
    [this.#key, this.#enrol] = [key, enrol];
    this.#fetch = (...request) => fetch(...request);
    this.#curator = new Curator({ url, key, fetch, storage, words });
  }

  initialize(context) { return this.#load(context); }

  onContextChange(_before, context) { return this.#load(context); }

  /** Resolves when all that was tracked is sent, or has failed. */
  async onClose() { await Promise.allSettled(this.#sent); }

  resolveBooleanEvaluation(flag, fallback) { return this.#resolve(flag, fallback, "boolean"); }
  resolveStringEvaluation(flag, fallback) { return this.#resolve(flag, fallback, "string"); }
  resolveNumberEvaluation(flag, fallback) { return this.#resolve(flag, fallback, "number"); }
  resolveObjectEvaluation(flag, fallback) {
    return { value: fallback, reason: "ERROR", errorCode: "TYPE_MISMATCH" };
  }

  track(experiment, context, details) {
    const unit = context?.targetingKey ?? this.#unit;
    if (!this.#flags.has(experiment) || unit !== this.#unit) return; // they had no arm from here
    const sending = this.#curator.report(experiment, unit, details?.value ?? 1).catch(() => {});
    this.#sent.add(sending);
    sending.finally(() => this.#sent.delete(sending));
  }

  async #load(context) {
    const unit = context?.targetingKey;
    if (unit !== this.#unit) {
      this.#flags.clear();
      this.#etag = undefined;
    }
    this.#unit = unit;
    this.#failed = unit ? undefined : "TARGETING_KEY_MISSING";
    if (!unit) return;
    const headers = { authorization: `Bearer ${this.#key}`, "content-type": "application/json" };
    if (this.#etag) headers["if-none-match"] = this.#etag;
    try {
      const answer = await this.#fetch(`${this.#url}/ofrep/v1/evaluate/flags`, {
        method: "POST", headers, credentials: "omit", cache: "no-store",
        body: JSON.stringify({ context: { ...context, enrol: this.#enrol } }),
      });
      if (answer.status === 304) return;
      if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
      const found = await answer.json();
      if (unit !== this.#unit) return; // another participant came meanwhile
      this.#etag = answer.headers.get("etag") ?? undefined;
      this.#flags = new Map(found.flags.filter((flag) => !flag.errorCode && flag.variant)
        .map((flag) => [flag.key, flag]));
    } catch {
      this.#failed = "PROVIDER_NOT_READY"; // flags that are known stay as they are
    }
  }

  #resolve(name, fallback, type) {
    const flag = this.#flags.get(name);
    if (!flag) {
      return this.#failed
        ? { value: fallback, reason: "ERROR", errorCode: this.#failed }
        : { value: fallback, reason: "DEFAULT" };
    }
    if (typeof flag.value !== type) {
      return { value: fallback, reason: "ERROR", errorCode: "TYPE_MISMATCH" };
    }
    return { value: flag.value, variant: flag.variant, reason: flag.reason, flagMetadata: flag.metadata };
  }
}
