// The watched instruments, and of the chosen one: its quote with five levels, its candles with the last bar live, and the prices of own open orders.
import { html, useEffect, useRef, useState } from "/dashboard/preact-htm.js";
import { ask } from "/dashboard/api.js";
import { barWith, INTERVALS, onChart } from "/dashboard/bars.js";
import { age, instrument, money, moment, number, word } from "/dashboard/format.js";
import { Picker } from "/dashboard/picker.js";
import { DONE } from "/dashboard/orders.js";
import { noPrice } from "/dashboard/freshness.js";
import { isLive, known, now, watch } from "/dashboard/store.js";
import { openTicket } from "/dashboard/ticket.js";
import { added, removed, Watchlist, watched } from "/dashboard/watchlist.js";

let chosen = null;

export function Market() {
  const [rows, setRows] = useState(watched);
  const show = (row, listed) => {
    chosen = row;
    setRows(listed);
    look(listed);
  };
  useEffect(() => {
    look(rows);
    return () => watch([]);
  }, []);
  return html`<h1>Market</h1>
    <${Picker} chosen=${chosen} choose=${(row) => show(row, added(rows, row))} />
    <${Watchlist} rows=${rows} chosen=${chosen} choose=${(row) => show(row, rows)}
      remove=${(row) => show(row.instrument_id === chosen?.instrument_id ? null : chosen, removed(rows, row))} />
    ${chosen && html`<${Quote} key=${chosen.instrument_id} quote=${known.quotes.get(chosen.instrument_id)} />
      <${Chart} key=${`chart ${chosen.instrument_id}`} row=${chosen} />`}`;
}

/** Subscribe the list, and the levels of the chosen instrument. */
function look(rows) {
  const quotes = (mode, listed) => ({ subscribe: "quotes", mode, instruments: listed.map((row) => ({ instrument_id: row.instrument_id })) });
  const others = rows.filter((row) => row.instrument_id !== chosen?.instrument_id);
  watch([...(others.length ? [quotes("quote", others)] : []), ...(chosen ? [quotes("depth", [chosen])] : [])]);
}

function Quote({ quote }) {
  if (!quote) return null;
  if (quote.stale) return html`<p class="old" id="quote">${noPrice(quote)}</p>`;
  const { buy, sell } = quote.depth;
  const isIndex = chosen.segment?.endsWith("_indices");
  return html`<p id="quote"><strong id="last" class=${isLive() ? "" : "old"}>${money(quote.last_price)}</strong> ${age(now() / 1000 - quote.received_at)} old${" "}
      ${!isIndex && html`<button type="button" onClick=${() => openTicket({ chosen, typed: { transaction_type: "BUY" } })}>Buy</button>${" "}
      <button type="button" onClick=${() => openTicket({ chosen, typed: { transaction_type: "SELL" } })}>Sell</button>`}</p>
    ${buy.length + sell.length ? html`<div class="wide"><table><caption class="hidden">Five levels</caption>
      <thead><tr><th class="number">Orders</th><th class="number">Units</th><th class="number">Bid, ₹</th><th class="number">Ask, ₹</th><th class="number">Units</th><th class="number">Orders</th></tr></thead>
      <tbody>${[0, 1, 2, 3, 4].map((level) => html`<tr key=${level}>
        <td class="number">${number(buy[level]?.orders)}</td><td class="number">${number(buy[level]?.quantity)}</td><td class="number good">${money(buy[level]?.price)}</td>
        <td class="number bad">${money(sell[level]?.price)}</td><td class="number">${number(sell[level]?.quantity)}</td><td class="number">${number(sell[level]?.orders)}</td></tr>`)}</tbody></table></div>` : null}`;
}

function Chart({ row }) {
  const place = useRef(null);
  const drawn = useRef(null);
  const [interval, setInterval] = useState("day");
  const [isAdjusted, setAdjusted] = useState(true);
  const [told, setTold] = useState("Reading candles…");

  useEffect(() => {
    let isWanted = true;
    let chart = null;
    draw(row, interval, isAdjusted, place.current, () => isWanted).then((made) => {
      if (!isWanted || !made) return made?.chart.remove();
      ({ chart } = made);
      drawn.current = made;
      setTold(made.told);
      return undefined;
    }, (error) => isWanted && setTold(error.message));
    return () => {
      isWanted = false;
      drawn.current = null;
      chart?.remove();
    };
  }, [row.instrument_id, interval, isAdjusted]);

  const quote = known.quotes.get(row.instrument_id);
  if (drawn.current) live(drawn.current, quote, ordersOf(row.instrument_id));

  return html`<h2>Candles</h2><p>
      <label>Interval <select value=${interval} onChange=${(event) => setInterval(event.target.value)}>${Object.keys(INTERVALS).map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>${" "}
      <label><input type="checkbox" checked=${isAdjusted} onChange=${(event) => setAdjusted(event.target.checked)} /> adjusted</label>${" "}
      <span class="quiet" role="status" id="candles">${told}</span></p>
    <div class="chart" ref=${place} role="img" aria-label=${`Candles of ${instrument(row)}`}></div>
    <p class="quiet">Drawn by <a href="https://www.tradingview.com/" rel="noopener noreferrer">TradingView Lightweight Charts™</a></p>`;
}

async function draw(row, interval, isAdjusted, place, isWanted) {
  const query = new URLSearchParams({ instrument_id: row.instrument_id, interval, days: INTERVALS[interval].days, adjusted: String(isAdjusted) });
  const [{ createChart, CandlestickSeries }, answer] = await Promise.all([import("/dashboard/lightweight-charts.js"), ask("GET", `/api/instruments/prices?${query}`)]);
  if (!isWanted()) return null;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const chart = createChart(place, {
    autoSize: true,
    layout: { background: { color: colour("--ground") }, textColor: colour("--text"), attributionLogo: false },
    grid: { vertLines: { color: colour("--line") }, horzLines: { color: colour("--line") } },
    timeScale: { timeVisible: interval !== "day", secondsVisible: false },
  });
  const series = chart.addSeries(CandlestickSeries, { upColor: colour("--good"), downColor: colour("--bad"), wickUpColor: colour("--good"), wickDownColor: colour("--bad"), borderVisible: false });
  const bars = answer.candles.map(([time, open, high, low, close]) => ({ time: onChart(moment(time) / 1000), open, high, low, close }));
  series.setData(bars);
  chart.timeScale().fitContent();
  return { chart, series, interval, last: bars.at(-1), lines: [], orders: "", told: bars.length ? `${bars.length} candles, from ${answer.source}, ${word(answer.price_basis)}` : "no candles are known" };
}

/** Take the newest price into its bar (bars.js), and draw the prices of own open orders. */
function live(drawn, quote, orders) {
  if (quote && !quote.stale && drawn.last) {
    const bar = barWith(drawn.last, quote, drawn.interval);
    if (bar !== drawn.last) {
      drawn.last = bar;
      drawn.series.update(bar);
    }
  }
  const key = JSON.stringify(orders.map((one) => [one.order_id, one.price, one.trigger_price, one.status]));
  if (key === drawn.orders) return;
  drawn.orders = key;
  drawn.lines.forEach((line) => drawn.series.removePriceLine(line));
  drawn.lines = orders.map((one) => drawn.series.createPriceLine({ price: one.trigger_price || one.price, title: `${one.transaction_type} ${one.pending_quantity} ${one.broker}`, lineWidth: 1 }));
}

const ordersOf = (id) => [...known.orders.values()].filter((row) => row.instrument_id === id && !DONE.has(row.status) && (row.trigger_price || row.price));
