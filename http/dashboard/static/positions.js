// Positions: a row for each instrument and product, opened to its brokers; what is held, and its result.
import { html } from "/dashboard/preact-htm.js";
import { instrument, money, number, sign, word } from "/dashboard/format.js";
import { Age, marks, Status, worst } from "/dashboard/freshness.js";
import { known } from "/dashboard/store.js";
import { openClose } from "/dashboard/stops.js";
import { openTicket } from "/dashboard/ticket.js";
import { doubtWords } from "/dashboard/troubles.js";

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
      <${Doubted} document=${held} />
      <div class="wide"><table id="positions" data-as-of=${held.as_of}><thead><tr>
        <th>Instrument</th><th>Product</th><th class="number">Units</th><th class="number">Average, ₹</th><th class="number">Last, ₹</th><th class="number">Result, ₹</th><th>Brokers</th><th><span class="hidden">Actions</span></th>
      </tr></thead><tbody>
        ${held.net.map((row) => html`<${Row} key=${`${row.instrument_id ?? row.by_broker[0]?.position_key} ${row.product}`} row=${row} parts=${held.brokers} />`)}
      </tbody></table></div>`}`;
}

/** Positions whose rows do not agree with the fills, above the table: the row of one may be missing there. */
function Doubted({ document }) {
  const rows = document.brokers.flatMap((part) => (part.doubted ?? []).map((doubt) => [part.broker, doubt]));
  const shown = (doubt) => document.net.find((row) => row.instrument_id && row.instrument_id === doubt.instrument_id && row.product === doubt.product);
  return rows.length ? html`<div role="status" id="doubted">${rows.map(([broker, doubt]) => html`
    <p class="bad" key=${`${broker} ${doubt.tradingsymbol} ${doubt.product}`}>${doubtWords(broker, doubt, `${instrument(shown(doubt) ?? doubt)} ${doubt.product}`)}</p>`)}</div>` : null;
}

function Row({ row, parts }) {
  const part = worst(parts, row.by_broker.map((each) => each.broker));
  return html`<tr>
    <th scope="row">${instrument(row)}</th><td>${word(row.product)}</td>
    <td ...${marks(part)}>${number(row.quantity)}<${Age} part=${part} /></td><td ...${marks(part)}>${money(row.average_price)}</td>
    <td ...${marks(part)}>${money(row.last_price)}</td>
    <td ...${marks(part, sign(row.pnl?.total))}>${money(row.pnl?.total)}</td>
    <td>${row.by_broker.map((each) => html`<div key=${each.position_key} class=${worst(parts, [each.broker]) ? "old" : ""}>${each.broker} ${number(each.quantity)}${each.covered_by_holdings ? html` <span class="quiet">covered by holdings</span>` : null}</div>`)}</td>
    <td>${row.instrument_id && CLOSED.has(row.product) && held(row).length ? html`<button type="button" onClick=${() => close(row)}>Close<span class="hidden"> ${instrument(row)}</span></button>${" "}` : null}
      ${row.instrument_id && exposed(row).length ? html`<button type="button" onClick=${() => protect(row)}>Protect<span class="hidden"> ${instrument(row)}</span></button>` : null}</td></tr>`;
}

const PRODUCTS = { intraday: "MIS", delivery: "CNC", carry: "NRML" };
const CLOSED = new Set(["intraday", "delivery", "carry", "cover", "bracket", "margin_trading"]);

/** The brokers' own parts that are open. They may add up to 0 and be open all the same. */
const held = (row) => row.by_broker.filter((part) => part.quantity);

/** The parts that a stop can guard: a sale out of the holdings is no position. */
const exposed = (row) => held(row).filter((part) => !part.covered_by_holdings);

/** One closing order for each broker that holds, and what rests there is cancelled: the service splits it, not this page. */
const close = (row) => openClose({ title: `${instrument(row)} ${row.product}`, limits: { instrument_id: row.instrument_id, product: row.product } });

/** A stop and a target of which one cancels the other, for each broker that holds; their prices are the reader's. */
function protect(row) {
  const parts = exposed(row).map((part) => ({ broker: part.broker, transaction_type: part.quantity > 0 ? "SELL" : "BUY", quantity: Math.abs(part.quantity) }));
  const [first] = parts;
  const common = { product: PRODUCTS[row.product] ?? "", order_type: "MARKET", transaction_type: first.transaction_type };
  const typed = parts.length === 1 ? { ...common, quantity: String(first.quantity), broker: first.broker } : common;
  openTicket({ chosen: row, type: "oco", typed, split: parts.length === 1 ? [] : parts });
}
