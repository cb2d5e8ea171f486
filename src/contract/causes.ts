/**
 * Why entries of an import failed, as groups, and the remedies for them: changes that make all entries of a cause
 * valid. A cause is an error id and a field, with the scheme of a password hash or else the message. Pure.
 *
 * Guarantee: a cause comes from the error of an item and from nothing of its entry, so it can hold no secret. A remedy
 * changes the fields that it names and no other.
 */
import { createHash } from 'node:crypto';
import type { ErrorBody, FieldViolation } from '../platform/errors.ts';
import type { Cause } from './import-types.ts';
import type { Remedy } from './remedies.ts';

/** The error of an entry that was corrected and waits for a retry. */
export const FIXED_ID = 'IMPORT-USER-FIXED';

/** The stable id of the error; empty without an error. */
export function errorIdOf(error: ErrorBody | null | undefined): string {
  return error?.details[0]?.id ?? '';
}

/** The invalid fields that the error names. */
export function violationsOf(error: ErrorBody | null | undefined): FieldViolation[] {
  return error?.details.flatMap((d) => d.fieldViolations ?? []) ?? [];
}

/** The causes of one failed item, each once; an entry with several invalid fields has several. */
export function causesOf(error: ErrorBody | null | undefined): Cause[] {
  const id = errorIdOf(error);
  const violations = violationsOf(error);
  if (violations.length === 0) return [causeFrom(id, undefined, error?.message ?? '')];
  const causes = new Map<string, Cause>();
  for (const { field, description } of violations) {
    const cause = causeFrom(id, field.replace(/\[\d+\]/g, '[]'), description);
    causes.set(cause.cause, cause);
  }
  return [...causes.values()];
}

function causeFrom(id: string, field: string | undefined, message: string): Cause {
  const scheme = field === 'user.hashedPassword.value' ? schemeIn(message) : undefined;
  const key = createHash('sha256').update(JSON.stringify([id, field ?? null, scheme ?? message]));
  const found = {
    cause: key.digest('hex').slice(0, 8),
    id,
    ...(field ? { field } : {}),
    ...(scheme ? { scheme } : {}),
  };
  return { ...found, message, remedies: [...remediesFor({ id, field, message })] };
}

/** The scheme that a message of src/passwords/registry.ts names, as `schemeSeen` writes it. */
function schemeIn(message: string): string | undefined {
  const named = /the variant (\$\S+\$) is/.exec(message) ?? /^unknown scheme "(.+)"$/.exec(message);
  if (named) return named[1];
  if (message.startsWith('unknown scheme')) return 'unknown';
  const relative = /^(\S+) is not supported/.exec(message);
  return relative ? `$${relative[1]}$` : /^([^:]{1,40}): /.exec(message)?.[1];
}

/** Remedies that do not change the entry: its user is skipped. */
export const LEAVING_OUT: readonly Remedy[] = ['keep-first', 'leave-out'];

export const EARLIER = 'appears earlier in this import';

/** The remedies that may help entries with this error, the best one first. */
export function remediesFor(of: { id: string; field: string | undefined; message: string }): readonly Remedy[] {
  return [...correcting(of), ...(of.message.includes(EARLIER) ? (['keep-first'] as const) : []), 'leave-out'];
}

function correcting({ id, field, message }: { id: string; field: string | undefined; message: string }): Remedy[] {
  if (id === 'USER-NAME-TAKEN') return ['email-as-user-name'];
  switch (field) {
    case 'user.email':
      return ['user-name-as-email'];
    case 'user.email.email':
      return message === 'is required' ? ['user-name-as-email'] : ['trim-email', 'user-name-as-email'];
    case 'user.userName':
      return ['email-as-user-name'];
    case 'user.hashedPassword':
    case 'user.hashedPassword.value':
      return ['drop-hash'];
    case 'user.profile.firstName':
    case 'user.profile.lastName':
    case 'user.profile.nickName':
    case 'user.profile.displayName':
      return message === TOO_LONG ? ['shorten-name'] : [];
    case 'user.password':
      return message.includes('hashedPassword') ? ['drop-hash'] : [];
    default:
      return [];
  }
}

type Fields = Record<string, unknown>;

/** The field that a remedy sets, for the examples of a dry run. */
export const CHANGED_FIELD: Partial<Record<Remedy, string>> = {
  'trim-email': 'user.email.email',
  'drop-hash': 'user.hashedPassword',
  'email-as-user-name': 'user.userName',
  'user-name-as-email': 'user.email.email',
  'shorten-name': 'user.profile',
};

/** The longest name of a person, and what the validator says of a longer one. */
const LONGEST_NAME = 200;
const TOO_LONG = `must have at most ${LONGEST_NAME} characters`;
const PERSON_NAMES = ['firstName', 'lastName', 'nickName', 'displayName'];

/**
 * The change as a JSON merge patch of the entry; undefined when the remedy cannot help this entry.
 * @param entry the stored entry; anything JSON can hold
 * @param domain of `user-name-as-email`
 */
export function patchOf(remedy: Remedy, entry: unknown, domain: string | undefined): Fields | undefined {
  const user = inside(entry, 'user');
  const { userName } = user;
  const { email } = inside(user, 'email');
  switch (remedy) {
    case 'trim-email': {
      const address = isText(email) ? trimmed(email) : undefined;
      return address === undefined || address === email ? undefined : change({ email: { email: address } });
    }
    case 'drop-hash':
      return change({ hashedPassword: null });
    case 'email-as-user-name':
      return isText(email) && email !== userName ? change({ userName: email }) : undefined;
    case 'user-name-as-email':
      return isText(userName) && domain ? change({ email: { email: addressOf(userName, domain) } }) : undefined;
    case 'shorten-name':
      return withShortNames(inside(user, 'profile'));
    default:
      return undefined;
  }
}

/** Names that are too long end with `…`, at whole characters. */
function withShortNames(profile: Fields): Fields | undefined {
  const long = PERSON_NAMES.flatMap((name): [string, string][] => {
    const value = profile[name];
    return typeof value === 'string' && value.trim().length > LONGEST_NAME ? [[name, shortened(value)]] : [];
  });
  return long.length === 0 ? undefined : change({ profile: Object.fromEntries(long) });
}

function shortened(name: string): string {
  let text = '';
  // Only the beginning, as an entry may have a name of any length.
  for (const { segment } of new Intl.Segmenter().segment(name.trim().slice(0, LONGEST_NAME))) {
    if (text.length + segment.length >= LONGEST_NAME) break;
    text += segment;
  }
  return `${text.trimEnd()}…`;
}

function change(user: Fields): Fields {
  return { user };
}

/** An entry is kept as it was sent, so its address may have any length. */
const LONGEST_TRIMMED = 1000;
const SPACES_BEFORE = /^[\s\p{Cf}]+/u;
/** Marks of direction, zero width spaces and the like. */
const FORMATS = /\p{Cf}/gu;
const SPACES_AFTER = /[\s\p{Cf}]+$/u;

/**
 * The address in lower case without the spaces of any kind, the `mailto:` or the angle brackets around it; undefined
 * for a longer text, as the patterns may take time with the square of its length.
 */
function trimmed(email: string): string | undefined {
  if (email.length > LONGEST_TRIMMED) return undefined;
  const text = email.replace(SPACES_BEFORE, '').replace(SPACES_AFTER, '');
  const address = /^(?:mailto:)?<?(.*?)>?$/isu.exec(text)?.[1] ?? text;
  return address.trim().replace(FORMATS, '').toLowerCase();
}

/** A user name that is an address already is returned as it is. */
function addressOf(userName: string, domain: string): string {
  const name = userName.trim();
  return name.includes('@') ? name : `${name}@${domain}`;
}

function inside(value: unknown, field: string): Fields {
  const found = (value as Fields | null | undefined)?.[field];
  return typeof found === 'object' && found !== null ? (found as Fields) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
