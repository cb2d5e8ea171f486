/**
 * What a converter says of one user in plain words, whatever system it came from. `entry.ts` makes an import's entry of it.
 */

/** What the export does not hold stays out; `entry.ts` fills in names and nothing else. */
export interface Person {
  /** The user's organization, where the export says so; `--org` goes before it. */
  orgId?: string | undefined;
  /** As it is in the other system, `|` and all. */
  userId?: string | undefined;
  /** Absent: the address. */
  userName?: string | undefined;
  email?: string | undefined;
  /** Absent when the export does not say: taken as not verified, with the note `EMAIL-UNSAID`. */
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
  /** Texts and bytes are kept as they are, everything else as JSON; what is undefined, null or '' is left out. */
  metadata?: Record<string, unknown> | undefined;
  links?: ProviderLink[] | undefined;
  /** What its owner should know of this user, apart from what `entry.ts` notes by itself. */
  notes?: Note[] | undefined;
}

/** The user at an outside identity provider. */
export interface ProviderLink {
  /** The provider's name in the other system, such as `google-oauth2`. */
  provider: string;
  externalUserId: string;
  displayName?: string | undefined;
}

/** Something that was changed or dropped. */
export interface Note {
  /** Stable, in capitals: `PHONE-NOT-E164`. Notes are counted by it. */
  id: string;
  /** One sentence that is the same for every user with this id; no personal data. */
  message: string;
}

/** A record of the export that is no user to take over, such as one that was deleted. */
export interface Skipped {
  /** One sentence, the same for all that are skipped for this reason. */
  skip: string;
}
