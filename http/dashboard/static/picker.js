// Choosing an instrument by words: a symbol, a name, a strike, an expiry.
import { html, useEffect, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { instrument, word } from "/dashboard/format.js";

const FIND_MILLISECONDS = 150;

export function Picker({ chosen, choose }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  useEffect(() => {
    if (text.trim().length < 2) {
      setFound([]);
      return undefined;
    }
    let isWanted = true;
    const timer = setTimeout(async () => {
      try {
        const answer = await ask("GET", `/api/instruments/find?limit=8&q=${encodeURIComponent(text)}`);
        if (isWanted) setFound(answer.instruments);
      } catch {
        if (isWanted) setFound([]);
      }
    }, FIND_MILLISECONDS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [text]);
  return html`<div class="field"><label for="find">instrument</label>
    <input id="find" type="search" autocomplete="off" value=${text} placeholder="nifty 25000 ce dec" onInput=${(event) => setText(event.target.value)} />
    <p id="chosen">${chosen ? `${instrument(chosen)} (${chosen.segment}), lot ${word(chosen.lot_size)}, tick ${word(chosen.tick_size)}` : "none chosen"}</p>
    <ul class="found">${found.map((row) => html`<li key=${row.instrument_id}><button type="button" onClick=${() => {
      choose(row);
      setText("");
    }}>${instrument(row)} <span class="quiet">${row.name ?? ""} ${row.segment}</span></button></li>`)}</ul></div>`;
}
