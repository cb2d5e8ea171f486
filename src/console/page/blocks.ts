/** Markup that several screens share: notices, states, fields of forms, lists of facts. */
import type { Request } from 'express';
import { type Html, html } from '../../html.ts';

/** A sentence above the content. `done` is read out by screen readers, `bad` interrupts them. */
export function notice(text: string | undefined, look: 'done' | 'bad' | 'warn' = 'done'): Html | undefined {
  if (!text) return undefined;
  if (look === 'bad') return html`<p class="notice bad" role="alert">${text}</p>`;
  return html`<p class="notice${look === 'warn' ? ' warn' : ''}" role="status">${text}</p>`;
}

export interface StateName {
  name: string;
  /** A class of `.state`: `good`, `bad`, `warn`, `still`; empty for one that is under way. */
  look: string;
}

export function state({ name, look }: StateName): Html {
  return html`<span class="state ${look}">${name}</span>`;
}

export type Fact = [name: string, value: Html | string | undefined];

/** Names with their values; those without a value are left out. */
export function facts(list: readonly Fact[]): Html {
  return html`<dl class="facts wide">
${list.map(([name, value]) =>
  value === undefined || value === '' ? undefined : html`<div class="minor"><dt>${name}</dt><dd>${value}</dd></div>\n`,
)}</dl>`;
}

/** A heading with a link to the screen above it, and buttons. */
export function headline(title: string, above?: { href: string; text: string }, buttons?: Html): Html {
  return html`${above && html`<p class="crumb"><a href="${above.href}">${above.text}</a></p>`}
<div class="headline"><h1>${title}</h1>${buttons && html`<div class="buttons">${buttons}</div>`}</div>`;
}

export interface Field {
  name: string;
  label: string;
  value?: string | undefined;
  hint?: string | undefined;
  /** What is wrong with the value. */
  wrong?: string | undefined;
  isRequired?: boolean;
  /** Of the input, such as `url`. Default: `text`. */
  type?: string;
}

/** A field of a form, with its hint and what is wrong with it. */
export function textField({ name, label, value = '', hint, wrong, isRequired, type = 'text' }: Field): Html {
  const described = [hint && `${name}-hint`, wrong && `${name}-wrong`].filter((id) => id).join(' ');
  return html`<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value}" autocomplete="off"${isRequired ? html` required` : undefined}${
    described ? html` aria-describedby="${described}"` : undefined
  }${wrong ? html` aria-invalid="true"` : undefined}>
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${wrong && html`<p class="wrong" id="${name}-wrong">${wrong}</p>`}</div>`;
}

/** Choices of which one is taken. @param options values with their names */
export function selectField(label: string, name: string, options: readonly [string, string][], value: string): Html {
  return html`<div><label for="${name}">${label}</label>
<select id="${name}" name="${name}">
${options.map(([one, text]) => html`<option value="${one}"${one === value ? html` selected` : undefined}>${text}</option>\n`)}</select></div>`;
}

/** A parameter of the address; empty if it is missing or repeated. */
export function parameter(req: Request, name: string): string {
  const value = req.query[name];
  return typeof value === 'string' ? value.trim() : '';
}

/** `?a=1&b=2` of the values that are not empty. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => !!entry[1]);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : '';
}
