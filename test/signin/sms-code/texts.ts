/** What people and strangers do with codes by text message on the sign-in pages. */
import { digitsOf } from '../../../src/messages/mail/sign-in-codes.ts';
import { addHuman } from '../../directory/users/people.ts';
import type { TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';
import { hiddenOf, type Shown, type Visitor, visitor } from '../pages/visitor.ts';

export interface Phone {
  by: Visitor;
  path: string;
  send(fields: Record<string, string>): Promise<Shown>;
  ask(loginName: string): Promise<Shown>;
  enter(loginName: string, code: string): Promise<Shown>;
}

export interface Texts {
  /** A human with this verified number. */
  human(orgId: string, phone: string, password?: string): Promise<string>;
  /** A new browser at the page of a login. */
  browser(address?: string, more?: Record<string, string>): Promise<Phone>;
  /** How many text messages with codes were queued for the user, also those that a newer one replaced. */
  count(userId: string): Promise<number>;
  /** The newest code for the user, once there are this many. */
  code(userId: string, count?: number): Promise<string>;
  /** Once all that was asked for is queued. */
  settled(): Promise<void>;
}

const NUMBERS = { next: 41_791_000_000 };
/** A number that no other test has. */
export const newNumber = () => `+${NUMBERS.next++}`;

/** @param orgId of users of whom no test asks anything; its policy lets everybody sign in by text message */
export function openTexts(api: TestApi, clientId: string, orgId: string): Texts {
  const { pool, secrets } = api.deps;

  async function human(of: string, phone: string, password?: string): Promise<string> {
    const userId = await addHuman(api, of, password);
    await pool.query('update users set phone = $2, phone_verified = true where id = $1', [userId, phone]);
    return userId;
  }

  async function browser(address = '192.0.2.1', more: Record<string, string> = {}): Promise<Phone> {
    const by = visitor(api);
    const path = await by.begin(clientId, more);
    const { token = '' } = hiddenOf(await by.get(path), 'password');
    const send = (fields: Record<string, string>) =>
      by.post(path, { token, ...fields }, { 'x-forwarded-for': address });
    return {
      by,
      path,
      send,
      ask: (loginName) => send({ step: 'password', loginName, password: '', way: 'text' }),
      enter: (loginName, code) => send({ step: 'text-code', loginName, code }),
    };
  }

  async function count(userId: string): Promise<number> {
    const text = `select count(*)::int as n from events where aggregate_id = $1 and type = 'user.human.signin.code.added'`;
    return (await pool.query(text, [userId])).rows[0].n;
  }

  async function code(userId: string, at = 1): Promise<string> {
    await waitFor(async () => (await count(userId)) >= at, { what: 'the code' });
    const text = `select code_id from mail_outbox where user_id = $1 and kind = 'sign_in_text' order by id desc limit 1`;
    return digitsOf(secrets.code((await pool.query(text, [userId])).rows[0].code_id, 0));
  }

  async function settled(): Promise<void> {
    const phone = newNumber();
    const other = await human(orgId, phone);
    // Beyond every limit, what is asked for is not queued, so this does not ask by text message.
    await (await browser('203.0.113.99')).send({ step: 'password', loginName: other, password: '', way: 'code' });
    await waitFor(async () => (await count(other)) >= 1, { what: 'a later code' });
  }

  return { human, browser, count, code, settled };
}
