import assert from 'node:assert/strict';
import test from 'node:test';
import { isPublic, literalAddress, targetProblem } from '../../../src/platform/http/outgoing.ts';

const PRIVATE = [
  ['unspecified', '0.0.0.0', '::'],
  ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  ['link-local', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', 'febf::1'],
  ['carrier-grade NAT', '100.64.0.1', '100.127.255.255'],
  ['unique local', 'fc00::1', 'fd12:3456:789a::1', 'fd00:ec2::254'],
  ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1'],
  ['reserved', '240.0.0.1', '255.255.255.255', '192.0.0.8', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1'],
  [
    'IPv4 inside IPv6',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:0:1::',
  ],
  ['documentation', '2001:db8::1', '3fff::1'],
  ['site-local, discard', 'fec0::1', '100::1'],
  ['no address', '', 'example.com', '1.2.3', '::g'],
] as const;
const PUBLIC = ['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '223.255.255.255'];
const PUBLIC_V6 = ['2606:4700:4700::1111', '2a00:1450:4001::200e', '2001:4860:4860::8888'];

for (const [what, ...addresses] of PRIVATE) {
  test(`addresses that are ${what} are not public`, () => {
    for (const address of addresses) assert.equal(isPublic(address), false, address);
  });
}

test('addresses of the internet are public', () => {
  for (const address of [...PUBLIC, ...PUBLIC_V6]) assert.equal(isPublic(address), true, address);
});

test('hosts of URLs are recognized as addresses or names', () => {
  assert.equal(literalAddress('[::1]'), '::1');
  assert.equal(literalAddress('127.0.0.1'), '127.0.0.1');
  assert.equal(literalAddress('example.com'), undefined);
});

test('a URL with a private address or host name is refused before it is resolved, in any notation', () => {
  const refused = [
    'http://example.com/',
    'https://127.0.0.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://0177.0.0.1/',
    'https://127.1:8443/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://localhost/',
    'https://LOCALHOST./',
    'https://api.localhost/',
    'https://169.254.169.254/latest/meta-data',
  ];
  for (const url of refused) assert.ok(targetProblem(url, false), url);
  for (const url of refused) assert.equal(targetProblem(url, true), undefined, url);
  for (const url of ['https://example.com/x', 'https://1.1.1.1/', 'https://localhost.example.com/']) {
    assert.equal(targetProblem(url, false), undefined, url);
  }
});
