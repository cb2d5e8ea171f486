/** Notes about what a conversion changed or dropped, and those of factors that cannot come along. */

/** Something that was changed or dropped. */
export interface Note {
  /** Stable, in capitals: `PHONE-NOT-E164`. Notes are counted by id. */
  id: string;
  /** One sentence that is the same for every user with this id; no personal data. */
  message: string;
}

export const SECOND_FACTOR_LOST: Note = {
  id: 'SECOND-FACTOR-LOST',
  message:
    'The user has a second factor whose secret is not in the export, or which has no counterpart here; it is dropped.',
};
export const PASSKEY_LOST: Note = {
  id: 'PASSKEY-LOST',
  message: 'The user has a passkey, which cannot be imported; it is dropped.',
};
export const RECOVERY_CODES_LOST: Note = {
  id: 'RECOVERY-CODES-LOST',
  message: 'The user has recovery codes, which cannot be imported; they are dropped.',
};
export const PASSKEY_HOST_UNKNOWN: Note = {
  id: 'PASSKEY-HOST-UNKNOWN',
  message:
    'The export does not say for which host the passkey was made, so it is dropped. Name the host with --passkey-rp-id, such as --passkey-rp-id auth.example.com.',
};
export const RECOVERY_CODES_WEAK: Note = {
  id: 'RECOVERY-CODES-WEAK',
  message:
    'The recovery codes are so short that they can be guessed, or their hashes cannot be verified; they are dropped.',
};
