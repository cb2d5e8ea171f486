/**
 * The building blocks of forms, and what is read from a form that was sent.
 *
 * Guarantee: every field has a label; a problem comes first in the title, is shown at the top of the page, and is
 * linked to the fields it is about.
 */
import express from 'express';
import { say } from '../messages/catalogue.ts';
import { type Html, html } from '../text/html.ts';

/** Reads a form. The limit leaves room for two passwords of 200 code points, names and a proof, percent-encoded. */
export const readForm = express.urlencoded({ extended: false, inflate: false, limit: 16 * 1024 });

/** Reads a form of long texts; percent-encoding makes a text up to nine times as long as its code points. */
export const readLongForm = express.urlencoded({ extended: false, inflate: false, limit: 128 * 1024 });

/** A field of a form or a parameter of a query; empty when it is missing or repeated. */
export function text(source: unknown, name: string): string {
  const value = (source as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

/** What is wrong with the submitted form. */
export interface Problem {
  message: string;
  /** Names of the fields it is about; absent: all fields of the form. */
  fields?: readonly string[];
}

/** Screen readers read the title first. */
export function titled(title: string, problem: Problem | undefined): string {
  return problem ? say('common.problemTitle', { title }) : title;
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
  /** Default: `text`. */
  type?: string;
  /** Default: `off`. */
  autocomplete?:
    | 'username'
    | 'username webauthn'
    | 'current-password'
    | 'new-password'
    | 'one-time-code'
    | 'email'
    | 'tel'
    | 'off';
  value?: string | undefined;
  hint?: string;
  /** What is wrong with the form; it is shown under the id `problem`. */
  problem?: Problem | undefined;
  /** What is wrong with this field, to be shown below it. */
  wrong?: string | undefined;
  isOptional?: boolean;
  /** The value is copied from another screen or a letter. */
  isCode?: boolean;
  autofocus?: boolean;
  /** Further attributes of the input. */
  more?: Html;
}

/** A field, with its hint and what is wrong with it. */
export function field(of: Field): Html {
  const { name, label, type = 'text', autocomplete = 'off', value } = of;
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}"${keyboard(autocomplete, of.isCode)}${
    value ? html` value="${value}"` : undefined
  }${of.isOptional ? undefined : html` required`}${described(of)}${of.autofocus ? html` autofocus` : undefined}${of.more}>
${remarks(of)}</div>`;
}

/** Phone keyboards must not autocorrect names, and must show digits for a code. */
function keyboard(autocomplete: Field['autocomplete'], isCode: boolean | undefined): Html | undefined {
  if (autocomplete?.startsWith('username')) return html` autocapitalize="none" autocorrect="off" spellcheck="false"`;
  if (autocomplete === 'one-time-code') return html` class="code" inputmode="numeric" spellcheck="false"`;
  return isCode ? html` class="code" autocapitalize="characters" autocorrect="off" spellcheck="false"` : undefined;
}

export type Remarks = Pick<Field, 'name' | 'hint' | 'problem' | 'wrong'>;

/** The attributes of an input that lead to what is said about it by `alert` and `remarks`. */
export function described({ name, hint, problem, wrong }: Remarks): Html {
  const isAbout = problem && (!problem.fields || problem.fields.includes(name));
  const ids = [isAbout && 'problem', wrong && `${name}-wrong`, hint && `${name}-hint`].filter(Boolean).join(' ');
  return html`${isAbout || wrong ? html` aria-invalid="true"` : undefined}${ids && html` aria-describedby="${ids}"`}`;
}

/** The hint of a field, and what is wrong with it. */
export function remarks({ name, hint, wrong }: Remarks): Html {
  return html`${hint && html`<p class="hint" id="${name}-hint">${hint}</p>\n`}${wrong && html`<p class="wrong" id="${name}-wrong">${wrong}</p>\n`}`;
}

/** What a form sends without showing it. */
export function hidden(values: Readonly<Record<string, string>>): Html {
  const inputs = Object.entries(values).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`,
  );
  return html`${inputs}`;
}
