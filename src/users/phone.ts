/** Phone numbers as set-up takes them: a global number of RFC 3966, kept in the form of E.164. */
import { z } from 'zod';
import { requiredText } from './fields.ts';

/** E.164: at most 15 digits; no number in use is shorter than 4. */
const E164 = /^\+[0-9]{4,15}$/;

/**
 * `+41 79 123-45-67` or `tel:+41791234567` to `+41791234567`; undefined for anything else.
 * The visual separators of RFC 3966 section 5.1.1 may stand in it, and spaces, as people write them.
 */
export function e164(phone: string): string | undefined {
  const digits = phone.replace(/^tel:/i, '').replace(/[-.() ]/g, '');
  return E164.test(digits) ? digits : undefined;
}

/** A phone number of at most `max` code points. */
export function mobileNumber(max: number) {
  return requiredText(max).transform((phone, ctx) => {
    const normal = e164(phone);
    if (normal !== undefined) return normal;
    ctx.addIssue({ code: 'custom', message: 'must be a phone number such as +41791234567' });
    return z.NEVER;
  });
}
