// The option chain: calls and puts by strike, with greeks, open interest and the age of each cell; a click on a price fills the ticket.
import { html, useEffect, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { age, money, number, word, NOTHING } from "/dashboard/format.js";
import { isLive, known, now, watch } from "/dashboard/store.js";
import { openTicket } from "/dashboard/ticket.js";

const STRIKES = 20;
const wanted = { underlying: "", exchange: "nse", expiry: "", expiries: [] };
const decimals = new Intl.NumberFormat("en-IN", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
const small = (value) => (typeof value === "number" ? decimals.format(value) : NOTHING);

export function Chain() {
  const [error, setError] = useState(null);
  const [, repaint] = useState(0);
  useEffect(() => {
    look();
    return () => watch([]);
  }, []);

  async function find(event) {
    event.preventDefault();
    setError(null);
    try {
      const query = new URLSearchParams({ underlying_symbol: wanted.underlying.trim(), exchange: wanted.exchange });
      const { options } = await ask("GET", `/api/instruments/expiries?${query}`);
      wanted.expiries = [...new Set(options.map((each) => each.expiry_date))];
      wanted.expiry = wanted.expiries[0] ?? "";
      look();
    } catch (failed) {
      setError(failed.message);
    }
    repaint((count) => count + 1);
  }

  const chain = known.chain;
  return html`<h1>Option chain</h1>
    <form onSubmit=${find}><p>
      <label>Underlying <input id="underlying" value=${wanted.underlying} placeholder="NIFTY" onInput=${(event) => {
        wanted.underlying = event.target.value;
      }} /></label>
      <label>Exchange <select value=${wanted.exchange} onChange=${(event) => {
        wanted.exchange = event.target.value;
      }}>${["nse", "bse", "mcx"].map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
      <button>Show</button>
      ${wanted.expiries.length ? html`<label>Expiry <select id="expiry" value=${wanted.expiry} onChange=${(event) => {
        wanted.expiry = event.target.value;
        look();
        repaint((count) => count + 1);
      }}>${wanted.expiries.map((day) => html`<option key=${day} value=${day}>${day}</option>`)}</select></label>` : null}
    </p></form>
    ${error && html`<p class="bad" role="alert">${error}</p>`}
    ${known.unavailable.chain && html`<p class="bad">${known.unavailable.chain}</p>`}
    ${chain && html`<p>Forward ${money(chain.forward.price)} ${word(chain.forward.source ?? chain.forward.reason)}; put/call by open interest ${small(chain.totals.pcr_oi)}, max pain ${money(chain.totals.max_pain)}, straddle ${money(chain.totals.straddle_price)}</p>
      <div class="wide"><table id="chain"><thead>
        <tr><th colspan="5" scope="colgroup">Calls</th><th></th><th colspan="5" scope="colgroup">Puts</th></tr>
        <tr>${["Open interest", "Delta", "IV", "Age", "Last, ₹"].map((title) => html`<th class="number" key=${`c ${title}`}>${title}</th>`)}<th class="number">Strike</th>
          ${["Last, ₹", "Age", "IV", "Delta", "Open interest"].map((title) => html`<th class="number" key=${`p ${title}`}>${title}</th>`)}</tr></thead>
        <tbody>${chain.rows.map((row) => html`<tr key=${row.strike_price}>${cells(chain, row, "ce")}<th scope="row" class="number">${number(row.strike_price)}</th>${cells(chain, row, "pe").reverse()}</tr>`)}</tbody></table></div>`}`;
}

function look() {
  known.chain = null;
  delete known.unavailable.chain;
  const named = { underlying_symbol: wanted.underlying.trim(), exchange: wanted.exchange, expiry_date: wanted.expiry, strikes: STRIKES };
  watch(wanted.expiry ? [{ subscribe: "chain", ...named }] : []);
}

function cells(chain, row, side) {
  const cell = row[side];
  if (!cell) return [0, 1, 2, 3, 4].map((place) => html`<td key=${`${side} ${place}`}></td>`);
  const fill = () => openTicket({
    chosen: { instrument_id: cell.instrument_id, underlying_symbol: chain.underlying_symbol, expiry_date: chain.expiry_date, strike_price: row.strike_price, option_type: side.toUpperCase(), segment: chain.segment, lot_size: null, tick_size: null },
    typed: { transaction_type: "BUY", order_type: "LIMIT", price: cell.last_price === null ? "" : String(cell.last_price) },
  });
  const why = cell.missing?.quote ?? null;
  return [
    html`<td class="number" key=${`${side} oi`}>${number(cell.oi)}</td>`,
    html`<td class="number" key=${`${side} delta`}>${small(cell.delta)}</td>`,
    html`<td class="number" key=${`${side} iv`}>${small(cell.implied_volatility)}</td>`,
    html`<td class="number quiet" key=${`${side} age`}>${cell.received_at ? age(now() / 1000 - cell.received_at) : NOTHING}</td>`,
    html`<td class="number ${isLive() ? "" : "old"}" key=${`${side} last`} title=${why}><button type="button" onClick=${fill}>${money(cell.last_price)}<span class="hidden"> ${number(row.strike_price)} ${side === "ce" ? "call" : "put"} into the ticket</span></button></td>`,
  ];
}
