/**
 * Tries the ways that the sign-in page has: a passkey alone, and a code by text message, alone or after the password.
 * Texts are those that a real gateway of the stage was sent.
 */

import { addClient, hiddenOf, type Shown, type Visitor, visitor } from '../signin/pages/visitor.ts';
import { openPage, reached } from '../signin/passkeys/holder.ts';
import type { TestOrg } from '../support/calls.ts';
import { passkey } from '../support/passkeys.ts';
import { waitFor } from '../support/wait.ts';
import type { Stage } from './stage.ts';

/** What came of it. */
export interface OnPage {
  isIn: boolean;
  /** The proof was right, and leads to the set-up of a second factor. */
  setsUp: boolean;
}

const NOT_IN: OnPage = { isIn: false, setsUp: false };

/** Signs in with the passkey of this name (test/support/passkeys.ts), which a system exported. */
export async function byPasskey({ api, url }: Stage, name: string): Promise<OnPage> {
  const page = await openPage(api);
  // Somebody else's, first: it signs in nobody.
  const stolen = await page.use(passkey(name), { origin: url, signedBy: passkey('somebody else') });
  if (stolen.status === 303) throw new Error(`${name}: an answer with another key signs in`);
  const again = await openPage(api);
  const sent = await again.use(passkey(name), { origin: url, userHandle: null });
  return { isIn: await reached(again, sent), setsUp: false };
}

/**
 * Asks for a code by text message in place of the password.
 * @param isExpected otherwise nobody waits for a text
 */
export async function byText(stage: Stage, org: TestOrg, phone: string, isExpected: boolean): Promise<OnPage> {
  const { by, path, token } = await open(stage, org);
  const before = textsTo(stage, phone).length;
  await by.post(path, { token, step: 'password', loginName: phone, password: '', way: 'text' });
  if (!isExpected) return NOT_IN;
  const code = await newCode(stage, phone, before);
  const enter = (typed: string) => by.post(path, { token, step: 'text-code', loginName: phone, code: typed });
  if ((await enter('00000000')).status === 303) throw new Error(`${phone}: a wrong code signs in`);
  return outcome(by, await enter(code));
}

/** The password, and after it the code that is texted. */
export async function byPasswordAndText(
  stage: Stage,
  org: TestOrg,
  { loginName, typed, phone }: { loginName: string; typed: string; phone: string },
): Promise<OnPage> {
  const { by, path, token } = await open(stage, org);
  const before = textsTo(stage, phone).length;
  const page = await by.post(path, { token, step: 'password', loginName, password: typed });
  if (!page.text.includes('<h1>Check your phone</h1>')) return outcome(by, page);
  const code = await newCode(stage, phone, before);
  return outcome(by, await by.post(path, { ...hiddenOf(page, 'code'), factor: 'otpSms', code }));
}

async function open({ api }: Stage, org: TestOrg): Promise<{ by: Visitor; path: string; token: string }> {
  const by = visitor(api);
  clients.set(api, clients.get(api) ?? addClient(api));
  const path = await by.begin(await (clients.get(api) as Promise<string>), { organization: org.orgId });
  const { token = '' } = hiddenOf(await by.get(path), 'password');
  return { by, path, token };
}

const clients = new Map<Stage['api'], Promise<string>>();

/** Whether the sign-in has reached the application. @throws Error when the service is too busy to judge */
async function outcome(by: Visitor, page: Shown): Promise<OnPage> {
  if ([429, 503].includes(page.status)) throw new Error(`answered ${page.status}: ${page.text}`);
  if (page.text.includes('<h1>Set up a second factor</h1>')) return { isIn: true, setsUp: true };
  if (page.status !== 303) return NOT_IN;
  const back = await by.get(new URL(page.headers.get('location') ?? '').pathname);
  return { isIn: /[?&]code=/.test(back.headers.get('location') ?? ''), setsUp: false };
}

/** The texts to a number so far. */
export function textsTo({ texts }: Stage, phone: string): string[] {
  const all = texts?.requests ?? [];
  return all.filter(({ body }) => body.to === phone).map(({ body }) => body.text);
}

async function newCode(stage: Stage, phone: string, before: number): Promise<string> {
  const text = await waitFor(async () => textsTo(stage, phone)[before], { what: `a text to ${phone}` });
  // The name of the organization comes first, and may have digits too.
  const [code = ''] = /\d{4} ?\d{4}(?= is your code)/.exec(text) ?? [];
  return code;
}
