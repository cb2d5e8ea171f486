/** Users of WordPress: rows of wp_users with and without their metadata, and the output of WP-CLI. */
import assert from 'node:assert/strict';
import { createHmac, hash } from 'node:crypto';
import { describe, it } from 'node:test';
import bcrypt from 'bcryptjs';
import type { Fields } from '../../../src/sources/source.ts';
import { wordpress } from '../../../src/sources/systems/wordpress.ts';
import { assertRefused, assertVerifies, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(wordpress, record);
const metaList = (meta: Record<string, string>) =>
  Object.entries(meta).map(([meta_key, meta_value]) => ({ umeta_id: 1, meta_key, meta_value }));
const ROW = {
  ID: 7,
  user_login: 'ann',
  user_pass: '',
  user_nicename: 'ann',
  user_email: 'ann@example.com',
  user_url: '',
  user_registered: '2024-02-21 07:09:20',
  user_activation_key: '1708512773:$P$B',
  user_status: 0,
  display_name: 'Ann A.',
};

describe('a user of WordPress', () => {
  it('is converted with metadata, except for settings, sessions and secrets', () => {
    const meta = metaList({
      nickname: 'annie',
      first_name: 'Ann',
      last_name: 'Ash',
      description: 'Writes.',
      locale: 'de_CH',
      billing_phone: '+41791234567',
      billing_city: 'Bern',
      twitter: '@ann',
      wp_capabilities: 'a:2:{s:13:"administrator";b:1;s:6:"editor";b:0;}',
      wp_2_capabilities: 'a:1:{s:6:"author";b:1;}',
      wp_user_level: '10',
      'wp_user-settings': 'x',
      wp_dashboard_quick_press_last_post_id: '4',
      rich_editing: 'true',
      'manageedit-postcolumnshidden': 'x',
      edit_post_per_page: '20',
      session_tokens: 'a:0:{}',
      _application_passwords: 'x',
      billing_api_key: 'x',
    });
    assert.deepEqual(convert({ ...ROW, user_url: 'https://ann.example.com', meta }), {
      userId: '7',
      userName: 'ann',
      email: 'ann@example.com',
      firstName: 'Ann',
      lastName: 'Ash',
      displayName: 'Ann A.',
      nickName: 'annie',
      language: 'de_CH',
      phone: '+41791234567',
      metadata: {
        billing_city: 'Bern',
        twitter: '@ann',
        roles: undefined,
        wp_capabilities: ['administrator'],
        wp_2_capabilities: ['author'],
        description: 'Writes.',
        user_url: 'https://ann.example.com',
      },
      notes: [],
    });
  });

  it('is converted from the output of WP-CLI, as JSON and as CSV', () => {
    const listed = { ID: '7', user_login: 'ann', user_email: 'ann@example.com', first_name: 'Ann', last_name: 'Ash' };
    const person = convert({ ...listed, display_name: '', roles: 'editor, author', user_pass: '' });
    assert.deepEqual(
      [person.userId, person.firstName, person.lastName, person.displayName],
      ['7', 'Ann', 'Ash', undefined],
    );
    assert.deepEqual(person.metadata?.roles, ['editor', 'author']);
    assert.deepEqual(convert({ ...listed, roles: ['editor'] }).metadata?.roles, ['editor']);
    assert.equal(convert({ ...listed, roles: '' }).metadata?.roles, undefined);
  });

  it('has an address of unknown verification, as WordPress does not store it', () => {
    assert.equal(convert(ROW).emailVerified, undefined);
  });

  it('is inactive if marked as spam, and skipped if deleted, also with CSV values', () => {
    assert.equal(convert({ ...ROW, spam: '1' }).state, 'inactive');
    assert.equal(convert({ ...ROW, spam: 0, deleted: '0' }).state, undefined);
    assert.equal(convert({ ...ROW, user_status: '2' }).state, 'inactive');
    assert.ok('skip' in wordpress.converter({})({ ...ROW, deleted: 1 }));
  });
});

describe('a hash of WordPress', () => {
  const PASSWORD = 'correct hörse';
  const of = (user_pass: string) => convert({ ...ROW, user_pass });

  it('verifies in every form that WordPress has used', () => {
    assertVerifies(of('$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0').hash, 'test12345');
    assertVerifies(of(hash('md5', PASSWORD)).hash, PASSWORD);
    assertVerifies(of(bcrypt.hashSync(PASSWORD, 4).replace('$2b$', '$2y$')).hash, PASSWORD);
    const digest = createHmac('sha384', 'wp-sha384').update(PASSWORD).digest('base64');
    assertVerifies(of(`$wp${bcrypt.hashSync(digest, 4).replace('$2b$', '$2y$')}`).hash, PASSWORD);
  });

  it('of a key is rejected by name, and an empty one is ignored', () => {
    assertRefused(of('$generic$abc'), '$generic$');
    assert.equal(of('').hash, undefined);
  });
});

describe('a second factor of WordPress', () => {
  const enabled = 'a:1:{i:0;s:15:"Two_Factor_Totp";}';
  const of = (meta: Record<string, string>) => convert({ ...ROW, meta: metaList(meta) });

  it('of the plugin Two Factor is imported if enabled', () => {
    const key = { _two_factor_totp_key: 'JBSWY3DPEHPK3PXP' };
    assert.equal(of({ ...key, _two_factor_enabled_providers: enabled }).totp, 'JBSWY3DPEHPK3PXP');
    assert.equal(of(key).totp, undefined);
    assert.equal(of({ ...key, _two_factor_enabled_providers: 'a:0:{}' }).totp, undefined);
  });

  it('by mail comes along, and does not prove the address', () => {
    const mail = 'a:1:{i:0;s:16:"Two_Factor_Email";}';
    for (const meta of [{ _two_factor_enabled_providers: mail }, { wp_2fa_enabled_methods: 'email' }]) {
      const { otpEmail, emailVerified, notes } = of(meta as Record<string, string>);
      assert.deepEqual([otpEmail, emailVerified, notes], [true, undefined, []]);
    }
  });

  it('of any other kind is noted', () => {
    const others: Record<string, string>[] = [
      { _two_factor_enabled_providers: 'a:1:{i:0;s:20:"Two_Factor_FIDO_U2F_";}' },
      { wp_2fa_enabled_methods: 'totp' },
    ];
    for (const meta of others) {
      assert.deepEqual(noteIds(of(meta)), ['SECOND-FACTOR-LOST']);
    }
    assert.deepEqual(noteIds(of({ _two_factor_enabled_providers: 'a:0:{}' })), []);
  });
});

describe('recognizing WordPress', () => {
  it('uses the names of its columns', () => {
    assert.equal(wordpress.recognizes(ROW, 'json'), 1);
    assert.equal(wordpress.recognizes({ user_login: 'ann', user_email: 'a@example.com' }, 'csv'), 1);
    assert.equal(wordpress.recognizes({ user_login: 'ann' }, 'csv'), 0.5);
    assert.equal(wordpress.recognizes({ login: 'ann', email: 'a@example.com' }, 'csv'), 0);
  });
});

describe('recovery codes and accounts of WordPress', () => {
  it('come along as hashes', () => {
    const codes = (text: string) =>
      convert({ ...ROW, meta: metaList({ _two_factor_backup_codes: text }) }).recoveryCodes;
    const hash = '$P$BQ1fjEVyWQDqCzhgRDhcmEAvMTEzAT0';
    assert.deepEqual(codes(`a:2:{i:0;s:34:"${hash}";i:1;s:34:"${hash}";}`), [
      { hash, scheme: 'mcf' },
      { hash, scheme: 'mcf' },
    ]);
    assert.equal(codes('a:0:{}'), undefined);
  });

  it('become links, and the password beside them is perhaps made up', () => {
    const { links, oldSignIn } = convert({
      ...ROW,
      user_pass: '$P$x',
      social_users: '[{"type":"google","identifier":"77"}]',
    });
    assert.deepEqual(links, [{ provider: 'google', externalUserId: '77' }]);
    assert.deepEqual(oldSignIn, { ways: ['password', 'provider'], password: 'perhaps' });
  });
});
