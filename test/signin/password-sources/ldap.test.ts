/** A directory as a password source, with a real OpenLDAP server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import {
  checkLdap,
  escapeDn,
  escapeFilter,
  type LdapSecrets,
  type LdapSettings,
  messageLength,
} from '../../../src/signin/password-sources/ldap.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { startSlapd } from '../../support/slapd.ts';

const PASSWORD = 'correct horse é';
const ODD = 'Ann, "the" +1 <a>;=#\\';

describe('names in a directory', () => {
  it('cannot change the meaning of a DN or of a filter', () => {
    assert.equal(escapeDn(' a,b+c"d\\e<f>g;h=i '), '\\ a\\,b\\+c\\"d\\\\e\\<f\\>g\\;h\\=i\\ ');
    assert.equal(escapeDn('#ann'), '\\#ann');
    assert.equal(escapeFilter('*)(uid=\\\0'), '\\2a\\29\\28uid=\\5c\\00');
  });
});

/** A server that ends with the test. Returns its port. */
async function listening(t: TestContext, onConnection: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => onConnection(socket.on('error', () => {})));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

describe('a hostile directory', () => {
  const settingsAt = (port: number) => ({ url: `ldap://127.0.0.1:${port}`, userDn: 'uid={name}' });
  const options = { timeoutMs: 10_000, allowPrivate: true };
  const check = { name: 'ann', password: PASSWORD };
  const BIND_RESPONSE = Buffer.from('300c02010961070a010004000400', 'hex');

  it('is left when it sends an endless message, something else than LDAP, or a flood', async (t) => {
    const floods = [
      Buffer.concat([Buffer.from('30847fffffff', 'hex'), Buffer.alloc(100_000)]),
      Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
      // Deeper than the stack, if each is read inside the one before.
      Buffer.concat(Array.from({ length: 9000 }, () => Buffer.from('30050201097300', 'hex'))),
      Buffer.concat(Array.from({ length: 9000 }, () => BIND_RESPONSE)),
    ];
    for (const flood of floods) {
      const port = await listening(t, (socket) => socket.end(flood));
      const answer = await checkLdap(settingsAt(port), check, options);
      assert.deepEqual(answer, { result: 'unavailable', reason: 'the connection failed', isDown: true });
    }
  });

  it('gets no password in clear, however the scheme of its URL is written', async (t) => {
    for (const scheme of ['LDAP', 'Ldap', ' ldap', '\tldap', 'ld\nap', 'LDAPS', ' ldaps']) {
      const received: Buffer[] = [];
      // Says yes to everything: to StartTLS, after which no handshake follows, and to a bind.
      const port = await listening(t, (socket) => {
        socket.on('data', (data: Buffer) => {
          received.push(data);
          const [type, id] = [data[5] === 0x60 ? '61' : '78', data.subarray(4, 5).toString('hex')];
          if (received.length > 1) socket.destroy();
          else socket.write(Buffer.from(`300c0201${id}${type}070a010004000400`, 'hex'));
        });
      });
      const url = `${scheme}://127.0.0.1:${port}`;
      const answer = await checkLdap({ url, userDn: 'uid={name}' }, check, options);
      assert.equal(answer.result, 'unavailable', JSON.stringify(url));
      assert.ok(received.length > 0, JSON.stringify(url));
      assert.ok(!Buffer.concat(received).includes('correct horse'), JSON.stringify(url));
    }
  });

  it('counts messages by their length', () => {
    const lengthOf = (hex: string) => messageLength(Buffer.from(hex, 'hex'));
    assert.deepEqual(['', '30', '3081', '308200'].map(lengthOf), Array(4).fill(undefined));
    assert.deepEqual(['300c0201', '3081c8', '3084000100'].map(lengthOf), [14, 203, undefined]);
    assert.deepEqual(['48545450', '3080', '3085'].map(lengthOf), [Number.NaN, Number.NaN, Number.NaN]);
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

  await t.test('is asked over TLS alone: what somebody adds before it says nothing', async (t) => {
    // The beginning of "success" for the bind that comes next; the real refusal would complete it.
    const injected = Buffer.from('301a02010361150a01000400040e', 'hex');
    const port = await listening(t, (socket) => {
      const server = connect({ port: Number(new URL(plainUrl).port), host: 'localhost' });
      server.once('data', (startTls: Buffer) => {
        socket.write(Buffer.concat([startTls, injected]));
        server.pipe(socket);
      });
      socket.pipe(server).on('error', () => {});
      socket.on('close', () => server.destroy());
    });
    const tapped = { ...template, url: `ldap://localhost:${port}` };
    assert.equal(await ask(tapped, 'ann', 'wrong'), 'no');
    assert.equal(await ask(tapped, 'ann', PASSWORD), 'yes');
  });

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
