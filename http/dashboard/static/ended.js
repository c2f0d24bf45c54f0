// The parents of the engine that ended on a day of the last eight.
import { html, useEffect, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { now } from "/dashboard/store.js";

const KEPT_DAYS = 8;
const DAY_MILLISECONDS = 86_400_000;
const BROKING_DAY_BEGINS = 7 * 3_600_000; // 07:00 India time
const INDIA_MILLISECONDS = 19_800_000;

/** The broking days whose parents are kept, YYYY-MM-DD, the present day first. */
const days = () => Array.from({ length: KEPT_DAYS }, (_, before) =>
  new Date(now() + INDIA_MILLISECONDS - BROKING_DAY_BEGINS - before * DAY_MILLISECONDS).toISOString().slice(0, 10));

export function Ended({ Parent }) {
  const [day, setDay] = useState("");
  const [found, setFound] = useState(null); // {parents, cursor, more, unreadable_parents}
  const [error, setError] = useState(null);
  const [count, again] = useState(0);

  async function read(from, isWanted = () => true) {
    try {
      const query = new URLSearchParams({ on: day, ...(from ? { cursor: from.cursor } : {}) });
      const page = await ask("GET", `/api/orders/parents/ended?${query}`);
      if (!isWanted()) return;
      const join = (name) => [...(from?.[name] ?? []), ...(page[name] ?? [])];
      setFound({ ...page, parents: join("parents"), unreadable_parents: join("unreadable_parents") });
      setError(null);
    } catch (failed) {
      if (isWanted()) setError(failed.message);
    }
  }

  useEffect(() => {
    let isWanted = true;
    setFound(null);
    if (day) read(null, () => isWanted);
    return () => {
      isWanted = false;
    };
  }, [day, count]);

  return html`<h2>Ended</h2>
    <p><label>Ended on <select id="ended-on" value=${day} onChange=${(event) => setDay(event.target.value)}>
      <option value="">no day chosen</option>${days().map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></label>
      ${day && html`${" "}<button type="button" onClick=${() => again(count + 1)}>Read again</button>`}</p>
    ${error && html`<p class="bad" role="alert">${error}</p>`}
    ${found && !found.parents.length && html`<p class="quiet">No parent ended on that day.</p>`}
    ${(found?.unreadable_parents ?? []).map((id) => html`<p class="bad" key=${id}>The record of parent ${id} cannot be read.</p>`)}
    ${(found?.parents ?? []).map((parent) => html`<${Parent} key=${parent.parent_order_id} parent=${parent} />`)}
    ${found?.more && html`<p><button type="button" onClick=${() => read(found)}>Older ones</button></p>`}`;
}
