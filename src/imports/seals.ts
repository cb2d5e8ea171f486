/** What the secrets of an item are bound to, so that none can be opened as another. */

/** A plain password, until a worker has hashed it. */
export const PASSWORD_SEAL = 'import-password';
