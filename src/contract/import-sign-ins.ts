/**
 * What the API returns about how the users of an import sign in, and who has signed in since, as schemas. The ways,
 * causes and changes are in sign-in.ts, which loads no zod.
 */
import { z } from 'zod';
import { CAUSES, CHANGES, type SignIn, type SignInCounts, WAYS, type Way } from './sign-in.ts';

const count = z.int().meta({ minimum: 0 });
const keysOf = <K extends string>(sentences: Readonly<Record<K, string>>) => Object.keys(sentences) as [K, ...K[]];

/** The prediction for one user. */
export const signIn: z.ZodType<SignIn, SignIn> = z
  .object({
    way: z.enum(WAYS),
    cause: z.enum(keysOf(CAUSES)).optional().meta({ description: 'Absent where the user signs in as before.' }),
    changes: z.array(z.enum(keysOf(CHANGES))),
  })
  .meta({ id: 'ImportSignIn', description: 'How the user signs in after the import, and what is different then.' });

/** The predictions of an import, counted. */
export const signInCounts: z.ZodType<SignInCounts, SignInCounts> = z
  .object({
    ways: z
      .object(Object.fromEntries(WAYS.map((way) => [way, count])) as Record<Way, typeof count>)
      .meta({ description: 'They add up to the users that are imported or can be.' }),
    causes: z.partialRecord(z.enum(keysOf(CAUSES)), count),
    causesByWay: z
      .partialRecord(z.enum(WAYS), z.partialRecord(z.enum(keysOf(CAUSES)), count))
      .meta({ description: 'The causes of the users of each way that has some.' }),
    changes: z.partialRecord(z.enum(keysOf(CHANGES)), count),
    links: z
      .array(
        z.object({
          name: z.string(),
          users: count,
          preset: z
            .string()
            .optional()
            .meta({ description: 'The type of provider to add; it has this name as an alias.' }),
        }),
      )
      .optional()
      .meta({
        description:
          'The names under which users have links that lead to no enabled provider, those of most users first; at most ' +
          '50. Absent: none.',
      }),
    passkeys: z
      .array(z.object({ rpId: z.string(), passkeys: count, works: z.boolean() }))
      .optional()
      .meta({
        description:
          'Passkeys and security keys by the domain that they were made for, those of most first; at most 50. They work ' +
          'for the domain of this service alone. Absent: none.',
      }),
    moreLinks: count.optional().meta({ description: 'How many further such names there are.' }),
  })
  .meta({ id: 'ImportSignInCounts' });

const signInsByWay = z.partialRecord(z.enum(WAYS), count);
/** Who has signed in since. */
export const signIns = z
  .object({
    signedIn: count.meta({ description: 'Users whom the import created and who have signed in since.' }),
    notYet: count.meta({ description: 'The others of them; users that an undo removed do not count.' }),
    ways: signInsByWay.meta({ description: 'The users by the way of their first sign-in.' }),
    days: z
      .array(z.object({ day: z.iso.date(), ways: signInsByWay }))
      .meta({ description: 'By the day of the first sign-in (UTC), days without one left out, oldest first.' }),
    mails: z
      .object({
        askedAt: z.iso.datetime().meta({ description: 'When somebody asked for them last.' }),
        state: z.enum(['WRITING', 'WRITTEN', 'STOPPED']).meta({
          description:
            '`STOPPED`: before all were written, whoever asked lost the right to do so, or the import ran again or was undone.',
        }),
        users: count.meta({ description: 'Mails that were written, of all times that somebody asked.' }),
        sent: count,
        failed: count,
      })
      .optional()
      .meta({ description: 'The mails of `_send_sign_in_mails`; absent if nobody has asked for them.' }),
  })
  .meta({ id: 'ImportSignIns' });
