/** Which second mails to an address chaos excuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isExcused } from '../../chaos/check/mails.ts';
import type { Copy } from '../../chaos/stand/smtp.ts';

const mail = (changes: Partial<Copy> = {}): Copy => ({
  to: 'ann@chaos.test',
  messageId: '<mail.1@chaos.test>',
  digest: 'bytes',
  at: 0,
  replied: true,
  sender: 'worker-0',
  ...changes,
});
const calm = { any: () => false };
const died = { any: (place: string) => place === 'worker-0' };

test('a second mail is excused if the first could not be recorded, and both are the same', () => {
  const [first, same] = [mail(), mail({ at: 20_000, sender: 'worker-1' })];
  assert.equal(isExcused([first, same], died), true);
  assert.equal(isExcused([first, same], calm), false, 'the first was recorded');
  assert.equal(isExcused([mail({ replied: false }), same], calm), true, 'the first had no reply');
});

test('the second mail to a user who was renamed in between may differ in all but the Message-ID', () => {
  const [first, renamed] = [mail(), mail({ at: 20_000, digest: 'other bytes' })];
  assert.equal(isExcused([first, renamed], died), false);
  assert.equal(isExcused([first, renamed], died, true), true);
  assert.equal(isExcused([first, renamed], calm, true), false, 'the first was recorded');
  assert.equal(isExcused([first, mail({ messageId: '<mail.2@chaos.test>' })], died, true), false, 'another mail');
});
