// The engine's parents as trees: their parts, their orders, and the cancel of a part or of all.
import { html } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { age, money, number, word } from "/dashboard/format.js";
import { changed, known, now } from "/dashboard/store.js";

const ENDED = new Set(["completed", "cancelled", "rejected", "failed", "expired"]);
const sent = new Map(); // id and part -> what the cancel was answered

export function Parents() {
  const rows = [...known.parents.values()].sort((one, other) => other.created_at - one.created_at);
  return html`
    <h1>Parents</h1>
    ${known.unavailable.parents && html`<p class="bad">${known.unavailable.parents}</p>`}
    ${!known.hasParents && !known.unavailable.parents && html`<p class="quiet">Not read yet.</p>`}
    ${known.hasParents && !rows.length && html`<p class="quiet">No order of the engine is open.</p>`}
    ${rows.map((parent) => html`<${Parent} key=${parent.parent_order_id} parent=${parent} />`)}`;
}

function Parent({ parent }) {
  const id = parent.parent_order_id;
  const parts = Object.entries(parent.parameters.parts ?? {});
  return html`
    <section class="card" id=${`parent-${id}`}>
      <h2>${parent.synthetic_type}: ${parent.state} ${!ENDED.has(parent.state) && html`<${Cancel} id=${id} />`}</h2>
      <p class="quiet">${id}, ${age(now() / 1000 - parent.created_at)} old${parent.status_message ? `: ${parent.status_message}` : ""}</p>
      ${parent.over_filled_quantity ? html`<p class="bad">${number(parent.over_filled_quantity)} units more than ordered were filled.</p>` : null}
      ${parts.length ? html`<ul class="tree">${parts.map(([path, part]) => html`<li key=${path}>
        <strong>${path}</strong> ${part.part}: ${part.state}${part.status_message ? `, ${part.status_message}` : ""}
        ${path !== "root" && !ENDED.has(part.state) && part.state !== "done" ? html`${" "}<${Cancel} id=${id} part=${path} />` : null}
      </li>`)}</ul>` : null}
      <div class="wide"><table><thead><tr><th>Order</th><th>Broker</th><th>Side</th><th class="number">Units</th><th class="number">Price, ₹</th><th>State</th></tr></thead><tbody>
        ${parent.legs.map((leg) => html`<tr key=${leg.leg_id}>
          <td>${word(leg.part)}<div class="quiet">${word(leg.order_id)}</div></td><td>${leg.broker}</td><td>${leg.transaction_type} ${leg.order_type}</td>
          <td class="number">${number(leg.filled_quantity)} of ${number(leg.quantity)}</td>
          <td class="number">${money(leg.price)}${leg.trigger_price ? ` at ${money(leg.trigger_price)}` : ""}</td>
          <td>${leg.state}${leg.status_message ? html`<div class="quiet">${leg.status_message}</div>` : null}</td></tr>`)}
      </tbody></table></div>
    </section>`;
}

function Cancel({ id, part }) {
  const key = `${id} ${part ?? ""}`;
  const told = sent.get(key);
  return html`<button type="button" disabled=${Boolean(told)} onClick=${() => cancel(id, part, key)}>Cancel ${part ?? "all of it"}</button>
    ${told && html`<span class="quiet" role="status"> ${told}</span>`}`;
}

async function cancel(id, part, key) {
  if (sent.has(key)) return; // pressed again before the page was painted
  sent.set(key, "asking…");
  changed();
  try {
    const answer = part === undefined
      ? await ask("DELETE", "/api/orders/parents", { parent_id: id })
      : await ask("DELETE", "/api/orders/cancel", { parent_id: id, part });
    sent.set(key, answer.state ?? "asked");
  } catch (error) {
    sent.set(key, error.isUnknown ? `${error.message}: its state shows what became of it` : error.message);
    if (!error.isUnknown) setTimeout(() => {
      sent.delete(key); // refused: nothing was sent, so it may be asked again
      changed();
    }, 5000);
  }
  changed();
}
