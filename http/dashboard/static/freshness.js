// How fresh a figure is: whether the parts of brokers that it was made of count, and the mark of a figure that is not fresh.
import { html } from "/dashboard/preact-htm.js";
import { age, moment } from "/dashboard/format.js";
import { isLive, known, now } from "/dashboard/store.js";

const ORDER_SECONDS = 60; // an order book that was read longer ago is old (the service's own limit)

const seconds = (asOf) => (now() - moment(asOf)) / 1000;

/** Whether a broker's part of a document counts, and since when it does not. */
export function Status({ part }) {
  if (part.status === "ok") return html`<span class="good">ok</span>`;
  return html`<span class="warn" data-status=${part.status}>${part.status}${part.as_of ? `, ${age(seconds(part.as_of))} old` : ""}</span>`;
}

/** The part that counts least of those of some brokers: {status, as_of}; null when all are fresh. */
export function worst(parts, brokers) {
  const wanted = new Set(brokers);
  const old = parts.filter((part) => wanted.has(part.broker) && part.status !== "ok");
  return old.sort((one, other) => (one.as_of ?? "").localeCompare(other.as_of ?? ""))[0] ?? null;
}

/** The state of a broker's order book, as `worst` says it. */
export function bookOf(broker) {
  const read = known.health?.brokers[broker]?.parts.orders;
  if (!known.health) return null;
  if (!read) return { status: "missing", as_of: null };
  return seconds(read) > ORDER_SECONDS ? { status: "stale", as_of: read } : null;
}

/** The class and the marks of a figure: `old` when the connection is lost or the part that it came from does not count. */
export function marks(part, fresh = "") {
  if (!isLive()) return { class: `number old`, "data-status": "lost" };
  return part ? { class: "number old", "data-status": part.status } : { class: `number ${fresh}`, "data-status": "ok" };
}

/** Why a quote without figures has none. */
export const noPrice = (quote) => (quote.stale_since ? `No price may be shown: the last is too old, since ${age(now() / 1000 - quote.stale_since)}.` : "No price has come yet.");

/** The age of a figure that is not fresh; nothing of a fresh one. */
export function Age({ part }) {
  if (!part) return null;
  return html`<div class="warn">${part.as_of ? `${age(seconds(part.as_of))} old` : part.status}</div>`;
}
