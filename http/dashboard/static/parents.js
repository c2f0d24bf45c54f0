// The engine's parents as trees: their parts, how far each trigger is away, their orders, and the cancel of a part or of all.
import { html, useEffect } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { askFirst } from "/dashboard/asked.js";
import { Ended } from "/dashboard/ended.js";
import { whyAskParent } from "/dashboard/exits.js";
import { age, money, number, word } from "/dashboard/format.js";
import { marks } from "/dashboard/freshness.js";
import { nameOf } from "/dashboard/names.js";
import { changed, known, now, watch } from "/dashboard/store.js";

const ENDED = new Set(["completed", "cancelled", "rejected", "failed", "expired"]);
const MOST_WATCHED = 200;
const sent = new Map(); // id and part -> what the cancel was answered

export function Parents() {
  const rows = [...known.parents.values()].sort((one, other) => other.created_at - one.created_at);
  const wanted = [...new Set(rows.filter((row) => !ENDED.has(row.state)).flatMap(instruments))].slice(0, MOST_WATCHED);
  useEffect(() => {
    watch(wanted.length ? [{ subscribe: "quotes", mode: "ltp", instruments: wanted.map((id) => ({ instrument_id: id })) }] : []);
  }, [wanted.join()]);
  useEffect(() => () => watch([]), []);
  return html`
    <h1>Parents</h1>
    ${known.unavailable.parents && html`<p class="bad">${known.unavailable.parents}</p>`}
    ${!known.hasParents && !known.unavailable.parents && html`<p class="quiet">Not read yet.</p>`}
    ${known.hasParents && !rows.length && html`<p class="quiet">No order of the engine is open.</p>`}
    ${rows.map((parent) => html`<${Parent} key=${parent.parent_order_id} parent=${parent} />`)}
    <${Ended} Parent=${Parent} />`;
}

const partsOf = (parent) => parent.parameters.parts ?? {};
const instruments = (parent) => [parent.instrument_id, ...Object.values(partsOf(parent)).map((part) => part.instrument_id)].filter(Boolean);
const typeOf = (parent) => parent.routed_from ?? parent.synthetic_type;

function Parent({ parent }) {
  const id = parent.parent_order_id;
  return html`
    <section class="card" id=${`parent-${id}`} aria-labelledby=${`title-${id}`}>
      <h2 id=${`title-${id}`}>${typeOf(parent)}: ${parent.state} ${!ENDED.has(parent.state) && html`<${Cancel} id=${id} />`}</h2>
      <p><strong>${nameOf(parent.instrument_id)}</strong> <span class="quiet">${id}, ${age(now() / 1000 - parent.created_at)} old${parent.status_message ? `: ${parent.status_message}` : ""}</span></p>
      ${parent.over_filled_quantity ? html`<p class="bad">${number(parent.over_filled_quantity)} units more than ordered were filled.</p>` : null}
      ${troublesOf(id).map((each) => html`<p class="bad" key=${each}>${each}</p>`)}
      <${Branch} parent=${parent} paths=${Object.keys(partsOf(parent))} above="" />
      <div class="wide"><table><thead><tr><th>Order</th><th>Broker</th><th>Side</th><th class="number">Units</th><th class="number">Price, ₹</th><th class="number">Away, ₹</th><th>State</th></tr></thead><tbody>
        ${parent.legs.map((leg) => html`<tr key=${leg.leg_id}>
          <td>${word(leg.part)}<div class="quiet">${word(leg.order_id)}</div></td><td>${leg.broker}</td><td>${leg.transaction_type} ${leg.order_type}</td>
          <td class="number">${number(leg.filled_quantity)} of ${number(leg.quantity)}</td>
          <td class="number">${money(leg.price)}${leg.trigger_price ? ` at ${money(leg.trigger_price)}` : ""}${leg.average_price ? html`<div class="quiet">filled at ${money(leg.average_price)}</div>` : null}</td>
          <td ...${marks(null)}>${leg.pending_quantity ? away(instrumentOf(parent, leg.part), leg.trigger_price || leg.price) : ""}</td>
          <td>${leg.state}${leg.status_message ? html`<div class="quiet">${leg.status_message}</div>` : null}</td></tr>`)}
      </tbody></table></div>
    </section>`;
}

/** What the health says is wrong with a parent, and why where an exit says it. */
const troublesOf = (id) => (known.health?.order_problems ?? []).filter((each) => each.parent_id === id)
  .map((each) => [nameOf(each.instrument_id), each.message, each.why].filter(Boolean).join(": "));

const instrumentOf = (parent, path) => partsOf(parent)[path]?.instrument_id ?? parent.instrument_id;

/** The parts below a path, each with its own parts: a part's path is that of the part above and a name. */
function Branch({ parent, paths, above }) {
  const below = paths.filter((path) => path.startsWith(above ? `${above}.` : ""));
  const own = below.filter((path) => !below.some((other) => path !== other && path.startsWith(`${other}.`)));
  if (!own.length) return null;
  return html`<ul class="tree">${own.map((path) => html`<li key=${path}>
    <${Part} parent=${parent} path=${path} part=${partsOf(parent)[path]} /><${Branch} parent=${parent} paths=${below} above=${path} /></li>`)}</ul>`;
}

function Part({ parent, path, part }) {
  const { trigger_level: level, trigger_direction: direction } = part;
  const isOver = ENDED.has(parent.state) || ENDED.has(part.state) || part.state === "done";
  return html`<strong>${path}</strong> ${part.part}: ${part.state}${typeof part.quantity === "number" ? `, ${number(part.filled_quantity ?? 0)} of ${number(part.quantity)} filled` : ""}
    ${typeof level === "number" && !isOver ? html`, when ${direction ?? "at"} ${money(level)}, <span data-away=${path}>${away(part.instrument_id ?? parent.instrument_id, level)}</span> away` : null}
    ${part.instrument_id && part.instrument_id !== parent.instrument_id ? `, ${nameOf(part.instrument_id)}` : ""}${part.status_message ? `, ${part.status_message}` : ""}
    ${path !== "root" && !isOver ? html`${" "}<${Cancel} id=${parent.parent_order_id} part=${path} />` : null}`;
}

/** How far the last price is from a level, in rupees and percent; a dash while no price may be shown. */
function away(id, level) {
  const quote = known.quotes.get(id);
  if (!quote || quote.stale || !quote.last_price || !level) return word(null);
  const far = Math.abs(quote.last_price - level);
  return `${money(far)} (${number(Math.round((far / quote.last_price) * 10_000) / 100)} %)`;
}

function Cancel({ id, part }) {
  const key = `${id} ${part ?? ""}`;
  const told = sent.get(key);
  return html`<button type="button" disabled=${Boolean(told)} onClick=${() => askFirst(why(id, part), part ? `Cancel ${part}` : "Cancel all of it", () => cancel(id, part, key))}>Cancel ${part ?? "all of it"}</button>
    ${told && html`<span class="quiet" role="status"> ${told}</span>`}`;
}

function why(id, part) {
  const parent = known.parents.get(id);
  return parent ? whyAskParent(parent, part, nameOf) : null;
}

async function cancel(id, part, key) {
  if (sent.has(key)) return; // pressed again before the page was painted
  sent.set(key, "asking…");
  changed();
  try {
    const answer = part === undefined
      ? await ask("DELETE", "/api/orders/parents", { parent_id: id })
      : await ask("DELETE", "/api/orders/cancel", { parent_id: id, part });
    sent.set(key, [answer.state ?? "asked", ...(answer.warnings ?? [])].join(": "));
  } catch (error) {
    sent.set(key, error.isUnknown ? `${error.message}: its state shows what became of it` : error.message);
    if (!error.isUnknown) setTimeout(() => {
      sent.delete(key); // refused: nothing was sent, so it may be asked again
      changed();
    }, 5000);
  }
  changed();
}
