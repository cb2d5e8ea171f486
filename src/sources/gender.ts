/**
 * Reads OpenID Connect's `gender` claim (Core 1.0 section 5.1): free text, for which the standard defines two values.
 */
import type { Person } from './person.ts';

/** Any other text gives undefined. */
export function genderOf(text: string | undefined): Person['gender'] {
  const word = text?.toLowerCase();
  if (word === 'female') return 'GENDER_FEMALE';
  return word === 'male' ? 'GENDER_MALE' : undefined;
}
