/** The purpose each secret of an item is encrypted for, so that none can be decrypted as another. */

/** A plain password until a worker has hashed it. */
export const PASSWORD_SEAL = 'import-password';
/** An invalid entry as a whole, until it is corrected or erased. */
export const ENTRY_SEAL = 'import-entry';
/** The key of an uploaded file's pieces, until the draft is started or erased. */
export const FILE_KEY_SEAL = 'import-file-key';
