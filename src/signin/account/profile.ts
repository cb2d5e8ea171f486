/**
 * The names and the language of a person, which they change without a recent sign-in: nothing is signed in with them.
 * The language is one that there is a catalogue for, or what is stored already.
 */
import { profileChange } from '../../contract/humans.ts';
import { findUser } from '../../directory/users/store.ts';
import { transaction } from '../../platform/db/pool.ts';
import { described, field, type Problem, remarks, text } from '../../platform/html/forms.ts';
import { keepLanguage } from '../../platform/html/languages.ts';
import {
  currentLanguage,
  isLanguage,
  LANGUAGES,
  type Language,
  type MessageKey,
  nameOf,
  say,
} from '../../platform/messages/catalogue.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { changeProfile } from '../credentials/human.ts';
import { type Content, FormProblem, opening, type Section, stillThere, type Visit } from './section.ts';

export const PROFILE: Section = {
  path: 'profile',
  title: 'account.profile',
  needsRecent: false,
  show,
  steps: { save },
  harmless: new Set(['save']),
  said: { saved: 'account.profileSaved' },
};

const NAMES = ['givenName', 'familyName', 'nickName', 'displayName'] as const;
/** What a name is called, and what is wrong with it. */
const MESSAGES = {
  givenName: { label: 'account.givenName', invalid: 'account.givenNameInvalid' },
  familyName: { label: 'account.familyName', invalid: 'account.familyNameInvalid' },
  nickName: { label: 'account.nickName', invalid: 'account.nickNameInvalid' },
  displayName: { label: 'account.displayName', invalid: 'account.displayNameInvalid' },
} as const satisfies Record<(typeof NAMES)[number], Record<string, MessageKey>>;
/** The order of the fields where the family name comes first. */
const FAMILY_NAME_FIRST = ['familyName', 'givenName', 'nickName', 'displayName'] as const;
const FAMILY_FIRST_LANGUAGES: ReadonlySet<Language> = new Set(['ja', 'zh']);
const OPTIONAL: ReadonlySet<string> = new Set(['nickName', 'displayName']);
const MOST_CHARACTERS = 200;
const LANGUAGE = 'preferredLanguage';

async function show(visit: Visit, problem?: Problem): Promise<Content> {
  const { req, person } = visit;
  const sent = req.method === 'POST';
  const value = (name: (typeof NAMES)[number] | typeof LANGUAGE) =>
    sent ? text(req.body, name) : (person.user[name] ?? '');
  const names = FAMILY_FIRST_LANGUAGES.has(currentLanguage()) ? FAMILY_NAME_FIRST : NAMES;
  const body = html`${opening(visit, PROFILE.path, { step: 'save' })}
${names.map((name) => field({ problem, name, label: say(MESSAGES[name].label), value: value(name), isOptional: OPTIONAL.has(name), ...(name === 'displayName' ? { hint: say('account.displayNameHint') } : {}) }))}
${languageField(value(LANGUAGE), person.user.preferredLanguage ?? '', problem)}
<button type="submit">${say('common.save')}</button>
</form>`;
  return { body };
}

function languageField(chosen: string, stored: string, problem: Problem | undefined): Html {
  const of = { name: LANGUAGE, hint: say('account.languageHint'), problem };
  const tags = new Set<string>(['', ...LANGUAGES, stored]);
  const options = [...tags].map(
    (tag) =>
      html`<option value="${tag}"${tag === chosen ? html` selected` : undefined}${tag && html` lang="${tag}"`}>${tag === '' ? say('account.noLanguage') : nameOf(tag)}</option>\n`,
  );
  return html`<div class="field">
<label for="${LANGUAGE}">${say('account.language')}</label>
<select class="choice" id="${LANGUAGE}" name="${LANGUAGE}"${described(of)}>
${options}</select>
${remarks(of)}</div>`;
}

async function save({ deps, req, res, person }: Visit): Promise<string> {
  const change = profileOf(req.body);
  const { preferredLanguage: language } = change;
  await transaction(deps.pool, async (db) => {
    const user = stillThere(await findUser(db, person.user.id, 'for update'));
    await changeProfile(db, user, change, user.id);
  });
  // Pages before the next sign-in do not know whose they are; a choice that stays may be older than that of the list.
  if (isLanguage(language) && language !== person.user.preferredLanguage) {
    keepLanguage(res, deps.config.baseUrl, language);
  }
  return 'saved';
}

function profileOf(form: unknown) {
  const given = Object.fromEntries([...NAMES, LANGUAGE].map((name) => [name, text(form, name).trim()]));
  const read = profileChange.safeParse(given);
  if (read.success) return read.data;
  const wrong = read.error.issues[0]?.path[0];
  const name = NAMES.find((one) => one === wrong);
  throw new FormProblem(
    name === undefined
      ? { message: say('account.languageInvalid'), fields: [LANGUAGE] }
      : { message: say(MESSAGES[name].invalid, { most: MOST_CHARACTERS }), fields: [name] },
  );
}
