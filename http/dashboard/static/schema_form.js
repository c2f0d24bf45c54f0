// Form fields made from JSON schemas, so that the form of each order type has one truth: the service's own document.
import { html } from "/dashboard/preact-htm.js";

/** What a schema is when references and "or null" are taken away: {schema, kind}; kind `json` is typed as JSON. */
export function plain(document, schema) {
  let found = schema;
  for (let depth = 0; depth < 8; depth += 1) {
    if (found.$ref) found = { ...document.components.schemas[found.$ref.split("/").pop()], description: schema.description };
    const forms = (found.anyOf ?? found.oneOf)?.filter((each) => each.type !== "null");
    if (forms?.length !== 1) break;
    found = { ...forms[0], description: schema.description ?? forms[0].description };
  }
  const types = [found.type].flat().filter((type) => type !== "null");
  if (found.enum || found.const !== undefined) return { schema: found, kind: "choice" };
  if (types.length === 1 && ["number", "integer", "boolean", "string"].includes(types[0])) return { schema: found, kind: types[0] };
  return { schema: found, kind: "json" };
}

/** The fields of an object's schema but some: [{name, path, required, schema, kind}]. */
export function fields(document, schema, prefix, without) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties)
    .filter(([name]) => !without.has(name))
    .map(([name, each]) => ({ name, path: prefix + name, required: required.has(name), ...plain(document, each) }));
}

/** The value of a field as it was typed; undefined when nothing was. Throws a sentence. */
export function value(field, typed) {
  if (typed === undefined || typed === "") return undefined;
  if (field.kind === "boolean") return typed === "true";
  if (field.kind === "number" || field.kind === "integer") {
    const number = Number(typed);
    if (!Number.isFinite(number)) throw new Error(`${field.name} must be a number`);
    return number;
  }
  if (field.kind !== "json") return typed;
  try {
    return JSON.parse(typed);
  } catch {
    throw new Error(`${field.name} must be JSON`);
  }
}

export function Field({ field, typed, wrong, onType }) {
  const { schema, kind, path, name, required } = field;
  const told = { id: `field-${path}`, name: path, "aria-invalid": wrong ? "true" : null, "aria-describedby": `about-${path}` };
  const type = (event) => onType(path, event.target.value);
  let control;
  if (kind === "boolean" || kind === "choice") {
    const words = kind === "boolean" ? ["true", "false"] : (schema.enum ?? [schema.const]).filter((word) => word !== null);
    control = html`<select ...${told} value=${typed ?? ""} onChange=${type}>
      <option value=""></option>${words.map((word) => html`<option key=${word} value=${word}>${word}</option>`)}</select>`;
  }
  else if (kind === "json") control = html`<textarea rows="3" ...${told} value=${typed ?? ""} onInput=${type}></textarea>`;
  else control = html`<input ...${told} inputmode=${kind === "string" ? null : "decimal"} autocomplete="off" value=${typed ?? ""} onInput=${type} />`;
  return html`<div class="field">
    <label for=${`field-${path}`}>${name}${required ? " *" : ""}${kind === "json" ? " (JSON)" : ""}</label>${control}
    <small id=${`about-${path}`} class="quiet">${schema.description ?? ""}</small></div>`;
}
