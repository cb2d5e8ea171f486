/** Which entries are persons in a directory with custom object classes, and which only look like persons. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { isPerson } from '../../../src/sources/systems/ldif.ts';

type Case = [what: string, classes: string, attributes: Record<string, string>];

const ANN = { cn: 'Ann Arbor', sn: 'Arbor', uid: 'ann', mail: 'ann@example.com', userpassword: '{SSHA}x' };

const PERSONS: Case[] = [
  ['a custom class', 'acmePerson', ANN],
  ['a custom class among others', 'top acmeEmployee extensibleObject hostObject domainRelatedObject', ANN],
  ['a name like that of a unit', 'acmeOrganizationalPerson', ANN],
  ['no address and no password', 'acmePerson', { cn: 'Ann', sn: 'Arbor', uid: 'ann' }],
  ['a surname alone', 'acmePerson', { cn: 'Ann', sn: 'Arbor' }],
  ['no surname, but a given name', 'acmeThing', { cn: 'ann', givenname: 'Ann', mail: 'ann@example.com' }],
  ['no surname, but a password', 'acmeLogin', { cn: 'ann', uid: 'ann', userpassword: '{SSHA}x' }],
  ['a class by its number', '2.16.840.1.113730.3.2.2', ANN],
  ['a residential person', 'residentialPerson', { cn: 'Ann', sn: 'Arbor' }],
];

const OTHERS: Case[] = [
  ['a group', 'acmeGroup', { cn: 'staff', mail: 'staff@example.com' }],
  ['members', 'acmeTeam', { cn: 'staff', uid: 'staff', userpassword: 'x', member: 'uid=ann' }],
  ['members by name', 'acmeTeam', { cn: 'staff', sn: 'staff', memberuid: 'ann' }],
  ['a group with a password', 'posixGroup top', { cn: 'sys', gidnumber: '0', userpassword: '{CRYPT}x' }],
  ['a list', 'acmeMailingList', { uid: 'news', mail: 'news@example.com', displayname: 'News', userpassword: 'x' }],
  ['a unit', 'organizationalUnit extensibleObject', { ou: 'people', cn: 'people', sn: 'people' }],
  ['an organization', 'organization extensibleObject', { o: 'Example', cn: 'Example', sn: 'Example' }],
  ['an application', 'applicationProcess simpleSecurityObject', { cn: 'proxy', userpassword: 'x' }],
  ['an application of a custom class', 'acmeApplication', { cn: 'shop', uid: 'shop', userpassword: 'x' }],
  ['a service of a custom class', 'acmeServiceUser', { cn: 'cron', uid: 'cron', userpassword: 'x' }],
  ['a device', 'acmeDevice', { cn: 'router', uid: 'router', userpassword: 'x' }],
  ['a computer', 'user person computer', ANN],
  ['a place', 'acmeRoom', { cn: 'Room 7', mail: 'room7@example.com' }],
  ['configuration', 'olcGlobal', { cn: 'config' }],
];

function entryOf(classes: string, attributes: Record<string, string>) {
  const lists = Object.entries(attributes).map(([name, value]) => [name, [value]] as const);
  return { dn: 'cn=x', objectclass: classes.split(' '), ...Object.fromEntries(lists) };
}

for (const [what, classes, attributes] of PERSONS) {
  test(`a person: ${what}`, () => assert.equal(isPerson(entryOf(classes, attributes)), true));
}

for (const [what, classes, attributes] of OTHERS) {
  test(`not a person: ${what}`, () => assert.equal(isPerson(entryOf(classes, attributes)), false));
}

test('without object classes the attributes decide', () => {
  assert.equal(isPerson({ dn: 'uid=ann', uid: ['ann'], cn: ['Ann'] }), true);
  assert.equal(isPerson({ dn: 'ou=people', ou: ['people'] }), false);
  assert.equal(isPerson({ dn: 'cn=staff', cn: ['staff'], mail: ['staff@example.com'], member: ['uid=ann'] }), false);
});
