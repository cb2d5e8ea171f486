/** What people and strangers do with codes by mail on the sign-in pages. */
import { digitsOf } from '../../../src/messages/mail/sign-in-codes.ts';
import { addHuman } from '../../directory/users/people.ts';
import type { TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';
import { hiddenOf, type Shown, type Visitor, visitor } from '../pages/visitor.ts';

export interface Browser {
  by: Visitor;
  path: string;
  /** Sends a form of the login. */
  send(fields: Record<string, string>): Promise<Shown>;
  ask(loginName: string): Promise<Shown>;
  enter(loginName: string, code: string): Promise<Shown>;
}

export interface Asks {
  /** A new browser at the page of a login. */
  browser(address?: string, more?: Record<string, string>): Promise<Browser>;
  /** How many codes were mailed; a newer one replaces a mail that is still to be sent. */
  codes(userId: string): Promise<number>;
  /** The newest code that was mailed to the user, once there are this many mails. */
  mailed(userId: string, count?: number): Promise<string>;
  /** Once all mails that were asked for are queued: those of a later ask for somebody else are. */
  settled(): Promise<void>;
}

/** @param orgId of users of whom no test asks anything */
export function openAsks(api: TestApi, clientId: string, orgId: string): Asks {
  async function browser(address = '192.0.2.1', more: Record<string, string> = {}): Promise<Browser> {
    const by = visitor(api);
    const path = await by.begin(clientId, more);
    const { token = '' } = hiddenOf(await by.get(path), 'password');
    const send = (fields: Record<string, string>) =>
      by.post(path, { token, ...fields }, { 'x-forwarded-for': address });
    return {
      by,
      path,
      send,
      ask: (loginName) => send({ step: 'password', loginName, password: '', way: 'code' }),
      enter: (loginName, code) => send({ step: 'mail-code', loginName, code }),
    };
  }

  async function codes(userId: string): Promise<number> {
    const text = `select count(*)::int as n from events where aggregate_id = $1 and type = 'user.human.signin.code.added'`;
    return (await api.deps.pool.query(text, [userId])).rows[0].n;
  }

  async function mailed(userId: string, count = 1): Promise<string> {
    await waitFor(async () => (await codes(userId)) >= count, { what: 'the code' });
    const text = `select code_id from mail_outbox where user_id = $1 and kind = 'sign_in' order by id desc limit 1`;
    const { rows } = await api.deps.pool.query(text, [userId]);
    return digitsOf(api.deps.secrets.code(rows[0].code_id, 0));
  }

  async function settled(): Promise<void> {
    const other = await addHuman(api, orgId);
    await (await browser('203.0.113.99')).ask(other);
    await mailed(other);
  }

  return { browser, codes, mailed, settled };
}

/** Another code. */
export const other = (code: string) => String((Number(code) + 1) % 10 ** 8).padStart(8, '0');
