// Live prices in candles. A price belongs to the bar of its trade: it never changes an earlier bar, and a trade after the last bar opens a new one.
const IST_SECONDS = 19_800;

/** interval -> days that are read, and seconds of a bar. */
export const INTERVALS = { day: { days: 365, seconds: 86_400 }, "15minute": { days: 20, seconds: 900 }, "1minute": { days: 2, seconds: 60 } };

/** The chart knows no zones: it is given India's clock. `at` in epoch seconds. */
export const onChart = (at) => at + IST_SECONDS;

/**
 * The last bar after a quote: the same object when nothing changes. Days begin at midnight in India, and sessions at a quarter of an hour, so bars of the
 * candle store and of the clock have the same beginnings. A feed that does not tell the time of the trade repeats its last price when nobody
 * trades, on a holiday too; so only a changed price opens a bar by the time of its receipt.
 */
export function barWith(last, quote, interval) {
  const price = quote.last_price;
  const { seconds } = INTERVALS[interval];
  const barOf = (at) => Math.floor(at / seconds) * seconds;
  const begins = barOf(onChart(quote.last_trade_time ?? quote.received_at));
  if (!(begins >= barOf(last.time))) return last; // an older trade, or no time at all
  if (begins > barOf(last.time)) {
    if (!quote.last_trade_time && price === last.close) return last;
    return { time: begins, ...opening(quote, interval) };
  }
  if (price === last.close) return last;
  return { ...last, close: price, high: Math.max(last.high, price), low: Math.min(last.low, price) };
}

/** A new bar of a day has what the day has had before the page saw it; a shorter one begins with this price. */
function opening({ last_price: price, ohlc }, interval) {
  const told = interval === "day" && ohlc ? ohlc : {};
  return { open: told.open || price, high: Math.max(told.high || price, price), low: Math.min(told.low || price, price), close: price };
}
