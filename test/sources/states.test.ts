/** Whether a user may sign in, as every source reads it: what cannot be read keeps the user out, and is said. */
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import type { Fields } from '../../src/sources/source.ts';
import { commonRules, readState, readSystemState, stateMeaning, statesNamed } from '../../src/sources/states.ts';
import { auth0 } from '../../src/sources/systems/auth0.ts';
import { cognito } from '../../src/sources/systems/cognito.ts';
import { discourse } from '../../src/sources/systems/discourse.ts';
import { entra } from '../../src/sources/systems/entra.ts';
import { firebase } from '../../src/sources/systems/firebase.ts';
import { keycloak } from '../../src/sources/systems/keycloak.ts';
import { kratos } from '../../src/sources/systems/kratos.ts';
import { laravel } from '../../src/sources/systems/laravel.ts';
import { csv } from '../../src/sources/systems/mapped.ts';
import { okta } from '../../src/sources/systems/okta.ts';
import { spring } from '../../src/sources/systems/spring.ts';
import { supabase } from '../../src/sources/systems/supabase.ts';
import { zitadel } from '../../src/sources/systems/zitadel.ts';
import { shownValue } from '../../src/sources/values.ts';
import { personOf } from './people.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

function stateOf(record: Fields): string {
  const { state = 'active', skip, notes } = readState(record, commonRules(Object.keys(record)), NOW);
  if (skip !== undefined) return 'deleted';
  return notes.length > 0 ? `${state}, noted` : state;
}

describe('a field for active users', () => {
  it('is read in the forms that tools write', () => {
    const yes = [true, 1, '1', '-1', 'WAHR', 'Sí', 'vrai', 'VERDADERO', 'on', 'TAK', 'да', '\x01', "b'1'", '0x01'];
    for (const enabled of [...yes, 'AQ==', '1.0', { type: 'Buffer', data: [1] }, 'Active', 'ENABLED']) {
      assert.equal(stateOf({ enabled }), 'active', JSON.stringify(enabled));
    }
    const no = [false, 0, 'FALSO', 'nein', 'off', 'Nej', 'não', '0.0', 'No.', 'НЕТ', 'nie', '\0', "b'0'", '0x00'];
    for (const enabled of [...no, 'AA==', { type: 'Buffer', data: [0] }, 'disabled', 'Inactive', '\\0']) {
      assert.equal(stateOf({ enabled }), 'inactive', JSON.stringify(enabled));
    }
  });

  it('may be the date since when they are', () => {
    assert.equal(stateOf({ activated_at: '2024-01-02 03:04:05' }), 'active');
    assert.equal(stateOf({ activated_at: '' }), 'inactive, noted');
    assert.equal(stateOf({ validSince: '1700000000' }), 'active');
  });

  it('makes the user inactive with a note if it cannot be read, or is empty', () => {
    for (const enabled of ['maybe', '-', 'X', 2, [], {}, '', null, 'NULL', '\x02']) {
      assert.equal(stateOf({ enabled }), 'inactive, noted', JSON.stringify(enabled));
    }
    const { notes } = readState({ enabled: 'vielleicht' }, { active: ['enabled'] });
    assert.match(notes[0]?.message ?? '', /"vielleicht" of enabled/);
  });
});

describe('a field for users who may not sign in', () => {
  it('keeps them out if it has any mark', () => {
    for (const blocked of [
      true,
      'ja',
      'X',
      '2023-01-02',
      '02.01.2023 10:00',
      1650000000,
      'blocked',
      'Suspended',
      '3',
    ]) {
      assert.equal(stateOf({ blocked }), 'inactive', JSON.stringify(blocked));
    }
    assert.equal(stateOf({ disabled: 'disabled' }), 'inactive');
    for (const blocked of ['perhaps', 'active', '-', {}]) assert.equal(stateOf({ blocked }), 'inactive, noted');
    for (const blocked of ['', null, 'nein', 0, '\0', '0000-00-00 00:00:00', '0001-01-01T00:00:00Z', 'NULL']) {
      assert.equal(stateOf({ blocked }), 'active', JSON.stringify(blocked));
    }
  });

  it('has many names', () => {
    const names = ['Block credential', 'is_suspended', 'archived', 'banned_at', 'accountDisabled', 'Gesperrt'];
    for (const name of names) assert.equal(stateOf({ [name]: 'true' }), 'inactive', name);
    for (const name of ['IsLockedOut', 'locked_at']) assert.equal(stateOf({ [name]: '1' }), 'locked', name);
    assert.equal(stateOf({ IsApproved: 'False' }), 'inactive');
    assert.equal(stateOf({ accountNonLocked: false }), 'locked');
    for (const name of ['deleted_at', 'is_deleted', 'deleteat', 'Removed']) {
      assert.equal(stateOf({ [name]: '1650000000000' }), 'deleted', name);
      assert.equal(stateOf({ [name]: '0' }), 'active', name);
    }
  });

  it('may have an end', () => {
    for (const banned_until of ['2999-01-01', '2999-12-31 23:59:59.123+05', 'infinity', 'forever', 4102444800]) {
      assert.equal(stateOf({ banned_until }), 'inactive', String(banned_until));
    }
    for (const banned_until of ['2020-01-01', '2020-01-01 00:00:00.5-08', '', '-infinity', 1577836800, 'false']) {
      assert.equal(stateOf({ banned_until }), 'active', String(banned_until));
    }
    assert.equal(stateOf({ banned_until: 'someday' }), 'inactive, noted');
  });
});

describe('the name of a field', () => {
  const says = (meaning: string | undefined, names: readonly string[]) => {
    for (const name of names) assert.equal(stateMeaning(name), meaning, name);
  };

  it('that says what the user may delete says no state', () => {
    says(undefined, ['delete_self_enabled', 'deleteSelfEnabled', 'can_delete', 'allow_delete', 'may_delete']);
    says('deleted', ['deleted', 'deleted_at', 'is_deleted']);
  });

  it('says a state in many languages and spellings', () => {
    says('inactive', [
      'Bloqueado',
      'Bloqué',
      'Zablokowany',
      'Заблокирован',
      '無効',
      '停用',
      '차단됨',
      'Spärrad',
      'retired_by',
    ]);
    says('inactive', [
      'prohibit_login',
      'NoLogin',
      'logindisabled',
      'member_banned',
      'ban_reason',
      'isNotActive',
      'hidden',
    ]);
    says('active', [
      'Aktivní',
      'Активен',
      '有効',
      '启用',
      'OXACTIVE',
      'rolcanlogin',
      'LoginAllowed',
      'valid_id',
      'ACTIVE_YN',
    ]);
    says('deleted', ['gelöscht', 'Gelöscht am', 'in_trash', 'anonymized_at', '削除フラグ', 'meta.deleted']);
    says('locked', ['acctlock', 'lockedFlag', 'account.locked']);
    says('activeUntil', ['termination_date', 'left_on', 'Austrittsdatum', '退会日', 'is_expired']);
    says('status', ['Kontostatus', 'account_status', 'employee_status', 'status_id', 'account.status']);
  });

  it('says it of the part that is named last, and of what keeps out', () => {
    says('inactive', ['security.ban.active', 'account.blocked.value']);
    says('active', ['profile.isActive', 'status.active']);
  });

  it('may be unclear', () => {
    says('perhaps status', ['contract_status']);
    says('perhaps inactive', ['portal_disabled']);
    says('perhaps active', ['settings.darkMode.enabled']);
  });

  it('says nothing of the account if it is of something else', () => {
    says(undefined, ['email_status', 'marital_status', 'last_active', 'estate', 'mfaEnabled', 'city', 'lock_version']);
    says(undefined, [
      'address.state',
      'state_code',
      'days_left',
      'status_message',
      'reactive',
      'LockoutEnabled',
      'login_no',
    ]);
  });
});

test('a date of leaving counts from its day on', () => {
  for (const termination_date of ['2021-05-06', '1', '-1', 'yes', 'x', 'somehow', 'resigned']) {
    assert.match(stateOf({ termination_date }), /^inactive/, termination_date);
  }
  // One reader for the end of an account and of a membership: only a flag in Access' form differs.
  for (const name of ['termination_date', 'expires', 'validUntil']) {
    assert.equal(stateOf({ [name]: '2099-01-01' }), 'active, noted', name);
    assert.equal(stateOf({ [name]: '2999-01-01' }), 'active', `${name}: another way to write never`);
    assert.equal(stateOf({ [name]: 'never' }), 'active', name);
    assert.equal(stateOf({ [name]: 'true' }), 'inactive', name);
    assert.equal(stateOf({ [name]: '2021-05-06' }), 'inactive, noted', name);
  }
  assert.equal(stateOf({ expires: '-1' }), 'active');
  for (const termination_date of ['', '0', null, '0000-00-00']) assert.equal(stateOf({ termination_date }), 'active');
});

test('a value that may be a secret is not shown', () => {
  const hash = '$2b$04$PV6Fqy4IzQRwWSpyBJGmS.nUqEO.F8hrThrKZu/CLT4ZwmxtIHu1e';
  for (const secret of [
    hash,
    hash.slice(0, 30),
    `ann:${hash}:1`,
    '5f4dcc3b5aa765d61d8327deb882cf99',
    'JBSWY3DPEHPK3PXP',
  ]) {
    assert.equal(shownValue(secret), '(not shown)', secret);
    const { notes } = readState({ enabled: secret }, { active: ['enabled'] });
    assert.match(notes[0]?.message ?? '', /"\(not shown\)" of enabled/);
  }
  for (const plain of ['suspended', 'Wartet auf Freigabe', '2023-01-02 03:04:05', 'USER_STATE_BLOCKED']) {
    assert.equal(shownValue(plain), plain);
  }
});

test('a state that a system does not write keeps its user out, with a note', () => {
  const laravelUser = { email: 'ann@example.com', email_verified_at: null, password: 'x' };
  const supabaseUser = { id: 'a', email: 'ann@example.com', encrypted_password: 'x' };
  const cases = [
    ['okta', okta, { id: '1', profile: { login: 'ann' }, status: 'HIBERNATING' }],
    ['okta without one', okta, { id: '1', profile: { login: 'ann' } }],
    ['kratos', kratos, { schema_id: 'default', traits: { email: 'ann@example.com' }, state: 'suspended' }],
    ['zitadel', zitadel, { state: 'USER_STATE_BLOCKED', userName: 'ann', human: {} }],
    ['firebase', firebase, { localId: 'a', email: 'ann@example.com', disabled: 'perhaps' }],
    ['entra', entra, { userPrincipalName: 'ann@example.com', givenName: 'Ann', accountEnabled: null }],
    ['laravel', laravel, { ...laravelUser, status: 'Ruhend' }],
    ['supabase', supabase, { ...supabaseUser, banned_until: 'someday' }],
    ['discourse', discourse, { id: '1', username: 'ann', suspended_till: 'someday' }],
    ['cognito', cognito, { Username: 'ann', Attributes: [], Enabled: 'perhaps' }],
    ['auth0', auth0, { user_id: 'auth0|1', email: 'ann@example.com', blocked: 'perhaps' }],
    ['keycloak', keycloak, { username: 'ann', enabled: 'perhaps' }],
    ['spring', spring, { username: 'ann', enabled: '?', password: '{noop}x' }],
    ['csv', csv, { email: 'ann@example.com', status: 'Ruhend' }],
  ] as const;
  for (const [name, source, record] of cases) {
    const { state, notes = [] } = personOf(source, record);
    assert.equal(state, 'inactive', name);
    assert.ok(
      notes.some(({ id }) => id === 'STATE-UNKNOWN'),
      name,
    );
  }
});

test('other spellings of the states of systems are read', () => {
  assert.equal(personOf(okta, { id: '1', profile: { login: 'ann' }, status: 'QUARANTINED' }).state, 'inactive');
  assert.equal(personOf(kratos, { schema_id: 'default', traits: {}, state: 'INACTIVE' }).state, 'inactive');
  assert.equal(personOf(zitadel, { state: 'inactive', userName: 'ann', human: {} }).state, 'inactive');
  assert.equal(personOf(firebase, { localId: 'a', email: 'a@example.com', disabled: 'disabled' }).state, 'inactive');
  const laravelUser = { email: 'ann@example.com', email_verified_at: null, password: 'x' };
  assert.equal(personOf(laravel, { ...laravelUser, status: 'Gesperrt' }).state, 'inactive');
  assert.equal(personOf(supabase, { id: 'a', email: 'a@example.com', banned_until: 'forever' }).state, 'inactive');
  assert.equal(personOf(discourse, { id: '1', username: 'ann', suspended_till: 'infinity' }).state, 'inactive');
  assert.equal(personOf(cognito, { Username: 'ann', Attributes: [], Enabled: 'disabled' }).state, 'inactive');
});

test('words of a status are read, also in other languages, and a deleted person is skipped', () => {
  const of = (status: string) => personOf(csv, { email: 'ann@example.com', status }).state;
  for (const word of [
    'activated',
    'valid',
    'approved',
    'OK',
    '1',
    'aktiv',
    'actif',
    'Active ',
    'VALID_USER',
    'normal',
  ]) {
    assert.equal(of(word), undefined, word);
  }
  for (const word of ['0', 'inaktiv', 'gesperrt', 'pending', 'closed', 'Suspended']) assert.equal(of(word), 'inactive');
  assert.ok('skip' in csv.converter({})({ email: 'ann@example.com', status: 'deleted' }));
  assert.ok('skip' in csv.converter({})({ email: 'ann@example.com', deleted_at: '2023-01-02 03:04:05' }));
});

describe('the end of an account', () => {
  const past = ['2025-12-31', '31.12.2025', '12/31/2025', '20251231', '20251231120000Z', '1767100000', 1767100000000];
  it('keeps out whoever is past it, however the date is written', () => {
    for (const expires of [...past, '134110464000000000', '-infinity', '31 Dec 2025', '12/31/2025 11:59:00 PM']) {
      assert.equal(stateOf({ account_expires: expires }), 'inactive, noted', String(expires));
    }
  });

  it('is said if it is to come, and no end is none', () => {
    assert.equal(stateOf({ 'valid until': '2026-02-01' }), 'active, noted');
    for (const none of [
      '',
      null,
      0,
      '0',
      '-1',
      'never',
      '0000-00-00',
      '9223372036854775807',
      'infinity',
      '9999-12-31',
    ]) {
      assert.equal(stateOf({ expires_at: none }), 'active', String(none));
    }
  });

  it('keeps out whoever has one that cannot be read', () => {
    for (const odd of ['soon', {}, '31.31.2025'])
      assert.equal(stateOf({ expiry: odd }), 'inactive, noted', String(odd));
  });

  it('of a ban written as seconds in a thousand years has not passed', () => {
    assert.equal(stateOf({ banned_until: 33229353600 }), 'inactive');
  });
});

describe('a system', () => {
  it('has fields with common names beside those that it documents', () => {
    const read = (record: Fields) => readSystemState(record, { inactive: ['blocked'] }, NOW).state ?? 'active';
    assert.equal(read({ blocked: false }), 'active');
    for (const extra of [{ status: 'suspended' }, { disabled: 'yes' }, { deactivated_at: '2020-01-01' }]) {
      assert.equal(read({ blocked: false, ...extra }), 'inactive', JSON.stringify(extra));
    }
  });
});

test('a time that a program writes as an object keeps out whom it says to be deleted', () => {
  for (const value of [
    { _seconds: 1700000000, _nanoseconds: 0 },
    { seconds: 1700000000, nanoseconds: 0 },
  ]) {
    assert.deepEqual([...statesNamed({ deletedAt: value })], [['deletedAt', 'deleted']]);
    assert.equal(stateOf({ deletedAt: value }), 'inactive, noted');
  }
});
