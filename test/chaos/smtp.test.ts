/** The mail server of `npm run chaos` knows which of its replies cannot arrive. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createTransport } from 'nodemailer';
import { openSmtp } from '../../chaos/stand/smtp.ts';

test('a mail whose connection broke at the end of its data counts as not replied to', async (t) => {
  let sender = 'worker-1';
  const smtp = await openSmtp({ nameOf: () => sender, drop: () => {} });
  t.after(() => smtp.stop());
  const transport = createTransport({ host: '127.0.0.1', port: smtp.port, ignoreTLS: true });
  t.after(() => transport.close());
  const send = (to: string) => transport.sendMail({ from: 'muster@chaos.test', to, text: 'Hello' });

  await send('first@chaos.test');
  sender = '';
  await send('second@chaos.test');
  assert.deepEqual(
    smtp.copies.map(({ to, replied, sender }) => ({ to, replied, sender })),
    [
      { to: 'first@chaos.test', replied: true, sender: 'worker-1' },
      { to: 'second@chaos.test', replied: false, sender: '' },
    ],
  );
});
