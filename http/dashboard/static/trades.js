// The trades of the day at all brokers.
import { html, useState } from "/dashboard/preact-htm.js";
import { money, number, word } from "/dashboard/format.js";
import { Age, marks, Status, worst } from "/dashboard/freshness.js";
import { hasWords, save } from "/dashboard/rows.js";
import { known } from "/dashboard/store.js";

const COLUMNS = ["trade_timestamp", "broker", "trade_id", "order_id", "tradingsymbol", "exchange", "transaction_type", "product", "quantity", "price", "value", "engine_parent_id", "synthetic_type", "leg_role"];

export function Trades() {
  const [words, setWords] = useState("");
  const book = known.documents.trades;
  const rows = (book?.trades ?? [])
    .filter((row) => hasWords(row, ["tradingsymbol", "broker", "transaction_type", "order_id", "trade_id", "synthetic_type"], words))
    .sort((one, other) => clock(other).localeCompare(clock(one)));
  return html`
    <h1>Trades</h1>
    ${known.unavailable.trades && html`<p class="bad">${known.unavailable.trades}</p>`}
    <form onSubmit=${(event) => event.preventDefault()}><p>
      <label>Find <input type="search" value=${words} onInput=${(event) => setWords(event.target.value)} /></label>
      <button type="button" onClick=${() => save("trades.csv", COLUMNS, rows)}>Save as CSV</button>
      <span class="quiet">${rows.length} of ${book?.trades.length ?? 0}</span>
    </p></form>
    ${!book && !known.unavailable.trades && html`<p class="quiet">Not read yet.</p>`}
    ${book && html`<p>${book.brokers.map((part) => html`<span key=${part.broker}>${part.broker} <${Status} part=${part} />${" "}</span>`)}</p>
      <div class="wide"><table id="trades" data-as-of=${book.as_of}><thead><tr>
        <th>Time</th><th>Broker</th><th>Instrument</th><th>Side</th><th class="number">Units</th><th class="number">Price, ₹</th><th class="number">Value, ₹</th><th>Order</th>
      </tr></thead><tbody>${rows.map((row) => html`<${Row} key=${`${row.broker} ${row.trade_id} ${row.order_id}`} row=${row} part=${worst(book.brokers, [row.broker])} />`)}</tbody></table></div>`}`;
}

const clock = (row) => /\d\d:\d\d:\d\d/.exec(row.trade_timestamp ?? "")?.[0] ?? "";

function Row({ row, part }) {
  return html`<tr><td>${word(clock(row))}</td><td>${row.broker}</td><td>${word(row.tradingsymbol)}</td><td>${row.transaction_type} ${row.product}</td>
    <td ...${marks(part)}>${number(row.quantity)}<${Age} part=${part} /></td><td ...${marks(part)}>${money(row.price)}</td><td ...${marks(part)}>${money(row.value)}</td>
    <td>${word(row.order_id)}${row.synthetic_type ? html`<div class="quiet">${row.synthetic_type} ${row.leg_role ?? ""}</div>` : null}</td></tr>`;
}
