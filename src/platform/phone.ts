/**
 * Phone numbers as people and programs set them: a global number of RFC 3966, stored as E.164.
 *
 * A number is valid if its country code exists and its length is one of that country's. Whether the number range is in
 * use is not checked: numbering plans change faster than any library's tables, and the code sent to it proves it.
 * Imports store phone numbers unchanged; numbers are compared by their key (`phone_key` in the database). Everywhere, a number that is null or empty means that there is none.
 */
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import { z } from 'zod';
import { requiredText } from './fields.ts';

/** `global-number-digits` of RFC 3966 section 3 with its visual separators, and with spaces, as people write them. */
const GLOBAL_NUMBER = /^(?:tel:)?(\+[-.() ]*[0-9][-.() 0-9]*)$/i;
/** E.164 allows at most 15 digits; the number lengths of some countries are longer. */
const E164 = /^\+[0-9]{2,15}$/;

/** Turns `+41 79 123-45-67` or `tel:+41791234567` into `+41791234567`; undefined for anything else, also extensions. */
export function e164(phone: string): string | undefined {
  const digits = GLOBAL_NUMBER.exec(phone)?.[1]?.replace(/[^+0-9]/g, '');
  if (digits === undefined) return undefined;
  const parsed = parsePhoneNumberFromString(digits, { extract: false });
  return parsed?.isPossible() && E164.test(parsed.number) ? parsed.number : undefined;
}

/**
 * The number with which a user may sign in whose number is stored as this text; undefined: with none. It is the key of the
 * text too, which alone the database knows: where that leaves a 0 that is no part of the number, there is none.
 */
export function signInNumber(phone: string): string | undefined {
  const number = e164(phone);
  return number === phone || number === phone.replaceAll('(0)', '').replace(/[^+0-9]/g, '') ? number : undefined;
}

/** Longer texts are no numbers that anybody types. */
const MOST_TYPED = 40;

/** The number that somebody typed to sign in, also with `00` in front instead of `+`, as E.164; undefined for other texts. */
export function typedNumber(text: string): string | undefined {
  const typed = text.trim().replace(/^[( ]*(?:\+|00)/, '+');
  return typed.length > MOST_TYPED ? undefined : e164(typed);
}

/** A phone number of at most `max` code points. */
export function mobileNumber(max: number) {
  return requiredText(max)
    .meta({ examples: ['+41791234567'] })
    .transform((phone, ctx) => {
      const normal = e164(phone);
      if (normal !== undefined) return normal;
      ctx.addIssue({ code: 'custom', message: 'must be a phone number such as +41791234567' });
      return z.NEVER;
    });
}

/** The optional `phone` of a user, an object with the field `phone`: undefined if that is absent, null or empty. */
export function phoneIfAny<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (isNone(value) ? undefined : value), schema.optional()).optional();
}

function isNone(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { phone } = value as { phone?: unknown };
  return phone === undefined || phone === null || phone === '';
}
