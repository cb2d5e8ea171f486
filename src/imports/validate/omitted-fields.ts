/**
 * What an entry leaves open. Intake fills such fields with what a new user gets; an update of a user who exists leaves
 * them as they are, and finds who sent no id by the name.
 */
import type { PendingItem } from '../items.ts';

/** Fields that may be left open, as they stand in an entry below `user` or, the first two, beside it. */
const OPTIONAL = {
  userId: (entry: Part) => entry.userId,
  state: (entry: Part) => entry.state,
  userName: (_: Part, user: Part) => user.userName,
  nickName: (_: Part, user: Part) => inside(user.profile).nickName,
  // Empty, it is made from the names.
  displayName: (_: Part, user: Part) => inside(user.profile).displayName || undefined,
  preferredLanguage: (_: Part, user: Part) => inside(user.profile).preferredLanguage,
  gender: (_: Part, user: Part) => inside(user.profile).gender,
  isEmailVerified: (_: Part, user: Part) => inside(user.email).isEmailVerified,
  phone: (_: Part, user: Part) => user.phone,
  isPhoneVerified: (_: Part, user: Part) => inside(user.phone).isPhoneVerified,
  passwordChangeRequired: (_: Part, user: Part) => user.passwordChangeRequired,
};

type Part = Record<string, unknown>;
export type OmittedField = keyof typeof OPTIONAL;

/**
 * Notes in the item which fields its entry leaves open.
 * @param entry a valid one, with its fields renamed
 */
export function noteOmitted(entry: unknown, item: PendingItem): void {
  const user = inside(inside(entry).user);
  const unsaid = (Object.keys(OPTIONAL) as OmittedField[]).filter(
    (field) => OPTIONAL[field](inside(entry), user) === undefined,
  );
  if (unsaid.length > 0) item.extras = { ...(item.extras ?? { metadata: [], idps: [] }), unsaid };
}

function inside(value: unknown): Part {
  return typeof value === 'object' && value !== null ? (value as Part) : {};
}
