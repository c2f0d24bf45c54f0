// The morning: which brokers have a login, and the page of each that wants a person.
import { html } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { word } from "/dashboard/format.js";
import { changed, known } from "/dashboard/store.js";

const asked = new Map(); // broker -> {page, closes, told}

export function Brokers() {
  const brokers = Object.entries(known.health?.brokers ?? {});
  return html`
    <h1>Brokers</h1>
    <p>A broker that wants a person gives a page to log in at. It then sends you back to this service, which takes the login within five minutes.</p>
    <div class="wide"><table id="brokers"><thead><tr><th>Broker</th><th>Login</th><th>Trouble</th><th>Log in</th></tr></thead><tbody>
      ${brokers.map(([code, each]) => html`<tr key=${code}>
        <th scope="row">${code}</th><td class=${each.login === "live" ? "good" : "bad"}>${each.login}</td><td>${word(each.trouble)}</td>
        <td><${Login} code=${code} /></td></tr>`)}
    </tbody></table></div>`;
}

function Login({ code }) {
  const { page, closes, told, isWaiting } = asked.get(code) ?? {};
  return html`
    <button type="button" disabled=${Boolean(isWaiting)} onClick=${() => begin(code)}>Log in<span class="hidden"> to ${code}</span></button>
    ${page && html`<p><a href=${page} target="_blank" rel="noopener noreferrer">The page of ${code}</a> until ${closes}</p>`}
    ${told && html`<p role="status">${told}</p>`}`;
}

async function begin(code) {
  if (asked.get(code)?.isWaiting) return; // pressed again before the page was painted
  asked.set(code, { isWaiting: true, told: "asking…" });
  changed();
  try {
    const answer = await ask("POST", `/api/brokers/${encodeURIComponent(code)}/login`);
    asked.set(code, answer.login ? { told: `logged in as ${answer.login.user_id}` } : { page: safe(answer.page), closes: answer.closes_at.slice(11) });
  } catch (error) {
    asked.set(code, { told: error.message });
  }
  changed();
}

/** An address of a broker is a link only when it is one of the web. */
const safe = (page) => (/^https?:\/\//.test(page) ? page : null);
