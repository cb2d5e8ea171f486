/** A directory as a password source, with a real OpenLDAP server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  checkLdap,
  escapeDn,
  escapeFilter,
  type LdapSecrets,
  type LdapSettings,
} from '../../src/password-sources/kinds/ldap.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { startSlapd } from '../support/slapd.ts';

const PASSWORD = 'correct horse é';
const ODD = 'Ann, "the" +1 <a>;=#\\';

describe('names in a directory', () => {
  it('cannot change the meaning of a DN or of a filter', () => {
    assert.equal(escapeDn(' a,b+c"d\\e<f>g;h=i '), '\\ a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h\\=i\\ ');
    assert.equal(escapeDn('#ann'), '\\#ann');
    assert.equal(escapeFilter('*)(uid=\\\0'), '\\2a\\29\\28uid=\\5c\\00');
  });
});

it('a directory verifies passwords', async (t) => {
  if (!requireOrSkip(t, 'slapd')) return;
  const slapd = await startSlapd([
    { uid: 'ann', password: PASSWORD },
    { uid: 'bob' },
    { uid: ODD, password: PASSWORD },
  ]);
  t.after(() => slapd.stop());
  const { url, plainUrl, base, caCertificate, adminDn: bindDn, adminPassword: bindPassword } = slapd;
  const template = { url, caCertificate, userDn: `uid={name},ou=people,${base}` };
  const searched = { url, caCertificate, searchBase: base, searchFilter: '(uid={name})', bindDn, bindPassword };
  const ask = async (
    settings: LdapSettings & LdapSecrets,
    name: string,
    password: string,
    options: { timeoutMs?: number; allowPrivate?: boolean } = {},
  ) => {
    const answer = await checkLdap(settings, { name, password }, { timeoutMs: 5000, allowPrivate: true, ...options });
    return answer.result === 'unavailable' ? answer.reason : answer.result;
  };

  for (const [way, settings] of Object.entries({
    'over TLS': template,
    'with StartTLS': { ...template, url: plainUrl },
    'after a search': searched,
  })) {
    await t.test(way, async () => {
      assert.equal(await ask(settings, 'ann', PASSWORD), 'yes');
      assert.equal(await ask(settings, ODD, PASSWORD), 'yes');
      assert.equal(await ask(settings, 'ann', `${PASSWORD} `), 'no');
      assert.equal(await ask(settings, 'bob', PASSWORD), 'no', 'an entry without a password');
      assert.equal(await ask(settings, 'nobody', PASSWORD), 'no');
      assert.equal(await ask(settings, 'a*', PASSWORD), 'no');
      // The directory itself would take it for an anonymous bind.
      assert.equal(await ask(settings, 'ann', ''), 'no');
    });
  }

  await t.test('is unavailable if it cannot be asked', async () => {
    assert.match(
      await ask({ ...template, caCertificate: undefined }, 'ann', PASSWORD),
      /^(?:DEPTH_ZERO_)?SELF_SIGNED|CERT/,
    );
    assert.match(await ask({ ...template, url: url.replace('localhost', '127.0.0.1') }, 'ann', PASSWORD), /ALTNAME/);
    assert.match(await ask({ ...searched, bindPassword: 'wrong' }, 'ann', PASSWORD), /LDAP 49/);
    assert.match(await ask({ ...searched, searchFilter: '((' }, 'ann', PASSWORD), /./);
    assert.equal(await ask({ ...template, url: 'ldaps://localhost:1' }, 'ann', PASSWORD), 'ECONNREFUSED');
  });

  await t.test('is not asked at a private address, unless that is allowed', async () => {
    const guarded = { allowPrivate: false };
    assert.equal(await ask(template, 'ann', PASSWORD, guarded), 'the host has no public address');
    const literal = { ...template, url: url.replace('localhost', '127.0.0.1') };
    assert.equal(await ask(literal, 'ann', PASSWORD, guarded), 'the host has no public address');
  });
});
