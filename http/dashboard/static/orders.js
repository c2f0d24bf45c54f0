// The order book with filters, and cancels. An order whose cancel was sent is not sent a second one from here.
import { html, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { askFirst } from "/dashboard/asked.js";
import { whyAsk } from "/dashboard/exits.js";
import { money, number, word } from "/dashboard/format.js";
import { Age, bookOf, marks } from "/dashboard/freshness.js";
import { Modify, openModify } from "/dashboard/modify.js";
import { hasWords, save } from "/dashboard/rows.js";
import { changed, known } from "/dashboard/store.js";

export const DONE = new Set(["COMPLETE", "CANCELLED", "REJECTED", "EXPIRED"]);
const sent = new Map(); // broker and order id -> what the cancel was answered

export function Orders() {
  const [words, setWords] = useState("");
  const [onlyOpen, setOnlyOpen] = useState(false);
  const rows = [...known.orders.values()]
    .filter((row) => !onlyOpen || !DONE.has(row.status))
    .filter((row) => hasWords(row, ["tradingsymbol", "broker", "transaction_type", "status", "tag", "synthetic_type", "order_id"], words))
    .sort((one, other) => (other.order_timestamp ?? "").localeCompare(one.order_timestamp ?? ""));
  return html`
    <h1>Orders</h1>
    ${known.unavailable.orders && html`<p class="bad">${known.unavailable.orders}</p>`}
    <form onSubmit=${(event) => event.preventDefault()}><p>
      <label>Find <input type="search" value=${words} onInput=${(event) => setWords(event.target.value)} /></label>
      <label><input type="checkbox" checked=${onlyOpen} onChange=${(event) => setOnlyOpen(event.target.checked)} /> only open</label>
      <button type="button" onClick=${() => save("orders.csv", COLUMNS, rows)}>Save as CSV</button>
      <span class="quiet">${rows.length} of ${known.orders.size}</span>
    </p></form>
    ${!known.hasOrders && !known.unavailable.orders && html`<p class="quiet">Not read yet.</p>`}
    <div class="wide"><table id="orders"><thead><tr>
      <th>Time</th><th>Broker</th><th>Instrument</th><th>Side</th><th class="number">Units</th><th class="number">Price, ₹</th><th class="number">Filled at, ₹</th><th>Status</th><th>Tag</th><th><span class="hidden">Actions</span></th>
    </tr></thead><tbody>${rows.map((row) => html`<${Row} key=${`${row.broker} ${row.order_id}`} row=${row} />`)}</tbody></table></div>
    <${Modify} />`;
}

function Row({ row }) {
  const key = `${row.broker} ${row.order_id}`;
  const told = sent.get(key);
  const part = bookOf(row.broker);
  const { class: figure, ...mark } = marks(part);
  return html`<tr>
    <td>${word(row.order_timestamp?.slice(11, 19))}</td><td>${row.broker}</td><td>${word(row.tradingsymbol)}</td>
    <td>${row.transaction_type} ${row.order_type} ${row.product}</td>
    <td class=${figure} ...${mark}>${number(row.filled_quantity)} of ${number(row.quantity)}<${Age} part=${part} /></td>
    <td class="number">${row.price ? money(row.price) : word(row.trigger_price || null)}</td>
    <td class="number">${row.filled_quantity ? money(row.average_price) : word(null)}</td>
    <td class=${row.status === "REJECTED" ? "bad" : figure.replace("number", "")} ...${mark}>${row.status}${row.status_message ? html`<div class="quiet">${row.status_message}</div>` : null}</td>
    <td>${word(row.tag)}${row.synthetic_type ? html`<div class="quiet">${row.synthetic_type} ${row.leg_role ?? ""}</div>` : null}</td>
    <td>${!DONE.has(row.status) && html`<button type="button" onClick=${() => openModify(key)}>Change<span class="hidden"> ${row.order_id}</span></button>${" "}
        <button type="button" disabled=${Boolean(told)} onClick=${() => askFirst(why(row), "Cancel the order", () => cancel(row, key))}>Cancel<span class="hidden"> ${row.order_id}</span></button>`}
      ${told && html`<div class="quiet" role="status">${told}</div>`}</td></tr>`;
}

const why = (row) => whyAsk(row, known.documents.positions?.net, known.parents.get(row.engine_parent_id));

async function cancel(row, key) {
  if (sent.has(key)) return; // pressed again before the page was painted
  sent.set(key, "asking…");
  changed();
  try {
    const answer = await ask("DELETE", "/api/orders/cancel", { order_id: row.order_id, broker: row.broker });
    sent.set(key, [answer.outcome ?? answer.state ?? "asked", ...(answer.warnings ?? [])].join(": "));
  } catch (error) {
    if (error.isUnknown) sent.set(key, `${error.message}: the book shows what became of it`);
    else {
      sent.delete(key);
      sent.set(key, error.message);
      setTimeout(() => {
        sent.delete(key); // refused: nothing was sent, so it may be asked again
        changed();
      }, 5000);
    }
  }
  changed();
}

const COLUMNS = ["order_timestamp", "broker", "order_id", "tradingsymbol", "transaction_type", "order_type", "product", "quantity", "filled_quantity", "price", "trigger_price", "average_price", "status", "status_message", "tag", "engine_parent_id"];
