/** Request bodies for the end of logins. */
import { z } from 'zod';
import { ownerProof } from '../login/owner-proof.ts';

export const endLoginBody = ownerProof;

export const endLoginsBody = ownerProof.extend({
  keepCurrent: z.boolean('must be true or false').default(false).meta({
    description:
      'Keep the application and the browser of this call. Refused with the token of a program, which has no login.',
  }),
});
