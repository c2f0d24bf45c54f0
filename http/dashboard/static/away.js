// What happened to orders and parents while the connection was lost.
import { html } from "/dashboard/preact-htm.js";
import { age, number, time } from "/dashboard/format.js";
import { known, returned } from "/dashboard/store.js";

const MOST_LINES = 12;

export function Away() {
  const { away } = known;
  if (!away?.back) return null;
  const lines = [...orders(away.orders), ...parents(away.parents)];
  return html`<section class="card" id="away" aria-label="While the connection was lost">
    <p><strong>The connection was lost from ${time(away.since)} for ${age((away.back - away.since) / 1000)}.</strong>
      ${lines.length ? " Since then:" : " No order and no parent has changed."} <button type="button" onClick=${returned}>Seen</button></p>
    ${lines.length ? html`<ul>${lines.slice(0, MOST_LINES).map((line) => html`<li key=${line}>${line}</li>`)}${lines.length > MOST_LINES ? html`<li>and ${lines.length - MOST_LINES} more</li>` : null}</ul>` : null}
  </section>`;
}

function* orders({ before, after }) {
  for (const [key, row] of after) {
    const old = before.get(key);
    if (old && old.status === row.status && old.filled_quantity === row.filled_quantity) continue;
    yield `${row.transaction_type} ${row.tradingsymbol} at ${row.broker}, order ${row.order_id}: ${old ? `${old.status}, now ` : "new, "}${row.status}, ${number(row.filled_quantity)} of ${number(row.quantity)} filled${row.status_message ? ` (${row.status_message})` : ""}`;
  }
}

function* parents({ before, after }) {
  for (const [id, row] of after) {
    const old = before.get(id);
    if (old?.state === row.state) continue;
    yield `${row.body?.synthetic?.type ?? row.synthetic_type} ${id}: ${old ? `${old.state}, now ` : "new, "}${row.state}${row.status_message ? ` (${row.status_message})` : ""}`;
  }
}
