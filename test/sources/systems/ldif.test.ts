/** Entries of directories: which are persons, how attributes are converted, and when an account counts as disabled. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Person } from '../../../src/sources/entry.ts';
import { ldif } from '../../../src/sources/systems/ldif.ts';

type Entry = Record<string, string | string[]>;

const convert = ldif.converter({});

function personOf(entry: Entry): Person {
  const person = convert(entry);
  return 'skip' in person ? assert.fail(person.skip) : person;
}

const INET_ORG_PERSON = ['inetOrgPerson', 'organizationalPerson', 'person', 'top'];
const ANN: Entry = {
  dn: 'uid=ann,ou=people,dc=example,dc=com',
  objectclass: INET_ORG_PERSON,
  uid: ['ann'],
  cn: ['Ann Arbor'],
  sn: ['Arbor'],
  givenname: ['Ann'],
  mail: ['ann@example.com'],
  userpassword: ['{SSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr'],
  entryuuid: ['6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
};

const EXPECTED_ANN = {
  userId: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  userName: 'ann',
  email: 'ann@example.com',
  firstName: 'Ann',
  lastName: 'Arbor',
  displayName: 'Ann Arbor',
  language: undefined,
  phone: undefined,
  state: undefined,
  password: undefined,
  hash: '{SSHA}0c0blFTXXNuAMHECS4uxrj3ZieMoWImr',
  passwordChangeRequired: undefined,
  metadata: {},
  notes: undefined,
};

test('an inetOrgPerson is converted', () => {
  assert.deepEqual(personOf(ANN), EXPECTED_ANN);
});

test('of several values, the first becomes the field, the others metadata', () => {
  const more = {
    mail: ['ann@example.com', 'a.arbor@example.com'],
    mobile: ['+41791234567'],
    telephonenumber: ['+41441234567'],
    preferredlanguage: ['de-CH, en;q=0.8'],
    uid: ['ann', 'aarbor'],
    memberof: ['cn=staff', 'cn=vpn'],
    employeenumber: ['4711'],
  };
  assert.deepEqual(personOf({ ...ANN, ...more }), {
    ...EXPECTED_ANN,
    language: 'de-CH',
    phone: '+41791234567',
    metadata: {
      mail: 'a.arbor@example.com',
      telephonenumber: '+41441234567',
      memberof: ['cn=staff', 'cn=vpn'],
      employeenumber: '4711',
    },
  });
  const { phone, metadata } = personOf({ ...ANN, telephonenumber: ['044 1', '044 2'] });
  assert.deepEqual([phone, metadata], ['044 1', { telephonenumber: '044 2' }]);
});

test('a posixAccount whose common name is the user name is converted', () => {
  const entry = {
    dn: 'uid=bob,dc=x',
    objectclass: ['account', 'posixAccount'],
    uid: ['bob'],
    cn: ['bob'],
    mail: ['b@x.org'],
  };
  const bob = personOf({ ...entry, gecos: ['Bob Berger,,,'], uidnumber: ['1001'] });
  assert.deepEqual([bob.displayName, bob.firstName, bob.metadata], ['Bob Berger', undefined, { uidnumber: '1001' }]);
  assert.equal(personOf(entry).displayName, undefined);
});

test('a user of Active Directory is converted', () => {
  const guid = Buffer.from('f0e1a8b3c2d4e54f9a0b1c2d3e4f5a6b', 'hex');
  const carl = personOf({
    dn: 'CN=Carl Cech,OU=Staff,DC=corp,DC=example,DC=com',
    objectclass: ['top', 'person', 'organizationalPerson', 'user'],
    cn: ['Carl Cech'],
    samaccountname: ['carl'],
    userprincipalname: ['carl@corp.example.com'],
    mail: ['carl@example.com'],
    objectguid: [guid.toString('latin1')],
    objectsid: ['\x01\x05\0\0'],
    useraccountcontrol: ['514'],
    accountexpires: ['9223372036854775807'],
    pwdlastset: ['0'],
    whencreated: ['20230101000000.0Z'],
    'msds-supportedencryptiontypes': ['24'],
    department: ['Einkauf'],
  });
  assert.deepEqual(carl, {
    ...EXPECTED_ANN,
    userId: 'b3a8e1f0-d4c2-4fe5-9a0b-1c2d3e4f5a6b',
    userName: 'carl',
    email: 'carl@example.com',
    firstName: undefined,
    lastName: undefined,
    displayName: 'Carl Cech',
    state: 'inactive',
    hash: undefined,
    metadata: { userprincipalname: 'carl@corp.example.com', department: 'Einkauf' },
  });
});

test('sixteen bytes are a GUID, whether they are valid UTF-8 or not', () => {
  const { entryuuid: _, ...ann } = ANN;
  const idOf = (value: string) => personOf({ ...ann, objectguid: [value] }).userId;
  assert.equal(idOf('0123456789abcdef'), '33323130-3534-3736-3839-616263646566');
  assert.equal(idOf('é'.repeat(8)), 'a9c3a9c3-a9c3-a9c3-c3a9-c3a9c3a9c3a9');
  assert.equal(idOf('\xff'.repeat(16)), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  for (const other of ['', 'too short', 'é'.repeat(9), '€'.repeat(16)]) assert.equal(idOf(other), undefined, other);
});

test('entries that are not persons are skipped', () => {
  const skip = (entry: Entry) => (convert(entry) as { skip?: string }).skip;
  const no = 'An entry that is not a person, such as a group, a computer or a unit.';
  for (const objectclass of [
    ['organizationalUnit'],
    ['groupOfNames'],
    ['top', 'person', 'organizationalPerson', 'user', 'computer'],
    ['top', 'person', 'organizationalPerson', 'contact'],
    ['organizationalRole', 'simpleSecurityObject'],
    ['posixGroup'],
  ]) {
    assert.equal(skip({ ...ANN, objectclass }), no, objectclass.join());
  }
  assert.equal(skip({ dn: 'cn=x', cn: ['x'], member: ['y'] }), no);
  assert.equal(skip({}), no);
  const gone = 'A deleted person that the directory keeps.';
  assert.equal(skip({ ...ANN, dn: 'uid=ann,cn=deleted users,cn=accounts,cn=provisioning,dc=example,dc=com' }), gone);
  assert.equal(skip({ ...ANN, isdeleted: ['TRUE'] }), gone);
});

test('without object classes, an entry with a name to sign in with is a person', () => {
  assert.equal(personOf({ dn: 'uid=ann', uid: ['ann'], cn: ['Ann'] }).userName, 'ann');
});

test('values of the wrong kind count as absent', () => {
  const odd = { ...ANN, mail: 'text', cn: [7, ''], userpassword: [null], entryuuid: [] } as unknown as Entry;
  const { email, displayName, hash, userId } = personOf(odd);
  assert.deepEqual([email, displayName, hash, userId], [undefined, undefined, undefined, undefined]);
});

const FILETIME = (ms: number) => String((ms + 11_644_473_600_000) * 10_000);
const DAYS = (ms: number) => String(Math.floor(ms / 86_400_000));
const YEAR = 365 * 86_400_000;
const now = Date.now();

const STATES: Array<[Entry, Person['state']]> = [
  [{ nsaccountlock: ['TRUE'] }, 'inactive'],
  [{ nsaccountlock: ['true'] }, 'inactive'],
  [{ nsaccountlock: ['FALSE'] }, undefined],
  [{ 'ds-pwp-account-disabled': ['true'] }, 'inactive'],
  [{ logindisabled: ['TRUE'] }, 'inactive'],
  [{ inetuserstatus: ['inactive'] }, 'inactive'],
  [{ inetuserstatus: ['active'] }, undefined],
  [{ useraccountcontrol: ['512'] }, undefined],
  [{ useraccountcontrol: ['66050'] }, 'inactive'],
  [{ useraccountcontrol: ['528'] }, 'locked'],
  [{ pwdaccountlockedtime: ['000001010000Z'] }, 'locked'],
  [{ pwdaccountlockedtime: ['20240203040506Z'], nsaccountlock: ['TRUE'] }, 'inactive'],
  [{ lockedbyintruder: ['TRUE'] }, 'locked'],
  [{ shadowexpire: [DAYS(now - YEAR)] }, 'inactive'],
  [{ shadowexpire: [DAYS(now + YEAR)] }, undefined],
  [{ shadowexpire: ['-1'] }, undefined],
  [{ accountexpires: [FILETIME(now - YEAR)] }, 'inactive'],
  [{ accountexpires: [FILETIME(now + YEAR)] }, undefined],
  [{ accountexpires: ['0'] }, undefined],
  [{ accountexpires: ['9223372036854775807'] }, undefined],
  [{ krbprincipalexpiration: ['20200101000000Z'] }, 'inactive'],
  [{ krbprincipalexpiration: ['99991231235959Z'] }, undefined],
  [{ krbprincipalexpiration: ['never'] }, undefined],
  [{ zimbraaccountstatus: ['pending'] }, 'inactive'],
  [{ zimbraaccountstatus: ['active'] }, undefined],
  [{ accountstatus: ['noaccess'] }, 'inactive'],
  [{ 'ibm-pwdaccountlocked': ['TRUE'] }, 'locked'],
  [{ orclisenabled: ['DISABLED'] }, 'inactive'],
  [{ orclisenabled: ['ENABLED'] }, undefined],
  [{ orclaccountstatusevent: ['UserAccountEvent.ACCOUNT_LOCKED'] }, 'locked'],
  [{ nsroledn: ['cn=nsmanageddisabledrole,dc=example,dc=com'] }, 'inactive'],
  [{ sambaacctflags: ['[UD         ]'] }, 'inactive'],
  [{ sambaacctflags: ['[U          ]'] }, undefined],
  [{ sambakickofftime: ['1500000000'] }, 'inactive'],
  [{ sambakickofftime: ['4102444800'] }, undefined],
  [{ pwdendtime: ['20200101000000Z'] }, 'inactive'],
  [{ shadowexpire: ['0'] }, 'inactive'],
  [{ accountunlocktime: ['20990119031407Z'] }, 'locked'],
  [{ accountunlocktime: ['20200119031407Z'] }, undefined],
  [{ employeetype: ['disabled'] }, 'inactive'],
  [{ employeetype: ['manager'] }, undefined],
  [{ 'msds-useraccountdisabled': ['TRUE'] }, 'inactive'],
  [{ vinteladisabled: ['TRUE'] }, 'inactive'],
  [{ loginallowed: ['no'] }, 'inactive'],
  [{ kontostatus: ['gesperrt'] }, 'inactive'],
  [{ dn: 'uid=ann,cn=staged users,cn=accounts,cn=provisioning,dc=example,dc=com' }, 'inactive'],
  [{ userpassword: ['{CRYPT}!$1$saltsalt$vk1vw.z2SbLyTpnSb9HNs1'] }, 'locked'],
];

test('a disabled, locked or expired account keeps that state', () => {
  for (const [more, state] of STATES) assert.equal(personOf({ ...ANN, ...more }).state, state, JSON.stringify(more));
});

test('a password that must be changed is marked', () => {
  assert.equal(personOf({ ...ANN, pwdreset: ['TRUE'] }).passwordChangeRequired, true);
  assert.equal(personOf({ ...ANN, pwdlastset: ['0'] }).passwordChangeRequired, true);
  assert.equal(personOf({ ...ANN, pwdreset: ['FALSE'], pwdlastset: ['133'] }).passwordChangeRequired, undefined);
});

test('secrets, binary values and bookkeeping do not become metadata', () => {
  const left: Entry = {
    unicodepwd: ['x'],
    sambantpassword: ['x'],
    krbprincipalkey: ['x'],
    ipanthash: ['x'],
    pwdhistory: ['x'],
    passwordhistory: ['x'],
    authtoken: ['x'],
    myclientsecret: ['x'],
    usercertificate: ['x'],
    jpegphoto: ['x'],
    something: ['\x00\x01'],
    entrycsn: ['x'],
    lastlogontimestamp: ['x'],
  };
  const kept: Entry = { secretary: ['cn=Eve'], ipasshpubkey: ['ssh-ed25519 AAAA'], description: ['two\nlines'] };
  const metadata = { secretary: 'cn=Eve', ipasshpubkey: 'ssh-ed25519 AAAA', description: 'two\nlines' };
  assert.deepEqual(personOf({ ...ANN, ...left, ...kept }).metadata, metadata);
});

test('every entry of an LDIF file is recognized, and nothing else', () => {
  assert.equal(ldif.recognizes(ANN, 'ldif'), 1);
  assert.equal(ldif.recognizes({ dn: 'dc=example,dc=com', objectclass: ['domain'] }, 'ldif'), 1);
  assert.equal(ldif.recognizes(ANN, 'json'), 0);
  assert.equal(ldif.recognizes({}, 'ldif'), 0);
});

test("FreeIPA's passkeys, tokens and external providers are noted or become links", () => {
  const of = (more: Entry) => {
    const person = convert({ ...ANN, ...more });
    assert.ok(!('skip' in person));
    return { ...person, notes: (person.notes ?? []).map(({ id }) => id) };
  };
  assert.deepEqual(of({ ipapasskey: ['passkey:a,b'] }).notes, ['PASSKEY-LOST']);
  assert.deepEqual(of({ ipauserauthtype: ['otp'] }).notes, ['SECOND-FACTOR-LOST']);
  assert.deepEqual(of({ ipauserauthtype: ['password'] }).notes, []);
  const external = of({ ipaidpconfiglink: ['cn=keycloak,cn=idp,dc=example,dc=com'], ipaidpsub: ['77'] });
  assert.deepEqual(external.links, [{ provider: 'keycloak', externalUserId: '77' }]);
  assert.ok(external.oldSignIn?.ways?.includes('enterprise'));
});
