/**
 * The optional fields that an entry omits. Intake fills them with the defaults of a new user. An update of an existing
 * user keeps their current values, and finds the user of an entry without an id by user name.
 */
import type { PendingItem } from '../items.ts';

/** The optional fields and where to find them: the first two in the entry itself, the others in its `user`. */
const OPTIONAL = {
  userId: (entry: Part) => entry.userId,
  state: (entry: Part) => entry.state,
  userName: (_: Part, user: Part) => user.userName,
  nickName: (_: Part, user: Part) => inside(user.profile).nickName,
  // An empty display name counts as omitted: it is derived from the first and last name.
  displayName: (_: Part, user: Part) => inside(user.profile).displayName || undefined,
  preferredLanguage: (_: Part, user: Part) => inside(user.profile).preferredLanguage,
  gender: (_: Part, user: Part) => inside(user.profile).gender,
  // An import may allow users without an email address; an existing user keeps theirs.
  email: (_: Part, user: Part) => inside(user.email).email || undefined,
  isEmailVerified: (_: Part, user: Part) => inside(user.email).isEmailVerified,
  // A number that is empty counts as omitted: it means that there is none.
  phone: (_: Part, user: Part) => inside(user.phone).phone || undefined,
  isPhoneVerified: (_: Part, user: Part) => inside(user.phone).isPhoneVerified,
  passwordChangeRequired: (_: Part, user: Part) => user.passwordChangeRequired,
};

type Part = Record<string, unknown>;
export type OmittedField = keyof typeof OPTIONAL;

/**
 * Records in the item which fields its entry omits.
 * @param entry a valid entry with camelCase names
 */
export function noteOmitted(entry: unknown, item: PendingItem): void {
  const user = inside(inside(entry).user);
  const omitted = (Object.keys(OPTIONAL) as OmittedField[]).filter(
    (field) => OPTIONAL[field](inside(entry), user) === undefined,
  );
  if (omitted.length > 0) item.extras = { ...(item.extras ?? { metadata: [], idps: [] }), unsaid: omitted };
}

function inside(value: unknown): Part {
  return typeof value === 'object' && value !== null ? (value as Part) : {};
}
