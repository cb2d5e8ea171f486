/**
 * What the sections of `/account` share: how one is described, how its page looks, and how its forms are answered.
 *
 * Guarantee: every form is sent by POST and works without JavaScript. A form that is refused is shown again with the
 * reason; one that is done leads to the page by a redirect, so that reloading sends nothing twice.
 */
import type { Request, Response } from 'express';
import type { User } from '../../directory/users/store.ts';
import { ApiError, invalidArgument } from '../../platform/errors.ts';
import { text as line } from '../../platform/fields.ts';
import { alert, hidden, type Problem, text, titled } from '../../platform/html/forms.ts';
import { type PageOptions, sendPage } from '../../platform/html/layout.ts';
import { timesScript } from '../../platform/html/times.ts';
import { type MessageKey, say, type Values } from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import { type AccountDeps, accountUrl, askToSignIn, isRecent, type Person, tokenOf } from './person.ts';

/** One request of a person for a page of their account. */
export interface Visit {
  deps: AccountDeps;
  req: Request;
  res: Response;
  person: Person;
}

/** What a page shows below its heading. */
export interface Content {
  body: Html;
  /** As those of `HtmlPage`. */
  scripts?: readonly string[];
  options?: PageOptions;
}

/** A page of the account with its forms. */
export interface Section {
  /** Below `/account`; empty: the first page. */
  path: string;
  title: MessageKey;
  /** Its forms change how the person signs in: see ../factors/lost.ts. */
  isDoor?: true;
  /** The page is shown only after a recent sign-in. */
  needsRecent: boolean;
  /** @param problem of the form that was sent */
  show(visit: Visit, problem?: Problem): Promise<Content>;
  /** What the forms do, by their field `step`; the result is a key of `said`. */
  steps: Readonly<Record<string, (visit: Visit) => Promise<string | undefined>>>;
  /** Steps for which a sign-in of any age is enough. */
  harmless?: ReadonlySet<string>;
  /** What was done, by the word that a step returned. */
  said?: Readonly<Record<string, MessageKey>>;
  /** What is wrong with a form, by the id of the error; others are pages of errors. */
  problems?: KnownProblems;
}

/** What a page says about an error, by its id. */
export type KnownProblems = Readonly<
  Record<string, { message: MessageKey; values?: Values; fields: readonly string[] }>
>;

/** Shows the page. @param problem of the form that was sent */
export async function showSection(visit: Visit, section: Section, problem?: Problem): Promise<void> {
  const { req, res, deps } = visit;
  const { body, options, scripts } = await section.show(visit, problem);
  const done = problem ? undefined : ownValue(section.said ?? {}, text(req.query, 'done'));
  const title = say(section.title);
  const page = html`${section.path === '' ? undefined : html`<p class="up"><a href="${accountUrl(deps.config, '')}">${say('account.title')}</a></p>\n`}<h1>${title}</h1>
${done && html`<p class="done" role="status">${say(done)}</p>`}
${alert(problem)}
${body}`;
  sendPage(
    res,
    problem ? 400 : 200,
    {
      title: titled(title, problem),
      body: page,
      scripts: [timesScript(deps.config.baseUrl), ...(scripts ?? [])],
      // What a form shows at once, such as new codes, is shown only now.
      ...(req.method === 'POST' && !problem ? { reopenedBy: 'nothing' } : {}),
    },
    { ...options, isWide: true },
  );
}

/** Answers a form of the section, whose token was checked. */
export async function answerForm(visit: Visit, section: Section): Promise<void> {
  const { req, res, deps, person } = visit;
  const name = text(req.body, 'step');
  const step = ownValue(section.steps, name);
  if (!step) throw new ApiError('INVALID_ARGUMENT', 'PAGE-STEP', 'The form has an unknown step.');
  if (!section.harmless?.has(name) && !isRecent(person)) return askToSignIn(deps, res, section.path, true);
  let done: string | undefined;
  try {
    done = await step(visit);
  } catch (error) {
    const problem = problemOf(section, error);
    if (!problem) throw error;
    return showSection(visit, section, problem);
  }
  if (res.headersSent) return;
  res.redirect(303, accountUrl(deps.config, section.path) + (done ? `?done=${done}` : ''));
}

const PROBLEMS: KnownProblems = {
  'MAIL-LIMIT': { message: 'account.tooManyMessages', fields: [] },
  'RATE-LIMIT': { message: 'account.tooManyChanges', fields: [] },
  'SESSION-FAILURES': { message: 'account.tooManyWrongPasswords', fields: ['currentPassword'] },
};

/** A problem that a step finds itself. */
export class FormProblem extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

function problemOf({ problems = {} }: Section, error: unknown): Problem | undefined {
  if (error instanceof FormProblem) return error.problem;
  if (!(error instanceof ApiError)) return undefined;
  const known = ownValue(problems, error.id) ?? ownValue(PROBLEMS, error.id);
  return known && { message: say(known.message, known.values), fields: known.fields };
}

/** The opening of a form of a section. @param section its path @param more attributes of the form */
export function opening({ deps, person }: Visit, section: string, values: Record<string, string>, more?: Html): Html {
  return html`<form method="post" action="${accountUrl(deps.config, section)}"${more}>
${hidden({ token: tokenOf(deps.secrets, person), ...values })}`;
}

/** A form that is one button. @param about what it acts on, for those who hear the page */
export function buttonForm(
  visit: Visit,
  section: string,
  values: Record<string, string>,
  { label, about, look = 'quiet' }: { label: string; about?: string; look?: string },
): Html {
  return html`${opening(visit, section, values)}<button type="submit" class="${look}"${about && html` aria-label="${say('common.buttonAbout', { button: label, about })}"`}>${label}</button>
</form>`;
}

/** Attributes of the field for a name. */
export const LONGEST_NAME = html` maxlength="100"`;
const MOST_CHARACTERS = 100;
const name = line(MOST_CHARACTERS);

/** The name that a person gave to one of several things; it may be empty. @param of the name of its field */
export function givenName(form: unknown, of: string): string {
  const read = name.safeParse(text(form, of).trim());
  if (read.success) return read.data;
  throw new FormProblem({ message: say('account.nameTooLong', { most: MOST_CHARACTERS }), fields: [of] });
}

/** The user as they are now, whose row is locked. */
export function stillThere(user: User | undefined): User {
  if (user?.state !== 'active') throw invalidArgument('PAGE-STEP', 'The user is not active any more.');
  return user;
}
