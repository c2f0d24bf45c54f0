// The page: the login of the service, or the bar and the page that the address names.
import { html, render, useState } from "/dashboard/preact-htm.js";
import { connect, forget, take, token, whenEnded } from "/dashboard/api.js";
import { Asked } from "/dashboard/asked.js";
import { Bar } from "/dashboard/bar.js";
import { Brokers } from "/dashboard/brokers.js";
import { Chain } from "/dashboard/chain.js";
import { Guarded } from "/dashboard/guarded.js";
import { Market } from "/dashboard/market.js";
import { Orders } from "/dashboard/orders.js";
import { Overview } from "/dashboard/overview.js";
import { Parents } from "/dashboard/parents.js";
import { Positions } from "/dashboard/positions.js";
import { Service } from "/dashboard/service.js";
import { changed, painter, start, stop } from "/dashboard/store.js";
import { Stops } from "/dashboard/stops.js";
import { Ticket } from "/dashboard/ticket.js";
import { Trades } from "/dashboard/trades.js";

const PAGES = { overview: Overview, positions: Positions, orders: Orders, trades: Trades, parents: Parents, ticket: Ticket, market: Market, chain: Chain, brokers: Brokers, service: Service };

const place = () => {
  const name = location.hash.replace(/^#\/?/, "");
  return name in PAGES ? name : "overview";
};

function App() {
  if (!token()) return html`<${Login} />`;
  const Page = PAGES[place()];
  return html`<${Bar} page=${place()} /><main><${Guarded} key=${place()} what="This page" Part=${Page} /><p><button type="button" onClick=${leave}>Leave</button> <a href="/docs">The API</a></p></main><${Stops} /><${Asked} />`;
}

function leave() {
  forget();
  stop();
}

function Login() {
  const [error, setError] = useState(null);
  async function send(event) {
    event.preventDefault();
    const given = Object.fromEntries(new FormData(event.target));
    try {
      await (given.token ? take(given.token.trim()) : connect(given.key.trim(), given.secret.trim()));
      start();
      changed();
    } catch (failed) {
      setError(failed.message);
    }
  }
  return html`
    <main><form class="login" onSubmit=${send}>
      <h1>onebroker</h1>
      <label>API key <input name="key" autocomplete="username" autofocus /></label>
      <label>API secret <input name="secret" type="password" autocomplete="current-password" /></label>
      <label>or an access token <input name="token" type="password" autocomplete="off" /></label>
      ${error && html`<p class="bad" role="alert">${error}</p>`}
      <p><button>Connect</button></p>
      <p class="quiet">This tab keeps the token and forgets it when it is closed.</p>
    </form></main>`;
}

painter(() => render(html`<${App} />`, document.getElementById("app")));
whenEnded(stop);
window.addEventListener("hashchange", changed);
if (token()) start();
changed();
