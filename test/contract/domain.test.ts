import assert from 'node:assert/strict';
import test from 'node:test';
import { anotherDomain, domainName, generatedDomain } from '../../src/contract/domain-name.ts';

test('a domain is generated from the name and the public host', () => {
  assert.equal(generatedDomain('Äpfel & Co.', 'http://localhost:8080'), 'apfel-co.localhost');
  assert.equal(generatedDomain('Acme', 'https://id.example.com'), 'acme.id.example.com');
  assert.equal(generatedDomain('Acme', 'http://127.0.0.1:8080'), 'acme.localhost');
  assert.equal(generatedDomain('Acme', 'http://[::1]:8080'), 'acme.localhost');
  assert.equal(generatedDomain('株式会社', 'http://localhost'), 'org.localhost');
  assert.equal(generatedDomain(`${'x'.repeat(49)} y`, 'http://localhost'), `${'x'.repeat(49)}.localhost`);
});

test('an alternative domain differs only in its first label', () => {
  assert.match(anotherDomain('acme.localhost'), /^acme-[0-9a-f]{8}\.localhost$/);
});

test('a chosen domain consists of labels; it compares in lower case', () => {
  assert.equal(domainName().parse('Acme.Example'), 'acme.example');
  assert.equal(domainName().parse('bücher.example'), 'bücher.example');
  assert.equal(domainName().parse(''), '');
  for (const bad of ['a b', 'a@b', '.a', 'a.', 'a..b', '-a', 'a-', 'a/b', 'a\0b', 7]) {
    assert.equal(domainName().safeParse(bad).success, false, String(bad));
  }
});
