/**
 * One user in a form that is independent of the source system. `entry.ts` makes an entry of an import from it.
 */

/** Fields that the export does not hold are absent; `entry.ts` fills in names and nothing else. */
export interface Person {
  /** The user's organization, where the export names it; `--org` takes precedence. */
  orgId?: string | undefined;
  /** As in the other system, including characters such as `|`. */
  userId?: string | undefined;
  /** Absent: the email address is used. */
  userName?: string | undefined;
  email?: string | undefined;
  /** Absent when the export does not say: counts as unverified, with the note `EMAIL-UNSAID`. */
  emailVerified?: boolean | undefined;
  firstName?: string | undefined;
  lastName?: string | undefined;
  displayName?: string | undefined;
  nickName?: string | undefined;
  /** `de`, `fr-CH`, `pt_BR`. */
  language?: string | undefined;
  gender?: 'GENDER_FEMALE' | 'GENDER_MALE' | 'GENDER_DIVERSE' | undefined;
  phone?: string | undefined;
  phoneVerified?: boolean | undefined;
  /** Absent: active. */
  state?: 'active' | 'inactive' | 'locked' | undefined;
  /** A plain password. */
  password?: string | undefined;
  /** Modular Crypt Format, or any other text of a scheme that docs/passwords.md lists. */
  hash?: string | undefined;
  passwordChangeRequired?: boolean | undefined;
  /** Secret of a second factor: base32 or an otpauth://totp/ address. */
  totp?: string | undefined;
  /** Texts and bytes are kept as they are, everything else as JSON; undefined, null and '' are left out. */
  metadata?: Record<string, unknown> | undefined;
  links?: ProviderLink[] | undefined;
  /** What the person who converts should know about this user, in addition to the notes of `entry.ts`. */
  notes?: Note[] | undefined;
}

/** The user's account at an external identity provider. */
export interface ProviderLink {
  /** The provider's name in the other system, such as `google-oauth2`. */
  provider: string;
  externalUserId: string;
  displayName?: string | undefined;
}

/** Something that was changed or dropped. */
export interface Note {
  /** Stable, in capitals: `PHONE-NOT-E164`. Notes are counted by id. */
  id: string;
  /** One sentence that is the same for every user with this id; no personal data. */
  message: string;
}

/** A record of the export that is not a user to import, such as a deleted one. */
export interface Skipped {
  /** One sentence, the same for all records that are skipped for this reason. */
  skip: string;
}
