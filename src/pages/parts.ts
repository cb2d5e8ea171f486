/**
 * The building blocks of the pages.
 *
 * Guarantee: every field has a label; a problem comes first in the title, is shown at the top of the page, and is
 * linked to the fields it is about.
 */
import { type Html, html } from '../html.ts';
import type { Page } from './layout.ts';

/** What is wrong with the submitted form. */
export interface Problem {
  message: string;
  /** Names of the fields it is about; absent: all fields of the form. */
  fields?: readonly string[];
}

/** A page with a message and no form. */
export function messagePage(title: string, message: string, more?: Html): Page {
  return { title, body: said(DONE, title, message, more) };
}

/** A page about a problem that no input can fix. */
export function problemPage(title: string, message: string, more?: Html): Page {
  return { title: `Problem: ${title}`, body: said(STOPPED, title, message, more) };
}

function said(mark: Html, title: string, message: string, more?: Html): Html {
  return html`${mark}\n<h1 tabindex="-1" autofocus>${title}</h1>\n<p role="status">${message}</p>\n${more}`;
}

const DONE = html`<div class="mark good"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M5 12.5l4.5 4.5L19 7.5"/></svg></div>`;
const STOPPED = html`<div class="mark bad"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 5.5v8M12 18.2v.1"/></svg></div>`;

/** Screen readers read the title first. */
export function titled(title: string, problem: Problem | undefined): string {
  return problem ? `Problem: ${title}` : title;
}

/** The problem's text, under the id that `field` refers to. */
export function alert(problem: Problem | undefined): Html | undefined {
  return (
    problem && html`<div class="problem" role="alert">${WARNING}<span id="problem">${problem.message}</span></div>`
  );
}

const WARNING = html`<svg viewBox="0 0 20 20" aria-hidden="true"><path d="M10 1a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm1 13.5H9v-2h2zm0-4H9v-5h2z"/></svg>`;

export interface Field {
  name: string;
  label: string;
  type: 'text' | 'password';
  autocomplete: 'username' | 'current-password' | 'new-password' | 'one-time-code' | 'off';
  value?: string | undefined;
  hint?: string;
  problem?: Problem | undefined;
  autofocus?: boolean;
}

/** A required field. */
export function field({ name, label, type, autocomplete, value, hint, problem, autofocus }: Field): Html {
  const isInvalid = problem && (!problem.fields || problem.fields.includes(name));
  const described = [isInvalid ? 'problem' : '', hint ? `${name}-hint` : ''].filter(Boolean).join(' ');
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${EXTRA[autocomplete]}${
    value ? html` value="${value}"` : undefined
  } required${isInvalid ? html` aria-invalid="true"` : undefined}${
    described ? html` aria-describedby="${described}"` : undefined
  }${autofocus ? html` autofocus` : undefined}>
${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>\n` : undefined}</div>`;
}

/** Phone keyboards must not autocorrect names, and must show digits for a code. */
const EXTRA: Partial<Record<Field['autocomplete'], Html>> = {
  username: html` autocapitalize="none" autocorrect="off" spellcheck="false"`,
  'one-time-code': html` class="code" inputmode="numeric" spellcheck="false"`,
  off: html` class="code" autocapitalize="characters" autocorrect="off" spellcheck="false"`,
};

/**
 * The two fields of a new password.
 * @param rules for it, shown before the user types
 */
export function newPasswordFields(rules: string, problem: Problem | undefined): Html {
  const both = { type: 'password', autocomplete: 'new-password', problem } as const;
  return html`${field({ ...both, name: 'password', label: 'New password', hint: rules, autofocus: true })}
${field({ ...both, name: 'repeated', label: 'Repeat new password' })}`;
}

export function hidden(values: Record<string, string>): Html {
  const inputs = Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  return html`${inputs}`;
}
