/** Passwords of a new import that its files do not contain in full. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { uploadFile } from '../support/imports/drafts.ts';
import { HASH } from '../support/imports/imports.ts';
import { waitFor } from '../support/wait.ts';
import { addSource, openWorking } from './new-import.ts';
import { visitor } from './visitor.ts';
import type { World } from './world.ts';

describe('the passwords of a new import', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('takes a password source of the organization for users without a password, and no other', async () => {
    const { api, org, other } = world;
    const own = await addSource(world.api, org.orgId);
    const foreign = await addSource(world.api, other.orgId);
    const headers = { token: (await api.machine(org.orgId, ['ORG_OWNER'])).token };
    const { importId } = (await api.call('POST', '/admin/v1/imports', { orgId: org.orgId }, headers)).body;
    await uploadFile(api, importId, `id,email,hash\n1,one@example.com,\n2,two@example.com,${HASH}\n`, {});
    const who = await visitor(api, headers.token);
    const at = (name: string, query = '') => `/console/imports/new/${importId}/${name}${query}`;
    const { text } = await who.get(at('options', '?source=csv&map.email=email'));
    assert(text.includes(`<option value="${own}">Old shop of`) && !text.includes(foreign));
    const form = { org: org.orgId, existing: 'fail', mails: 'auto', timeout: '1h' };
    const refused = await who.post(at('options'), { ...form, passwords: foreign });
    assert(refused.status === 400 && refused.text.includes('It belongs to another organization'), refused.text);
    const first = await who.post(at('options', '?source=csv'), { ...form, passwords: own });
    const check = String(first.headers.get('location'));
    assert.match(check, new RegExp(`passwords=${own}`));
    for (const state of ['DRAFT', 'CHECKED']) {
      assert.equal((await who.post(new URL(check, api.url).pathname + new URL(check, api.url).search)).status, 303);
      const read = async () => (await api.call('GET', `/admin/v1/imports/${importId}`)).body.state;
      await waitFor(async () => (await read()) === `IMPORT_STATE_${state}`, { what: state });
    }
    const decide = (await who.get(at('decide'))).text;
    assert(decide.includes('1 without a password: Old shop verifies it at the first sign-in'), decide);
    assert(decide.includes(`--password-source ${own}`));
    assert(!decide.includes('to choose a password'));
  });

  it('takes the pepper of an old system where it says which passwords keep working, and never shows it', async () => {
    const { api, org } = world;
    const pepper = 'ground & pépper';
    const headers = { token: (await api.machine(org.orgId, ['ORG_OWNER'])).token };
    const { importId } = (await api.call('POST', '/admin/v1/imports', { orgId: org.orgId }, headers)).body;
    await uploadFile(api, importId, `id,email,hash\n1,peppered@example.com,${HASH}\n`, {});
    const who = await visitor(api, headers.token);
    const at = (name: string) => `/console/imports/new/${importId}/${name}`;
    const answers: string[] = [];
    const read = async () => {
      const { body } = await api.call('GET', `/admin/v1/imports/${importId}`);
      answers.push(JSON.stringify(body));
      return body;
    };
    const check = async (state: string, form?: Record<string, string>) => {
      const answer = await who.post(at('check'), form);
      assert.equal(answer.status, 303, answer.text);
      assert(!String(answer.headers.get('location')).includes('pepper'));
      await waitFor(async () => (await read()).state === `IMPORT_STATE_${state}`, { what: state });
    };
    await who.post(at('source'), { source: 'csv' });
    await check('DRAFT');
    await check('CHECKED');
    const before = (await who.get(at('decide'))).text;
    assert(before.includes('The old system added a pepper to passwords'), before);
    assert(!before.includes('--pepper-mode'));
    const tooLong = await who.post(at('check'), { pepper: 'x'.repeat(57), pepperMode: 'prefix' });
    assert(tooLong.status === 400 && tooLong.text.includes('1 to 56 bytes'), tooLong.text);
    await check('DRAFT', { pepper, pepperMode: 'prefix' });
    assert.equal((await read()).draft.pepper, 'prefix');
    await check('CHECKED');
    const { text } = await who.get(at('decide'));
    assert(text.includes('The pepper that you gave is added to passwords: the pepper, then the password'), text);
    assert(text.includes('--pepper-mode prefix'), text);
    const encoded = Buffer.from(pepper).toString('base64');
    for (const answer of [...answers, before, text, tooLong.text])
      assert(!answer.includes('ground &amp; p') && !answer.includes(pepper) && !answer.includes(encoded));
  });

  it('takes a formula for hashes that do not say how they were made, in the step Options', async () => {
    const { api, org } = world;
    const headers = { token: (await api.machine(org.orgId, ['ORG_OWNER'])).token };
    const { importId } = (await api.call('POST', '/admin/v1/imports', { orgId: org.orgId }, headers)).body;
    const digest = createHash('sha1').update('Xq7formulated').digest('hex');
    await uploadFile(api, importId, `id,email,hash,salt\n1,formulated@example.com,${digest},Xq7\n`, {});
    const who = await visitor(api, headers.token);
    const at = (name: string) => `/console/imports/new/${importId}/${name}`;
    const form = { org: org.orgId, existing: 'fail', mails: 'none', timeout: '1h' };
    assert((await who.get(at('options?source=csv'))).text.includes('name="hashFormat"'));
    const wrong = await who.post(at('options?source=csv'), { ...form, hashFormat: 'sha1(pepper)' });
    assert(wrong.status === 400 && wrong.text.includes('the word &quot;pepper&quot; is not known'), wrong.text);
    const typed = await who.post(at('options?source=csv'), { ...form, hashFormat: 'sha1(salt + password)' });
    assert.equal(typed.status, 303, typed.text);
    const next = String(typed.headers.get('location'));
    assert.match(next, /hashFormat=sha1%28salt/);
    const read = async () => (await api.call('GET', `/admin/v1/imports/${importId}`)).body;
    assert.equal((await who.post(next)).status, 303);
    await waitFor(async () => (await read()).state === 'IMPORT_STATE_DRAFT', { what: 'the conversion' });
    const { draft } = await read();
    assert.deepEqual(draft.summary.hashes[0].scheme, 'formula (latin1)');
    assert.equal(draft.conversion.hashFormat, 'sha1(salt + password)');
  });
});
