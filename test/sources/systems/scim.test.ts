/** Users of SCIM list responses: primary values, extensions, what is dropped. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { scim } from '../../../src/sources/systems/scim.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(scim, record);

const USER = { schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'], id: '1', userName: 'ann' };

test('the primary address and number are taken, and others are noted', () => {
  const emails = [{ value: 'home@example.com' }, { value: 'ann@example.com', primary: true }];
  const person = convert({ ...USER, emails, phoneNumbers: [{ value: 'tel:+41791234567' }] });
  assert.equal(person.email, 'ann@example.com');
  assert.equal(person.phone, '+41791234567');
  assert.deepEqual(noteIds(person), ['ADDRESS-DROPPED']);
});

test('without addresses, a user name that is one counts', () => {
  assert.equal(convert({ ...USER, userName: 'ann@example.com' }).email, 'ann@example.com');
  assert.equal(convert(USER).email, undefined);
});

test('extensions and other attributes become metadata', () => {
  const extension = { department: 'Tours' };
  const person = convert({ ...USER, externalId: '7', title: 'Guide', groups: [], 'urn:ietf:x': extension, meta: {} });
  assert.deepEqual(person.metadata, { externalId: '7', title: 'Guide', 'urn:ietf:x': extension });
  assert.equal(convert({ ...USER, active: false }).state, 'inactive');
});
