// The service itself: who gets its messages and whether they arrive, the token, and what happened lately.
import { html, useEffect, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { age, moment, time, word } from "/dashboard/format.js";
import { known, now } from "/dashboard/store.js";

const LOOK_BACK_MILLISECONDS = 600_000;
const MOST_PAGES = 20;
const MOST_LINES = 100;
const INDIA_MILLISECONDS = 19_800_000;
const OUTER = new Set(["n", "at", "previous", "hash", "event"]);

export function Service() {
  return html`<h1>Service</h1><${Alerts} /><${Token} /><${Lately} />`;
}

function Alerts() {
  const [told, setTold] = useState(null); // {isWaiting, error, receivers}
  const alerts = known.health?.alerts;

  async function tryThem() {
    if (told?.isWaiting) return;
    setTold({ isWaiting: true });
    try {
      setTold(await ask("POST", "/api/alerts/test"));
    } catch (failed) {
      setTold({ error: failed.message });
    }
  }

  return html`<h2>Alerts</h2>
    ${alerts && html`<p>${alerts.sent} messages taken since the start, ${alerts.waiting} wait, ${alerts.given_up} given up.</p>`}
    ${alerts?.store_trouble && html`<p class="bad">The messages are kept in memory only: ${alerts.store_trouble}</p>`}
    ${alerts?.receivers.length ? html`<div class="wide"><table id="receivers"><thead><tr><th>Receiver</th><th class="number">Taken</th><th class="number">Waiting</th><th class="number">Failed tries</th><th>Last failure</th></tr></thead><tbody>
      ${alerts.receivers.map((each) => html`<tr key=${each.number}><th scope="row">${each.number} (${each.scheme})</th>
        <td class="number">${each.sent}</td><td class="number">${each.waiting}</td><td class="number">${each.failed}</td>
        <td class=${each.failing_since ? "bad" : "quiet"}>${each.last_failure ? `${each.last_failure}, ${age((now() - moment(each.last_failure_at)) / 1000)} ago` : word(null)}</td></tr>`)}
      </tbody></table></div>` : html`<p class="quiet">Nobody gets messages: alerts.to of the settings names no receiver.</p>`}
    <p><button type="button" disabled=${Boolean(told?.isWaiting)} onClick=${tryThem}>Send a test message to each</button></p>
    <div role="status" id="tried">${told?.isWaiting && html`<p>Asking…</p>`}${told?.error && html`<p class="bad">${told.error}</p>`}
      ${told?.receivers?.map((each) => html`<p key=${each.receiver} class=${each.ok ? "good" : "bad"}>${each.receiver} (${each.scheme}): ${each.ok ? "taken" : each.words}</p>`)}</div>`;
}

function Token() {
  const [expires, setExpires] = useState(null);
  const [isAsked, setAsked] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => {
    ask("GET", "/api/session/status").then((answer) => setExpires(answer.expires_at), (failed) => setError(failed.message));
  }, []);

  async function end() {
    try {
      await ask("DELETE", "/api/session/disconnect");
    } catch (failed) {
      setError(failed.message);
    }
  }

  return html`<h2>Token</h2>
    <p>All clients share the token of the day${expires ? html`, which holds until <span id="expires">${expires}</span>` : ""}. Running orders of the engine do not need it.</p>
    ${error && html`<p class="bad" role="alert">${error}</p>`}
    <p>${isAsked ? html`Every client must connect again. <button type="button" class="danger" id="end-token" onClick=${end}>End it for every client</button> <button type="button" onClick=${() => setAsked(false)}>Leave it</button>`
      : html`<button type="button" onClick=${() => setAsked(true)}>End the token</button>`}</p>`;
}

function Lately() {
  const [lines, setLines] = useState(null);
  const [error, setError] = useState(null);
  const [count, again] = useState(0);
  useEffect(() => {
    let isWanted = true;
    lately().then((read) => isWanted && setLines(read), (failed) => isWanted && setError(failed.message));
    return () => {
      isWanted = false;
    };
  }, [count]);
  return html`<h2>The last ten minutes</h2>
    <p><button type="button" onClick=${() => again(count + 1)}>Read again</button></p>
    ${error && html`<p class="bad" role="alert">${error}</p>`}
    ${lines && !lines.length && html`<p class="quiet">Nothing was written to the audit.</p>`}
    ${lines?.length ? html`<div class="wide"><table id="lately"><thead><tr><th>Time</th><th>Event</th><th>Of</th></tr></thead><tbody>
      ${lines.map((line) => html`<tr key=${line.n}><td>${time(moment(line.at))}</td><td>${line.event}</td><td>${words(line)}</td></tr>`)}</tbody></table></div>` : null}`;
}

/** The newest lines of the audit, the newest first. The route begins with the oldest, so it is asked to its end. */
async function lately() {
  let lines = [];
  let query = { from: new Date(now() - LOOK_BACK_MILLISECONDS + INDIA_MILLISECONDS).toISOString().slice(0, 19) };
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page = await ask("GET", `/api/audit?${new URLSearchParams({ ...query, limit: 1000 })}`);
    lines = [...lines, ...page.lines].slice(-MOST_LINES);
    if (!page.more) break;
    query = { cursor: page.cursor };
  }
  return lines.reverse();
}

const words = (line) => Object.entries(line)
  .filter(([name, value]) => !OUTER.has(name) && value !== null && typeof value !== "object" && String(value).length < 200)
  .map(([name, value]) => `${name} ${value}`).join(", ");
