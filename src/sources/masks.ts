/** Texts that programs write in place of a password. They are nobody's password: everybody knows them. */

const REPEATED = /^([*•●∙·⚫█▪#xX?._\-–—])\1{2,}$/u;
const WORD = /^(?:[[<({*]+ *)?(?:redacted|masked|hidden|removed|filtered|protected)(?: *[\])}>*]+)?$/i;

export function isMask(password: string): boolean {
  const text = password.trim();
  return REPEATED.test(text) || WORD.test(text);
}
