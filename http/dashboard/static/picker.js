// Choosing an instrument by words: a symbol, a name, a strike, an expiry.
import { html, useEffect, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { instrument, word } from "/dashboard/format.js";

const FIND_MILLISECONDS = 150;
const AGAIN_MILLISECONDS = 1000;

export function Picker({ chosen, choose }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState([]);
  const [told, setTold] = useState("");
  useEffect(() => {
    setTold("");
    if (text.trim().length < 2) {
      setFound([]);
      return undefined;
    }
    let isWanted = true;
    let timer = setTimeout(find, FIND_MILLISECONDS);
    async function find() {
      try {
        const answer = await ask("GET", `/api/instruments/find?limit=8&q=${encodeURIComponent(text)}`);
        if (!isWanted) return;
        setFound(answer.instruments);
        setTold(answer.instruments.length ? "" : "No instrument has these words.");
      } catch (error) {
        if (!isWanted) return;
        setFound([]);
        setTold(error.message);
        // A service that has just started makes its list of instruments first.
        if (!error.status || error.status >= 500) timer = setTimeout(find, AGAIN_MILLISECONDS);
      }
    }
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [text]);
  return html`<div class="field"><label for="find">instrument</label>
    <input id="find" type="search" autocomplete="off" value=${text} placeholder="nifty 25000 ce dec" onInput=${(event) => setText(event.target.value)} />
    <p id="chosen">${chosen ? `${instrument(chosen)} (${chosen.segment}), lot ${word(chosen.lot_size)}, tick ${word(chosen.tick_size)}` : "none chosen"}</p>
    <p class="quiet" role="status" id="find-told">${told}</p><ul class="found">${found.map((row) => html`<li key=${row.instrument_id}><button type="button" onClick=${() => {
      choose(row);
      setText("");
    }}>${instrument(row)} <span class="quiet">${row.name ?? ""} ${row.segment}</span></button></li>`)}</ul></div>`;
}
