// What is always visible: clock, market, connection, the worst age, the day's result, problems, HALT and FLATTEN.
import { html } from "/dashboard/preact-htm.js";
import { age, money, moment, sign, time, NOTHING } from "/dashboard/format.js";
import { Away } from "/dashboard/away.js";
import { Guarded } from "/dashboard/guarded.js";
import { isLive, known, now, silence } from "/dashboard/store.js";
import { openFlatten, openHalt } from "/dashboard/stops.js";

const PAGES = [["overview", "Overview"], ["positions", "Positions"], ["orders", "Orders"], ["trades", "Trades"], ["parents", "Parents"], ["ticket", "Ticket"], ["market", "Market"], ["chain", "Chain"], ["brokers", "Brokers"], ["service", "Service"]];

export function Bar({ page }) {
  const halt = known.health?.halt;
  return html`
    <header class="bar">
      <div class="top"><${Guarded} what="The state of the service" Part=${Figures} />
        <span><button type="button" class=${halt?.halted ? "" : "danger"} onClick=${openHalt}>${halt?.halted ? "RESUME" : "HALT"}</button>${" "}
          <button type="button" class="danger" onClick=${openFlatten}>FLATTEN</button></span></div>
      <nav aria-label="Pages"><ul>
        ${PAGES.map(([name, title]) => html`<li key=${name}><a href="#/${name}" aria-current=${page === name ? "page" : null}>${title}</a></li>`)}
      </ul></nav>
    </header>
    <div role="status" aria-live="polite">
      ${halt?.halted && html`<p class="lost">Trading is halted${halt.reason ? `: ${halt.reason}` : ""}</p>`}
      ${!isLive() && html`<p class="lost">The connection is lost. What follows is ${age(silence())} old, and nothing in it is live.</p>`}
      <${Away} />
    </div>`;
}

function Figures() {
  const { health, documents } = known;
  const result = documents.positions?.summary.total;
  const unknown = documents.positions?.summary.unknown_rows;
  const absent = documents.positions?.brokers.filter((part) => part.status !== "ok").length;
  const problems = health?.problems;
  return html`<dl>
    <div><dt>Time</dt><dd>${time(now())}</dd></div>
    <div><dt>Market</dt><dd>${market(health)}</dd></div>
    <div><dt>Connection</dt><dd id="connection" class=${isLive() ? "good" : "bad"}>${isLive() ? "live" : "lost"}</dd></div>
    <div><dt>Oldest part</dt><dd>${oldest(health)}</dd></div>
    <div><dt>Result</dt><dd id="result" class=${isLive() && !absent ? sign(result) : "old"}>${money(result)}${absent ? html` <span class="warn">${absent} ${absent === 1 ? "broker" : "brokers"} not fresh</span>` : null}${unknown ? html` <span class="warn">without ${unknown} rows</span>` : null}</dd></div>
    <div><dt>Problems</dt><dd id="problems" class=${problems?.length ? "bad" : "good"}>${problems ? problems.length : NOTHING}</dd></div>
  </dl>`;
}

function market(health) {
  if (!health) return NOTHING;
  const markets = Object.values(health.market ?? {});
  const open = markets.filter((each) => each.open).length;
  return open ? `${open} of ${markets.length} open` : "closed";
}

/** The age of the part that was read longest ago, and whose it is. */
function oldest(health) {
  let worst = null;
  for (const [broker, each] of Object.entries(health?.brokers ?? {})) {
    for (const [part, read] of Object.entries(each.parts)) {
      const at = moment(read);
      if (worst === null || !(at >= worst.at)) worst = { at, broker, part };
      if (!Number.isFinite(at)) return `${broker} ${part}: never read`;
    }
  }
  return worst ? `${age((now() - worst.at) / 1000)} (${worst.broker} ${worst.part})` : NOTHING;
}
