/**
 * SCIM 2.0: users of a list response, as any SCIM service answers `GET /Users`. Passwords are never returned.
 * RFC 7643 (User, section 4.1), RFC 7644 (list responses, section 3.4.2)
 */
import type { Note, Person, Skipped } from '../entry.ts';
import type { ExportFormat, Fields, Missing } from '../source.ts';
import { readSystemState } from '../states.ts';
import { boolAt, fieldNames, objectAt, objectsAt, restOf, textAt } from '../values.ts';

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const KNOWN = fieldNames(`schemas id externalId meta userName name displayName nickName emails phoneNumbers active
  preferredLanguage locale password`);

const NEITHER_LANGUAGE = ['preferredLanguage', 'locale'];
const OTHER_ADDRESSES: Note = {
  id: 'ADDRESS-DROPPED',
  message: 'The user has several addresses or numbers; only the primary one is imported.',
};

/** No service returns them, so nothing can be joined. */
const MISSING: readonly Missing[] = [
  {
    id: 'SCIM-CREDENTIALS',
    what: 'password',
    message: 'SCIM returns no passwords, second factors, passkeys and accounts at providers.',
    remedy:
      'Use an export of the system itself, if docs/sources/README.md lists it, or a password source (docs/password-sources.md).',
    isIn: () => false,
  },
];

export const scim: ExportFormat = {
  name: 'scim',
  title: 'SCIM 2.0',
  missing: MISSING,
  formats: ['json', 'ndjson'],
  jsonPaths: [['Resources', '*']],
  recognizes: (record) => (Array.isArray(record.schemas) && record.schemas.includes(USER) ? 1 : 0),
  converter: () => convert,
};

const STATES = { active: ['active'] };

function convert(record: Fields): Person | Skipped {
  const { state, skip, notes } = readSystemState(record, STATES);
  if (skip !== undefined) return { skip };
  const name = objectAt(record, 'name');
  const [email, phone] = [primaryOf(record, 'emails'), primaryOf(record, 'phoneNumbers')];
  return {
    userId: textAt(record, 'id') ?? textAt(record, 'externalId'),
    userName: textAt(record, 'userName'),
    email: email.value ?? addressOf(textAt(record, 'userName')),
    firstName: textAt(name, 'givenName'),
    lastName: textAt(name, 'familyName'),
    displayName: textAt(record, 'displayName') ?? textAt(name, 'formatted'),
    nickName: textAt(record, 'nickName'),
    language: NEITHER_LANGUAGE.map((key) => textAt(record, key)).find((text) => text !== undefined),
    phone: phone.value,
    state,
    metadata: { externalId: textAt(record, 'externalId'), ...restOf(record, KNOWN) },
    notes: [...notes, ...(email.count > 1 || phone.count > 1 ? [OTHER_ADDRESSES] : [])],
  };
}

/** The one marked `primary`, else the first. A telephone number may be a URI, `tel:+41…` (RFC 3966). */
function primaryOf(record: Fields, key: string): { value: string | undefined; count: number } {
  const all = objectsAt(record, key).filter((one) => textAt(one, 'value') !== undefined);
  const best = all.find((one) => boolAt(one, 'primary') === true) ?? all[0];
  return { value: best && textAt(best, 'value')?.replace(/^tel:/i, ''), count: all.length };
}

function addressOf(userName: string | undefined): string | undefined {
  return userName?.includes('@') ? userName : undefined;
}
