/** Only listed proxies say where a request comes from, and what contradicts TRUST_PROXY is told. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pino } from 'pino';
import { checkProxy } from '../../../src/contract/findings.ts';
import { ConfigError, readConfig } from '../../../src/platform/config.ts';
import { contradictionOf } from '../../../src/platform/http/proxies.ts';
import { startApi } from '../../support/api.ts';

it('TRUST_PROXY is a number or networks, and never all addresses', () => {
  const read = (TRUST_PROXY?: string) => readConfig({ TRUST_PROXY }).TRUST_PROXY;
  assert.deepEqual([read(), read('0'), read('10')], [0, 0, 10]);
  assert.deepEqual(read('10.0.0.0/8, 2001:db8::/32 192.0.2.7,loopback'), [
    '10.0.0.0/8',
    '2001:db8::/32',
    '192.0.2.7',
    'loopback',
  ]);
  for (const bad of ['11', '-1', 'true', '0.0.0.0/0', '::/0', '10.0.0.0/33', '10.0.0.0/8/8', 'proxy.example', ',']) {
    assert.throws(() => read(bad), ConfigError, bad);
  }
});

async function seen(trust: string, forwarded?: string) {
  const lines: string[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(line) });
  const api = await startApi({ env: { TRUST_PROXY: trust }, logger });
  try {
    const headers: Record<string, string> = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    const { body } = await api.call('GET', '/admin/v1/diagnostics', undefined, { headers });
    return { ...body.proxy, warned: lines.some((line) => line.includes('"msg":"TRUST_PROXY"')) };
  } finally {
    await api.stop();
  }
}

it('believes an address only from a listed proxy, and says what it sees', async () => {
  const listed = await seen('loopback, 192.0.2.0/24', '198.51.100.9, 203.0.113.5, 192.0.2.3');
  assert.deepEqual(listed, { address: '203.0.113.5', forwarded: 3, warned: false });

  const stranger = await seen('192.0.2.0/24', '203.0.113.5');
  assert.match(stranger.address, /127\.0\.0\.1$/);
  assert.match(stranger.contradiction, /does not list/);
  assert.equal(stranger.warned, true);

  const none = await seen('0', '203.0.113.5');
  assert.match(none.contradiction, /TRUST_PROXY is 0/);
  assert.deepEqual(
    checkProxy(none).map(({ state }) => state),
    ['warning'],
  );
});

it('tells a number that is too high', () => {
  const arrival = { peer: '10.0.0.3', forwarded: 1, isBelieved: true };
  assert.match(contradictionOf(2, arrival) ?? '', /callers can choose their address/);
  assert.equal(contradictionOf(1, arrival), undefined);
  assert.equal(contradictionOf(2, { ...arrival, peer: '::ffff:127.0.0.1', forwarded: 0 }), undefined);
});
