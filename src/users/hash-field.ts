/** The field for a password hash: its length limit, which depends on the scheme, and whether a login can verify it. */
import { z } from 'zod';
import { textProblem } from '../fields/fields.ts';
import { HASH_MAX, hashProblem, longestHash } from '../passwords/registry.ts';

const ABOUT = `A hash of one of the schemes of docs/passwords.md. At most 200 characters; only one that begins with \`$fbscrypt$\` may have up to ${HASH_MAX}.`;

/** A text no longer than its scheme allows. */
export function hashText() {
  return z
    .string({ error: (i) => (i.input === undefined ? 'is required' : 'must be a string') })
    .superRefine((hash, ctx) => {
      const problem = lengthProblem(hash);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ minLength: 1, maxLength: HASH_MAX, description: ABOUT });
}

/** A hash that a login will be able to verify. */
export function verifiableHash() {
  return hashText()
    .superRefine((hash, ctx) => {
      const problem = lengthProblem(hash) ? undefined : hashProblem(hash);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ examples: ['$2b$10$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW'] });
}

function lengthProblem(hash: string): string | undefined {
  return hash === '' ? 'must not be empty' : textProblem(hash, longestHash(hash));
}
