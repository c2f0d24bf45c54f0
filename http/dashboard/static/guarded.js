// A part of the page whose fault takes no other part away: HALT and FLATTEN stay, whatever a service of another version answers.
import { html, useEffect, useErrorBoundary } from "/dashboard/preact-htm.js";

const AGAIN_MILLISECONDS = 2000;

export function Guarded({ what, Part }) {
  const [error, again] = useErrorBoundary();
  useEffect(() => {
    if (!error) return undefined;
    const timer = setTimeout(again, AGAIN_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [error]);
  return error ? html`<p class="bad fault" role="alert">${what} cannot be shown: ${String(error)}.</p>` : html`<${Part} />`;
}
