// The overview: what is wrong and what to do, the brokers, and the money.
import { html } from "/dashboard/preact-htm.js";
import { age, money, moment, word, NOTHING } from "/dashboard/format.js";
import { marks, Status, worst } from "/dashboard/freshness.js";
import { known, now } from "/dashboard/store.js";

export function Overview() {
  return html`
    <h1>Overview</h1>
    <${Problems} />
    <${Funds} />
    <${Strip} />`;
}

function Problems() {
  const problems = known.health?.problems;
  if (!problems) return html`<p class="quiet">The health has not been read yet.</p>`;
  if (!problems.length) return html`<p class="good">Nothing is wrong.</p>`;
  return html`
    <h2>What is wrong</h2>
    <div class="wide"><table><thead><tr><th>Broker</th><th>What</th><th>Since</th><th>What to do</th></tr></thead><tbody>
      ${problems.map((one) => html`<tr key=${`${one.kind} ${one.broker} ${one.subject}`}>
        <td>${word(one.broker)}</td><td>${one.what}</td><td>${age((now() - moment(one.since)) / 1000)}</td><td>${one.do}</td></tr>`)}
    </tbody></table></div>`;
}

function Funds() {
  const funds = known.documents.funds;
  return html`
    <h2>Funds</h2>
    ${known.unavailable.funds && html`<p class="bad">${known.unavailable.funds}</p>`}
    ${!funds && !known.unavailable.funds && html`<p class="quiet">Not read yet.</p>`}
    ${funds && html`
      <div class="wide"><table id="funds" data-as-of=${funds.as_of}><thead><tr><th>Broker</th><th class="number">Available, ₹</th><th>Part</th></tr></thead><tbody>
        <tr><th scope="row">All brokers</th><td ...${marks(worst(funds.brokers, funds.brokers.map((each) => each.broker)))} id="available">${money(funds.summary.available_balance)}</td><td class="quiet">total ${money(funds.summary.total_balance)}, margin used ${money(funds.summary.margin_utilized)}</td></tr>
        ${funds.brokers.map((each) => html`<tr key=${each.broker}><th scope="row">${each.broker}</th><td ...${marks(worst([each], [each.broker]))}>${money(each.available_balance)}</td><td><${Status} part=${each} /></td></tr>`)}
      </tbody></table></div>`}`;
}

function Strip() {
  const brokers = Object.entries(known.health?.brokers ?? {});
  return html`
    <h2>Brokers</h2>
    <div class="cards">
      ${brokers.map(([code, each]) => html`
        <section class="card" key=${code} aria-label=${code}>
          <strong>${code}</strong>
          <dl>
            <div><dt>Login</dt><dd class=${each.login === "live" ? "good" : "bad"}>${each.login}</dd></div>
            <div><dt>Feed</dt><dd>${feed(each.market_feed)}</dd></div>
            <div><dt>Oldest part</dt><dd>${part(each.parts)}</dd></div>
            <div><dt>Room for orders</dt><dd>${word(each.room?.entry_room)}</dd></div>
            <div><dt>Messages today</dt><dd>${word(each.room?.order_messages_today)}</dd></div>
          </dl>
          ${each.trouble && html`<p class="bad">${each.trouble}</p>`}
          ${Object.entries(each.read_errors).map(([what, why]) => html`<p class="bad" key=${what}>${what}: ${why}</p>`)}
        </section>`)}
    </div>`;
}

function feed(each) {
  if (!each) return NOTHING;
  if (!each.connected) return each.subscribed ? "down" : "not needed";
  return each.last_frame_at ? age((now() - moment(each.last_frame_at)) / 1000) : "no frame yet";
}

function part(parts) {
  const read = Object.values(parts).map(moment);
  if (!read.length || read.some((at) => !Number.isFinite(at))) return "never read";
  return age((now() - Math.min(...read)) / 1000);
}

