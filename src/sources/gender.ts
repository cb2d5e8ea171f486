/** Gender as OpenID Connect's claim has it (Core 1.0 section 5.1): free text, of which two words are foreseen. */
import type { Person } from './person.ts';

/** What is neither of the two words is left out. */
export function genderOf(text: string | undefined): Person['gender'] {
  const word = text?.toLowerCase();
  if (word === 'female') return 'GENDER_FEMALE';
  return word === 'male' ? 'GENDER_MALE' : undefined;
}
