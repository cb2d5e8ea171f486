/** What the source makes of users and credentials of Keycloak. */
import assert from 'node:assert/strict';
import { pbkdf2Sync } from 'node:crypto';
import { hashProblem, verifyHash } from '../../../src/passwords/registry.ts';
import type { Person } from '../../../src/sources/entry.ts';
import type { Fields } from '../../../src/sources/source.ts';
import { keycloak } from '../../../src/sources/systems/keycloak.ts';

export const PASSWORD = 'correct horse';
export const SALT = Buffer.from('RaXjs4RiUKgJGkX6kp277w==', 'base64');
export const convert = keycloak.converter({});

/** As in JSON: without undefined fields. */
export function converted(record: Fields): Record<string, unknown> {
  return JSON.parse(JSON.stringify(convert(record)));
}

export function personOf(record: Fields): Person {
  const person = convert({ username: 'ann', enabled: true, ...record });
  assert.ok(!('skip' in person));
  return person;
}

export function notesOf(record: Fields): string[] {
  return (personOf(record).notes ?? []).map(({ id }) => id);
}

/** A credential in the current form. */
export function credential(data: Fields, secret: Fields, more: Fields = {}): Fields {
  return { type: 'password', credentialData: JSON.stringify(data), secretData: JSON.stringify(secret), ...more };
}

export function pbkdf2(digest: string, bytes: number): Fields {
  const value = pbkdf2Sync(PASSWORD, SALT, 1000, bytes, digest).toString('base64');
  return { value, salt: SALT.toString('base64'), additionalParameters: {} };
}

export function hashOf(credentials: Fields[]): string {
  return personOf({ credentials }).hash ?? '';
}

export function assertVerifies(credentials: Fields[], beginning: string): void {
  const hash = hashOf(credentials);
  assert.equal(hash.slice(0, beginning.length), beginning);
  assert.equal(hashProblem(hash), undefined);
  assert.equal(verifyHash(hash, PASSWORD), true);
  assert.equal(verifyHash(hash, 'wrong'), false);
}
