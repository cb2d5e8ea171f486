/** The names and the language of a person, which they change without a recent sign-in: nothing is signed in with them. */
import type { z } from 'zod';
import { profileChange } from '../../contract/humans.ts';
import { findUser } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { field, type Problem, text } from '../../platform/html/forms.ts';
import { html } from '../../platform/html/html.ts';
import { changeProfile } from '../credentials/human.ts';
import { type Content, FormProblem, opening, type Section, stillThere, type Visit } from './section.ts';

export const PROFILE: Section = {
  path: 'profile',
  title: 'Name and language',
  needsRecent: false,
  show,
  steps: { save },
  harmless: new Set(['save']),
  said: { saved: 'Your changes are saved.' },
};

const LABELS = {
  givenName: 'First name',
  familyName: 'Last name',
  nickName: 'Nickname',
  displayName: 'Display name',
  preferredLanguage: 'Language',
} as const;
type Name = keyof typeof LABELS;
const NAMES = Object.keys(LABELS) as Name[];
const OPTIONAL: ReadonlySet<Name> = new Set(['nickName', 'displayName', 'preferredLanguage']);
const HINTS: Partial<Record<Name, string>> = {
  displayName: 'If it is empty, it is your first and last name.',
  preferredLanguage: 'A language tag, such as en, de or pt-BR.',
};

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { req, person } = visit;
  const sent = req.method === 'POST';
  const value = (name: Name) => (sent ? text(req.body, name) : (person.user[name] ?? ''));
  const body = html`${opening(visit, PROFILE.path, { step: 'save' })}
${NAMES.map((name) => field({ problem, name, label: LABELS[name], value: value(name), isOptional: OPTIONAL.has(name), ...(HINTS[name] ? { hint: HINTS[name] } : {}) }))}
<button type="submit">Save</button>
</form>`;
  return { body };
}

async function save({ deps, req, person }: Visit): Promise<string> {
  const change = profileOf(req.body);
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await changeProfile(db, user, change, user.id);
  });
  return 'saved';
}

function profileOf(form: unknown) {
  const given = Object.fromEntries(NAMES.map((name) => [name, text(form, name).trim()]));
  const read = profileChange.safeParse(given);
  if (read.success) return read.data;
  throw new FormProblem(problemOf(read.error));
}

function problemOf(error: z.ZodError): Problem {
  const [issue] = error.issues;
  const name = String(issue?.path[0]) as Name;
  return { message: `${LABELS[name] ?? 'A field'} ${issue?.message ?? 'is not valid'}.`, fields: [name] };
}
