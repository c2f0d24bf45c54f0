// Positions: a row for each instrument and product, opened to its brokers; what is held, and its result.
import { html } from "/dashboard/preact-htm.js";
import { instrument, money, number, sign, word } from "/dashboard/format.js";
import { Age, marks, Status, worst } from "/dashboard/freshness.js";
import { known } from "/dashboard/store.js";
import { openTicket } from "/dashboard/ticket.js";

export function Positions() {
  const held = known.documents.positions;
  return html`
    <h1>Positions</h1>
    ${known.unavailable.positions && html`<p class="bad">${known.unavailable.positions}</p>`}
    ${!held && !known.unavailable.positions && html`<p class="quiet">Not read yet.</p>`}
    ${held && html`
      <p>Result ${money(held.summary.total)}: realised ${money(held.summary.realized)}, unrealised ${money(held.summary.unrealized)}.
        ${held.summary.unknown_rows ? html` <span class="warn">${held.summary.unknown_rows} rows whose result is not known are not in it.</span>` : null}</p>
      <p>${held.brokers.map((part) => html`<span key=${part.broker}>${part.broker} <${Status} part=${part} />${" "}</span>`)}</p>
      <div class="wide"><table id="positions" data-as-of=${held.as_of}><thead><tr>
        <th>Instrument</th><th>Product</th><th class="number">Units</th><th class="number">Average, ₹</th><th class="number">Last, ₹</th><th class="number">Result, ₹</th><th>Brokers</th><th><span class="hidden">Actions</span></th>
      </tr></thead><tbody>
        ${held.net.map((row) => html`<${Row} key=${`${row.instrument_id ?? row.by_broker[0]?.position_key} ${row.product}`} row=${row} parts=${held.brokers} />`)}
      </tbody></table></div>`}`;
}

function Row({ row, parts }) {
  const part = worst(parts, row.by_broker.map((each) => each.broker));
  return html`<tr>
    <th scope="row">${instrument(row)}</th><td>${word(row.product)}</td>
    <td ...${marks(part)}>${number(row.quantity)}<${Age} part=${part} /></td><td ...${marks(part)}>${money(row.average_price)}</td>
    <td ...${marks(part)}>${money(row.last_price)}</td>
    <td ...${marks(part, sign(row.pnl?.total))}>${money(row.pnl?.total)}</td>
    <td>${row.by_broker.map((each) => html`<div key=${each.position_key} class=${worst(parts, [each.broker]) ? "old" : ""}>${each.broker} ${number(each.quantity)}</div>`)}</td>
    <td>${row.instrument_id && row.quantity ? html`<button type="button" onClick=${() => close(row)}>Close<span class="hidden"> ${instrument(row)}</span></button>${" "}
      <button type="button" onClick=${() => protect(row)}>Protect<span class="hidden"> ${instrument(row)}</span></button>` : null}</td></tr>`;
}

const PRODUCTS = { intraday: "MIS", delivery: "CNC", carry: "NRML" };

/** The ticket of the opposite side, for all units: at one broker when one holds them. */
function opposite(row) {
  const brokers = [...new Set(row.by_broker.map((part) => part.broker))];
  return { transaction_type: row.quantity > 0 ? "SELL" : "BUY", product: PRODUCTS[row.product] ?? "", quantity: String(Math.abs(row.quantity)), broker: brokers.length === 1 ? brokers[0] : "" };
}

const close = (row) => openTicket({ chosen: row, typed: { ...opposite(row), order_type: "MARKET" } });

/** A stop and a target of which one cancels the other; their prices are the reader's. */
const protect = (row) => openTicket({ chosen: row, type: "oco", typed: { ...opposite(row), order_type: "MARKET" } });
